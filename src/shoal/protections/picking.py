"""One solution of a Pareto front, taken by its number (`--pick`)."""

from __future__ import annotations

from shoal.errors import UsageError


def check_pick(number: int, points: int) -> int:
    """Return the number if a front of this many points has it; numbers start at 1."""
    if not 1 <= number <= points:
        raise UsageError(f"pick must be between 1 and {points} (the solutions of the Pareto front), not {number}.")
    return number
