"""What the release check verifies: the columns' roles, the columns that may differ, and the guarantees."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from shoal.gate.promises import Bounds, KAnonymity, LDiversity, Promise, SameValues, Step, TCloseness
from shoal.table.roles import Roles

P = TypeVar("P", bound=Promise)
OF_CLASSES = (KAnonymity, LDiversity, TCloseness)  # about the equivalence classes of their columns


@dataclass(frozen=True)
class Guarantees:
    """The columns' roles and the guarantees of a release.

    Attributes:
        roles: The role of each column.
        columns: The columns that were protected or whose values were swapped.
        promises: The guarantees of the release and of its steps.
        rounded: Unprotected columns with coarser values than in the original (the weight).
    """

    roles: Roles = field(default_factory=Roles)
    columns: tuple[str, ...] = ()
    promises: tuple[Promise, ...] = ()
    rounded: tuple[str, ...] = ()

    def of(self, kind: type[P], *, every_step: bool = False) -> tuple[P, ...]:
        """Return the guarantees of a type; with `every_step` also those of single steps."""
        return tuple(p for p in self.promises if isinstance(p, kind) and (every_step or p.step is None))

    @property
    def quasi(self) -> tuple[str, ...]:
        """The protected columns: all columns but those whose values were only swapped."""
        moved = {name for promise in self.of(SameValues, every_step=True) for name in promise.columns}
        moved -= {name for promise in self.promises if isinstance(promise, OF_CLASSES) for name in promise.columns}
        return tuple(name for name in self.columns if name not in moved)

    @property
    def swapped(self) -> tuple[str, ...]:
        """The columns whose values were only swapped between records."""
        protected = self.quasi
        return tuple(name for name in self.columns if name not in protected)

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that may differ from the original."""
        return (*self.quasi, *self.swapped, *self.rounded)

    @property
    def within(self) -> tuple[str, ...]:
        """The unchanged columns that no group crosses, so that k holds over them too."""
        named = (name for promise in self.of(KAnonymity, every_step=True) for name in promise.columns)
        return tuple(dict.fromkeys(name for name in named if name not in self.columns))

    @property
    def k(self) -> int | None:
        """The k that is guaranteed over all protected columns, or within each column group."""
        return max((promise.k for promise in self.of(KAnonymity) if promise.promised), default=None)

    @property
    def column_groups(self) -> tuple[tuple[str, ...], ...]:
        """The column groups, if k is guaranteed within each of them instead of over all columns."""
        return tuple(promise.columns for promise in self.of(KAnonymity) if promise.group)

    @property
    def bounds(self) -> dict[str, tuple[str, str]]:
        """The columns of the original that two columns of the release replace, with these."""
        return {bound.of: (bound.columns[0], bound.columns[1]) for bound in self.of(Bounds, every_step=True)}

    @property
    def bounding(self) -> frozenset[str]:
        """The columns of the release that bound a column of the original."""
        return frozenset(name for pair in self.bounds.values() for name in pair)

    @property
    def hides_records(self) -> bool:
        """Whether the method protects single records; if not, the publisher must accept a k."""
        return bool(self.of(KAnonymity, every_step=True))

    @property
    def demands_diversity(self) -> bool:
        """Whether l or t is guaranteed."""
        return any(promise.promised for promise in (*self.of(LDiversity), *self.of(TCloseness)))

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

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that gave a guarantee, in their order."""
        return tuple(sorted({promise.step for promise in self.promises if promise.step is not None}))

    def of_step(self, step: Step) -> Guarantees:
        """Return the guarantees of one step, as if it had been the only one."""
        promises = tuple(replace(promise, step=None) for promise in self.promises if promise.step == step)
        named = {name for promise in promises for name in promise.columns}
        return replace(self, columns=tuple(name for name in self.columns if name in named), promises=promises)
