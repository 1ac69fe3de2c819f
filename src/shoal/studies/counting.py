"""The number of candidate partitions, and the probability that a random chromosome is one.

Solanas et al. (2006, expressions 4 to 6; 2008, expressions 7 to 9) bound that probability by a(n,k) mu / G^n.
The expression divides partitions without group names by chromosomes with them, so it does not bound it; it is
here under a name that says so, beside the exact probability (Solanas 2008).
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

from shoal.errors import check_k


def representatives(n: int, k: int) -> int:
    """a(n, k): the ways to write n as a sum of group sizes k..2k-1, regardless of their order.

    >>> representatives(30, 3)
    11
    """
    k = check_k(k, n)
    # ways[m]: sums to m by the sizes taken in so far; the published recursion over the first size gives the same.
    ways = [1] + [0] * n
    for size in range(k, 2 * k):
        for m in range(size, n + 1):
            ways[m] += ways[m - size]
    return ways[n]


def mu(n: int, k: int) -> Fraction:
    """n! / (k1! ... kG!) / G! for the sizes of floor(n/k) groups, as even as possible.

    Where k divides n it is the number of partitions into groups of k. Elsewhere, with groups of two sizes, it
    is below their number and may be no whole number: the papers print the expression all the same.

    >>> mu(30, 3)
    Fraction(1208883745669600000, 1)
    """
    k = check_k(k, n)
    groups = n // k
    size, larger = divmod(n, groups)
    named = factorial(n) // (factorial(size) ** (groups - larger) * factorial(size + 1) ** larger)
    return Fraction(named, factorial(groups))


def published_bound(n: int, k: int) -> Fraction:
    """a(n,k) mu / G^n, published as an upper bound of the probability below; it is not a bound.

    >>> float(published_bound(30, 3))
    1.32977212023656e-11
    """
    return Fraction(representatives(n, k) * mu(n, k) / (n // k) ** n)


def candidate_probability(n: int, k: int) -> Fraction:
    """The probability that a chromosome of n random genes has only groups of k..2k-1 records (or none).

    >>> round(float(candidate_probability(30, 3)), 4)
    0.0016
    """
    k = check_k(k, n)
    symbols = n // k
    # ways[m]: chromosomes of the first m records in any order over the symbols taken in so far.
    ways = [1] + [0] * n
    for _ in range(symbols):
        ways = [
            sum(comb(m, size) * ways[m - size] for size in (0, *range(k, 2 * k)) if size <= m) for m in range(n + 1)
        ]
    return Fraction(ways[n], symbols**n)
