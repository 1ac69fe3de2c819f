"""What a release was asked to keep: the columns' parts, and k, l and t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import UsageError, check_choice
from shoal.table.roles import Roles

KINDS = ("distinct", "entropy", "recursive")


@dataclass(frozen=True)
class Diversity:
    """l of confidential columns: distinct values, the exponential of their entropy, or recursive with c."""

    l: float  # noqa: E741
    kind: str = "distinct"
    c: float = 1.0


@dataclass(frozen=True)
class TargetGroup:
    """A group whose regions were swapped so that nobody sees where it is concentrated (group anonymity).

    column, values: who belongs to it. region: the column of the regions. outliers: the regions to hide, found by the
    test at its usual alpha if there are none. alphas, upper: at which levels, and on which sides, nothing may stand
    out. decoys: new outliers that were asked for. promised: the run guarantees all this, so a failure always blocks.
    """

    column: str
    values: tuple[Any, ...]
    region: str
    outliers: tuple[Any, ...] = ()
    alphas: tuple[float, ...] = (0.001, 0.005, 0.01, 0.02, 0.05)
    upper: bool = False
    decoys: int = 0
    promised: bool = False


@dataclass(frozen=True)
class Asked:
    """The columns' roles and what is promised of the release.

    quasi: the columns that were protected. within: columns that no group crosses, unchanged and protected all the
    same. column_groups: those that keep k together, where not all of them do at once. swapped: columns whose values
    changed places, none gone and none new. targets: the groups that these swaps hide. rounded: columns that were
    released in coarser steps (the weight). also: what each step of several promised. wanted_k: the k over all
    columns that was wanted but is only measured. promises_k: False for a method that hides no record, so that the
    publisher must accept a k.
    """

    roles: Roles = field(default_factory=Roles)
    quasi: tuple[str, ...] = ()
    k: int | None = None
    within: tuple[str, ...] = ()
    column_groups: tuple[tuple[str, ...], ...] = ()
    diversity: Diversity | None = None
    t: float | None = None
    distance: str = "equal"
    swapped: tuple[str, ...] = ()
    rounded: tuple[str, ...] = ()
    targets: tuple[TargetGroup, ...] = ()
    also: tuple[Asked, ...] = ()
    wanted_k: int | None = None
    promises_k: bool = True

    @property
    def identifiers(self) -> tuple[str, ...]:
        return self.roles.identifiers

    @property
    def confidential(self) -> tuple[str, ...]:
        return self.roles.confidential

    @property
    def weight(self) -> str | None:
        return self.roles.weight

    @property
    def unit(self) -> str | None:
        return self.roles.unit if isinstance(self.roles.unit, str) else None

    def __post_init__(self) -> None:
        check_choice("distance", self.distance, ("equal", "ordered"))
        if self.k is not None and (isinstance(self.k, bool) or int(self.k) != self.k or self.k < 1):
            raise UsageError(f"k must be a whole number, 1 or more, not {self.k!r}")
        if self.t is not None and not 0 <= self.t <= 1:
            raise UsageError(f"t must be between 0 and 1, not {self.t!r}")
        if (self.diversity or self.t is not None) and not self.confidential:
            raise UsageError("l and t are about confidential columns: name them with confidential=[...]")
        for group in self.column_groups:
            for name in group:
                if name not in self.quasi:
                    raise UsageError(f"the column group {', '.join(group)} names {name!r}, which is not protected")

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that may differ from the original."""
        return (*self.quasi, *self.swapped, *self.rounded)


def read_diversity(given: Any) -> Diversity | None:
    """An l: a number, ("entropy", l) or ("recursive", c, l).

    >>> read_diversity(("recursive", 3, 2))
    Diversity(l=2.0, kind='recursive', c=3.0)
    """
    if given is None or isinstance(given, Diversity):
        return given
    parts = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    kind = parts.pop(0) if len(parts) > 1 else "distinct"
    check_choice("kind of l-diversity", kind, KINDS)
    try:
        figures = [float(part) for part in parts]
    except (TypeError, ValueError):
        figures = []
    if len(figures) != (2 if kind == "recursive" else 1) or min(figures) <= 0:
        raise UsageError(f"l must be a number, ('entropy', l) or ('recursive', c, l), not {given!r}")
    return Diversity(figures[-1], kind, figures[0] if kind == "recursive" else 1.0)
