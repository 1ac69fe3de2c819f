"""What an intruder learns from a release, one module per attack."""
