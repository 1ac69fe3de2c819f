"""The values of the columns of many files: one code per value, whichever file it is in.

The values of a column are those of all files, so intervals, sets and taxonomies are those of one file with all records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import UsageError
from shoal.folders.staging import Facts, StagedOutput, read_staged
from shoal.protections.recoding.columns import ColumnOptions, RecodedColumn, column_of
from shoal.protections.tuples import MERGED, MOST_TUPLES, RECORDS, ROW, column, looked_up, table_of, typed
from shoal.protections.units import UNIT
from shoal.table.coded_values import finite_codes
from shoal.table.column import ColumnCodes
from shoal.table.roles import Roles
from shoal.table.table import Table


@dataclass(frozen=True)
class ValuesTask:
    """A column of all files. bases: their staged cells. first: the row number of the first record of each file."""

    name: str
    place: int
    kind: pl.DataType
    bases: tuple[Path, ...]
    first: tuple[int, ...]


def values(task: ValuesTask, output: StagedOutput) -> Facts:
    """Stage the distinct values of a column in all files, with their records, in the order of their first records."""
    parts: list[pl.DataFrame] = []
    for base, first in zip(task.bases, task.first, strict=True):
        cells = typed(read_staged(base).select(pl.col(column(task.place)).alias(column(0))), [task.kind])
        here = cells.with_row_index(ROW).group_by(column(0)).agg(pl.len().cast(pl.Int64).alias(RECORDS), pl.min(ROW))
        parts.append(here.with_columns(pl.col(ROW).cast(pl.Int64) + first))
        if sum(part.height for part in parts) > MERGED:
            parts = [_together(parts)]
    whole = _together(parts).sort(ROW)
    if whole.height > MOST_TUPLES:
        raise UsageError(
            f"The column {task.name!r} has {whole.height:,} distinct values, and a search holds {MOST_TUPLES:,}. Leave "
            "it out, or make its values coarser first: amounts without decimals, dates without times."
        )
    output.write(whole)
    return {}


def _together(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).group_by(column(0)).agg(pl.col(RECORDS).sum(), pl.col(ROW).min())


@dataclass(frozen=True)
class Domains:
    """The values of the columns, staged. A worker makes the columns of them, which is quicker than to send them.

    Attributes:
        bases: The staged values of each column.
        names: The protected columns.
        confidential: The confidential columns that follow them.
        kinds: The types of all of them.
        roles: The roles of the columns.
        options: The options on the values.
    """

    bases: tuple[Path, ...]
    names: tuple[str, ...]
    confidential: tuple[str, ...]
    kinds: tuple[pl.DataType, ...]
    roles: Roles
    options: ColumnOptions

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what a worker makes itself."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def columns(self) -> list[RecodedColumn]:
        """The protected columns, with one record per distinct value."""
        return [column_of(self.table(j), name, self.options) for j, name in enumerate(self.names)]

    @cached_property
    def confidential_codes(self) -> dict[str, ColumnCodes]:
        """The confidential columns with the number of records of each value in all files."""
        made, places = {}, range(len(self.names), len(self.bases))
        for name, j in zip(self.confidential, places, strict=True):
            codes = finite_codes(self.table(j), name)
            records = read_staged(self.bases[j])[RECORDS].to_numpy()
            counts = np.zeros(len(codes.values), dtype=np.int64)
            np.add.at(counts, codes.codes, records)
            made[name] = replace(codes, counts=counts)
        return made

    def table(self, j: int) -> Table:
        """Return a table with one row per distinct value of a column."""
        name = (*self.names, *self.confidential)[j]
        return table_of(read_staged(self.bases[j]), [name], [name] if j < len(self.names) else [], self.roles)[0]

    def codes_of(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Return the codes of the cells of a file."""
        units = [cells[UNIT]] if UNIT in cells.columns else []
        cells = typed(cells, self.kinds)
        every = [c.codes for c in self.columns] + list(self.confidential_codes.values())
        new = []
        for j, (name, codes) in enumerate(zip((*self.names, *self.confidential), every, strict=True)):
            known = pl.DataFrame(
                [read_staged(self.bases[j])[column(0)].rename("value"), pl.Series("code", codes.codes, dtype=pl.Int32)]
            )
            new.append(looked_up(cells[column(j)], known, "code", name).rename(column(j)))
        return pl.DataFrame([*new, *units])

    def columns_of(self, frame: pl.DataFrame) -> list[RecodedColumn]:
        """Return the protected columns with the staged codes of some records."""
        return [one.with_codes(frame[column(j)].to_numpy()) for j, one in enumerate(self.columns)]

    def confidential_of(self, frame: pl.DataFrame) -> dict[str, ColumnCodes]:
        """Return the confidential columns with the staged codes of some records and the counts of all."""
        first = len(self.names)
        return {
            name: replace(codes, codes=frame[column(first + j)].to_numpy())
            for j, (name, codes) in enumerate(self.confidential_codes.items())
        }

    def points(self, frame: pl.DataFrame) -> NDArray[Any]:
        """Return the codes of the protected columns side by side."""
        return np.column_stack([frame[column(j)].to_numpy() for j in range(len(self.names))])
