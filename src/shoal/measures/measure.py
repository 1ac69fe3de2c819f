"""The declaration of a measure, and the list of all declared measures.

Every module of this folder may declare measures in a tuple `MEASURES`. `shoal assess`, its JSON, the internal report
and the table of docs/reference/measures.md use the declarations, so a new measure needs one module and nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import shoal.measures

if TYPE_CHECKING:
    from shoal.measures.evidence import Evidence

Value = float | int | None
KINDS = ("loss", "risk", "balance")


@dataclass(frozen=True)
class Estimate:
    """A value and a note on it, such as the number of entries that were left out, or a standard error."""

    value: Value
    note: str = ""


Computed = Value | Estimate | Mapping[str, Value]


@dataclass(frozen=True)
class Measure:
    """A measure: its name, what it needs and what its value means.

    Attributes:
        name: The key in JSON.
        title: The name in printed tables and reports.
        short: The head of its column in the comparison of methods; empty if they are not compared by it.
        needs: The parts of the evidence without which the measure is left out.
        weighted: Whether it uses the weights of the records.
        compute: Returns a value, an `Estimate`, or one value per column; the latter have the names NAME_COLUMN.
        costly: Whether it takes much longer than one pass over the records; reports on large files leave it out.
    """

    name: str
    kind: Literal["loss", "risk", "balance"]
    needs: tuple[str, ...]
    range: str  # {n} stands for the number of records
    unit: Literal["", "%", "records"]
    better: Literal["lower", "higher"]
    meaning: str
    formula: str
    compute: Callable[[Evidence], Computed]
    weighted: bool = False
    costly: bool = False
    title: str = ""
    short: str = ""

    @property
    def shown(self) -> str:
        """The name of the measure for people."""
        return self.title or self.name.replace("_", " ")


def declared_measures() -> tuple[Measure, ...]:
    """Every declared measure: loss, then risk, then their balance, each in the order of the module names."""
    measures = [measure for module in _modules() for measure in getattr(module, "MEASURES", ())]
    names = [measure.name for measure in measures]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"The measure {name!r} is declared twice. Rename one of the two.")
    return tuple(sorted(measures, key=lambda measure: KINDS.index(measure.kind)))


def declared_measure(name: str) -> Measure:
    """The measure with this name."""
    return next(measure for measure in declared_measures() if measure.name == name)


def _modules() -> list[ModuleType]:
    modules = pkgutil.iter_modules(shoal.measures.__path__, "shoal.measures.")
    return [
        importlib.import_module(module.name) for module in sorted(modules, key=lambda m: m.name) if not module.ispkg
    ]
