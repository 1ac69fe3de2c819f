"""The points of a Pareto front as a table; `--pick` takes one of them by its number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.report.page import Grid

MOST_POINTS = 25


def front_table(
    heads: Sequence[str], points: Sequence[Sequence[Any]], pick: int | None, *, title: str, note: str = ""
) -> Grid:
    """The points with their numbers, the taken one marked; of a long front those around it."""
    middle = 0 if pick is None else pick - 1
    start = max(0, min(middle - MOST_POINTS // 2, len(points) - MOST_POINTS))
    near = list(enumerate(points, start=1))[start : start + MOST_POINTS]
    rows = [[f"{i} (taken)" if i == pick else str(i), *point] for i, point in near]
    notes = [f"{len(points)} points in all."] if len(points) > len(near) else []
    return Grid(["pick", *heads], rows, title=title, note=" ".join([*notes, *([note] if note else [])]))
