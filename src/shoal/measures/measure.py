"""A measure is declared once, beside the code that computes it; this file holds the declaration and the register.

Every file of this folder may declare measures in a tuple `MEASURES`. `shoal assess`, its JSON, the internal report and
the table of docs/reference/measures.md come from the declarations, so a new measure needs one file and nothing else.
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
    """A value and what is worth knowing about it: how many entries were left out, or a standard error."""

    value: Value
    note: str = ""


Computed = Value | Estimate | Mapping[str, Value]


@dataclass(frozen=True)
class Measure:
    """What a measure is called, what it needs and what its value means.

    name: its key in JSON. title: its name on the screen and in reports. needs: the parts of the evidence without which
    it is left out. weighted: whether it honours the weights of the records. compute: gives a value, an Estimate, or one
    value per column, which are then called NAME_COLUMN. costly: it needs much more than one pass over the records, so
    the report of a large file leaves it out.
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

    @property
    def shown(self) -> str:
        """The name that people read."""
        return self.title or self.name.replace("_", " ")


def declared_measures() -> tuple[Measure, ...]:
    """Every declared measure: first loss, then risk, then their balance, each in the order of the file names."""
    measures = [measure for module in _modules() for measure in getattr(module, "MEASURES", ())]
    names = [measure.name for measure in measures]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"The measure {name!r} is declared twice. Rename one of the two.")
    return tuple(sorted(measures, key=lambda measure: KINDS.index(measure.kind)))


def declared_measure(name: str) -> Measure:
    """The measure of this name."""
    return next(measure for measure in declared_measures() if measure.name == name)


def _modules() -> list[ModuleType]:
    modules = pkgutil.iter_modules(shoal.measures.__path__, "shoal.measures.")
    return [
        importlib.import_module(module.name) for module in sorted(modules, key=lambda m: m.name) if not module.ispkg
    ]
