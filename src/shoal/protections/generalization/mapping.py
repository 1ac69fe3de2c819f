"""A mapping of values to categories, as a file that can be applied to new data.

Numbers and dates are mapped by intervals, so a new number gets the category whose interval contains it. A new name is
an error, and so is a number outside every interval. In an open domain the first interval has no lower bound and the
last has no upper bound. The file writes "open" for these bounds.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.protections.generalization.bits import groups_of
from shoal.table.dates import date_text, day_of_moment
from shoal.table.domain import Domain
from shoal.table.labels import group_names

FORMAT = "shoal generalization"
OPEN = "open"  # an infinite bound
AGAIN = "Write the mapping again with shoal generalize --mapping."


@dataclass(frozen=True)
class Group:
    """A category: its label, and its names or its numbers from low to high (dates: days since 1970).

    closed: high is included. low or high is infinite if the interval is open. Both are None if there are no numbers.
    """

    label: str
    values: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    closed: bool = True
    missing: bool = False

    def holds(self, value: float) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low <= value and (value <= self.high if self.closed else value < self.high)


@dataclass(frozen=True)
class ColumnMapping:
    """The categories of one column; dates are numeric too."""

    name: str
    numeric: bool
    groups: tuple[Group, ...]
    dates: bool = False

    def labels_of(self, values: Sequence[Any]) -> list[str]:
        """Return the label of each value; None stands for a missing value."""
        by_name = {value: group.label for group in self.groups for value in group.values}
        return [self._label(value, by_name) for value in values]

    def _label(self, value: Any, by_name: dict[str, str]) -> str:
        if value is None:
            label = next((group.label for group in self.groups if group.missing), None)
            if label is None:
                raise InputError(f"The column {self.name!r} has missing values, and the mapping has no label for them.")
            return label
        if self.numeric:
            label = next((group.label for group in self.groups if group.holds(float(value))), None)
            if label is None:
                shown = date_text(value, "day") if self.dates else f"{value:g}"
                raise InputError(
                    f"The column {self.name!r} has the value {shown}, which lies in none of the mapping's intervals: "
                    f"{', '.join(group.label for group in self.groups[:8])}."
                )
            return label
        if str(value) not in by_name:
            raise InputError(
                f"The column {self.name!r} has the value {str(value)!r}, which the mapping does not know. "
                "Generalize the data anew, or add the value to one of the mapping's categories."
            )
        return by_name[str(value)]


@dataclass(frozen=True)
class Mapping:
    """The mappings of all quasi-identifiers, and the k of their release."""

    k: int
    columns: tuple[ColumnMapping, ...]

    def save(self, path: Path) -> None:
        """Write the mapping as JSON; `read_mapping` reads it."""
        path.write_text(json.dumps(self.as_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    def save_legend(self, path: Path) -> None:
        """Write the values of every category as CSV: column, category, values."""
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["column", "category", "values"])
            for column in self.columns:
                for group in column.groups:
                    values = [*group.values, *(["missing"] if group.missing else [])]
                    writer.writerow([column.name, group.label, " | ".join(values) if group.values else group.label])

    def as_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": 1,
            "k": self.k,
            "columns": [
                {
                    "name": c.name,
                    "numeric": c.numeric,
                    **({"dates": True} if c.dates else {}),
                    "groups": [_group_dict(g, c.dates) for g in c.groups],
                }
                for c in self.columns
            ],
        }


def mapping_of(domains: Sequence[Domain], labels: NDArray[np.int64], k: int, full: bool = False) -> Mapping:
    """Return the mapping of a generalization. full: long labels are not cut."""
    return Mapping(k, tuple(_column(domain, labels[j], full) for j, domain in enumerate(domains)))


def categories(domain: Domain, labels: NDArray[np.int64]) -> list[list[int]]:
    """Return the categories of a column as value codes, with the one of missing values that stay alone."""
    return groups_of(labels, domain.size) + ([[domain.missing_code]] if domain.alone else [])


def read_mapping(source: str | os.PathLike[str] | Dict[str, Any]) -> Mapping:
    """Return a mapping from its JSON file, or from the content of such a file."""
    if isinstance(source, Dict):
        return _mapping(source, "The mapping")
    path = Path(source)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The mapping {str(path)!r} cannot be read: {error.strerror}.") from error
    except RecursionError:
        raise InputError(f"The mapping {str(path)!r} is damaged: it is nested too deeply.") from None
    except ValueError as error:
        raise InputError(f"The mapping {str(path)!r} is not valid JSON: {error}.") from error
    return _mapping(content, f"The mapping {str(path)!r}")


def _mapping(content: Any, name: str) -> Mapping:
    if not isinstance(content, Dict) or content.get("format") != FORMAT:
        raise InputError(f"{name} was not written by shoal generalize --mapping: its 'format' must be {FORMAT!r}.")
    try:
        columns = tuple(_read_column(column) for column in content["columns"])
        names = [column.name for column in columns]
        _require(bool(names), "it has no columns")
        _require(len(set(names)) == len(names), "it has a column twice")
        _require(
            _is_whole(content["k"]) and content["k"] >= 1,
            f"its k is {content['k']!r}, not a whole number of at least 1",
        )
        return Mapping(content["k"], columns)
    except KeyError as error:
        raise InputError(f"{name} is damaged: {error} is missing. {AGAIN}") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is damaged: {error}. {AGAIN}") from None


def _read_column(entry: Any) -> ColumnMapping:
    _require(isinstance(entry, Dict), f"{entry!r} does not describe a column")
    name, numeric = entry["name"], entry["numeric"]
    _require(isinstance(name, str) and bool(name), f"{name!r} is not the name of a column")
    _require(isinstance(numeric, bool), f"'numeric' of the column {name!r} is {numeric!r}, not true or false")
    dates = entry.get("dates", False)
    _require(isinstance(dates, bool), f"'dates' of the column {name!r} is {dates!r}, not true or false")
    groups = tuple(_read_group(group, name, numeric, dates) for group in entry["groups"])
    _require(bool(groups), f"the column {name!r} has no groups")
    labels = [group.label for group in groups]
    _require(len(set(labels)) == len(labels), f"the column {name!r} has two groups with the same label")
    held = [value for group in groups for value in group.values]
    _require(len(set(held)) == len(held), f"the column {name!r} has a value in two groups")
    return ColumnMapping(name, numeric, groups, dates)


def _read_group(entry: Any, column: str, numeric: bool, dates: bool) -> Group:
    _require(isinstance(entry, Dict), f"the column {column!r} has the group {entry!r}, not a table")
    what = f"a group of the column {column!r}"
    known = {"label", "values", "low", "high", "closed", "missing"}
    _require(set(entry) <= known, f"{what} has the key {next(iter(set(entry) - known), '')!r}, which is unknown")
    label, values = entry["label"], entry.get("values", [])
    _require(("low" in entry) == ("high" in entry), f"{what} has one bound, not two")
    low, high = (_read_bound(entry, key, what, dates) for key in ("low", "high"))
    _require(isinstance(label, str) and bool(label), f"{what} has the label {label!r}, not a text")
    _require(isinstance(values, list | tuple), f"{what} has the values {values!r}, not a list")
    _require(all(isinstance(value, str) for value in values), f"{what} has a value that is not a text")
    _require(low is None or high is None or low <= high, f"{what} ends at {high!r}, before it begins at {low!r}")
    for key in ("closed", "missing"):
        _require(isinstance(entry.get(key, True), bool), f"{what} has {key} = {entry.get(key)!r}, not true or false")
    holds_nothing = low is None and not values and not entry.get("missing", False)
    _require(not holds_nothing, f"{what}, {label!r}, has neither values nor bounds")
    _require(not numeric or not values, f"{what} has names, but the column holds numbers")
    return Group(**{**entry, "values": tuple(values), "low": low, "high": high})


def _read_bound(entry: Dict[str, Any], key: str, what: str, dates: bool) -> float | None:
    """Return a bound: None if the group has no numbers, infinite if it is open."""
    if key not in entry:
        return None
    bound = entry[key]
    if bound == OPEN:
        return -math.inf if key == "low" else math.inf
    if dates:
        _require(isinstance(bound, str), f"{what} has the bound {bound!r}, not a date such as '2001-03-31'")
        return day_of_moment(bound)
    _require(_is_number(bound), f"{what} has the bound {bound!r}, not a number")
    return float(bound)


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _column(domain: Domain, labels: NDArray[np.int64], full: bool) -> ColumnMapping:
    groups = categories(domain, labels)
    names = group_names(domain, groups, full)
    return ColumnMapping(
        domain.name,
        domain.numeric,
        tuple(_group(domain, group, name) for group, name in zip(groups, names, strict=True)),
        dates=bool(domain.unit),
    )


def _group(domain: Domain, group: Sequence[int], name: str) -> Group:
    inside = domain.numbers_of(group)
    missing = len(inside) < len(group)
    if not inside or not domain.numeric:
        return Group(name, values=tuple(str(domain.values[number]) for number in inside), missing=missing)
    starts, ends = inside[0] == 0, inside[-1] == domain.present - 1
    if domain.edges:
        low, high, closed = domain.edges[inside[0]], domain.edges[inside[-1] + 1], False
    else:
        low, high, closed = domain.values[inside[0]], domain.values[inside[-1]], True
    if domain.is_open and low != high:
        low, high = -math.inf if starts else low, math.inf if ends else high
    return Group(name, low=low, high=high, closed=closed, missing=missing)


def _group_dict(group: Group, dates: bool) -> dict[str, Any]:
    """Return the entries of a group that are not empty."""
    plain: dict[str, Any] = {"label": group.label}
    if group.values:
        plain["values"] = list(group.values)
    if group.low is not None and group.high is not None:
        plain |= {"low": _bound(group.low, dates), "high": _bound(group.high, dates), "closed": group.closed}
    if group.missing:
        plain["missing"] = True
    return plain


def _bound(value: float, dates: bool) -> Any:
    """Return a bound as the file writes it: dates in ISO form."""
    if math.isinf(value):
        return OPEN
    return date_text(value, "day") if dates else value
