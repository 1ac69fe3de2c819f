"""The ways to form groups, one module each."""
