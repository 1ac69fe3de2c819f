"""Compiled functions of generalization."""
