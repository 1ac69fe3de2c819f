"""Compiled functions of group anonymity."""
