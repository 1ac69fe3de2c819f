"""Groups within classes of records: no group crosses the `within` columns.

The classes of the `within` columns are grouped one after the other, as if each were a separate file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.errors import InputError, ShoalError, UsageError, unknown
from shoal.protections.microaggregation.sums_of_squares import sse_of
from shoal.protections.units import units_per_group
from shoal.table.kinds import Labels, kind_of, labels_of
from shoal.table.table import Table

MOST_LISTED = 10  # small classes in a message
SUMMED = ("proposals", "lower_bound")


def classes_of(table: Table, within: Sequence[str]) -> tuple[Ints, list[Labels]]:
    """Return each record's class over the columns, from 0, and the labels of the columns; missing counts as a value."""
    labels = [_labels(table, name) for name in within]
    classes = np.zeros(table.rows, dtype=np.int64)
    for label in labels:
        codes = np.where(label.codes < 0, len(label.texts), label.codes)
        classes = np.unique(classes * (len(label.texts) + 1) + codes, return_inverse=True)[1].reshape(-1)
    return classes, labels


def check_classes(classes: Ints, labels: Sequence[Labels], units: Ints | None, k: int) -> None:
    """Raise InputError with a list of the classes with fewer than k records (or units), each with a class to merge."""
    sizes = np.bincount(classes) if units is None else units_per_group(classes, units)
    small = np.flatnonzero(sizes < k)
    if not small.size:
        return
    what = "records" if units is None else "units"
    first = np.unique(classes, return_index=True)[1]
    codes = np.column_stack([label.codes[first] for label in labels])
    listed = small[:MOST_LISTED]
    lines = [f"\n  {_name(labels, codes[c])}: {sizes[c]}{_merge_hint(labels, codes, sizes, c, k)}" for c in listed]
    more = f"\n  and {small.size - MOST_LISTED:,} more" if small.size > MOST_LISTED else ""
    named = ",".join(label.name for label in labels)
    raise InputError(
        f"{small.size:,} of {sizes.size:,} classes of --within {named} have fewer than k = {k} {what}, so no group "
        f"fits in them:{''.join(lines)}{more}\n"
        "Merge values in the file, name fewer columns in --within, or protect a column with --quasi instead."
    )


def grouped_within(
    search: Callable[[Ints], KPartition], scaled: Floats, weights: Floats | None, classes: Ints, control: Control
) -> KPartition:
    """Return one partition of all classes; `search` groups the records of one class."""
    labels, groups = np.empty(classes.size, dtype=np.int64), 0
    order, sizes = np.argsort(classes, kind="stable"), np.bincount(classes)
    parts: list[Mapping[str, Any]] = []
    for number, rows in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        part = search(rows)
        labels[rows] = part.labels + groups
        groups += part.groups
        parts.append({**part.facts, "sse": sse_of(part, scaled[rows], None if weights is None else weights[rows])})
        control.show(number + 1, sizes.size, None, "classes")
    return KPartition(labels, {"classes": int(sizes.size), **_combined(parts)})


def _combined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts of all parts together: sums, and what all parts agree in; stages are left out."""
    facts: dict[str, Any] = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        values = [part[name] for part in parts if name in part]
        if name in SUMMED and len(values) == len(parts) and None not in values:
            facts[name] = sum(values)
        elif name == "stopped":
            facts[name] = True
        elif name == "proved":
            facts[name] = len(values) == len(parts) and all(values)
        elif name not in ("stages", "gap", "sse", *SUMMED) and all(value == values[0] for value in values):
            facts[name] = values[0]
    bound, sse = facts.get("lower_bound"), sum(part["sse"] for part in parts)
    if bound is not None:
        facts["gap"] = 100.0 * max(0.0, sse - bound) / bound if bound > 0 else (0.0 if sse == 0 else None)
    return facts


# -- messages -------------------------------------------------------------------------------------------


def check_within(table: Table, within: Sequence[str]) -> None:
    """Raise UsageError if a column is unknown, named twice, or has another role than quasi-identifier."""
    for i, name in enumerate(within):
        if name not in table.columns:
            raise unknown("column", name, table.columns)
        if name in within[:i]:
            raise UsageError(f"The column {name!r} is named twice in --within: name it once.")
        role = table.roles.of(name)
        if role not in ("none", "quasi-identifier"):
            raise UsageError(f"The column {name!r} is named in --within and has the role {role}: choose one of them.")


def _labels(table: Table, name: str) -> Labels:
    """Return ranks if the column has an order, else the distinct values."""
    try:
        kind = kind_of(table, name)
    except ShoalError:  # such as value-labelled codes: any values form classes
        kind = "nominal"
    return labels_of(table, name, "ordinal" if kind == "ordinal" else "nominal")


def _name(labels: Sequence[Labels], codes: Ints) -> str:
    """Return a class as text, such as town=Bern, sex=f."""
    return ", ".join(f"{label.name}={_value(label, code)}" for label, code in zip(labels, codes, strict=True))


def _value(label: Labels, code: int) -> str:
    text = label.texts[code] if code >= 0 else None
    return "(missing)" if text is None else text


def _merge_hint(labels: Sequence[Labels], codes: Ints, sizes: Ints, small: int, k: int) -> str:
    """Return a hint at the nearest class in one column: the next rank, else the smallest that gives k together."""
    differs = codes != codes[small]
    others = np.flatnonzero(differs.sum(axis=1) == 1)
    if not others.size:
        return ""
    column = differs[others].argmax(axis=1)
    ordered = np.array([label.kind == "ordinal" for label in labels])[column]
    steps = np.where(ordered, np.abs(codes[others, column] - codes[small, column]), 1.5)  # the next rank comes first
    together = sizes[others] + sizes[small]
    best = int(np.lexsort((others, together, together < k, steps))[0])
    other, label = others[best], labels[int(column[best])]
    return f" (nearest: {label.name}={_value(label, codes[other, column[best]])} with {sizes[other]:,})"
