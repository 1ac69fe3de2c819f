"""The methods of recoding. Each returns a partition of the records of a `RecodingTask` into groups of at least k."""
