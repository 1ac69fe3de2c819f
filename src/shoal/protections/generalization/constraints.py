"""What a class must keep besides k: l-diversity and t-closeness of confidential columns.

l: distinct values (Machanavajjhala et al. 2007), the exponential of their entropy, or recursive
(c, l); t: the distance of a class's distribution from the whole table's, with equal or ordered
ground distance (Li, Li and Venkatasubramanian 2007). All of them, like k, can only get better when
classes are joined. The arrays are those that protections/generalization/kernels/classes.py reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.errors import UsageError, check_choice

KINDS = ("distinct", "entropy", "recursive")
DISTANCES = ("equal", "ordered")
NO_T = 2.0  # distances are at most 1


@dataclass(frozen=True)
class Rule:
    """What one confidential column must keep in every class."""

    l: float = 1.0  # noqa: E741
    kind: str = "distinct"
    c: float = 1.0
    t: float | None = None
    distance: str = "equal"

    def __post_init__(self) -> None:
        check_choice("kind of l-diversity", self.kind, KINDS)
        check_choice("distance", self.distance, DISTANCES)
        if not self.l >= 1:
            raise UsageError(f"l must be 1 or more, not {self.l!r}")
        if not self.c > 0:
            raise UsageError(f"c of recursive (c, l)-diversity must be above 0, not {self.c!r}")
        if self.t is not None and not 0 <= self.t <= 1:
            raise UsageError(f"t must be between 0 and 1, not {self.t!r}")


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of all confidential columns as arrays; counts of their values stand side by side."""

    integers: Ints
    floats: NDArray[np.float64]
    widths: tuple[int, ...]
    rules: tuple[Rule, ...]

    @property
    def width(self) -> int:
        return sum(self.widths)


def rules_of(rules: Sequence[Rule], widths: Sequence[int]) -> Rules:
    """The arrays of rules for columns with so many distinct confidential values each."""
    integers = np.zeros((len(rules), 4), dtype=np.int64)
    floats = np.zeros((len(rules), 3))
    first = 0
    for r, (rule, width) in enumerate(zip(rules, widths, strict=True)):
        kind = 1 + KINDS.index(rule.kind) if rule.l > 1 or rule.kind == "recursive" else 0
        integers[r] = first, width, kind, rule.distance == "ordered"
        floats[r] = rule.l, rule.c, NO_T if rule.t is None else rule.t
        first += width
    return Rules(integers, floats, tuple(widths), tuple(rules))


def read_l(given: Any) -> dict[str, Any]:
    """The parts of a rule that an `l` stands for: a number, ("entropy", l) or ("recursive", c, l).

    >>> read_l(("recursive", 3, 2))
    {'kind': 'recursive', 'c': 3.0, 'l': 2.0}
    """
    if given is None:
        return {}
    parts = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    kind = parts.pop(0) if isinstance(parts[0], str) else "distinct"
    check_choice("kind of l-diversity", kind, KINDS)
    wanted = ["c", "l"] if kind == "recursive" else ["l"]
    try:
        numbers = [float(p) for p in parts]
    except (TypeError, ValueError) as error:
        raise UsageError(f"l must be a number, ('entropy', l) or ('recursive', c, l), not {given!r}") from error
    if len(numbers) != len(wanted):
        raise UsageError(f"{kind} l-diversity takes {' and '.join(wanted)}, not {given!r}")
    return {"kind": kind, **dict(zip(wanted, numbers, strict=True))}
