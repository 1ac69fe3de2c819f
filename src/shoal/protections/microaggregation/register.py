"""The methods by name, what each can do, and the one way to call them.

A method is a function `(values, k, *, options) -> KPartition` on scaled values. What it accepts
stands in its signature: `weights` if it can honour them, `seed` if it draws random numbers,
`progress` if it is long. An option that it does not have is refused, never ignored.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError, check_k, unknown

# Given to every method that takes them, so never a mistake of the user's.
_OFFERED = ("weights", "seed", "threads", "progress")


@dataclass(frozen=True)
class Method:
    """A named way to group records."""

    name: str
    idea: str

    @property
    def function(self) -> Callable[..., KPartition]:
        module = importlib.import_module(f"{__package__}.methods.{self.name}")
        function: Callable[..., KPartition] = getattr(module, self.name)
        return function

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Its keyword-only parameters."""
        given = inspect.signature(self.function).parameters.values()
        return tuple(parameter.name for parameter in given if parameter.kind is parameter.KEYWORD_ONLY)

    @property
    def options(self) -> tuple[str, ...]:
        """What a user may set."""
        return tuple(p for p in self.parameters if p not in _OFFERED)

    def __call__(self, values: Floats, k: int, **options: Any) -> KPartition:
        """The method's partition; refuses options it does not have and weights it cannot honour."""
        self.check_options(options)
        if options.get("weights") is not None and "weights" not in self.parameters:
            able = ", ".join(m.name for m in METHODS.values() if "weights" in m.parameters)
            raise UsageError(f"the method {self.name} cannot honour weights; take one that can ({able}) or no weight")
        given = {name: value for name, value in options.items() if name in self.parameters}
        return self.function(np.ascontiguousarray(values, dtype=np.float64), check_k(k, len(values)), **given)

    def check_options(self, options: dict[str, Any]) -> None:
        for name in options:
            if name not in _OFFERED and name not in self.parameters:
                users = [m.name for m in METHODS.values() if name in m.options]
                has = ", ".join(self.options) or "none"
                hint = f"; it belongs to {', '.join(users)}" if users else ""
                raise UsageError(f"the method {self.name} has no option {name!r}{hint}. Its options: {has}")


METHODS = {
    m.name: m
    for m in (
        Method("auto", "The best default for the size of the file"),
        Method("mdav", "Groups of k around the records farthest from the centroid, two at a time"),
        Method("md", "Groups of k around the two most distant records"),
        Method("vmdav", "MDAV with groups of k to 2k-1 that follow the data's clusters"),
        Method("mst", "The minimum spanning tree, cut at its longest edges"),
        Method("path", "A short tour through all records, cut optimally"),
        Method("univariate", "The optimum of a single column"),
        Method("anneal", "Annealing: moves of records between neighbouring groups, at a falling temperature"),
        Method("memetic", "Several annealed partitions, their groups inherited and recombined"),
        Method("blocks", "Annealing block by block, for files of any size"),
        Method("genetic", "The papers' genetic algorithm: the optimum of a dozen records, of use up to about 100"),
        Method("hybrid", "MDAV's groups, improved by the genetic algorithm within macro-groups of neighbours"),
        Method("exact", "The optimum of a small file, proved"),
    )
}


def method(name: str) -> Method:
    """The method of that name, `auto` meaning the best default."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]
