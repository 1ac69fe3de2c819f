"""The columns of a masking: those that cannot be used are refused, the others become arrays for the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Ints
from shoal.errors import InputError, PromiseError, UsageError, counted, unknown
from shoal.protections.regions.dependence import tie
from shoal.protections.regions.parameters import Matching, Target
from shoal.protections.regions.similarity import MatchingValues, matching_values
from shoal.table.column import Column, ColumnCodes
from shoal.table.table import Table


def check_columns(table: Table, target: Target, matching: Matching) -> None:
    """Refuse an unknown column, and a column with two parts that exclude each other."""
    parameter, along, group = target.parameter, target.along, target.vital[0]
    for name in (parameter, group, *along, *matching.columns):
        if name not in table.columns:
            raise unknown("column", name, table.columns)
    for name in (*matching.ordinal, *matching.weights):
        if name not in matching.columns:
            raise unknown("matching column", name, matching.columns)
    if group == parameter:
        raise UsageError(
            f"The column {group!r} cannot be both that of the target group (--vital) and that of the regions "
            "(--parameter)."
        )
    for option, columns in (("--influential", matching.columns), ("--along", along)):
        if group in columns:
            why = "target records always differ from their partners in it" if option == "--influential" else _NOT_ALONG
            raise UsageError(
                f"{option} must not name {group!r}, the column of the target group (--vital): {why}. Remove it from "
                f"{option}."
            )
    if parameter in matching.columns:
        raise UsageError(
            f"--influential must not name {parameter!r}, the column of the regions (--parameter): swapped records "
            "exchange it. Remove it from --influential."
        )


_NOT_ALONG = "if it moved with the region, the number of target records per region would not change"


def check_ties(table: Table, parameter: str, along: tuple[str, ...]) -> None:
    """Refuse a released column that would show which records were swapped."""
    if parameter in table.roles.removed:
        raise UsageError(
            f"The role of the column of the regions, {parameter!r}, removes it, so there is nothing to mask. Give it "
            "another role."
        )
    if parameter in along or set(along) & set(table.roles.removed):
        raise UsageError(
            f"--along must name released columns other than {parameter!r}, the column of the regions, not "
            f"{', '.join(along)}."
        )
    regions = column_codes(table, parameter)
    tied: dict[str, str] = {}
    for name in table.columns:
        if name != parameter and name not in along and name not in table.roles.removed:
            how = tie(regions, column_codes(table, name))
            if how is not None:
                tied[name] = how
    if not tied:
        return
    words = {
        "follows": f"each region of {parameter!r} has one value of it",
        "fixes": f"each of its values lies in one region of {parameter!r}",
    }
    shown = "; ".join(f"{name!r} ({words[how]})" for name, how in tied.items())
    names = ",".join(tied)
    raise PromiseError(
        f"Other released columns would show which records were swapped: {shown}. Swap them together with {parameter!r} "
        f"(--along {names}), leave them out (--drop {names}), or name the column of households or persons with --unit."
    )


def check_units(table: Table, parameter: str) -> None:
    """Refuse a file in which a swap would take one row of a household or person to another region."""
    unit = table.roles.unit
    if not isinstance(unit, str):
        return
    codes = column_codes(table, unit)
    largest = int(np.bincount(codes).max(initial=0))
    if largest > 1:
        several = int((np.bincount(codes) > 1).sum())
        raise PromiseError(
            f"{counted(several, 'unit')} of {unit!r} {'has' if several == 1 else 'have'} more than one row, the "
            f"largest {largest}. A swap would move one of these rows to another region of {parameter!r} and split "
            "the unit. Mask a file with one row per unit, then join the other rows to it."
        )


def numbered_regions(table: Table, parameter: str, *, by_label: bool) -> tuple[list[Any], Ints]:
    """Return the labels of the regions, and the region of each record, numbered from 0 by label or by first appearance.

    If regions are numbered by appearance, no choice can depend on their labels.
    """
    labels, region = _regions(table, parameter)
    if by_label:
        return labels, region
    appearance = np.argsort(np.unique(region, return_index=True)[1])
    number = np.argsort(appearance)
    return [labels[d] for d in appearance], number[region]


def _regions(table: Table, parameter: str) -> tuple[list[Any], Ints]:
    """Return the labels of the regions in order, and the region of each record, numbered from 0."""
    labels, coded = _labelled(table[parameter])
    missing = np.flatnonzero(coded.missing)
    if missing.size:
        raise InputError(
            f"The column of the regions, {parameter!r}, has {counted(missing.size, 'missing value')}, the first in row "
            f"{table[parameter].row(int(missing[0]))}. Every record needs a region. Leave these records out, or give "
            "them a region of their own."
        )
    return labels, coded.codes.astype(np.int64)


def _labelled(column: Column) -> tuple[list[Any], ColumnCodes]:
    """Return the values of a column as people name them, and its codes; a code that is declared missing is a value."""
    if column.kind != "number":
        coded = column.codes
        return [value == "True" for value in coded.values] if column.kind == "bool" else coded.values, coded
    if column.series.dtype.is_integer() or column.series.dtype.is_float():
        return column.stored.values, column.stored
    return [column.cell(int(row)) for row in column.stored.first_rows()], column.stored


_FLAGS = {"1": "True", "0": "False", "true": "True", "false": "False"}  # other texts of a bool


def marked_records(table: Table, group: tuple[str, Sequence[Any]], what: str) -> Bools:
    """Return which records have one of the values in the column of the group; what: the name of the argument."""
    column, values = group
    if column not in table.columns:
        raise unknown("column", column, table.columns)
    if isinstance(values, str) or not list(values):
        raise UsageError(f"{what} must be a column and a list of values, such as ('job', ['guard']), not {group!r}.")
    labels, coded = _labelled(table[column])
    is_flag = table[column].kind == "bool"
    numeric = not is_flag and not any(isinstance(label, str) for label in labels)
    hits: set[int] = set()
    for value in values:
        try:
            wanted = float(value) if numeric else _FLAGS.get(str(value), str(value)) if is_flag else str(value)
        except ValueError:
            raise UsageError(
                f"The column {column!r} has numbers, and the value {value!r} of --{what} is not a number."
            ) from None
        codes = [i for i, label in enumerate(labels) if (label if numeric else str(label)) == wanted]
        if not codes:
            raise unknown(f"{column} value", value, sorted(map(str, labels))[:30])
        hits.update(codes)
    return np.isin(coded.codes, sorted(hits))


def matching_values_of(table: Table, matching: Matching) -> MatchingValues:
    """Return the values of the matching columns as arrays; a missing value is NaN or -1."""
    columns, ordinal, weights = matching.columns, matching.ordinal, matching.weights
    nominal = [name for name in columns if name not in ordinal]
    for name in ordinal:
        cells = table[name].cells
        if cells.bad:
            raise UsageError(
                f"The ordinal matching column {name!r} needs numbers, but row {table[name].row(cells.first_bad)} has "
                f"{table[name].cell(cells.first_bad)!r}. Leave it out of --ordinal, so that its values are categories."
            )
    numbers = table.numbers(ordinal, missing="keep", allow_constant=True) if ordinal else np.empty((table.rows, 0))
    codes = np.empty((table.rows, len(nominal)), dtype=np.int32)
    for j, name in enumerate(nominal):
        coded = _labelled(table[name])[1]
        codes[:, j] = np.where(coded.missing, -1, coded.codes)
    return matching_values(
        numbers,
        codes,
        np.array([weights.get(name, 1.0) for name in ordinal]),
        np.array([weights.get(name, 1.0) for name in nominal]),
        matching.chi,
        (*ordinal, *nominal),
        table.numbering,
    )


def column_codes(table: Table, name: str) -> Ints:
    """Return a code from 0 per value of a column, numbers in ascending order; missing is a value of its own."""
    return _labelled(table[name])[1].codes.astype(np.int64)


def places_of(labels: list[Any], wanted: Sequence[Any], parameter: str) -> Ints:
    """Return the numbers of the regions with these labels."""
    names = [str(label) for label in labels]
    for label in wanted:
        if str(label) not in names:
            raise unknown(f"region in {parameter!r}", label, names)
    if len(set(map(str, wanted))) < len(wanted):
        raise UsageError(f"--outliers names a region of {parameter!r} twice: {', '.join(map(str, wanted))}.")
    return np.array([names.index(str(label)) for label in wanted], dtype=np.int64)


def thresholds_in_order(
    labels: list[Any], thresholds: Sequence[float], outliers: Sequence[Any] | None
) -> NDArray[np.float64]:
    """Return the thresholds in the order of the numbers of the regions."""
    if outliers is None or len(outliers) != len(thresholds):
        raise UsageError(
            f"--thresholds has {counted(len(thresholds), 'value')} and --outliers "
            f"{counted(len(outliers or ()), 'region')}. Give one threshold per region, in the same order."
        )
    if not np.isfinite(thresholds).all():
        raise UsageError(f"--thresholds must be finite numbers, not {', '.join(map(str, thresholds))}.")
    names = [str(label) for label in labels]
    places = [names.index(str(label)) if str(label) in names else -1 for label in outliers]
    return np.asarray(thresholds, dtype=np.float64)[np.argsort(places, kind="stable")]
