"""Compiled functions on NumPy arrays and nothing else; one file a method, flags in `compiling`."""
