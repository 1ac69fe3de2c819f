"""Roles files: the roles of the columns as TOML, written by `shoal look --save-roles` and reviewed by a person.

The tables `[identifiers]`, `[quasi]`, `[confidential]`, `[drop]` and `[as-is]` have the key `columns`, a list of names
or patterns. `[as-is]` also has `reason`: one text, or a table with one text per column. `[order]` and `[derived]` have
one list per column. The top-level keys are `weight`, `unit` (a column, or false), `no_confidential`, `nominal`,
`numeric` and `accept_derived`.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import InputError, UsageError, unknown
from shoal.sources.paths import file_named
from shoal.table.roles import LISTS, Roles

TABLES = tuple(role.replace("_", "-") for role in LISTS)
TOP = ("weight", "unit", "no_confidential", "nominal", "numeric", "accept_derived")


def read_roles(path: str | os.PathLike[str]) -> Roles:
    """Read the roles of a file; patterns are not resolved."""
    source = file_named(path)
    try:
        document = tomllib.loads(source.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"Cannot read the roles file {source}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"The roles file {source} is not valid TOML: {error}.") from None
    for key in document:
        if key not in (*TABLES, *TOP, "order", "derived"):
            raise InputError(f"{source}: {unknown('key of a roles file', key, (*TABLES, *TOP, 'order', 'derived'))}")
    try:
        lists: dict[str, Any] = {name.replace("-", "_"): _columns(document.get(name, {}), name) for name in TABLES}
        tops: dict[str, Any] = {key: value for key, value in document.items() if key in TOP}
        tops |= {key: _names(value, key) for key, value in tops.items() if isinstance(value, list)}
        by_column: dict[str, Any] = {key: _lists(document.get(key, {}), key) for key in ("order", "derived")}
        reasons = _reasons(document.get("as-is", {}), lists["as_is"])
        return Roles(**lists, **tops, **by_column, reasons=reasons)
    except UsageError as error:
        raise InputError(f"{source}: {error}") from None


def roles_text(roles: Roles, reasons: Mapping[str, str] | None = None, note: str = "") -> str:
    """The roles as TOML; `reasons` become comments next to the columns, for the person who reviews them."""
    why = dict(reasons or {})
    lines = [f"# {line}" for line in note.splitlines()]
    if roles.weight is not None:
        lines.append(f"weight = {_text(roles.weight)}{_comment(why, roles.weight)}")
    if roles.unit is not None:
        lines.append(f"unit = {_text(roles.unit)}{_comment(why, roles.unit)}")
    if roles.no_confidential:
        lines.append("no_confidential = true")
    for key in ("nominal", "numeric", "accept_derived"):
        if getattr(roles, key):
            lines.append(f"{key} = {_text(list(getattr(roles, key)))}")
    for role, table in zip(LISTS, TABLES, strict=True):
        columns = getattr(roles, role)
        if not columns:
            continue
        lines += ["", f"[{table}]", "columns = ["]
        lines += [f"  {_text(column)},{_comment(why, column)}" for column in columns]
        lines.append("]")
        if role == "as_is" and roles.reasons:
            by_column = ", ".join(f"{_text(column)} = {_text(reason)}" for column, reason in roles.reasons.items())
            lines.append(f"reason = {{ {by_column} }}")
    for key in ("order", "derived"):
        if getattr(roles, key):
            lines += ["", f"[{key}]"]
            lines += [f"{_text(column)} = {_text(list(values))}" for column, values in getattr(roles, key).items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def _comment(why: Mapping[str, str], column: object) -> str:
    return f"  # {' '.join(why[column].split())}" if isinstance(column, str) and column in why else ""


def _text(value: object) -> str:
    """A TOML value; strings and arrays of strings are written as in JSON, except for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _columns(table: Any, name: str) -> tuple[str, ...]:
    if not isinstance(table, Mapping):
        raise UsageError(f'[{name}] must be a table with columns = ["a", "b"], not {table!r}.')
    allowed = ("columns", "reason") if name == "as-is" else ("columns",)
    for key in table:
        if key not in allowed:
            raise unknown(f"key in [{name}]", key, allowed)
    return _names(table.get("columns", []), f"[{name}] columns")


def _reasons(table: Mapping[str, Any], columns: Sequence[str]) -> dict[str, str]:
    reason = table.get("reason", {})
    reasons = dict.fromkeys(columns, reason) if isinstance(reason, str) else reason
    if not isinstance(reasons, Mapping) or not all(isinstance(text, str) for text in reasons.values()):
        raise UsageError(f"The reason in [as-is] must be a text, or one text per column, not {reason!r}.")
    for column in reasons:
        if column not in columns:
            raise unknown("column of [as-is] with a reason", column, columns)
    return {column: text for column, text in reasons.items() if text.strip()}


def _lists(table: Any, name: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, Mapping):
        raise UsageError(f'[{name}] must hold one list per column, as in x = ["a", "b"], not {table!r}.')
    return {column: _names(values, f"[{name}] {column}") for column, values in table.items()}


def _names(values: Any, where: str) -> tuple[str, ...]:
    listed = [values] if isinstance(values, str) else values
    if not isinstance(listed, list) or not all(isinstance(value, str) for value in listed):
        raise UsageError(f"{where} must be a list of texts, not {values!r}.")
    return tuple(listed)
