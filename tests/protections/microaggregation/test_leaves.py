"""Leaves: sums that no split changes, exact means, trees of even leaves, and units of work."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.folders.leaves import hashed, units_of
from shoal.protections.microaggregation.leaves.numbers import (
    decimals,
    group_means,
    mean_and_deviation,
    whole_sum,
)
from shoal.protections.microaggregation.leaves.tree import MARGIN, build_tree

unit_numbers = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@given(unit_numbers, st.integers(0, 40))
def test_a_sum_does_not_depend_on_its_parts(numbers: list[float], cut: int) -> None:
    values = np.array(numbers)
    assert whole_sum(values) == whole_sum(values[:cut]) + whole_sum(values[cut:]) == whole_sum(values[::-1])
    assert whole_sum(values) / 2**60 == pytest.approx(sum(numbers), abs=1e-12)


@given(unit_numbers)
def test_the_standard_deviation(numbers: list[float]) -> None:
    values = np.array(numbers)
    mean, deviation = mean_and_deviation(
        whole_sum(values), whole_sum(values * values), whole_sum(np.ones(len(numbers)))
    )
    assert mean == pytest.approx(values.mean(), abs=1e-12)
    assert deviation == pytest.approx(values.std(), abs=1e-8)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=30), st.integers(0, 3), st.randoms())
def test_means_of_decimals_are_exact(numbers: list[int], digits: int, random: object) -> None:
    values = np.array(numbers) / 10.0**digits
    found = decimals(values, 5)
    assert found is not None and found <= digits
    order = np.arange(len(numbers))
    starts, sizes = np.array([0]), np.array([len(numbers)])
    [mean] = group_means(values, order, starts, sizes, digits)
    assert mean == float(Fraction(sum(numbers), len(numbers) * 10**digits))
    [backwards] = group_means(values[::-1].copy(), order, starts, sizes, digits)
    assert mean == backwards


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20))
def test_means_of_any_numbers(numbers: list[float]) -> None:
    values = np.array([*numbers, *numbers[::-1]])
    n = len(numbers)
    one, two = group_means(values, np.arange(2 * n), np.array([0, n]), np.array([n, n]), None)
    assert one == two  # the same members in another order
    assert min(numbers) <= one <= max(numbers)
    exact = sum((Fraction(x) for x in numbers), Fraction(0)) / n
    assert abs(Fraction(one) - exact) <= Fraction(max(map(abs, numbers))) * Fraction(2) ** -52


def test_means_have_one_zero() -> None:
    means = group_means(np.array([-0.0, -0.0]), np.arange(2), np.array([0]), np.array([2]), None)
    assert not np.signbit(means).any()


def test_decimals() -> None:
    assert decimals(np.array([1.5, 2.25]), 5) == 2
    assert decimals(np.array([1 / 3]), 5) is None
    assert decimals(np.array([2.0**52]), 5) is None


def sizes_of_leaves(leaves: int) -> tuple[float, float]:
    """Return the smallest and the largest share of a leaf, if each cut is within MARGIN of its quantile."""
    if leaves == 1:
        return 1.0, 1.0
    left = leaves // 2
    share, (few, many), (few_right, many_right) = left / leaves, sizes_of_leaves(left), sizes_of_leaves(leaves - left)
    return (
        min((share - MARGIN) * few, (1 - share - MARGIN) * few_right),
        max((share + MARGIN) * many, (1 - share + MARGIN) * many_right),
    )


@pytest.mark.parametrize("leaves", [1, 2, 3, 7, 16])
def test_leaves_are_even_but_for_the_margin_of_each_cut(leaves: int) -> None:
    points = np.random.default_rng(0).normal(size=(20_000, 3)) * (1.0, 5.0, 0.1)
    tree = build_tree(points[::4].copy(), leaves, 1, 0)
    shares = np.bincount(tree.leaf_of(points), minlength=leaves) / 20_000
    assert shares.size == leaves and shares.sum() == pytest.approx(1.0)
    smallest, largest = sizes_of_leaves(leaves)
    assert 0.9 * smallest < shares.min() and shares.max() < 1.1 * largest  # the tree is that of every fourth point
    split = np.concatenate([tree.leaf_of(points[:777]), tree.leaf_of(points[777:])])
    assert np.array_equal(split, tree.leaf_of(points))


def test_trees_of_other_rounds_have_other_cuts() -> None:
    points = np.random.default_rng(0).normal(size=(2_000, 3))
    one, other = (build_tree(points, 4, 1, turn).leaf_of(points) for turn in (0, 1))
    assert (one != other).mean() > 0.2


def test_equal_records_are_in_one_leaf() -> None:
    points = np.vstack([np.zeros((500, 2)), np.random.default_rng(0).normal(size=(500, 2))])
    assert np.unique(build_tree(points, 8, 0, 0).leaf_of(points)[:500]).size == 1


@given(st.lists(st.integers(0, 500), min_size=1, max_size=30))
def test_units_hold_every_leaf(counts: list[int]) -> None:
    units = units_of(counts, 100)
    runs = sorted({(u.first, u.last, u.parts) for u in units})
    assert [leaf for first, last, _ in runs for leaf in range(first, last + 1)] == list(range(len(counts)))
    for first, last, parts in runs:
        size = sum(counts[first : last + 1])
        assert len([u for u in units if u.first == first]) == parts
        assert size <= 151 * parts
        assert size >= 50 or sum(counts) < 50 or len(runs) == 1


def test_hashes_are_even() -> None:
    parts = np.bincount((hashed(np.arange(10_000), 3) % np.uint64(5)).astype(np.int64))
    assert parts.min() > 1_800 and parts.max() < 2_200
