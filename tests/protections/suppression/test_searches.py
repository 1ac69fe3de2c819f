"""The searches of cell suppression on arrays, compared with slow implementations and with proved optima."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import suppression as slow
from shoal.engine.control import Control
from shoal.errors import Stopped
from shoal.protections.suppression import class_search, every_subset, wildcard
from shoal.protections.suppression import tables as class_tables
from shoal.protections.suppression.class_search import Stars
from shoal.protections.suppression.kernels.wildcard import count_compatible
from shoal.protections.suppression.problem import StarProblem, make_problem
from shoal.protections.suppression.readings import by_pattern, smallest_counts


@pytest.fixture(autouse=True)
def small_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_search, "LEAST_MOVES", dict.fromkeys(class_search.LEAST_MOVES, 4_000))
    monkeypatch.setattr(wildcard, "COMPARISONS", dict.fromkeys(wildcard.COMPARISONS, 1e6))
    monkeypatch.setattr(every_subset, "LEAST_MOVES", dict.fromkeys(every_subset.LEAST_MOVES, 500))


@st.composite
def files(draw: st.DrawFn) -> tuple[list[slow.Record], list[int], list[float], int]:
    """Records, strata that can hold k, costs, and k."""
    keys, k = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    n = draw(st.integers(k, 14))
    widths = [draw(st.sampled_from([1, 2, 3, 50])) for _ in range(keys)]
    records = [tuple(draw(st.integers(0, width - 1)) for width in widths) for _ in range(n)]
    strata = [int(n >= 2 * k and i < k) for i in range(n)]
    cost = [draw(st.sampled_from([1.0, 1.0, 2.0, 0.25])) for _ in range(keys)]
    return records, strata, cost, k


def problem_of(records: list[slow.Record], strata: list[int], cost: list[float], k: int) -> StarProblem:
    columns = [np.array(column) for column in zip(*records, strict=True)]
    return make_problem(columns, [np.array(strata)], cost, k)


def with_strata(records: list[slow.Record], strata: list[int], stars: Stars) -> list[slow.Record]:
    cells = slow.starred(records, stars.starred.tolist())
    return [(*record, stratum) for record, stratum in zip(cells, strata, strict=True)]


@given(files())
@settings(max_examples=40, deadline=None)
def test_the_tables_have_every_class_of_k_records(file: tuple[list[slow.Record], list[int], list[float], int]) -> None:
    records, strata, cost, k = file
    problem = problem_of(*file)
    prepared = class_tables.class_tables(problem)
    table, order = prepared.tables.table, np.argsort(problem.tuple_of, kind="stable")
    assert prepared.complete and len(prepared.kept) == 2 ** len(cost)
    assert (np.diff(prepared.tables.cost) >= 0).all()
    for place, kept in enumerate(prepared.kept):
        columns = np.flatnonzero(kept).tolist()
        assert prepared.tables.cost[place] == pytest.approx(
            sum(c for c, is_kept in zip(cost, kept, strict=True) if not is_kept)
        )
        support = np.array(slow.supports(records, columns, strata))
        classes = table[problem.tuple_of, place]
        assert ((classes >= 0) == (support >= k)).all()
        for c in set(classes[classes >= 0].tolist()):
            rows = np.flatnonzero(classes == c)
            assert rows.size == support[rows[0]] and prepared.tables.place[c] == place
            members = prepared.tables.members[prepared.tables.start[c] : prepared.tables.start[c + 1]]
            assert sorted(members.tolist()) == sorted(set(problem.tuple_of[rows].tolist()))
    assert prepared.tables.tuple_of.tolist() == problem.tuple_of[order].tolist()
    assert prepared.lower_bound == pytest.approx(slow.lower_bound(records, strata, cost, k))


@given(files(), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_stars_as_values_keep_k_and_cost_no_less_than_the_bound(
    file: tuple[list[slow.Record], list[int], list[float], int], seed: int
) -> None:
    records, strata, _, k = file
    problem = problem_of(*file)
    stars = class_search.search(problem, seed=seed, effort="quick")
    assert min(slow.as_value(with_strata(records, strata, stars))) >= k
    assert stars.lower_bound is not None
    assert stars.lower_bound - 1e-9 <= problem.cost_of(stars.starred) <= stars.facts["peel_cost"] + 1e-9
    again = class_search.search(problem, seed=seed, effort="quick", control=Control(threads=3))
    assert (again.starred == stars.starred).all()


@given(files(), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_stars_as_wildcards_make_every_record_compatible_with_k(
    file: tuple[list[slow.Record], list[int], list[float], int], seed: int
) -> None:
    records, strata, _, k = file
    stars = wildcard.search(problem_of(*file), seed=seed, effort="quick")
    cells = with_strata(records, strata, stars)
    assert min(slow.as_wildcard(cells)) >= k
    fewer = class_search.search(problem_of(*file), effort="quick")
    if min(slow.as_value([(*r, s) for r, s in zip(records, strata, strict=True)])) >= k:
        assert not stars.starred.any() and not fewer.starred.any()


@given(files(), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_no_combination_is_rare_and_missing_cells_are_absent(
    file: tuple[list[slow.Record], list[int], list[float], int], m: int
) -> None:
    records, _, cost, k = file
    strata = [0] * len(records)
    missing = np.array([[value == 1 and key == 0 for key, value in enumerate(record)] for record in records])
    problem = problem_of(records, strata, cost, k)
    m = min(m, len(cost))
    stars = every_subset.search(problem, m, missing, effort="quick")
    absent = stars.starred | missing
    cells = [
        [None if gone else value for value, gone in zip(*row, strict=True)]
        for row in zip(records, absent.tolist(), strict=True)
    ]
    assert slow.rare(cells, k, m) == 0
    columns = [np.array(column) for column in zip(*records, strict=True)]
    before = [
        [None if gone else v for v, gone in zip(*row, strict=True)]
        for row in zip(records, missing.tolist(), strict=True)
    ]
    assert every_subset.rare_combinations(columns, missing, k, m) == slow.rare(before, k, m)
    assert stars.lower_bound is not None and problem.cost_of(stars.starred) >= stars.lower_bound - 1e-9
    bound = 0.0
    for i, record in enumerate(before):
        unsafe = [
            chosen
            for chosen in every_subset.sets_of(len(cost), m)
            if all(record[key] is not None for key in chosen)
            and sum(all(other[key] == record[key] for key in chosen) for other in before) < k
        ]
        bound += slow.cheapest_hits(unsafe, cost) if unsafe else 0.0
        assert i < len(before)
    assert stars.lower_bound == pytest.approx(bound)


@given(st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=1, max_size=20))
def test_both_readings_count_as_the_slow_implementation(cells: list[slow.Record]) -> None:
    columns = [np.array(column) for column in zip(*cells, strict=True)]
    assert smallest_counts(columns) == (min(slow.as_value(cells)), min(slow.as_wildcard(cells)))
    distinct, counts = np.unique(np.array(cells, dtype=np.int32), axis=0, return_counts=True)
    expected = [slow.as_wildcard(cells)[cells.index(tuple(row))] for row in distinct.tolist()]
    assert by_pattern(distinct, counts).tolist() == expected
    with_stratum = np.hstack([distinct, np.zeros((len(distinct), 1), dtype=np.int32)])
    assert count_compatible(np.ascontiguousarray(with_stratum), counts.astype(np.int64)).tolist() == expected


@given(st.lists(st.tuples(*[st.integers(0, 1)] * 2), min_size=4, max_size=6))
@settings(max_examples=25, deadline=None)
def test_small_files_come_near_the_optimum_and_never_below(records: list[slow.Record]) -> None:
    """A record that is left alone does not take records from classes without stars, so the search can end above."""
    problem = problem_of(records, [0] * len(records), [1.0, 1.0], 2)
    for search, is_wildcard in ((class_search.search, False), (wildcard.search, True)):
        optimum = slow.fewest_stars(records, 2, is_wildcard)
        assert optimum <= int(search(problem, effort="quick").starred.sum()) <= 2 * optimum


@pytest.mark.xfail(strict=True, reason="a record that is left alone does not take records from classes without stars")
@pytest.mark.parametrize(
    ("records", "is_wildcard"),
    [
        ([(0, 0), (0, 0), (0, 0), (0, 1), (1, 1), (1, 1)], False),
        ([(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 1)], True),
    ],
)
def test_these_small_files_do_not_reach_the_optimum_yet(records: list[slow.Record], is_wildcard: bool) -> None:
    problem = problem_of(records, [0] * len(records), [1.0, 1.0], 2)
    search = wildcard.search if is_wildcard else class_search.search
    assert int(search(problem, effort="quick").starred.sum()) == slow.fewest_stars(records, 2, is_wildcard)


def test_many_keys_use_fewer_subsets_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_tables, "MOST_SUBSETS", 40)
    monkeypatch.setattr(class_tables, "BEAM", 3)
    rng = np.random.default_rng(4)
    records = [tuple(row) for row in rng.integers(0, 3, (60, 7)).tolist()]
    problem = problem_of(records, [0] * 60, [1.0] * 7, 3)
    prepared = class_tables.class_tables(problem)
    assert not prepared.complete and len(prepared.kept) <= 42
    assert not prepared.kept[-1].any()
    assert prepared.lower_bound <= slow.lower_bound(records, [0] * 60, [1.0] * 7, 3) + 1e-9
    stars = class_search.search(problem, effort="quick")
    assert min(slow.as_value(slow.starred(records, stars.starred.tolist()))) >= 3


def test_a_stopped_search_returns_its_best_stars() -> None:
    rng = np.random.default_rng(5)
    records = [tuple(row) for row in rng.integers(0, 4, (200, 4)).tolist()]
    control = Control()
    control.stop()
    problem = problem_of(records, [0] * 200, [1.0] * 4, 3)
    stars = control.call(lambda: class_search.search(problem, first_only=True))
    assert problem.cost_of(stars.starred) == stars.facts["peel_cost"]
    assert min(slow.as_value(slow.starred(records, stars.starred.tolist()))) >= 3


def test_a_stop_ends_the_choice_of_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many columns the choice alone takes a second and more."""
    monkeypatch.setattr(class_tables, "MOST_SUBSETS", 40)
    monkeypatch.setattr(class_tables, "BEAM", 3)
    control, calls, classes_of = Control(threads=1), [], class_tables.classes_of

    def stopped_first(problem: StarProblem, subsets: list[class_tables.Subset]) -> np.ndarray:
        calls.append(len(subsets))
        control.stop()
        return classes_of(problem, subsets)

    monkeypatch.setattr(class_tables, "classes_of", stopped_first)
    records = [tuple(row) for row in np.random.default_rng(4).integers(0, 3, (60, 7)).tolist()]
    problem = problem_of(records, [0] * 60, [1.0] * 7, 3)
    with pytest.raises(Stopped):
        control.call(lambda: class_search.search(problem, effort="quick"))
    assert len(calls) == 1


def test_a_large_file_takes_the_cheapest_class_of_each_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wildcard, "MOST_FIRST", 0.0)
    rng = np.random.default_rng(6)
    records = [tuple(row) for row in rng.integers(0, 4, (80, 4)).tolist()]
    with pytest.warns(match="cheapest class of each record"):
        stars = wildcard.search(problem_of(records, [0] * 80, [1.0] * 4, 3))
    assert min(slow.as_wildcard(slow.starred(records, stars.starred.tolist()))) >= 3
