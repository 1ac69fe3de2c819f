"""A column as codes: its distinct values once, and for each row which of them it has.

Missing values are the distinct value None. Numbers are floats, everything else is text; both in
rising order, so that codes of confidential numbers are ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Indices
from shoal.errors import InputError
from shoal.table.moments import is_beyond_python, moment_texts
from shoal.table.table import Table


@dataclass(frozen=True, eq=False)
class Coded:
    """Distinct values (None, if any is missing, is the last), each row's code, and how often each value occurs."""

    values: list[Any]
    codes: Indices
    counts: NDArray[np.int64]
    numeric: bool
    dated: bool = False


def coded(table: Table, name: str, *, allow_infinite: bool = False) -> Coded:
    """A column's distinct values and codes; infinite numbers are an error unless values are only counted."""
    if table.kinds[name] == "number":
        return _numbers(table, name, allow_infinite)
    series = nw.from_native(table.frame, eager_only=True)[name]
    if is_beyond_python(series):
        series = nw.from_native(moment_texts(series), series_only=True)
    elif series.dtype.is_nested() or series.dtype in (nw.Duration, nw.Object):
        series = _shown(series)
    absent = series.is_null().to_numpy().astype(bool)
    found = series.drop_nulls().unique().to_list()
    text = sorted({str(value) for value in found})
    place = {value: i for i, value in enumerate(text)}
    if found and absent.any():
        series = series.fill_null(found[0])
    if found:
        of = {value: place[str(value)] for value in found}
        codes = series.replace_strict(list(of), list(of.values()), return_dtype=nw.Int32).to_numpy()
        codes = np.array(codes, dtype=np.int32)
    else:
        codes = np.zeros(len(absent), dtype=np.int32)
    codes[absent] = len(text)
    values: list[Any] = [*text, None] if absent.any() else text
    counts = np.bincount(codes, minlength=len(values)).astype(np.int64)
    return Coded(values, codes, counts, numeric=False, dated=table.kinds[name] in ("date", "time"))


def without_missing(table: Table, columns: Sequence[str], policy: str) -> Table:
    """The table without rows that miss a value in the columns (drop), or an error if there are such rows."""
    absent = np.zeros(table.rows, dtype=bool)
    gaps = []
    for name in columns:
        found = coded(table, name)
        if found.values and found.values[-1] is None:
            here = found.codes == len(found.values) - 1
            if policy == "error":
                raise InputError(
                    f"the column {name!r} has {int(here.sum()):,} missing values, the first in row "
                    f"{int(here.argmax()) + 1}: take missing=category to make them a group of their own, or drop"
                )
            absent |= here
            gaps.append(name)
    if not absent.any():
        return table
    if absent.all():
        raise InputError(
            f"every row has a missing value in {', '.join(gaps)}: dropping them leaves nothing. Leave out the "
            "column that misses most, or make missing values a group of their own (--missing category)"
        )
    kept = ~absent
    frame = nw.from_native(table.frame, eager_only=True).filter(kept.tolist()).to_native()
    source = None if table.source is None else table.source.take(kept)
    return Table(frame, table.roles, source, numbering=table.numbering[kept])


def _shown(series: nw.Series[Any]) -> nw.Series[Any]:
    """Values that cannot be compared or looked up, such as lists, as Python shows them."""
    absent = series.is_null().to_list()
    shown = [None if gap else str(value) for value, gap in zip(series.to_list(), absent, strict=True)]
    return nw.from_native(pl.Series(series.name, shown, dtype=pl.String), series_only=True)


def _numbers(table: Table, name: str, allow_infinite: bool) -> Coded:
    numbers = table.numbers([name], missing="keep", allow_constant=True, allow_infinite=allow_infinite)[:, 0]
    absent = np.isnan(numbers)
    distinct, codes = np.unique(numbers[~absent], return_inverse=True)
    whole = np.full(numbers.size, distinct.size, dtype=np.int32)
    whole[~absent] = codes.reshape(-1)
    values = [*distinct.tolist(), None] if absent.any() else distinct.tolist()
    return Coded(values, whole, np.bincount(whole, minlength=len(values)).astype(np.int64), numeric=True)
