"""Attribute grouping: which columns are microaggregated together."""
