"""How much work an effort means: proposals a record, falling with n so that large files stay near-linear."""

from __future__ import annotations

from shoal.errors import check_choice

EFFORTS = ("quick", "standard", "thorough")

# proposals a record at n = 1,000; the power of 1,000 / n they fall with; the least a record gets
_WORK = {"quick": (24_000.0, 0.8, 150.0), "standard": (110_000.0, 0.8, 500.0), "thorough": (900_000.0, 0.8, 3_000.0)}


def proposals(n: int, effort: str) -> int:
    """The proposals that an effort spends on n records in all.

    >>> proposals(1000, "quick")
    24000000
    """
    at_thousand, power, least = _WORK[check_choice("effort", effort, EFFORTS)]
    return int(n * max(least, at_thousand * (1000.0 / max(n, 1000)) ** power))
