"""a(n,k), mu and the papers' expression: their table and example, digit by digit, and lists of everything."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reference import counting as twin
from shoal.errors import ShoalError
from shoal.studies.counting import (
    candidate_probability,
    mu,
    published_bound,
    representatives,
)
from shoal.studies.reproduce.printed import REPRESENTATIVES


@pytest.mark.parametrize("row", REPRESENTATIVES, ids=lambda row: f"n={row['n']}")
def test_representatives_as_printed_in_table_2(row: dict[str, int]) -> None:
    assert [representatives(row["n"], k) for k in (3, 4, 5)] == [row["k3"], row["k4"], row["k5"]]


def test_representatives_equal_the_printed_recursion() -> None:
    assert all(representatives(n, k) == twin.representatives(n, k) for k in (2, 3, 4, 5, 6) for n in range(k, 70))


def test_example_of_thirty_records_as_printed() -> None:
    assert mu(30, 3) == 1208883745669600000
    assert published_bound(30, 3) == Fraction(13297721202365600000, 10**30)


def test_mu_counts_partitions_where_k_divides_n() -> None:
    for n, k in [(4, 2), (6, 2), (8, 2), (6, 3), (9, 3), (8, 4)]:
        assert mu(n, k) == twin.partitions(tuple(range(n)), n // k, range(k, k + 1))


def test_mu_is_below_the_number_of_partitions_elsewhere() -> None:
    assert mu(7, 3) == Fraction(35, 2)
    for n, k in [(7, 3), (10, 3), (11, 3), (5, 2), (9, 4)]:
        even = range(n // (n // k), n // (n // k) + 2)
        assert mu(n, k) < twin.partitions(tuple(range(n)), n // k, even)


def test_exact_probability_counts_chromosomes() -> None:
    for n, k in [(2, 2), (3, 2), (4, 2), (5, 2), (7, 2), (8, 2), (6, 3), (8, 3), (9, 3), (11, 3), (9, 4), (12, 5)]:
        assert candidate_probability(n, k) == Fraction(twin.candidates(n, k), (n // k) ** n)


def test_the_printed_expression_is_not_a_bound() -> None:
    assert round(float(candidate_probability(30, 3)), 4) == 0.0016
    assert round(float(candidate_probability(11, 3)), 3) == 0.352
    assert round(float(published_bound(11, 3)), 3) == 0.022
    assert published_bound(30, 3) < candidate_probability(30, 3)


def test_k_out_of_range_is_reported() -> None:
    with pytest.raises(ShoalError, match="k must be between 2 and 5"):
        representatives(5, 6)
