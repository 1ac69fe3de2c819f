"""What each column is for: its role decides whether it is removed, protected or released unchanged.

Other tools say key variables for quasi-identifiers and sensitive for confidential columns. A column without a role
counts as known to an intruder: it decides whether a release keeps its guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from shoal.errors import UsageError, unknown

LISTS = ("identifiers", "quasi", "confidential", "drop", "as_is")
KINDS = ("nominal", "numeric")
WORDS = {
    "identifiers": "identifier",
    "quasi": "quasi-identifier",
    "as_is": "as-is",
    "drop": "dropped",
    "derived": "derived",
}


@dataclass(frozen=True)
class Roles:
    """The columns' roles in a release.

    identifiers, drop: removed. quasi: protected. confidential: released, must not be learnt. as_is: released unchanged
    because the publisher states that no intruder knows it, with its reason in `reasons`. weight: a survey weight.
    unit: the column whose value marks the rows of one person or household; False: every row is another person.
    derived: columns that follow from protected ones and are protected with them. no_confidential: the publisher states
    that no column is confidential. order: the values of ordinal columns, lowest first. nominal, numeric: what columns
    of whole numbers hold. accept_derived: columns that may give a protected value away. by_pattern: as-is columns that
    a pattern named.

    >>> Roles(quasi=["age", "income"]).quasi
    ('age', 'income')
    """

    identifiers: tuple[str, ...] = ()
    quasi: tuple[str, ...] = ()
    confidential: tuple[str, ...] = ()
    weight: str | None = None
    unit: str | bool | None = None
    drop: tuple[str, ...] = ()
    as_is: tuple[str, ...] = ()
    derived: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    no_confidential: bool = False
    reasons: Mapping[str, str] = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nominal: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    accept_derived: tuple[str, ...] = ()
    by_pattern: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for role in (*LISTS, *KINDS, "accept_derived", "by_pattern"):
            object.__setattr__(self, role, names(getattr(self, role), role))
        for role in ("derived", "order"):
            listed = {column: names(part, role) for column, part in dict(getattr(self, role)).items()}
            object.__setattr__(self, role, listed)
        if self.weight is not None and not isinstance(self.weight, str):
            raise UsageError(f"weight must be the name of one column, not {self.weight!r}")
        if self.unit is True or (self.unit is not None and not isinstance(self.unit, str | bool)):
            raise UsageError(f"unit must be the name of one column, or False where there is none, not {self.unit!r}")
        self._check_once()
        if self.no_confidential and self.confidential:
            raise UsageError(
                f"either a column is confidential ({self.confidential[0]!r}) or none is (no_confidential), not both"
            )

    def _check_once(self) -> None:
        taken: dict[str, str] = {}
        for role, column in self.pairs():
            if column in taken:
                both = f"twice in {role}" if taken[column] == role else f"in {taken[column]} and in {role}"
                raise UsageError(f"the column {column!r} is {both}; a column has one role: name it once")
            taken[column] = role
        for column in self.nominal:
            if column in self.numeric:
                raise UsageError(f"the column {column!r} is both nominal and numeric: name it once")

    def pairs(self) -> list[tuple[str, str]]:
        """Every (role, column) that was assigned."""
        found = [(role, column) for role in LISTS for column in getattr(self, role)]
        found += [("derived", column) for column in self.derived]
        single = [("weight", self.weight), ("unit", self.unit)]
        return found + [(role, column) for role, column in single if isinstance(column, str)]

    @property
    def assigned(self) -> frozenset[str]:
        """The columns that have a role."""
        return frozenset(column for _, column in self.pairs())

    @property
    def removed(self) -> tuple[str, ...]:
        """The columns that a release does not hold."""
        unit = (self.unit,) if isinstance(self.unit, str) else ()
        return (*self.identifiers, *self.drop, *unit)

    def check(self, columns: Sequence[str]) -> Roles:
        """Itself if every named column is among `columns`; an error otherwise."""
        known = set(columns)
        for _, column in self.pairs():
            if column not in known:
                raise unknown("column", column, columns)
        return self

    def resolve(self, columns: Sequence[str]) -> Roles:
        """The roles with patterns (`q1*`) replaced by the columns they match; unknown names are an error.

        A column of exactly the pattern's name wins, and a column named in another role is not matched.
        """
        known, exact = set(columns), {name for _, name in self.pairs() if name in set(columns)}
        new: dict[str, Any] = {}
        matched: list[str] = list(self.by_pattern)
        for role in (*LISTS, *KINDS):
            expanded: list[str] = []
            for name in getattr(self, role):
                found = _matching(name, columns, known)
                if name not in known and role in LISTS:
                    found = [column for column in found if column not in exact]
                    matched += found if role == "as_is" else []
                expanded += [column for column in found if column not in expanded]
            new[role] = tuple(expanded)
        named = [self.weight, self.unit, *self.derived, *self.order, *self.accept_derived]
        for name in (*named, *(source for part in self.derived.values() for source in part)):
            if isinstance(name, str) and name not in known:
                raise unknown("column", name, columns)
        reasons = {
            column: reason
            for name, reason in self.reasons.items()
            for column in _matching(name, columns, known)
            if column in new["as_is"]
        }
        return replace(self, **new, reasons=reasons, by_pattern=tuple(dict.fromkeys(matched)))

    def over(self, other: Roles) -> Roles:
        """These roles, completed by the `other` ones for columns that have none here; both are resolved."""
        mine = self.assigned
        kept = {role: (*getattr(self, role), *(c for c in getattr(other, role) if c not in mine)) for role in LISTS}
        derived = {**{c: part for c, part in other.derived.items() if c not in mine}, **self.derived}
        weight = self.weight if self.weight is not None else other.weight if other.weight not in mine else None
        unit = self.unit if self.unit is not None else other.unit if other.unit not in mine else None
        mine_kinds = {*self.nominal, *self.numeric}
        kinds = {k: (*getattr(self, k), *(c for c in getattr(other, k) if c not in mine_kinds)) for k in KINDS}
        return Roles(
            **kept,
            **kinds,
            weight=weight,
            unit=unit,
            derived=derived,
            no_confidential=(self.no_confidential or other.no_confidential) and not kept["confidential"],
            reasons={**other.reasons, **self.reasons},
            order={**other.order, **self.order},
            accept_derived=tuple(dict.fromkeys((*other.accept_derived, *self.accept_derived))),
            by_pattern=tuple(c for c in (*self.by_pattern, *other.by_pattern) if c in kept["as_is"]),
        )

    def of(self, column: str) -> str:
        """A column's role in a word."""
        return next((WORDS.get(role, role) for role, name in self.pairs() if name == column), "none")

    def released(self) -> Roles:
        """The roles of what is left once identifiers, dropped columns and the unit are removed."""
        gone = set(self.removed)
        derived = {c: tuple(s for s in sources if s not in gone) for c, sources in self.derived.items()}
        return replace(
            self,
            identifiers=(),
            drop=(),
            unit=None,
            derived=derived,
            order={c: values for c, values in self.order.items() if c not in gone},
            nominal=tuple(c for c in self.nominal if c not in gone),
            numeric=tuple(c for c in self.numeric if c not in gone),
            accept_derived=tuple(c for c in self.accept_derived if c not in gone),
        )

    def as_dict(self) -> dict[str, Any]:
        """What was given, without what is so by default: the arguments of `shoal.read`."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "by_pattern"}
        return {name: value for name, value in found.items() if value or (value is False and name == "unit")}


def _matching(name: str, columns: Sequence[str], known: set[str]) -> list[str]:
    """The columns that a name or a pattern means."""
    if name in known:
        return [name]
    if not any(sign in name for sign in "*?["):
        raise unknown("column", name, columns)
    found = [column for column in columns if fnmatchcase(column, name)]
    if not found:
        raise UsageError(f"the pattern {name!r} matches none of the columns: {', '.join(columns)}")
    return found


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
