"""The guarantees that a release can give, as data: which property holds for which columns.

A protection states them, a release carries them, and the release check has independent code for each (gate/checks).
This module imports only the standard library and `shoal.errors`, so that declarations can import it at no cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from shoal.errors import UsageError, check_choice

DIVERSITY_KINDS = ("distinct", "entropy", "recursive")
Distance = Literal["equal", "ordered"]
DISTANCES: tuple[str, ...] = get_args(Distance)
SignalKind = Literal["quantity", "concentration", "difference"]
SIGNALS: tuple[str, ...] = get_args(SignalKind)
Reading = Literal["value", "wildcard"]
READINGS: tuple[str, ...] = get_args(Reading)


class Step(NamedTuple):
    """The step of several that gave a guarantee."""

    number: int
    name: str


@dataclass(frozen=True)
class Promise:
    """A guarantee: a property of the released table that the release check verifies.

    Attributes:
        columns: The columns that have the property.
        promised: Whether it is guaranteed. If not, it is only measured, and the policy decides on a failure.
        step: The step that gave the guarantee, in a release of several steps.
    """

    columns: tuple[str, ...]
    promised: bool = field(default=True, kw_only=True)
    step: Step | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class KAnonymity(Promise):
    """Every record shares its values in the columns with at least k - 1 others.

    Attributes:
        k: The smallest number of records in a class.
        group: Whether the columns are one of several column groups, so that no k is guaranteed over all of them.
    """

    k: int
    group: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or int(self.k) != self.k or self.k < 1:
            raise UsageError(f"k must be a whole number, 1 or more, not {self.k!r}.")


@dataclass(frozen=True)
class LDiversity(Promise):
    """Each confidential column has a diversity of at least l in every equivalence class of the columns.

    Attributes:
        confidential: The confidential columns.
        l: The smallest diversity.
        kind: How diversity is measured: distinct (number of values), entropy (exponential of the entropy) or recursive
            (Machanavajjhala et al. 2007).
        c: The factor of the recursive kind.
    """

    confidential: tuple[str, ...]
    l: float  # noqa: E741
    kind: str = "distinct"
    c: float = 1.0

    def __post_init__(self) -> None:
        _check_confidential(self.confidential)
        Diversity(self.l, self.kind, self.c)


@dataclass(frozen=True)
class TCloseness(Promise):
    """In every equivalence class of the columns, each confidential column is at most t away from the whole table.

    Attributes:
        confidential: The confidential columns.
        t: The largest distance of a class from the table.
        distance: The distance between two values: equal or ordered (Li, Li and Venkatasubramanian 2007).
    """

    confidential: tuple[str, ...]
    t: float
    distance: str = "equal"

    def __post_init__(self) -> None:
        _check_confidential(self.confidential)
        check_choice("distance", self.distance, DISTANCES)
        if not 0 <= self.t <= 1:
            raise UsageError(f"t must be between 0 and 1, not {self.t!r}.")


@dataclass(frozen=True)
class Bounds(Promise):
    """Two columns replace a column of the original: the first is at most its value, the second at least.

    If the value of a record is missing, both cells are. Both may be missing in any record.

    Attributes:
        of: The column of the original.
    """

    of: str

    def __post_init__(self) -> None:
        if len(self.columns) != 2:
            raise UsageError(f"The bounds of {self.of!r} need two columns, not {len(self.columns)}.")


@dataclass(frozen=True)
class OnlyStars(Promise):
    """Every cell of the columns has its original value or is starred: true or blank."""


@dataclass(frozen=True)
class KOfStars(Promise):
    """Every record agrees with at least k - 1 others in the columns, where cells may be starred.

    Attributes:
        k: The smallest number of records that agree, the record included.
        reading: value: a star only agrees with a star. wildcard: a star agrees with every value.
    """

    k: int
    reading: str = "value"

    def __post_init__(self) -> None:
        check_choice("reading", self.reading, READINGS)
        if isinstance(self.k, bool) or int(self.k) != self.k or self.k < 1:
            raise UsageError(f"k must be a whole number, 1 or more, not {self.k!r}.")


@dataclass(frozen=True)
class EverySubset(Promise):
    """Every combination of up to m columns that a record has occurs in at least k records.

    A combination with a star or a missing cell is absent.

    Attributes:
        m: The largest number of columns in a combination.
        k: The smallest number of records that have a combination.
        within: Unchanged columns that are part of every combination.
    """

    m: int
    k: int
    within: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, number in (("m", self.m), ("k", self.k)):
            if isinstance(number, bool) or int(number) != number or number < 1:
                raise UsageError(f"{name} must be a whole number, 1 or more, not {number!r}.")


@dataclass(frozen=True)
class SameValues(Promise):
    """Values were only swapped: each combination of values in the columns occurs as often as before.

    Attributes:
        swaps: The pairs of rows that exchanged their values, as numbers of original rows counted from 1. If they are
            known, the release check compares each row. None: it only compares how often each combination occurs.
    """

    swaps: tuple[tuple[int, int], ...] | None = field(default=None, kw_only=True, repr=False)


@dataclass(frozen=True)
class Masked(Promise):
    """Swapped regions do not show where a target group is concentrated (group anonymity, Chertov and Tavrov 2017).

    The first of `columns` holds the regions.

    Attributes:
        target: The column that defines the target group.
        values: The values of `target` that make a record a member.
        second: The column and the values of a second group, for the signal "difference".
        outliers: The regions to hide. If there are none, the outlier test finds them in the original.
        signals: The signals in which these regions must not be outliers.
        alphas: The significance levels at which they must not be outliers.
        upper: Whether only large signals count as outliers.
        decoys: The number of new outliers that the publisher requested.
        allowed: The number of original outliers that may remain.
        outliers_only: Whether only the original outliers count: they may stay the largest, and new ones may appear.
    """

    target: str
    values: tuple[Any, ...]
    second: tuple[str, tuple[Any, ...]] | None = None
    outliers: tuple[Any, ...] = ()
    signals: tuple[str, ...] = ("quantity", "concentration")
    alphas: tuple[float, ...] = (0.001, 0.005, 0.01, 0.02, 0.05)
    upper: bool = False
    decoys: int = 0
    allowed: int = 0
    outliers_only: bool = False

    def __post_init__(self) -> None:
        for signal in self.signals:
            check_choice("signal", signal, SIGNALS)

    @property
    def region(self) -> str:
        return self.columns[0]


@dataclass(frozen=True)
class Diversity:
    """An l with its kind, and the factor c of the recursive kind."""

    l: float  # noqa: E741
    kind: str = "distinct"
    c: float = 1.0

    def __post_init__(self) -> None:
        check_choice("kind of l-diversity", self.kind, DIVERSITY_KINDS)
        if not 1 <= self.l < math.inf:
            raise UsageError(f"l must be a number, 1 or more, not {self.l!r}.")
        if not 0 < self.c < math.inf:
            raise UsageError(f"c of recursive (c, l)-diversity must be a number above 0, not {self.c!r}.")


def read_diversity(l: Any) -> Diversity | None:  # noqa: E741
    """Read l as users write it: a number, ("entropy", l) or ("recursive", c, l), where numbers may be text.

    >>> read_diversity(("recursive", 3, 2)), read_diversity("2")
    (Diversity(l=2.0, kind='recursive', c=3.0), Diversity(l=2.0, kind='distinct', c=1.0))
    """
    if l is None or isinstance(l, Diversity):
        return l
    parts = list(l) if isinstance(l, Sequence) and not isinstance(l, str) else [l]
    kind = parts.pop(0) if len(parts) > 1 else "distinct"
    check_choice("kind of l-diversity", kind, DIVERSITY_KINDS)
    try:
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != (2 if kind == "recursive" else 1):
        raise UsageError(f"l must be a number, ('entropy', l) or ('recursive', c, l), not {l!r}.")
    return Diversity(numbers[-1], kind, numbers[0] if kind == "recursive" else 1.0)


def _check_confidential(names: tuple[str, ...]) -> None:
    if not names:
        raise UsageError(
            "l and t need confidential columns. Name them with --confidential COLUMN (in Python: confidential=[...])."
        )
