"""What came in: the rows, and each column with its role, its kind and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.data.table import Table
from shoal.report.page import Block, Grid, Text


def intake(
    table: Table, least: int | None, protected: Sequence[str] = (), parts: Mapping[str, str] | None = None
) -> list[Block]:
    """The columns of a table; with `least` (an external page) no file, no identifier and no small number.

    protected: columns that are quasi-identifiers although nobody named them so. parts: of columns in a masking.
    """
    roles = {name: _role(table, name, protected) for name in table.columns} | dict(parts or {})
    if least is not None:
        return _told_outside(table, roles, least)
    source = table.source
    where = f", read from {source.path.name} ({source.format})" if source is not None else ""
    rows = [[c.name, roles[c.name], c.kind, c.distinct, c.missing] for c in table.describe()]
    return [
        Text(f"{table.rows:,} records with {len(table.columns)} columns{where}."),
        Grid(["column", "role", "kind", "distinct values", "missing"], rows, text=3),
    ]


def _told_outside(table: Table, roles: dict[str, str], least: int) -> list[Block]:
    dropped = table.roles.identifiers
    rows = [
        [c.name, roles[c.name], c.kind, c.missing if not 0 < c.missing < least else f"fewer than {least}"]
        for c in table.describe()
        if c.name not in dropped
    ]
    gone = f" {len(dropped)} more, which name somebody, were removed." if dropped else ""
    return [
        Text(f"{table.rows:,} records with {len(rows)} columns.{gone}"),
        Grid(["column", "role", "kind", "missing"], rows, text=3),
    ]


def _role(table: Table, name: str, protected: Sequence[str]) -> str:
    role = table.roles.of(name)
    return "quasi-identifier" if role == "other" and name in protected else role
