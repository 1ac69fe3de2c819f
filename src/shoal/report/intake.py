"""The section on the input data: the records, and the role, kind and missing values of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.errors import counted
from shoal.report.page import Block, Grid, MeasureCell, Text
from shoal.table.table import Table

REMOVED = ("identifier", "unit", "dropped")


@dataclass(frozen=True)
class Uses:
    """How a method used the columns.

    Attributes:
        protected: The protected columns, with or without a role.
        within: Columns that are constant within every group.
        parts: What columns are for in a masking.
        kinds: "ordinal" or "nominal", for columns that were protected as such.
    """

    protected: Sequence[str] = ()
    within: Sequence[str] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


def input_section(table: Table, min_records: int | None, uses: Uses) -> list[Block]:
    """The columns of a table; with `min_records` (a public report), without file, removed columns and small numbers."""
    if min_records is not None:
        return _outside(table, min_records, uses)
    source = table.source
    where = f", read from {source.path.name} ({source.format})" if source is not None else ""
    rows = []
    for column in table.describe():
        name = column.name
        meaning = _meaning(table, name, uses)
        role = _role(table, name, uses)
        shown = MeasureCell(role, meaning) if meaning else f"{role} (removed)" if role in REMOVED else role
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


def _outside(table: Table, min_records: int, uses: Uses) -> list[Block]:
    removed = table.roles.removed
    rows = [
        [
            c.name,
            _role(table, c.name, uses),
            _kind(c.kind, c.name, uses),
            c.missing if not 0 < c.missing < min_records else f"fewer than {min_records}",
        ]
        for c in table.describe()
        if c.name not in removed
    ]
    columns = counted(len(removed), "other column")
    gone = f" {columns} {'was' if len(removed) == 1 else 'were'} removed." if removed else ""
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
    """What the role means for this column, if the role alone does not say it."""
    roles, role = table.roles, table.roles.of(name)
    parts = []
    if role == "as-is":
        reason = roles.reasons.get(name, "").strip().rstrip(".")
        parts.append(f"{reason}." if reason else "No reason is recorded.")
        parts += ["A pattern assigned this role."] if name in roles.by_pattern else []
    if name in roles.derived:
        parts.append(f"It can be computed from {', '.join(roles.derived[name])} and is protected together with it.")
    if name in uses.within:
        parts.append("All records of a group have the same value; it is unchanged.")
    if name in roles.accept_derived:
        parts.append("A protected value may be computed from it; the publisher accepted this.")
    return " ".join(parts)


def _kind(kind: str, name: str, uses: Uses) -> str:
    """The kind of a column, and the kind as which it was protected if that is different."""
    as_what = uses.kinds.get(name, kind)
    return f"{kind}, {as_what}" if as_what in ("ordinal", "nominal") else kind


def _statements(table: Table) -> list[str]:
    """What the publisher declares about the whole file."""
    roles = table.roles
    statements = ["The publisher declares that every row is a different person."] if roles.unit is False else []
    statements += ["The unit marks the rows of one person or household."] if isinstance(roles.unit, str) else []
    statements += ["The publisher declares that no column is confidential."] if roles.no_confidential else []
    return statements
