"""Sparse tables against tables with their zeros."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.engine.partition.sparse import SparseTable, ends_of


def table_of(dense):
    lines, columns = np.nonzero(dense)
    return SparseTable(ends_of((dense != 0).sum(axis=1)), columns, dense[lines, columns], dense.shape[1])


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**31))
def test_a_sparse_table_is_the_table_with_its_zeros(height, width, seed):
    rng = np.random.default_rng(seed)
    one, other = (rng.integers(-1, 2, size=(height, columns)).astype(np.float64) for columns in (width, 3))
    vector = rng.normal(size=width)
    chosen = rng.permutation(height)[: height // 2]
    table = table_of(one)
    np.testing.assert_array_equal(table.dense(), one)
    np.testing.assert_allclose(table @ vector, one @ vector, atol=1e-12)
    np.testing.assert_array_equal(table.part(chosen).dense(), one[chosen])
    np.testing.assert_array_equal(table.transposed().dense(), one.T)
    np.testing.assert_array_equal(table.beside(table_of(other)).dense(), np.hstack([one, other]))
