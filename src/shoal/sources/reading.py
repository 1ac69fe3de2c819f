"""`shoal.read`, and whatever a public function is given as data (a table, a frame, a file) as a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import UsageError
from shoal.notices import collecting, notice
from shoal.sources.files import read_file
from shoal.sources.roles_file import read_roles
from shoal.table.frames import wrap
from shoal.table.roles import Roles, names
from shoal.table.source import FileSource
from shoal.table.table import Table


def read(
    data: Any,
    *,
    identifiers: str | Iterable[str] = (),
    quasi: str | Iterable[str] = (),
    confidential: str | Iterable[str] = (),
    weight: str | None = None,
    unit: str | bool | None = None,
    drop: str | Iterable[str] = (),
    as_is: str | Iterable[str] | Mapping[str, str] = (),
    derived: Mapping[str, str | Iterable[str]] | None = None,
    no_confidential: bool = False,
    reasons: Mapping[str, str] | None = None,
    order: Mapping[str, Iterable[str]] | None = None,
    nominal: str | Iterable[str] = (),
    numeric: str | Iterable[str] = (),
    accept_derived: str | Iterable[str] = (),
    roles: str | os.PathLike[str] | Roles | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> Table:
    """A table from a file or a frame, with the roles of its columns (see `Roles`) and the `notices` of reading it.

    roles: a roles file, or Roles; roles that are given by name win over it. as_is may map columns to their reasons.
    delimiter, encoding, decimal: of a text file; detected by default.
    """
    if isinstance(as_is, Mapping):
        reasons = {**as_is, **(reasons or {})}
    given = Roles(
        identifiers=names(identifiers, "identifiers"),
        quasi=names(quasi, "quasi"),
        confidential=names(confidential, "confidential"),
        weight=weight,
        unit=unit,
        drop=names(drop, "drop"),
        as_is=names(as_is, "as_is"),
        derived={column: names(sources, "derived") for column, sources in (derived or {}).items()},
        no_confidential=no_confidential,
        reasons=reasons or {},
        order={column: names(values, "order") for column, values in (order or {}).items()},
        nominal=names(nominal, "nominal"),
        numeric=names(numeric, "numeric"),
        accept_derived=names(accept_derived, "accept_derived"),
    )
    source: FileSource | None = None
    notices: list[str] = []
    if isinstance(data, (str, os.PathLike)):
        with collecting(notices):
            data, source = read_file(data, delimiter=delimiter, encoding=encoding, decimal=decimal)
        for text in notices:
            notice(text)
    else:
        for option, value in {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}.items():
            if value is not None:
                raise UsageError(f"{option}={value!r} is for text files, and the data are a frame: leave it out")
    if roles is not None:
        columns = wrap(data).columns
        filed = roles if isinstance(roles, Roles) else read_roles(roles)
        given = given.resolve(columns).over(filed.resolve(columns))
    return Table(data, given, source, notices=notices)


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
