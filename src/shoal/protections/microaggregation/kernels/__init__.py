"""Compiled functions of the microaggregation methods."""
