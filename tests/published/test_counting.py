"""a(n,k), mu and the papers' expression: their table and example, digit by digit, and lists of everything."""

from __future__ import annotations

from fractions import Fraction

import pytest
from reference import counting as twin
from shoal.errors import ShoalError
from shoal.partition.counting import (
    candidate_probability,
    partitions_of_most_groups,
    published_bound,
    representatives,
)
from shoal.study.reproduce.printed import REPRESENTATIVES


@pytest.mark.parametrize("row", REPRESENTATIVES, ids=lambda row: f"n={row['n']}")
def test_representatives_as_printed_in_table_2(row: dict[str, int]) -> None:
    assert [representatives(row["n"], k) for k in (3, 4, 5)] == [row["k3"], row["k4"], row["k5"]]


def test_representatives_equal_the_printed_recursion() -> None:
    assert all(representatives(n, k) == twin.representatives(n, k) for k in (2, 3, 4, 5, 6) for n in range(k, 70))


def test_example_of_thirty_records_as_printed() -> None:
    assert partitions_of_most_groups(30, 3) == 1208883745669600000
    assert published_bound(30, 3) == Fraction(13297721202365600000, 10**30)


def test_mu_counts_partitions() -> None:
    for n, k in [(6, 3), (7, 3), (9, 3), (10, 3), (5, 2), (8, 2), (9, 4)]:
        groups = n // k
        even = range(n // groups, n // groups + 1 + (n % groups > 0))
        assert partitions_of_most_groups(n, k) == twin.partitions(tuple(range(n)), groups, even)


def test_exact_probability_counts_chromosomes() -> None:
    for n, k in [(2, 2), (3, 2), (4, 2), (5, 2), (7, 2), (8, 2), (6, 3), (8, 3), (9, 3), (11, 3), (9, 4), (12, 5)]:
        assert candidate_probability(n, k) == Fraction(twin.candidates(n, k), (n // k) ** n)


def test_the_printed_expression_is_no_bound() -> None:
    assert round(float(candidate_probability(30, 3)), 4) == 0.0016
    assert round(float(candidate_probability(11, 3)), 3) == 0.352
    assert round(float(published_bound(11, 3)), 3) == 0.022
    assert published_bound(30, 3) < candidate_probability(30, 3)


def test_k_out_of_range_is_told() -> None:
    with pytest.raises(ShoalError, match="k must be between 2 and 5"):
        representatives(5, 6)
