"""The methods of recoding. Each returns a partition of the records of a `Task` into groups of at least k."""
