"""Whatever a public function is given as data (a table, a frame, a file), as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shoal.data.table import Table, read
from shoal.errors import UsageError


def as_table(data: Any, quasi: Sequence[str] = ()) -> Table:
    """`data` if it is a table already, else the table read from it; `quasi` names its quasi-identifiers anew."""
    if not isinstance(data, Table):
        return read(data, quasi=quasi)
    return data.with_roles(replace(data.roles, quasi=tuple(quasi))) if quasi else data


def refuse_roles(table: Table, command: str, roles: Sequence[str]) -> None:
    """An error for a statement about columns that a protection cannot honour: nothing is silently ignored."""
    for role in roles:
        named = list(getattr(table.roles, role))
        if named:
            raise UsageError(
                f"--{role} {named[0]} has no meaning for {command}: leave it out, or use shoal microaggregate, which "
                "protects labels and derived columns too."
            )
