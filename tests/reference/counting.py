"""The counting functions by the published recursion and by listing everything."""

from __future__ import annotations

from functools import cache
from itertools import product


def representatives(n: int, k: int) -> int:
    """The recursion as printed (002, expression 4)."""

    @cache
    def a(n: int, p: int) -> int:
        if n < p:
            return 0
        if n <= 2 * k - 1:
            return 1
        return sum(a(n - q, q) for q in range(p, 2 * k))

    return a(n, k)


def candidates(n: int, k: int) -> int:
    """Chromosomes whose groups all have k..2k-1 records or none, counted one by one."""
    symbols = range(n // k)
    return sum(all(genes.count(g) in (0, *range(k, 2 * k)) for g in symbols) for genes in product(symbols, repeat=n))


def partitions(rows: tuple[int, ...], groups: int, sizes: range) -> int:
    """Partitions of the rows into so many groups of these sizes, one by one."""
    if groups == 0:
        return not rows
    total = 0
    for members in product((False, True), repeat=len(rows) - 1) if rows else ():
        if 1 + sum(members) in sizes:
            total += partitions(tuple(r for r, m in zip(rows[1:], members, strict=True) if not m), groups - 1, sizes)
    return total
