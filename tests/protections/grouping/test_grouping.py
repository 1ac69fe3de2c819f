"""Column groupings: canonical forms, operators, kernels against their reference implementations, the searches."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records
from reference import grouping as slow
from shoal.engine.control import Control
from shoal.errors import UsageError
from shoal.measures.convention import CONVENTIONS
from shoal.protections.grouping.all_groupings import exact
from shoal.protections.grouping.correlation import by_correlation, deal, dealt_out
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.front import front, non_dominated
from shoal.protections.grouping.gomm import GommSettings, gomm
from shoal.protections.grouping.grouping import (
    apart,
    as_lists,
    at_random,
    bell,
    canonical,
    from_lists,
    numbered,
    of_numbers,
    together,
)
from shoal.protections.grouping.kernels.grouping import count_links, fill_distances, group_figures
from shoal.protections.grouping.kernels.groupings import groupings_below, least_completions
from shoal.protections.grouping.kernels.likely_steps import learn_step, likely_step
from shoal.protections.grouping.memetic import inherited, memetic
from shoal.protections.grouping.monitor import COLUMNS, Monitor
from shoal.protections.grouping.operators import CROSSOVER, MUTATIONS, OPERATORS, crossover
from shoal.table.scaling import scale

SMALL = GommSettings(population=12, generations=6, times={**dict.fromkeys(MUTATIONS, 2), CROSSOVER: 3})


def is_partition(grouping, d):
    columns = sorted(column for group in as_lists(grouping) for column in group)
    return columns == list(range(d)) and grouping == canonical(grouping)


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_operators_give_canonical_partitions(d, seed):
    rng = random.Random(seed)
    one, other = at_random(d, rng), at_random(d, rng)
    children = [*crossover(one, other, rng), *(mutate(one, rng) for mutate in MUTATIONS.values())]
    assert all(is_partition(child, d) for child in (one, other, *children))


def test_each_mutation_does_what_its_name_says():
    rng = random.Random(5)
    parent = from_lists([[0, 1, 2, 3], [4, 5], [6, 7, 8]], 9)
    for _ in range(50):
        sizes = sorted(len(group) for group in as_lists(MUTATIONS["element swap"](parent, rng)))
        assert sizes == [2, 3, 4]
        assert len(MUTATIONS["group eliminate"](parent, rng)) == 2
        halves = sorted(len(group) for group in as_lists(MUTATIONS["group split"](parent, rng)))
        assert halves in ([2, 2, 2, 3], [1, 1, 3, 4], [1, 2, 2, 4])
        moved = MUTATIONS["element move"](parent, rng)
        assert moved != parent and len(moved) == 3
        created = MUTATIONS["group create"](parent, rng)
        kept = [set(group) for group in as_lists(parent)]
        assert sum(not any(set(g) <= old for old in kept) for g in as_lists(created)) <= 1
    assert MUTATIONS["group eliminate"](together(4), rng) == together(4)
    assert MUTATIONS["group split"](apart(4), rng) == apart(4)


def test_a_crossover_keeps_whole_groups_of_one_parent_and_the_rest_of_the_other():
    rng = random.Random(1)
    one, other = from_lists([[0, 1], [2, 3], [4, 5]], 6), from_lists([[0, 2, 4], [1, 3, 5]], 6)
    for _ in range(50):
        for child, giver, taker in zip(crossover(one, other, rng), (one, other), (other, one), strict=True):
            kept = [group for group in child if group in giver]
            taken = sum(kept)
            assert kept
            assert set(child) - set(kept) <= {group & ~taken for group in taker}


def test_lists_that_are_not_a_partition_are_refused():
    for wrong in ([[0, 1], [1, 2]], [[0], [2]], [[0, 1, 2, 3]], [[0, 1], []]):
        with pytest.raises(UsageError):
            from_lists(wrong, 3)


@given(records(), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_group_figures_agree_with_the_reference_implementation(sample, relative, seed):
    values, k = sample
    rng = np.random.default_rng(seed)
    n, d = values.shape
    groups = max(1, n // k)
    labels = np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)]).astype(np.int32)
    columns = np.ascontiguousarray(values.T)
    reach = np.full(d, -1.0) if relative else values.std(axis=0)
    sse, hits, merged, distinct = slow.group_figures(columns.tolist(), labels.tolist(), reach.tolist())
    ours = labels.copy()
    found = group_figures(columns, np.arange(d), ours, groups, reach)
    assert found[0] == pytest.approx(sse, rel=1e-9, abs=1e-300)
    assert found[1:] == (hits, distinct)
    assert all((ours[i] == ours[j]) == (merged[i] == merged[j]) for i in range(n) for j in range(n))
    surely, table = np.empty(n, bool), np.empty((n, groups))
    fill_distances(columns, np.arange(d), ours, distinct, np.arange(n), table, surely)
    table = table[:, :distinct]
    np.testing.assert_allclose(table, slow.distance_table(columns.tolist(), ours.tolist()), rtol=1e-9, atol=1e-300)
    for i in range(n):
        assert surely[i] == all(table[i, g] > table[i, ours[i]] for g in range(distinct) if g != ours[i])


@given(st.integers(1, 4), st.integers(2, 14), st.integers(0, 2**32), st.booleans())
@settings(max_examples=80)
def test_links_from_tables_agree_with_the_reference_implementation(parts, n, seed, strict):
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 5, parts)
    labels = np.array([rng.integers(0, width, n) for width in widths], dtype=np.int32)
    # Integers: sums are exact, so a tie does not depend on the order of the sum.
    tables = [rng.integers(0, 6, (n, width)).astype(float) for width in widths]
    for table, label in zip(tables, labels, strict=True):
        nearest = rng.random(n) < 0.7
        table[np.flatnonzero(nearest), label[nearest]] = 0.0
    surely = np.array(
        [
            [all(table[i, g] > table[i, label[i]] for g in range(table.shape[1]) if g != label[i]) for i in range(n)]
            for table, label in zip(tables, labels, strict=True)
        ]
    )
    order = rng.permutation(parts + 2)  # the tables are in random slots, and two slots are empty
    room = np.full((parts + 2, n, 5), -1.0)
    for place, table in zip(order, tables, strict=False):
        room[place, :, : table.shape[1]] = table
    sure, stand = np.zeros((parts + 2, n), bool), np.zeros((parts + 2, n), np.int32)
    sure[order[:parts]], stand[order[:parts]] = surely, labels
    starts = np.cumsum([0, *widths])
    found = count_links(room, sure, stand, order[:parts], starts, np.arange(n), strict, np.inf)
    assert found == pytest.approx(slow.links([t.tolist() for t in tables], labels.tolist(), strict))


@given(records(columns=3), st.sampled_from(sorted(CONVENTIONS)), st.integers(0, 2**32))
@settings(max_examples=30)
def test_the_cost_of_a_grouping_is_that_of_the_protected_data(sample, convention, seed):
    values, k = sample
    scaled = np.round(scale(values, CONVENTIONS[convention].scaling), 6)
    if not np.ptp(scaled, axis=0).any():
        return
    cost = GroupingCost(scaled, k, convention)
    grouping = at_random(3, random.Random(seed))
    labelled = [(columns, cost.labels(group)) for columns, group in zip(as_lists(grouping), grouping, strict=True)]
    rules = CONVENTIONS[convention]
    loss, disclosure, linkage = slow.cost(scaled, labelled, rules.strict, rules.relative)
    found = cost.evaluate(grouping)
    assert found.information_loss == pytest.approx(loss)
    assert found.interval_disclosure == pytest.approx(disclosure)
    # Equal distances may differ in the last bit by the order of the sum: at most one record counts otherwise.
    assert found.distance_linkage == pytest.approx(linkage, abs=100.0 / len(values) + 1e-9)
    if convention == "sound":
        assert all(np.bincount(labels).min() >= k for _, labels in labelled)


def made_values(n=60, d=5, seed=3):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, 2))
    return np.column_stack([base @ rng.normal(size=2) + 0.5 * rng.normal(size=n) for _ in range(d)])


def test_two_record_groups_with_one_centroid_are_a_tie():
    # Two groups of the same values: the own centroid is "nearest", but so is the other one; nobody is linked.
    values = np.array([[0.0], [1.0], [0.0], [1.0]])
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    _, _, distinct = group_figures(np.ascontiguousarray(values.T), np.arange(1), labels, 2, np.full(1, -1.0))
    assert distinct == 1 and labels.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("convention", sorted(CONVENTIONS))
def test_below_returns_the_cost_or_none_above_the_limit(convention):
    values = scale(made_values(), CONVENTIONS[convention].scaling)
    cost, fresh = GroupingCost(values, 4, convention), GroupingCost(values, 4, convention, caching=False)
    rng = random.Random(0)
    for _ in range(40):
        grouping = at_random(5, rng)
        full = fresh.evaluate(grouping)
        limit = full.fitness + rng.uniform(-3, 3)
        found = cost.below(grouping, limit)
        assert (found == full) if full.fitness < limit else found is None
    assert cost.evaluate(together(5)) == fresh.evaluate(together(5))


def test_a_small_memory_and_many_threads_change_nothing():
    values = scale(made_values(), "standard")
    rng = random.Random(0)
    groupings = [at_random(5, rng) for _ in range(30)]
    plain, tight = GroupingCost(values, 4), GroupingCost(values, 4, memory=1, threads=4)
    tight.prepare(groupings)
    assert [plain.evaluate(g) for g in groupings] == [tight.evaluate(g) for g in groupings]


def test_sampled_linkage_has_an_error():
    values = scale(made_values(n=2300, d=3), "standard")
    cost = GroupingCost(values, 40)
    grouping = from_lists([[0, 1], [2]], 3)
    sampled, full = cost.evaluate(grouping), GroupingCost(values, 40, sampling=False).evaluate(grouping)
    assert cost.sampled and sampled.error > 0 and full.error == 0
    assert abs(sampled.distance_linkage - full.distance_linkage) < 5 * sampled.error


def test_the_exact_search_finds_what_trying_all_groupings_finds():
    for convention in CONVENTIONS:
        values = scale(made_values(n=40), CONVENTIONS[convention].scaling)
        cost = GroupingCost(values, 3, convention)
        everything = [from_lists(lists, 5) for lists in slow.partitions(list(range(5)))]
        assert len(everything) == bell(5)
        best = min(cost.evaluate(grouping).fitness for grouping in everything)
        found = exact(GroupingCost(values, 3, convention), evaluations=1)
        assert found.evaluation.fitness == pytest.approx(best)
    with pytest.raises(UsageError):
        exact(GroupingCost(np.random.default_rng(0).normal(size=(30, 13)), 3))


def test_the_enumeration_leaves_out_only_what_its_bound_excludes():
    values = scale(made_values(n=30, d=4), "minmax")
    cost = GroupingCost(values, 3, "thesis")
    price = np.array([0.0, *(cost.price_without_links((group,)) for group in range(1, 16))])
    least = least_completions(price)
    labels, surely = np.zeros((16, 30), np.int32), np.zeros((16, 30), bool)
    for group in range(1, 16):
        labels[group], surely[group] = cost.nearest_own(group)
    bounds, found = np.empty(20), np.empty((20, 4), np.int32)
    count = groupings_below(
        price, least, labels, surely, np.inf, cost.price_of_link, True, bounds, found, Control().flag
    )
    assert count == bell(4)
    for bound, row in zip(bounds, found, strict=False):
        grouping = tuple(int(group) for group in row if group)
        if grouping and is_partition(grouping, 4):
            assert bound <= cost.evaluate(grouping).fitness + 1e-9
    totals = [sum(price[g] for g in from_lists(lists, 4)) for lists in slow.partitions([0, 1, 2, 3])]
    assert least[15] == pytest.approx(min(totals))


def test_gomm_is_the_same_for_the_same_seed_with_and_without_a_monitor():
    values = scale(made_values(d=8), "standard")
    monitor = Monitor()
    watched = gomm(GroupingCost(values, 4), SMALL, seed=7, monitor=monitor)
    plain = gomm(GroupingCost(values, 4, threads=3), SMALL, seed=7)
    assert watched.population == plain.population and watched.births == plain.births == 12 + 6 * 16
    fitness = [evaluation.fitness for _, evaluation in plain.population]
    assert fitness == sorted(fitness)
    table = monitor.table()
    assert all(tuple(row) == COLUMNS for row in table)
    assert {row["operator"] for row in table} == {"first", *OPERATORS}
    for row in table:
        if row["operator"] != "first":
            assert row["better"] + row["worse"] + row["clones"] == row["children"]
            assert 0 <= row["discarded_unused"] <= row["children"] and 0 <= row["lifetime"] <= 6


def test_d_gomm_drops_operators_only_after_five_generations_without_a_survivor():
    values = scale(made_values(d=6), "standard")
    long = GommSettings(population=12, generations=40, times=SMALL.times, dynamic=True)
    result = gomm(GroupingCost(values, 4), long, seed=1)
    assert result.dropped and all(generation >= 5 for generation in result.dropped.values())
    assert result.births < 12 + 40 * 16


@given(st.integers(1, 12), st.integers(0, 2**32))
def test_children_are_groupings_of_the_same_columns(d, seed):
    rng = random.Random(seed)
    one, other = at_random(d, rng), at_random(d, rng)
    child = inherited(one, other, rng)
    assert is_partition(child, d) and len(child) <= max(len(one), len(other))
    assert inherited(one, one, rng) == one


def drawn(start, pairs, sizes, state, *, temperature=0.1, doubt=1.0):
    """A step from a grouping: the new grouping, its largest allowed cost and its estimated cost."""
    numbers = numbered(start)
    end = np.empty_like(numbers)
    allowed, change = likely_step(numbers, end, pairs, sizes, temperature, doubt, state)
    return of_numbers(end), allowed, change


@given(st.integers(1, 12), st.integers(0, 2**32))
def test_a_step_has_the_estimate_of_the_reference_implementation_and_learning_corrects_it(d, seed):
    rng = np.random.default_rng(seed)
    pairs, sizes, state = rng.normal(size=(d, d)), rng.normal(size=d + 1), rng.integers(2**63, size=1).astype(np.uint64)
    start = at_random(d, random.Random(seed))
    end, allowed, change = drawn(start, pairs, sizes, state)
    assert is_partition(end, d) and allowed >= 0
    change_of = lambda: slow.estimate(end, pairs, sizes) - slow.estimate(start, pairs, sizes)  # noqa: E731
    assert change == pytest.approx(change_of(), abs=1e-9)
    learn_step(numbered(start), numbered(end), pairs, sizes, 0.25)
    of_sizes = [sorted(group.bit_count() for group in grouping) for grouping in (start, end)]
    if start == end or (max(map(max, of_sizes)) == 1 and of_sizes[0] == of_sizes[1]):
        assert change_of() == pytest.approx(change, abs=1e-9)  # the two groupings have the same terms
    else:
        assert change_of() == pytest.approx(change + 0.25, abs=1e-9)


def test_every_kind_of_step_is_taken_and_costly_ones_rarely():
    start = from_lists([[0, 1, 2], [3, 4], [5]], 6)
    pairs, sizes, state = np.zeros((6, 6)), np.zeros(7), np.array([1], np.uint64)
    ends = [drawn(start, pairs, sizes, state)[0] for _ in range(600)]
    assert {len(end) for end in ends} == {2, 3, 4}  # merged or a lone column moved; moved or swapped; split or alone
    of_sizes = {tuple(sorted(group.bit_count() for group in end)) for end in ends}
    assert {(1, 2, 3), (2, 2, 2), (1, 1, 4), (1, 5), (1, 1, 2, 2)} <= of_sizes
    pairs[5, :] = 50.0  # column 5 should stay alone
    sure = [drawn(start, pairs, sizes, state, doubt=0.01) for _ in range(300)]
    assert all(0b100000 in end and change <= 0.5 for end, _, change in sure)
    assert any(0b100000 not in drawn(start, pairs, sizes, state, doubt=30.0)[0] for _ in range(300))


@given(st.integers(1, 70), st.integers(0, 2**32))
def test_numbers_of_groups_and_groupings_are_the_same(d, seed):
    grouping = at_random(d, random.Random(seed))
    assert of_numbers(numbered(grouping)) == grouping
    assert of_numbers(d - 1 - numbered(grouping)) == grouping


def test_a_search_over_few_groupings_ends_early_and_finds_the_best():
    cost = GroupingCost(scale(made_values(d=3), "standard"), 4)
    found = memetic(cost, evaluations=1_000_000)
    assert cost.requests < 200 and not found.stopped
    assert found.evaluation.fitness == min(cost.evaluate(from_lists(p, 3)).fitness for p in slow.partitions([0, 1, 2]))


def test_memetic_reports_that_its_time_limit_ended_it():
    assert memetic(GroupingCost(scale(made_values(d=8), "standard"), 4), seconds=0.0).stopped


def test_memetic_is_repeatable_and_no_worse_than_its_starts():
    values = scale(made_values(d=7), "standard")
    starts = [together(7), by_correlation(values, 3, together=True)]
    found = memetic(GroupingCost(values, 4), evaluations=600, seed=2, starts=starts)
    again = memetic(GroupingCost(values, 4, threads=2), evaluations=600, seed=2, starts=starts)
    assert found == again
    cost = GroupingCost(values, 4)
    assert found.evaluation.fitness <= min(cost.evaluate(start).fitness for start in starts)


def test_the_front_has_no_dominated_choice_and_holds_the_best_mean():
    values = scale(made_values(d=5), "standard")
    cost = GroupingCost(values, 4)
    choices = front(cost, evaluations=1500, seed=0)
    points = [(e.information_loss, e.risk) for _, e in choices]
    assert points == sorted(points) and [p[1] for p in points] == sorted((p[1] for p in points), reverse=True)
    everything = [(g, cost.evaluate(g)) for g in (from_lists(p, 5) for p in slow.partitions(list(range(5))))]
    for _, e in non_dominated(everything):
        assert any(loss <= e.information_loss + 1 and risk <= e.risk + 1 for loss, risk in points)
    for loss, risk in points:
        assert not any(a <= loss and b <= risk and (a, b) != (loss, risk) for a, b in points)


def test_groupings_from_correlations():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200))
    values = np.column_stack([a, b, a + 0.01 * rng.normal(size=200), b + 0.01 * rng.normal(size=200), np.ones(200)])
    assert as_lists(by_correlation(values[:, :4], 2, together=True)) == [[0, 2], [1, 3]]
    assert all({0, 2} != set(g) and {1, 3} != set(g) for g in as_lists(by_correlation(values, 2, together=False)))
    assert is_partition(by_correlation(values, 2, together=True), 5)
    with pytest.raises(UsageError):
        by_correlation(values, 6, together=True)


def test_uncorrelated_groups_deal_out_the_correlated_ones():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 200))
    near = [column + 0.01 * rng.normal(size=200) for column in (a, b, c)]
    values = np.column_stack([a, b, c, *near, np.ones(200)])
    assert sorted(map(sorted, as_lists(by_correlation(values, 2, together=True)))) == [[0, 3], [1, 4], [2, 5], [6]]
    dealt = as_lists(dealt_out(values, 2))
    assert is_partition(dealt_out(values, 2), 7) and [len(group) for group in dealt].count(2) == 3
    assert all(abs(i - j) != 3 for i, j in (group for group in dealt if len(group) == 2))
    assert deal([[4, 1], [3], [2, 5]], 2) == [[1, 3], [2, 4], [5]]
    with pytest.raises(UsageError):
        dealt_out(values, 8)
