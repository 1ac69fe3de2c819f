"""The problem of cell suppression as arrays: distinct tuples of keys, strata, costs and k.

A key is a quasi-identifier whose cells may be starred. Keys that must not be starred only divide the records into
strata: records of different strata never share a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Codes, Floats, Indices, Ints


@dataclass(frozen=True, eq=False)
class StarProblem:
    """The tuples of the keys, and what a star costs.

    Attributes:
        values: [key, tuple], the values of the distinct tuples as codes from 0.
        widths: The number of values of each key.
        stratum: The stratum of each tuple, from 0.
        counts: The number of records of each tuple.
        tuple_of: The tuple of each record.
        cost: The cost of a star in each key, above 0.
        k: The smallest number of records in a class.
    """

    values: Indices
    widths: Ints
    stratum: Indices
    counts: Ints
    tuple_of: Indices
    cost: Floats
    k: int

    @property
    def rows(self) -> int:
        return self.tuple_of.size

    @property
    def keys(self) -> int:
        return self.values.shape[0]

    def cost_of(self, starred: NDArray[np.bool_]) -> float:
        """Return the cost of stars: [record, key]."""
        return float(starred.sum(axis=0) @ self.cost)


def make_problem(keys: Sequence[Codes], strata: Sequence[Codes], cost: Sequence[float], k: int) -> StarProblem:
    """Return the problem of columns of codes: those that may be starred, and those that may not."""
    n = (keys[0] if keys else strata[0]).size
    columns = [np.asarray(column, dtype=np.int64) for column in keys]
    stratum = distinct_rows([np.asarray(column, dtype=np.int64) for column in strata], n)[1]
    first, tuple_of = distinct_rows([stratum, *columns], n)
    values = np.ascontiguousarray([column[first] for column in columns], dtype=np.int32).reshape(len(columns), -1)
    return StarProblem(
        values,
        np.array([int(column.max(initial=0)) + 1 for column in columns], dtype=np.int64),
        stratum[first].astype(np.int32),
        np.bincount(tuple_of, minlength=first.size).astype(np.int64),
        tuple_of.astype(np.int32),
        np.array(cost, dtype=np.float64),
        k,
    )


def distinct_rows(columns: Sequence[Ints], n: int) -> tuple[Ints, Ints]:
    """Return the first row of each distinct row of the columns, and the number of each row among them.

    The numbers follow the order of the values. Each step joins the columns so far with the next one as pairs of
    numbers, so no two different rows are ever taken for the same.
    """
    number = np.zeros(n, dtype=np.int64)
    first = np.zeros(min(n, 1), dtype=np.int64)
    for column in columns:
        width = int(column.max(initial=0)) + 1
        _, first, number = np.unique(number * width + column, return_index=True, return_inverse=True)
        number = number.reshape(-1)
    return first, number
