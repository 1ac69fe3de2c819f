"""The number of candidate partitions, and the probability that a random chromosome is one.

Solanas et al. 2006 (expressions 4 to 6) and Solanas 2008 (expressions 7 to 9) give a(n,k) mu / G^n as an upper bound of
that probability. It divides partitions without group names by chromosomes with group names, so it is not a bound. Here
it is `published_bound`, next to the exact probability.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

from shoal.errors import check_k


def representatives(n: int, k: int) -> int:
    """Return a(n, k): the number of ways to write n as a sum of group sizes k..2k-1, regardless of their order.

    >>> representatives(30, 3)
    11
    """
    k = check_k(k, n)
    # ways[m]: the sums to m of the sizes so far. The published recursion over the first size gives the same.
    ways = [1] + [0] * n
    for size in range(k, 2 * k):
        for m in range(size, n + 1):
            ways[m] += ways[m - size]
    return ways[n]


def mu(n: int, k: int) -> Fraction:
    """Return n! / (k1! ... kG!) / G! for the sizes of floor(n/k) groups, as equal as possible.

    If k divides n, it is the number of partitions into groups of k. Otherwise groups have two sizes, and the value is
    below that number and need not be whole. The publications use the expression in both cases.

    >>> mu(30, 3)
    Fraction(1208883745669600000, 1)
    """
    k = check_k(k, n)
    groups = n // k
    size, larger = divmod(n, groups)
    named = factorial(n) // (factorial(size) ** (groups - larger) * factorial(size + 1) ** larger)
    return Fraction(named, factorial(groups))


def published_bound(n: int, k: int) -> Fraction:
    """Return a(n,k) mu / G^n, published as an upper bound of `candidate_probability`. It is not a bound.

    >>> float(published_bound(30, 3))
    1.32977212023656e-11
    """
    return Fraction(representatives(n, k) * mu(n, k) / (n // k) ** n)


def candidate_probability(n: int, k: int) -> Fraction:
    """Return the probability that in a chromosome of n random genes every group is empty or has k..2k-1 records.

    >>> round(float(candidate_probability(30, 3)), 4)
    0.0016
    """
    k = check_k(k, n)
    symbols = n // k
    # ways[m]: the chromosomes of m records, in any order, over the symbols so far.
    ways = [1] + [0] * n
    for _ in range(symbols):
        ways = [
            sum(comb(m, size) * ways[m - size] for size in (0, *range(k, 2 * k)) if size <= m) for m in range(n + 1)
        ]
    return Fraction(ways[n], symbols**n)
