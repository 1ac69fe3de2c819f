"""Roles of columns: a role decides whether Shoal removes a column, protects it or releases it unchanged.

sdcMicro calls quasi-identifiers key variables, and ARX calls confidential columns sensitive. Shoal assumes that an
intruder knows a column without a role: the guarantee of a release covers it.
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
    """The roles of the columns of a release.

    Attributes:
        identifiers: Columns that name a person. They are removed.
        quasi: Quasi-identifiers, the columns that an intruder may know. They are protected.
        confidential: Columns that an intruder must not learn. They are released unchanged.
        weight: The column of survey weights.
        unit: The column whose value is the same in all rows of one person or household; False if every row is another
            person.
        drop: Columns that are removed.
        as_is: Columns that are released unchanged because the publisher declares that no intruder knows them.
        derived: Columns that can be computed from protected ones, with these; they are protected together.
        no_confidential: Whether the publisher declares that no column is confidential.
        reasons: Why a column is released as is, by column.
        order: The values of ordinal columns, lowest first.
        nominal: Columns of whole numbers that hold codes without an order.
        numeric: Columns of whole numbers that hold quantities.
        accept_derived: Columns that may be released although protected values can be computed from them.
        by_pattern: The as-is columns that a pattern such as `q1*` named.

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
            raise UsageError(f"weight must be the name of one column, not {self.weight!r}.")
        if self.unit is True or (self.unit is not None and not isinstance(self.unit, str | bool)):
            raise UsageError(f"unit must be the name of one column, or False if there is none, not {self.unit!r}.")
        self._check_once()
        if self.no_confidential and self.confidential:
            raise UsageError(
                f"The column {self.confidential[0]!r} is confidential, but no_confidential declares that no column is. "
                "Remove one of the two."
            )

    def _check_once(self) -> None:
        taken: dict[str, str] = {}
        for role, column in self.pairs():
            if column in taken:
                both = f"twice in {role}" if taken[column] == role else f"in {taken[column]} and in {role}"
                raise UsageError(f"The column {column!r} is {both}. A column has one role: name it once.")
            taken[column] = role
        for column in self.nominal:
            if column in self.numeric:
                raise UsageError(f"The column {column!r} is both nominal and numeric. Name it once.")

    def pairs(self) -> list[tuple[str, str]]:
        """Every assigned role with its column, as (role, column)."""
        pairs = [(role, column) for role in LISTS for column in getattr(self, role)]
        pairs += [("derived", column) for column in self.derived]
        single = [("weight", self.weight), ("unit", self.unit)]
        return pairs + [(role, column) for role, column in single if isinstance(column, str)]

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
        """Return these roles if every named column is among `columns`; otherwise raise an error."""
        known = set(columns)
        for _, column in self.pairs():
            if column not in known:
                raise unknown("column", column, columns)
        return self

    def resolve(self, columns: Sequence[str]) -> Roles:
        """Replace patterns (`q1*`) by the columns that they match; raise an error for an unknown name.

        If a column has exactly the name of the pattern, only this column is meant. A pattern never matches a column
        that another role names.
        """
        known, exact = set(columns), {name for _, name in self.pairs() if name in set(columns)}
        new: dict[str, Any] = {}
        matched: list[str] = list(self.by_pattern)
        for role in (*LISTS, *KINDS):
            expanded: list[str] = []
            for name in getattr(self, role):
                matches = _matching(name, columns, known)
                if name not in known and role in LISTS:
                    matches = [column for column in matches if column not in exact]
                    matched += matches if role == "as_is" else []
                expanded += [column for column in matches if column not in expanded]
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
        """Return these roles, and the `other` ones for columns without a role here; both are resolved."""
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
        """Return the role of a column, in words."""
        return next((WORDS.get(role, role) for role, name in self.pairs() if name == column), "none")

    def released(self) -> Roles:
        """Return the roles of the columns that remain without identifiers, dropped columns and the unit."""
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
        """Return the arguments of `shoal.read` that make these roles, without defaults."""
        arguments = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "by_pattern"}
        return {name: value for name, value in arguments.items() if value or (value is False and name == "unit")}


def _matching(name: str, columns: Sequence[str], known: set[str]) -> list[str]:
    """The columns that a name or a pattern stands for."""
    if name in known:
        return [name]
    if not any(sign in name for sign in "*?["):
        raise unknown("column", name, columns)
    matches = [column for column in columns if fnmatchcase(column, name)]
    if not matches:
        raise UsageError(f"The pattern {name!r} does not match any column. Available columns: {', '.join(columns)}.")
    return matches


def names(value: str | Iterable[str] | None, role: str) -> tuple[str, ...]:
    """A tuple of column names from one name, several or none."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    listed = tuple(value)
    for name in listed:
        if not isinstance(name, str):
            raise UsageError(f"{role} must be names of columns, not {name!r}.")
    return listed
