"""How much work an effort means: proposals a record, falling with n so that large files stay near-linear."""

from __future__ import annotations

from shoal.errors import check_choice

EFFORTS = ("quick", "standard", "thorough")

# proposals a record at n = 1,000 and k = 5; the power of 1,000 / n they fall with; the least a record gets
_WORK = {"quick": (15_000.0, 0.85, 150.0), "standard": (42_000.0, 0.5, 500.0), "thorough": (280_000.0, 0.5, 3_000.0)}


def proposals(n: int, k: int, effort: str) -> int:
    """The proposals that an effort spends on n records in all: more for larger groups, which settle later.

    >>> proposals(1000, 5, "quick")
    15000000
    """
    at_thousand, power, least = _WORK[check_choice("effort", effort, EFFORTS)]
    by_k = min(2.0, k / 5.0, (k / 5.0) ** 0.5)
    return int(n * by_k * max(least, at_thousand * (1000.0 / max(n, 1000)) ** power))
