"""The work of each effort: proposals per record. They fall with n, so that the time for large files is near-linear."""

from __future__ import annotations

from shoal.errors import check_choice
from shoal.protections.parameters import EFFORTS

# Proposals per record at n = 1,000 and k = 5; the power of 1,000 / n by which they fall; the minimum per record; the
# power of k / 5 by which they grow above 5.
_WORK = {
    "quick": (17_000.0, 0.88, 150.0, 0.22),
    "standard": (48_000.0, 0.45, 500.0, 0.7),
    "thorough": (310_000.0, 0.5, 3_000.0, 0.4),
}
# In a large file: proposals per record at n = 20,000; the power of 20,000 / n by which they fall; the minimum per
# record. The time stays about the same up to some 100,000 records, and is linear from there on.
_LARGE = {"quick": (1_000.0, 1.3, 60.0), "standard": (8_000.0, 1.5, 350.0), "thorough": (50_000.0, 1.0, 3_000.0)}

# Changed cells: their moves take about three times as long, and the search settles sooner.
_LARGE_CHANGES = {"quick": (150.0, 1.0, 40.0), "standard": (700.0, 0.8, 200.0), "thorough": (4_000.0, 0.8, 1_500.0)}
CHANGES_SHARE = 0.25  # of the proposals for squares, in a small file


def proposals(n: int, k: int, effort: str) -> int:
    """Return the total number of proposals for n records: more for larger groups, which settle later.

    >>> proposals(1000, 5, "quick")
    17000000
    """
    at_thousand, power, minimum, growth = _WORK[check_choice("effort", effort, EFFORTS)]
    by_k = min(2.0, k / 5.0, (k / 5.0) ** growth)
    return int(n * by_k * max(minimum, at_thousand * (1000.0 / max(n, 1000)) ** power))


def large_proposals(n: int, effort: str) -> int:
    """Return the total number of proposals for a large file: the same number per record for any k.

    >>> [large_proposals(n, "quick") // n for n in (20_000, 100_000, 1_000_000)]
    [1000, 123, 60]
    """
    return _by_size(n, _LARGE[check_choice("effort", effort, EFFORTS)])


def changes_proposals(n: int, k: int, effort: str) -> int:
    """Return the total number of proposals for changed cells."""
    return int(CHANGES_SHARE * proposals(n, k, effort))


def large_changes_proposals(n: int, effort: str) -> int:
    """Return the total number of proposals for changed cells in a large file.

    >>> [large_changes_proposals(n, "standard") // n for n in (20_000, 100_000, 1_000_000)]
    [700, 200, 200]
    """
    return _by_size(n, _LARGE_CHANGES[check_choice("effort", effort, EFFORTS)])


def _by_size(n: int, work: tuple[float, float, float]) -> int:
    at_first, power, minimum = work
    return n * int(max(minimum, at_first * (20_000.0 / max(n, 20_000)) ** power))
