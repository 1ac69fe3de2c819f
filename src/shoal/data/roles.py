"""What each column is for: identifiers go, quasi-identifiers are protected, confidential ones are kept.

Other tools say key variables for quasi-identifiers and sensitive for confidential ones.
A column without a role is released as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shoal.errors import UsageError, unknown


@dataclass(frozen=True)
class Roles:
    """The columns' parts in a release.

    >>> Roles(quasi=["age", "income"]).quasi
    ('age', 'income')
    """

    identifiers: tuple[str, ...] = ()
    quasi: tuple[str, ...] = ()
    confidential: tuple[str, ...] = ()
    weight: str | None = None

    def __post_init__(self) -> None:
        for role in ("identifiers", "quasi", "confidential"):
            object.__setattr__(self, role, names(getattr(self, role), role))
        if self.weight is not None and not isinstance(self.weight, str):
            raise UsageError(f"weight must be the name of one column, not {self.weight!r}")
        taken: dict[str, str] = {}
        for role, column in self.pairs():
            if column in taken:
                both = f"twice in {role}" if taken[column] == role else f"in {taken[column]} and in {role}"
                raise UsageError(f"the column {column!r} is {both}; a column has one role: name it once")
            taken[column] = role

    def pairs(self) -> list[tuple[str, str]]:
        """Every (role, column) that was given."""
        given = [(role, column) for role in ("identifiers", "quasi", "confidential") for column in getattr(self, role)]
        return given + ([("weight", self.weight)] if self.weight is not None else [])

    def check(self, columns: Sequence[str]) -> Roles:
        """Itself if every named column is among `columns`; an error otherwise."""
        known = set(columns)
        for _, column in self.pairs():
            if column not in known:
                raise unknown("column", column, columns)
        return self

    def of(self, column: str) -> str:
        """A column's role in a word."""
        words = {"identifiers": "identifier", "quasi": "quasi-identifier"}
        return next((words.get(role, role) for role, name in self.pairs() if name == column), "other")

    def released(self) -> Roles:
        """The roles of what is left once the identifiers are gone."""
        return replace(self, identifiers=())


def names(given: str | Iterable[str] | None, role: str) -> tuple[str, ...]:
    """A tuple of column names from one name, several or none."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    listed = tuple(given)
    for name in listed:
        if not isinstance(name, str):
            raise UsageError(f"{role} must be names of columns, not {name!r}")
    return listed
