"""An assessment: what was lost and what risk is left, each figure with its range and its meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number and what it says."""

    name: str
    value: float | int | None
    range: str
    meaning: str


class Assessment(Mapping[str, float | int | None]):
    """Figures by name: `assessment["k"]` is a number, `assessment.figures` has the words."""

    def __init__(self, figures: list[Figure]) -> None:
        self.figures = tuple(figures)
        self._values = {f.name: f.value for f in figures}

    def __getitem__(self, name: str) -> float | int | None:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return "\n".join(f"{f.name}: {f.value} ({f.meaning})" for f in self.figures)
