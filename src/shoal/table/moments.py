"""Dates with times as text, at any unit and in any time zone, so that different moments have different texts.

Python's datetime does not have nanoseconds and treats the two passes of a repeated hour as equal, so the texts are made
without it. Where both can express a moment, the text is that of Python: 2020-10-25 02:30:00+01:00.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl

UNITS = {"ms": 10**3, "us": 10**6, "ns": 10**9}  # steps per second


def is_beyond_python(series: nw.Series[Any]) -> bool:
    """Whether a column has moments that Python's datetime may confuse: nanoseconds, a time zone, or times of day."""
    dtype = series.dtype
    if dtype == nw.Time:
        return True
    return isinstance(dtype, nw.Datetime) and (dtype.time_unit == "ns" or dtype.time_zone is not None)


def moment_texts(series: nw.Series[Any]) -> pl.Series:
    """The text of each moment; a missing moment stays missing.

    >>> stamps = pl.Series("t", [0, 1, 10**9]).cast(pl.Datetime("ns"))
    >>> moment_texts(nw.from_native(stamps, series_only=True)).to_list()
    ['1970-01-01 00:00:00', '1970-01-01 00:00:00.000000001', '1970-01-01 00:00:01']
    """
    column = series.to_polars()
    if isinstance(column.dtype, pl.Datetime):
        text = column.dt.strftime("%Y-%m-%d %H:%M:%S") + _fraction(column, UNITS[column.dtype.time_unit])
        return text if column.dtype.time_zone is None else text + column.dt.strftime("%:z")
    return column.dt.strftime("%H:%M:%S") + _fraction(column, UNITS["ns"])


def _fraction(column: pl.Series, steps: int) -> pl.Series:
    """The fraction of the second: nothing, six digits, or nine digits for nanoseconds."""
    part = (column.to_physical() % steps) * (UNITS["ns"] // steps)
    digits = part.cast(pl.String).str.pad_start(9, "0")
    short = pl.when(part % 1000 == 0).then(pl.lit(".") + digits.str.slice(0, 6)).otherwise(pl.lit(".") + digits)
    return pl.select(pl.when(part == 0).then(pl.lit("")).otherwise(short)).to_series()
