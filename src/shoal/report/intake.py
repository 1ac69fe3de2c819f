"""What came in: the rows, and each column with its role, its kind and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.report.page import Block, Grid, Text, Told
from shoal.table.table import Table

REMOVED = ("identifier", "unit", "dropped")


@dataclass(frozen=True)
class Uses:
    """What a method did with columns that have no role of their own.

    protected: columns that were protected, whether or not somebody named them. within: columns that no group crosses.
    parts: of columns in a masking. kinds: ordinal or nominal, for columns that were protected as such.
    """

    protected: Sequence[str] = ()
    within: Sequence[str] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


def intake(table: Table, least: int | None, uses: Uses) -> list[Block]:
    """The columns of a table; with `least` (an external page) no file, no removed column and no small number."""
    if least is not None:
        return _outside(table, least, uses)
    source = table.source
    where = f", read from {source.path.name} ({source.format})" if source is not None else ""
    rows = []
    for column in table.describe():
        name = column.name
        meaning = _meaning(table, name, uses)
        role = _role(table, name, uses)
        shown = Told(role, meaning) if meaning else f"{role} (removed)" if role in REMOVED else role
        rows.append([name, shown, _kind(column.kind, name, uses), column.distinct, column.missing])
    blocks: list[Block] = [
        Text(f"{table.rows:,} records with {len(table.columns)} columns{where}."),
        Grid(["column", "role", "kind", "distinct values", "missing"], rows, text=3),
    ]
    if any(row[1] == "none" for row in rows):
        blocks.append(
            Text("A column without a role is released unchanged and counts as known to an intruder.", note=True)
        )
    return [*blocks, *(Text(statement) for statement in _statements(table))]


def _outside(table: Table, least: int, uses: Uses) -> list[Block]:
    removed = table.roles.removed
    rows = [
        [
            c.name,
            _role(table, c.name, uses),
            _kind(c.kind, c.name, uses),
            c.missing if not 0 < c.missing < least else f"fewer than {least}",
        ]
        for c in table.describe()
        if c.name not in removed
    ]
    gone = f" {len(removed)} more {'was' if len(removed) == 1 else 'were'} removed." if removed else ""
    return [
        Text(f"{table.rows:,} records with {len(rows)} columns.{gone}"),
        Grid(["column", "role", "kind", "missing"], rows, text=3),
    ]


def _role(table: Table, name: str, uses: Uses) -> str:
    if name in uses.parts:
        return uses.parts[name]
    role = table.roles.of(name)
    return "quasi-identifier" if role == "none" and name in (*uses.protected, *uses.within) else role


def _meaning(table: Table, name: str, uses: Uses) -> str:
    """What the role means for this column, where the role alone does not say it."""
    roles, role = table.roles, table.roles.of(name)
    parts = []
    if role == "as-is":
        reason = roles.reasons.get(name, "").strip().rstrip(".")
        parts.append(f"{reason}." if reason else "No reason was given.")
        parts += ["Named by a pattern."] if name in roles.by_pattern else []
    if name in roles.derived:
        parts.append(f"Follows from {', '.join(roles.derived[name])}, and is protected with it.")
    if name in uses.within:
        parts.append("No group crosses it; it is unchanged.")
    if name in roles.accept_derived:
        parts.append("It may give a protected value away: accepted.")
    return " ".join(parts)


def _kind(kind: str, name: str, uses: Uses) -> str:
    """What the column holds, and how it was protected if that is not the same."""
    as_what = uses.kinds.get(name, kind)
    return f"{kind}, {as_what}" if as_what in ("ordinal", "nominal") else kind


def _statements(table: Table) -> list[str]:
    """What the publisher states about the whole file."""
    roles = table.roles
    found = ["The publisher states that every row is another person."] if roles.unit is False else []
    found += ["The unit marks the rows of one person or household."] if isinstance(roles.unit, str) else []
    return [*found, *(["The publisher states that no column is confidential."] if roles.no_confidential else [])]
