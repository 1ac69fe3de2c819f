"""Groups within classes of records and over units: no group crosses the `within` columns, and k counts units.

The classes of the `within` columns are grouped one after the other, as if each were a separate file. A group with fewer
than k units (persons or households) is merged with the nearest group until it has k of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.control import Control, shielded
from shoal.engine.partition.kernels.groups import padded
from shoal.engine.partition.neighbours import neighbour_lists
from shoal.engine.partition.partition import KPartition, by_first_record
from shoal.errors import InputError, ShoalError, UsageError, unknown
from shoal.protections.microaggregation.sums_of_squares import sse_of
from shoal.table.kinds import Labels, kind_of, labels_of
from shoal.table.table import Table

MOST_LISTED = 10  # small classes in a message
SUMMED = ("proposals", "lower_bound")
CERTIFICATES = ("lower_bound", "gap", "proved")


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


# -- units -------------------------------------------------------------------------------------------


def units_of(table: Table, k: int) -> Ints | None:
    """Return each record's unit as a code, or None if records are units. Raise InputError for fewer than k units."""
    label = _unit_labels(table)
    if label is None:
        return None
    name = label.name
    if len(label.texts) < k:
        raise InputError(
            f"The file has {len(label.texts):,} units (values of {name!r}), fewer than k = {k}: no group can hold "
            f"k of them. Choose a smaller k."
        )
    return label.codes.astype(np.int64)


def hashed_units(table: Table) -> Ints | None:
    """Return each record's unit as a number that is the same in every file, or None if records are units."""
    label = _unit_labels(table)
    if label is None:
        return None
    digests = [blake2b(str(text).encode(), digest_size=8).digest() for text in label.texts]
    return np.array([int.from_bytes(digest, "big", signed=True) for digest in digests], dtype=np.int64)[label.codes]


def _unit_labels(table: Table) -> Labels | None:
    name = table.roles.unit
    if not isinstance(name, str):
        return None
    label = labels_of(table, name, "nominal")
    if None in label.texts:
        absent = label.codes == len(label.texts) - 1
        raise InputError(
            f"The unit column {name!r} has {int(absent.sum()):,} missing values, the first in row "
            f"{int(table.numbering[absent.argmax()])}: every record belongs to a unit. Correct the file."
        )
    return label


def units_per_group(labels: Ints, units: Ints) -> Ints:
    """Return the number of distinct units in each group."""
    width = int(units.max()) + 1
    pairs = np.unique(labels * width + units)
    return np.bincount(pairs // width, minlength=int(labels.max()) + 1).astype(np.int64)


def merged_for_units(
    partition: KPartition, scaled: Floats, k: int, units: Ints, weights: Floats | None = None
) -> KPartition:
    """Merge groups with fewer than k units with the nearest group, by centroids, until every group has k units."""

    def few(labels: Ints) -> Ints:
        counts = units_per_group(labels, units)
        return np.where(counts < k, counts, -1)

    return merged(partition, scaled, few, weights)


def merged(
    partition: KPartition, points: Floats, lacking: Callable[[Ints], Ints], weights: Floats | None = None
) -> KPartition:
    """Merge groups that lack something with the nearest group, by centroids, until none lacks anything.

    Args:
        lacking: What each group of some labels has of what it lacks, the least first to merge; -1 if it lacks nothing.
    """
    labels = np.array(partition.labels)
    while labels.max() > 0:
        counts = lacking(labels)
        small = np.flatnonzero(counts >= 0)
        if not small.size:
            break
        nearest = _nearest(KPartition(labels).centroids(points, weights))
        labels = by_first_record(_merge(counts, small, nearest)[labels])
    if labels.max() + 1 == partition.groups:
        return partition
    kept = {name: value for name, value in partition.facts.items() if name not in CERTIFICATES}
    return KPartition(labels, kept)


def _merge(counts: Ints, small: Ints, nearest: NDArray[Any]) -> Ints:
    """Return new numbers of the groups: the smallest merges first with its nearest, and no group twice per round."""
    number, touched = np.arange(counts.size), np.zeros(counts.size, dtype=bool)
    for group in small[np.argsort(counts[small], kind="stable")].tolist():
        other = int(nearest[group])
        if not touched[group] and not touched[other]:
            touched[group] = touched[other] = True
            number[group] = other
    return number


def _nearest(centroids: Floats) -> NDArray[Any]:
    """Return the nearest other group of each group."""
    points = padded(centroids - centroids.mean(axis=0))
    # The groups of a stopped search must have k units too.
    near = shielded(lambda: neighbour_lists(points, min(8, len(centroids) - 1)))[0][:, 0]
    # Approximate lists may miss a group that is alone in its leaf. Any other group will do: its centroid then moves.
    return np.where(near < 0, (np.arange(near.size) + 1) % near.size, near)


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
