"""Slow, obvious twins of what the package computes; they import nothing from its kernels and compile nothing."""
