"""Compiled functions of attribute grouping."""
