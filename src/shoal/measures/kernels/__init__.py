"""Compiled functions of the measures."""
