"""Data sets, sensitivity studies and published tables."""
