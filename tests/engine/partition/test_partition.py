"""KPartition, scaling and loss against exact arithmetic, on nasty numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import partition as twin
from shoal.engine.partition.partition import KPartition
from shoal.errors import PromiseError, UsageError
from shoal.measures.loss import information_loss
from shoal.protections.microaggregation.sums_of_squares import sse_of, total_squares
from shoal.table.scaling import scale

OFFSETS = st.sampled_from([0.0, 1e9, -1e9, 1e-300])


@st.composite
def grouped(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, d = draw(st.integers(1, 25)), draw(st.integers(1, 4))
    cells = draw(st.lists(st.floats(-50, 50, width=32), min_size=n * d, max_size=n * d))
    labels = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, 10.0]), min_size=n, max_size=n))
    return np.array(cells).reshape(n, d) + draw(OFFSETS), np.array(labels), np.array(weights)


@given(grouped())
def test_sse_and_centroids_equal_exact_arithmetic(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    values, labels, weights = case
    partition = KPartition(labels)
    for weigh in (None, weights):
        exact = twin.sse(values.tolist(), labels.tolist(), (np.ones(len(labels)) if weigh is None else weigh).tolist())
        assert sse_of(partition, values, weigh) == pytest.approx(
            exact, rel=1e-7, abs=1e-4 * max(1, abs(values).max() * 1e-9)
        )
        for group, rows in enumerate(partition.members()):
            chosen = np.ones(len(rows)) if weigh is None else weigh[rows]
            expected = twin.centroid(values[rows].tolist(), chosen.tolist())
            assert partition.centroids(values, weigh)[group] == pytest.approx(expected, rel=1e-12, abs=1e-9)


@given(grouped())
def test_one_group_costs_everything_and_lone_records_nothing(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    values, _, weights = case
    n = len(values)
    for weigh in (None, weights):
        total = total_squares(values, weigh)
        assert sse_of(KPartition(np.zeros(n, dtype=int)), values, weigh) == pytest.approx(total, rel=1e-6, abs=1e-6)
    assert sse_of(KPartition(np.arange(n)), values) == pytest.approx(0, abs=1e-6)


@given(grouped())
def test_labels_are_numbered_by_first_record(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    _, labels, _ = case
    partition = KPartition(labels)
    firsts = [int(rows[0]) for rows in partition.members()]
    assert firsts == sorted(firsts)
    assert [sorted(rows.tolist()) for rows in partition.members()] == [
        np.flatnonzero(labels == labels[first]).tolist() for first in firsts
    ]


@given(grouped())
def test_standardised_columns_have_mean_0_and_deviation_1(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    values, _, weights = case
    for weigh in (None, weights):
        scaled = scale(values, "standard", weigh)
        for j in range(values.shape[1]):
            if values[:, j].min() == values[:, j].max():
                assert (scaled[:, j] == 0).all()
            else:
                assert np.average(scaled[:, j], weights=weigh) == pytest.approx(0, abs=1e-9)
                assert np.average(scaled[:, j] ** 2, weights=weigh) == pytest.approx(1, rel=1e-9)


@given(grouped())
def test_loss_of_centroids_is_the_partitions_sse(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    values, labels, _ = case
    values = values - values.mean(axis=0)
    partition = KPartition(labels)
    loss = information_loss(values, partition.centroids(values)[partition.labels])
    scaled = scale(values)
    if loss.sst > 0:
        assert loss.sse == pytest.approx(sse_of(partition, scaled), rel=1e-6, abs=1e-6)
        assert loss.sst == pytest.approx(total_squares(scaled), rel=1e-6)


def test_check_names_a_small_group() -> None:
    with pytest.raises(PromiseError, match=r"1 of 2 groups have fewer than k = 3 records.*record 3"):
        KPartition(np.array([0, 0, 0, 1, 1])).check(3)


def test_a_record_without_a_group_is_refused() -> None:
    with pytest.raises(UsageError, match="record 1"):
        KPartition(np.array([0, -1, 0]))
