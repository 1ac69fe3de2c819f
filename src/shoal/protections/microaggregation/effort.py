"""How much work an effort means: proposals per record, falling with n so that large files stay near-linear."""

from __future__ import annotations

from shoal.errors import check_choice
from shoal.protections.parameters import EFFORTS

# proposals per record at n = 1,000 and k = 5; the power of 1,000 / n they fall with; the least a record gets; the power
# of k / 5 they grow with above 5
_WORK = {
    "quick": (17_000.0, 0.88, 150.0, 0.22),
    "standard": (48_000.0, 0.45, 500.0, 0.7),
    "thorough": (310_000.0, 0.5, 3_000.0, 0.4),
}
# A large file: proposals per record at n = 20,000; the power of 20,000 / n they fall with; the least a record gets. The
# time stays about the same up to some 100,000 records, and is linear from there on.
_LARGE = {"quick": (1_000.0, 1.3, 60.0), "standard": (8_000.0, 1.5, 350.0), "thorough": (50_000.0, 1.0, 3_000.0)}


def proposals(n: int, k: int, effort: str) -> int:
    """The proposals that an effort spends on n records in all: more for larger groups, which settle later.

    >>> proposals(1000, 5, "quick")
    17000000
    """
    at_thousand, power, least, growth = _WORK[check_choice("effort", effort, EFFORTS)]
    by_k = min(2.0, k / 5.0, (k / 5.0) ** growth)
    return int(n * by_k * max(least, at_thousand * (1000.0 / max(n, 1000)) ** power))


def large_proposals(n: int, effort: str) -> int:
    """The proposals that an effort spends on a large file in all: as many a record for any k.

    >>> [large_proposals(n, "quick") // n for n in (20_000, 100_000, 1_000_000)]
    [1000, 123, 60]
    """
    at_first, power, least = _LARGE[check_choice("effort", effort, EFFORTS)]
    return n * int(max(least, at_first * (20_000.0 / max(n, 20_000)) ** power))
