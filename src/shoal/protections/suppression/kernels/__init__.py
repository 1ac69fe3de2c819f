"""Kernels of cell suppression."""
