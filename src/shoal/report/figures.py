"""Numbers as a person writes them, the same in the terminal and in reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def figure(value: Any) -> str:
    """A number with thousands separators: whole numbers in full, others with about five digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= 10000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:,.1f}"
    return f"{value:.4g}"


def figures_of(rows: Iterable[Iterable[Any]]) -> list[list[str]]:
    """The cells of a table as texts."""
    return [[figure(cell) for cell in row] for row in rows]
