"""Which records form a group: k-partitions and every way to find one, a method a file."""
