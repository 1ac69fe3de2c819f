"""The search over partitions of records into groups of at least k."""
