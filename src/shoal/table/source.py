"""What a file contains besides typed values, so that unchanged columns are written exactly as they were read.

A typed column cannot hold everything, such as the text '1.50' of a CSV cell, Stata's missing value .a, or the value
labels of SPSS. A `FileSource` keeps these next to the data frame, and the writers look them up per column.
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
    """The format of a delimited text file: its delimiter, encoding, decimal separator and line end."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    newline: str = "\n"


@dataclass(frozen=True)
class Labels:
    """What SPSS, Stata and SAS files contain besides the values; the keys are columns.

    `missing` lists user-missing codes as ranges (lowest, highest). `formats` and the others are terms of the file
    format; Shoal writes them back unchanged.
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
    """A file that was read: its typed values and everything else that the file contains.

    Attributes:
        frame: The typed values.
        cells: For some columns, what the file has instead of the typed values: the text of a number in a CSV file, or
            the letter of a missing value in a Stata file.
        markers: The texts that were read as missing, by column.
        sha256: The checksum of the file's bytes.
        text_options: The delimiter, encoding and decimal separator that the caller specified.
    """

    path: Path
    format: str
    frame: pl.DataFrame
    cells: Mapping[str, pl.Series] = field(default_factory=dict)
    markers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dialect: Dialect | None = None
    labels: Labels | None = None
    sha256: str | None = None
    text_options: Mapping[str, str] = field(default_factory=dict)

    def untouched(self, column: pl.Series) -> bool:
        """Whether `column` still holds exactly the values of the file."""
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
        return bool((np.signbit(old) == np.signbit(new))[old == 0].all())  # 0.0 equals -0.0, but its text differs

    def has_text(self, column: pl.Series) -> bool:
        """Whether the text of an unchanged column's cells is known."""
        return column.name in self.cells and self.format == "csv" and self.untouched(column)

    def take(self, rows: Bools | NDArray[np.int64]) -> FileSource:
        """The same source with only some rows: those where `rows` is true, or those whose numbers it lists."""
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
