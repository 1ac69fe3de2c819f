"""An assessment: measured information loss and disclosure risk, each value with its range and meaning."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from shoal.measures.evidence import Evidence
from shoal.measures.measure import Estimate, Measure, Value, declared_measure, declared_measures


@dataclass(frozen=True)
class Figure:
    """One measured value; `title` is its name for people, if that is not the key in JSON."""

    name: str
    value: float | int | None
    range: str
    meaning: str
    title: str = ""

    @property
    def shown(self) -> str:
        """The name of the measure for people."""
        return self.title or self.name.replace("_", " ")


class Assessment(Mapping[str, float | int | None]):
    """Measured values by name: `assessment["k"]` is a number, `assessment.figures` also has ranges and meanings."""

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


def figures_of(measure: Measure, evidence: Evidence) -> list[Figure]:
    """The values of a measure: one, or one per column; none if the evidence lacks what the measure needs."""
    if any(getattr(evidence, part) is None for part in measure.needs):
        return []
    result = evidence.measure(measure.name)
    if isinstance(result, Mapping):
        return [
            declared_figure(measure.name, value, evidence.records, column=column) for column, value in result.items()
        ]
    if isinstance(result, Estimate):
        return [declared_figure(measure.name, result.value, evidence.records, note=result.note)]
    return [declared_figure(measure.name, result, evidence.records)]


def declared_figure(name: str, value: Value, records: int, *, note: str = "", column: str = "") -> Figure:
    """A value with the range and the meaning that its measure declares."""
    measure = declared_measure(name)
    unit = " %" if measure.unit == "%" else ""
    meaning = measure.meaning.replace("{column}", column) + (f"; {note}" if note else "")
    key, title = (f"{name}_{column}", "") if column else (name, measure.title)
    return Figure(key, value, measure.range.replace("{n}", str(records)) + unit, meaning, title)


def assess_evidence(evidence: Evidence, only: Collection[str] | None = None) -> Assessment:
    """The values of every declared measure, or of those in `only`, that the evidence allows."""
    chosen = [measure for measure in declared_measures() if only is None or measure.name in only]
    return Assessment([figure for measure in chosen for figure in figures_of(measure, evidence)])
