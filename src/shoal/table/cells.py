"""One column as float64: which cells are missing, and which are not numbers.

A cell is missing if it is null, NaN, or a code that the file declares missing (SPSS). Shoal never interprets other
numbers as missing: -999 is -999.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from shoal.arrays import Bools, Floats
from shoal.table.frames import kind

# Texts that stand for a missing value among the numbers of a text file.
MARKERS = ("na", "n/a", "nan", "null", ".", "?")
NUMBERS = {
    ".": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?",
    ",": r"[+-]?(([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]+)?",  # points between thousands
}


@dataclass(frozen=True)
class Cells:
    """The numbers of a column (NaN for other cells), and which cells are missing or not numbers."""

    values: Floats
    missing: Bools
    bad: int = 0  # number of cells that are not numbers
    first_bad: int = -1  # first row with such a cell


def cells(series: nw.Series[Any], codes: tuple[tuple[Any, Any], ...] = (), decimal: str | None = None) -> Cells:
    """The cells of a column as numbers; `decimal` is the decimal separator of the text file, if it is from one."""
    what = kind(series)
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_integer():
        # NumPy converts whole numbers above 2^53; pyarrow's cast raises an error.
        filled = series.fill_null(0) if missing.any() else series
        values = filled.to_numpy().astype(np.float64)
        values[missing] = np.nan
    elif what in ("number", "bool") and series.dtype != nw.Object:
        floats = series if series.dtype == nw.Float64 else series.cast(nw.Float64)  # pandas copies at every cast
        values = np.asarray(floats.to_numpy(), dtype=np.float64)
    elif what in ("date", "time", "other"):
        present = np.flatnonzero(~missing)
        first = int(present[0]) if present.size else -1
        return Cells(np.full(len(series), np.nan), missing, present.size, first)
    else:
        values, missing, bad = _from_objects(series, missing, decimal)
        if bad:
            return Cells(values, missing, len(bad), bad[0])
    missing = missing | np.isnan(values)
    for lowest, highest in codes:
        if isinstance(lowest, (int, float)):
            missing |= (values >= lowest) & (values <= highest)
    return Cells(values, missing)


def _from_objects(series: nw.Series[Any], missing: Bools, decimal: str | None) -> tuple[Floats, Bools, list[int]]:
    """Numbers from text, categories or Python objects; empty text is missing, and so are the markers of a text file."""
    number = re.compile(NUMBERS[decimal or "."])
    markers = ("", *MARKERS) if decimal else ("",)
    values = np.full(len(series), np.nan)
    missing = missing.copy()
    bad: list[int] = []
    for i, cell in enumerate(series.to_list()):
        if missing[i]:
            continue
        if isinstance(cell, str):
            cell = cell.strip()
            if cell.lower() in markers:
                missing[i] = True
                continue
            if not number.fullmatch(cell):
                bad.append(i)
                continue
            if decimal == ",":
                cell = cell.replace(".", "").replace(",", ".")
        try:
            values[i] = float(cell)
        except (TypeError, ValueError):
            bad.append(i)
    return values, missing, bad
