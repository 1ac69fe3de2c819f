"""The searches: annealing chains, a population of partitions, blocks for large files."""
