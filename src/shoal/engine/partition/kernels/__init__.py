"""Compiled functions of the search over partitions: groups, moves, losses, neighbours."""
