"""What a file said beyond its values, so that what is not protected is written as it was read.

A typed column cannot hold everything: the text '1.50' of a CSV cell, Stata's .a, the value labels
of SPSS. A FileSource keeps these beside the frame; the writers ask it column by column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools


@dataclass(frozen=True)
class Dialect:
    """How a delimited text file is written."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    newline: str = "\n"


@dataclass(frozen=True)
class Labels:
    """What SPSS, Stata and SAS keep beside the values; the keys are columns.

    `missing` lists user-missing codes as ranges (lowest, highest); `formats` and the rest are the
    file format's own words and go back as they came.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[tuple[Any, Any], ...]] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    widths: Mapping[str, int] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)
    file_label: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FileSource:
    """A file that was read: its values as `frame`, and what they do not tell.

    `cells` holds, for some columns, what the file has in place of the typed values: the text of a
    CSV number, the letter of a Stata missing value. `markers` are texts read as missing.
    `sha256` is the checksum of its bytes, `asked` what the reader was told of its text.
    """

    path: Path
    format: str
    frame: pl.DataFrame
    cells: Mapping[str, pl.Series] = field(default_factory=dict)
    markers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dialect: Dialect | None = None
    labels: Labels | None = None
    sha256: str | None = None
    asked: Mapping[str, str] = field(default_factory=dict)

    def untouched(self, column: pl.Series) -> bool:
        """Whether `column` still holds exactly what the file said."""
        if column.name not in self.frame.columns:
            return False
        original = self.frame[column.name]
        if original.dtype != column.dtype or original.len() != column.len():
            return False
        if not bool(original.eq_missing(column).all()):
            return False
        if not column.dtype.is_float():
            return True
        old, new = (values.fill_null(1.0).to_numpy() for values in (original, column))
        return bool((np.signbit(old) == np.signbit(new))[old == 0].all())  # 0.0 equals -0.0, and is another text

    def has_text(self, column: pl.Series) -> bool:
        """Whether the text of an unchanged column's cells is known."""
        return column.name in self.cells and self.format == "csv" and self.untouched(column)

    def take(self, rows: Bools | NDArray[np.int64]) -> FileSource:
        """The same source with only the rows where `rows` is true, or with the rows that it lists."""
        chosen = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(
            self, frame=self.frame[chosen], cells={name: cells[chosen] for name, cells in self.cells.items()}
        )

    def coded(self, column: pl.Series) -> bool:
        """Whether the numbers of a column are codes: declared nominal, or with a label for every value."""
        if self.labels is None or not column.dtype.is_numeric() or not self.untouched(column):
            return False
        if self.labels.measures.get(column.name) == "nominal":
            return True
        labels = self.labels.values.get(column.name, {})
        return bool(labels) and all(value in labels for value in column.drop_nulls().unique().to_list())

    def user_missing(self, column: str) -> tuple[tuple[Any, Any], ...]:
        """The ranges of codes that the file declares missing in a column."""
        return () if self.labels is None else tuple(self.labels.missing.get(column, ()))
