"""Tables of numbers that are mostly 0, in NumPy. A small search takes less time than the import of SciPy's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints


class SparseTable(NamedTuple):
    """A table of numbers, line by line: line i has `values[starts[i] : starts[i + 1]]` in these `columns`."""

    starts: Ints
    columns: NDArray[Any]
    values: Floats
    width: int

    @property
    def lines(self) -> Ints:
        """The line of each number."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    def __matmul__(self, vector: Floats) -> Floats:
        """Return the product with a vector; each line is added up in the order of its numbers."""
        products = self.values * vector[self.columns]
        return np.bincount(self.lines, products, minlength=self.starts.size - 1).astype(np.float64, copy=False)

    def part(self, chosen: NDArray[Any]) -> SparseTable:
        """Return a table of some of the lines."""
        sizes = np.diff(self.starts)[chosen]
        starts = ends_of(sizes)
        places = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return SparseTable(starts, self.columns[places], self.values[places], self.width)

    def transposed(self) -> SparseTable:
        """Return the table with lines and columns exchanged."""
        order = np.argsort(self.columns, kind="stable")
        starts = ends_of(np.bincount(self.columns, minlength=self.width))
        return SparseTable(starts, self.lines[order], self.values[order], self.starts.size - 1)

    def beside(self, other: SparseTable) -> SparseTable:
        """Return the table with the columns of another one after its columns."""
        lines, columns = np.append(self.lines, other.lines), np.append(self.columns, other.columns + self.width)
        order = np.argsort(lines, kind="stable")
        values = np.append(self.values, other.values)[order]
        return SparseTable(self.starts + other.starts, columns[order], values, self.width + other.width)

    def dense(self) -> Floats:
        """Return the table with its zeros."""
        table = np.zeros((self.starts.size - 1, self.width))
        table[self.lines, self.columns] = self.values
        return table


def ends_of(sizes: NDArray[Any]) -> Ints:
    """Return where each of several parts in a row starts, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
