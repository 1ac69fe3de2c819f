"""Microaggregation: every record gets the means, medians or modes of its group of at least k."""
