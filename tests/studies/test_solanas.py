"""The made sets of Solanas et al.: sizes, ranges, clusters, and the same rows for the same seed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.studies.solanas import RANGE, SHIFT, clustered, scattered


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 99))
def test_sizes_and_ranges(rows: int, columns: int, seed: int) -> None:
    for make, widest in ((scattered, RANGE), (clustered, RANGE + SHIFT)):
        frame = make(np.random.default_rng(seed), rows, columns)
        assert frame.shape == (rows, columns)
        assert frame.equals(make(np.random.default_rng(seed), rows, columns))
        assert np.abs(frame.to_numpy()).max() <= widest


def test_clusters_of_three_to_five_lie_side_by_side() -> None:
    values = clustered(np.random.default_rng(0), 1000, 2).to_numpy()
    jumps = np.flatnonzero(np.abs(np.diff(values, axis=0)).max(axis=1) > 2 * RANGE) + 1
    sizes = np.diff([0, *jumps, 1000])
    # Two neighbours in the file may by chance be moved alike and look like one cluster.
    assert np.isin(sizes[:-1], [3, 4, 5]).mean() > 0.95
    assert 200 <= sizes.size <= 334
