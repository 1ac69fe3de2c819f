"""Sets of columns over which k holds, each of which one intruder knows."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import UsageError, unknown
from shoal.notices import notice


def check_sets(sets: Sequence[Sequence[str]], names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the sets if they name only these quasi-identifiers; notice quasi-identifiers in no set."""
    for name in (name for chosen in sets for name in chosen):
        if name not in names:
            raise unknown("quasi-identifier", name, names)
    if not sets or not all(sets):
        raise UsageError("A set of columns is empty. Name quasi-identifiers in every set: --set A,B --set B,C.")
    outside = [name for name in names if not any(name in chosen for chosen in sets)]
    if outside:
        notice(
            f"Quasi-identifiers in no --set are released unchanged: {', '.join(outside)}. They count as known to an "
            "intruder, so Shoal writes nothing unless k holds with them. Add them to a set, or give them another role."
        )
    return tuple(tuple(chosen) for chosen in sets)
