"""The work of each effort: rebuilt groups per record, which fall with n so that the time for large files is linear."""

from __future__ import annotations

from shoal.engine.effort import EFFORTS
from shoal.errors import check_choice

# Rebuilds per record at n = 20,000 and k = 5; the power of 20,000 / n by which they fall; the fewest per record.
_WORK = {"quick": (14.0, 1.5, 2.0), "standard": (160.0, 1.5, 4.0), "thorough": (300.0, 0.5, 20.0)}
_SMALL = {"quick": 8_000, "standard": 8_000, "thorough": 2_000}  # smaller files have the same work per record


def rebuilds(n: int, k: int, effort: str) -> int:
    """Return how many times groups are rebuilt in all; a rebuild of larger groups takes longer."""
    per_record, power, fewest = _WORK[check_choice("effort", effort, EFFORTS)]
    per_record = max(fewest, per_record * (20_000.0 / max(n, _SMALL[effort])) ** power)
    return max(1_000, int(n * per_record * min(1.0, (5.0 / k) ** 1.1)))
