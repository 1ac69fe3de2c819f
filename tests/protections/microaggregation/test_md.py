"""MD's groups equal those of the slow method, on odd records."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records, some_weights
from reference.md import md as slow
from shoal.protections.microaggregation.methods.md import md


@settings(max_examples=150, deadline=None)
@given(records(), st.none() | st.integers(0, 1000))
def test_same_groups_as_the_reference(case, seed):
    values, k = case
    weights = None if seed is None else some_weights(len(values), seed)
    partition = md(values, k, weights=weights).check(k)
    assert partition.labels.tolist() == slow(values, k, weights)
    assert partition.sizes.max() <= 2 * k - 1


def test_ranks_are_closed_and_blocks_are_skipped_without_changing_a_group():
    """Enough records for several blocks of distances, so that the triangle inequality has work to do."""
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.normal(size=(900, 2)), 9.0 + rng.integers(0, 3, size=(400, 2))])
    partition = md(values, 60)
    left = np.ones(len(values), dtype=bool)
    distances = ((values[:, None, :] - values[None, :, :]) ** 2).sum(axis=2)
    labels = np.full(len(values), -1)
    group = 0
    while left.sum() >= 120:
        rows = np.flatnonzero(left)
        part = distances[np.ix_(rows, rows)]
        a, b = np.unravel_index(np.argmax(part), part.shape)
        for centre, other in ((rows[a], rows[b]), (rows[b], None)):
            rows = np.flatnonzero(left)
            rows = rows[(rows != centre) & (rows != (-1 if other is None else other))]
            near = rows[np.argsort(distances[centre, rows], kind="stable")[:59]]
            labels[centre] = labels[near] = group
            left[centre] = left[near] = False
            group += 1
    if left.sum() >= 60:
        labels[left] = group
    own = partition.labels[labels >= 0]
    pairs = set(zip(own.tolist(), labels[labels >= 0].tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) == partition.groups
