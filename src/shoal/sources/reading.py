"""`shoal.read`, and the conversion of data (a table, a data frame, a file) to a table."""

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
    """Read a file or data frame into a `Table` and assign roles to its columns.

    Args:
        data: The path of a file, or a data frame of pandas, polars or pyarrow.
        identifiers: Direct identifiers, such as names. They are removed.
        quasi: Quasi-identifiers, the columns that an intruder may know. They are protected.
        confidential: Columns that an intruder must not learn. They are released unchanged.
        weight: The column of survey weights.
        unit: The column that marks the rows of one person or household; False if every row is a different person.
        drop: Columns that are removed.
        as_is: Columns that are released unchanged because no intruder knows them; a mapping adds the reasons.
        derived: Columns that can be computed from protected ones, with these.
        no_confidential: Declare that no column is confidential.
        reasons: Why a column is released as is, by column.
        order: The values of ordinal columns, lowest first.
        nominal: Columns of whole numbers that hold codes without an order.
        numeric: Columns of whole numbers that hold quantities.
        accept_derived: Columns that may be released although protected values can be computed from them.
        roles: A roles file, or `Roles`; the other arguments take precedence over it.
        delimiter: The column delimiter of a text file; detected by default.
        encoding: The character encoding of a text file; detected by default.
        decimal: The decimal separator of a text file; detected by default.

    Returns:
        The table; its `notices` say what the user should know about the data.

    Raises:
        InputError: The file cannot be read.
        UsageError: A role names an unknown column, or a column has two roles.
    """
    if isinstance(as_is, Mapping):
        reasons = {**as_is, **(reasons or {})}
    assigned = Roles(
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
                raise UsageError(f"{option}={value!r} applies to text files, but the data are a data frame. Remove it.")
    if roles is not None:
        columns = wrap(data).columns
        filed = roles if isinstance(roles, Roles) else read_roles(roles)
        assigned = assigned.resolve(columns).over(filed.resolve(columns))
    return Table(data, assigned, source, notices=notices)


def as_table(data: Any, quasi: Sequence[str] = ()) -> Table:
    """Return the data as a table; `quasi` replaces its quasi-identifiers."""
    if not isinstance(data, Table):
        return read(data, quasi=quasi)
    return data.with_roles(replace(data.roles, quasi=tuple(quasi))) if quasi else data


def refuse_roles(table: Table, command: str, roles: Sequence[str]) -> None:
    """Raise an error for a role that a protection does not support, so that no role is silently ignored."""
    for role in roles:
        named = list(getattr(table.roles, role))
        if named:
            raise UsageError(
                f"{command} does not support --{role} {named[0]}. Remove it, or use shoal microaggregate, which "
                "protects labels and derived columns too."
            )
