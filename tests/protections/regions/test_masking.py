"""Masking: the tau test, the metric, the flow and the memetic algorithm against their twins and their promises."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from reference import masking as twin
from shoal.engine.control import Control
from shoal.errors import InputError, ShoalError, UsageError
from shoal.protections.regions import mask_group
from shoal.protections.regions.by_evolution import MemeticSettings, fitness, mask_by_evolution
from shoal.protections.regions.by_flow import flow_seeds, mask_by_flow
from shoal.protections.regions.columns import marked_records, numbered_regions
from shoal.protections.regions.flow import Network
from shoal.protections.regions.outliers import outliers, tau_test
from shoal.protections.regions.restriction import AutomaticThreshold, Restrictions, falling, zmf
from shoal.protections.regions.signal import goal_signal
from shoal.protections.regions.similarity import matching_values, nearest_partners
from shoal.protections.regions.task import MaskingLimits, Task, masking_task
from shoal.table.table import Table

signals = st.lists(
    st.one_of(st.integers(0, 40), st.sampled_from([0, 0, 1, 97, 1_000_000_000])), min_size=1, max_size=45
)


def least_distortion(task: Task, counts: ArrayLike) -> float:
    """The lowest distortion of swaps that give the regions exactly these numbers of target records."""
    flow = Network(task).reach(np.asarray(counts, dtype=np.int64))
    assert flow is not None
    return flow.distortion


@given(signals, st.sampled_from([0.001, 0.01, 0.05, 0.2]), st.sampled_from(["both", "upper"]))
def test_outliers_equal_the_twin(signal: list[int], alpha: float, side: str) -> None:
    assert outliers(signal, alpha, side).tolist() == twin.tau_outliers(signal, alpha, side)


def test_a_blind_test_says_so_and_hides_only_the_median() -> None:
    test = tau_test([0, 0, 0, 0, 0, 0, 0, 50])
    assert test.blind and test.positions.size == 0
    assert test.hides([0, 0, 0, 0, 0, 0, 0, 50], np.array([0, 7])).tolist() == [True, False]
    assert not tau_test([3, 3, 3, 3]).blind


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0])
def test_alpha_must_be_a_probability(alpha: float) -> None:
    with pytest.raises(UsageError, match="alpha must be between 0 and 1"):
        outliers([1, 2, 3, 4], alpha)


@given(st.floats(0, 100), st.floats(1, 50), st.floats(1, 50), st.sampled_from(["zmf", "linear", "step"]))
def test_restrictions_fall_from_1_to_0(x: float, a: float, width: float, shape: str) -> None:
    assert float(falling(a, a, a + width, shape)) == 1.0
    assert float(falling(a + width, a, a + width, shape)) == 0.0
    assert 0.0 <= float(falling(x, a, a + width, shape)) <= 1.0
    # an outlier region from below rises instead: the mirror image
    mirror = float(falling(2 * a - x, a, a - width, shape))
    assert mirror == pytest.approx(float(falling(x, a, a + width, shape)), abs=1e-9) or shape == "step"


def test_thresholds_by_rule() -> None:
    values = np.array([2.0, 5, 7, 97, 45, 6])
    outlying = np.array([3, 4])
    assert AutomaticThreshold().of(values, outlying).tolist() == [7, 7]
    assert AutomaticThreshold(nth=2).of(values, outlying).tolist() == [6, 6]
    below = AutomaticThreshold(rule="below").of(values, outlying)
    assert below.tolist() == pytest.approx([7 - 0.2 * 90, 7 - 0.2 * 38])


cells = st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.0, 1e9, 1e9 + 1, 5e-324]))


@given(st.lists(st.tuples(cells, cells, cells), min_size=2, max_size=8), st.floats(0, 3), st.floats(0, 2))
def test_metric_equals_the_twin(rows: list[tuple[float | None, ...]], weight: float, chi: float) -> None:
    ordinal = np.array([[np.nan if x is None else x for x in row[:2]] for row in rows])
    codes = {value: i for i, value in enumerate(sorted({row[2] for row in rows if row[2] is not None}))}
    nominal = np.array([[codes.get(row[2], -1)] for row in rows])
    values = matching_values(ordinal, nominal, np.array([weight, 1.0]), np.array([weight]), (0.25, chi))
    ours = values.between(np.zeros(len(rows) - 1, dtype=int), np.arange(1, len(rows)))
    kinds, weights = [True, True, False], [weight, 1.0, weight]
    assert ours.tolist() == pytest.approx(
        [twin.metric(rows[0], row, kinds, weights, (0.25, chi)) for row in rows[1:]], rel=1e-12
    )


def test_negative_ordinals_are_refused() -> None:
    with pytest.raises(InputError, match="negative or infinite"):
        matching_values(np.array([[1.0], [-2.0]]), np.empty((2, 0), dtype=int))


def tiny(draw, records: int = 9):
    """A file so small that all swaps can be tried: 3 regions, at most 3 target records."""
    n = draw(st.integers(5, records))
    region = np.array([0, 1, 2, *draw(st.lists(st.integers(0, 2), min_size=n - 3, max_size=n - 3))])
    is_target = np.zeros(n, dtype=bool)
    is_target[draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=3).map(list))] = True
    codes = np.array(draw(st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=n, max_size=n)))
    numbers = np.array(draw(st.lists(st.sampled_from([0.0, 1, 2, 7, np.nan]), min_size=n, max_size=n)))[:, None]
    return region, is_target, matching_values(numbers, codes, np.array([0.7]), np.array([1.0, 2.0, 0.5]))


def task_of(region, is_target, values, **rest):
    counts = np.bincount(region[is_target], minlength=3)
    top = int(counts.argmax())
    return masking_task(
        region, is_target, values, outlying=np.array([top]), threshold=np.array([counts[top] - 1.0]), **rest
    )


@settings(max_examples=60)
@given(st.data())
def test_the_flow_is_the_cheapest_of_all_swaps(data) -> None:
    region, is_target, values = tiny(data.draw)
    n = region.size
    task = task_of(region, is_target, values)
    everyone = np.arange(n)
    cost = [values.between(np.full(n, i), everyone).tolist() for i in range(n)]
    best: dict[tuple[int, ...], float] = {}
    for counts, total in twin.all_swaps(region.tolist(), is_target.tolist(), cost):
        best[tuple(counts)] = min(total, best.get(tuple(counts), np.inf))
    network = Network(task)
    network._grow(network.nearest.targets, 1)  # the shortest lists, so that growing is tried too
    for counts, total in best.items():
        flow = network.reach(np.array(counts))
        assert flow is not None and flow.distortion == pytest.approx(total, abs=1e-9)
        assert network.solution(flow).distortion == pytest.approx(total, abs=1e-9)
        slopes = flow.slopes(3)
        for other, least in best.items():  # the potentials bound the cost of every other target
            assert least >= flow.distortion + slopes @ (np.array(other) - np.array(counts)) - 1e-9
    high = task.room.copy()
    high[task.outlying] = task.signal.counts[task.outlying] - 1
    free = network.solve(np.zeros(3, dtype=int), high)
    reachable = [total for counts, total in best.items() if (np.array(counts) <= high).all()]
    assert (free is None) == (not reachable)
    if free is not None:
        assert free.distortion == pytest.approx(min(reachable), abs=1e-9)


@settings(max_examples=30)
@given(st.data())
def test_shift_costs_are_exact(data) -> None:
    region, is_target, values = tiny(data.draw)
    network = Network(task_of(region, is_target, values))
    flow = network.reach(network.task.signal.counts)
    costs = network.shift_costs(flow)
    for i in range(3):
        for j in range(3):
            counts = flow.counts.copy()
            counts[i] -= 1
            counts[j] += 1
            there = network.reach(counts) if counts[i] >= 0 else None
            if there is None:
                assert np.isinf(costs[i, j]) or i == j
            elif i != j:
                assert costs[i, j] == pytest.approx(there.distortion - flow.distortion, abs=1e-9)


def made(seed: int, n: int = 1500, regions: int = 16, **rest):
    """A file with two clear outliers."""
    rng = np.random.default_rng(seed)
    region = np.concatenate([np.arange(regions), rng.integers(0, regions, n - regions)])
    is_target = np.zeros(n, dtype=bool)
    for d in range(regions):
        rows = np.flatnonzero(region == d)
        count = {2: 30, 9: 22}.get(d, int(rng.integers(0, 4)))
        is_target[rng.choice(rows, min(count, rows.size - 5), replace=False)] = True
    codes = rng.integers(0, 6, (n, 6))
    return masking_task(region, is_target, matching_values(np.empty((n, 0)), codes), **rest)


@settings(max_examples=3)
@given(st.integers(0, 10_000))
def test_flow_solutions_keep_every_promise_and_the_bound_is_below(seed: int) -> None:
    task = made(seed, n=900, regions=12)
    assume({2, 9} <= set(task.outlying.tolist()))
    answer = mask_by_flow(task, budget=40, steps=200)
    assert answer.bound is not None
    for solution in answer.solutions:
        assert solution.feasible and answer.bound <= solution.distortion + 1e-9
        assert (task.check(solution.swaps) == solution.counts).all()
        assert solution.counts.sum() == task.signal.counts.sum()
        assert not set(outliers(solution.counts)) & set(task.outlying.tolist())
        assert least_distortion(task, solution.counts) == pytest.approx(solution.distortion)


@settings(max_examples=12)
@given(st.data())
def test_the_bound_is_below_every_masked_set_of_swaps(data) -> None:
    region, is_target, values = tiny(data.draw)
    counts = np.bincount(region[is_target], minlength=3)
    assume(counts.max() >= 2)
    task = task_of(region, is_target, values, limits=MaskingLimits(distortion=1.0))
    n = region.size
    cost = [values.between(np.full(n, i), np.arange(n)).tolist() for i in range(n)]
    feasible = [
        total
        for after, total in twin.all_swaps(region.tolist(), is_target.tolist(), cost)
        if task.judge(np.array(after), total).feasible
    ]
    answer = mask_by_flow(task, budget=40, steps=100)
    if feasible:
        assert answer.bound is not None and answer.bound <= min(feasible) + 1e-9
        assert all(s.distortion >= min(feasible) - 1e-9 for s in answer.solutions)


@settings(max_examples=8)
@given(st.integers(0, 10_000), st.booleans())
def test_evolution_keeps_the_constraints_and_repeats_itself(seed: int, tau: bool) -> None:
    task = made(seed)
    options = MemeticSettings(runs=2, generations=15, population=20, pairs=8, mutation=0.05, tau=tau)
    first = mask_by_evolution(task, options, seed=seed, control=Control(threads=1))
    second = mask_by_evolution(task, options, seed=seed, control=Control(threads=2))
    assert first.candidates == 40
    assert [s.distortion for s in first.solutions] == [s.distortion for s in second.solutions]
    best = first.fittest  # check() has refused any swap that breaks a constraint, for every individual
    assert best is not None and best.distortion == pytest.approx(
        float(task.matching.between(best.swaps[:, 0], best.swaps[:, 1]).sum())
    )
    assert least_distortion(task, best.counts) <= best.distortion + 1e-9
    assert all((np.diff(trace[:, 0]) >= -1e-12).all() for trace in first.traces)


def test_lookups_and_computed_metrics_evolve_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.protections.regions import by_evolution as memetic

    task = made(5)
    options = MemeticSettings(runs=1, generations=10, population=20, pairs=8)
    known = mask_by_evolution(task, options)
    monkeypatch.setattr(memetic, "MAX_PAIRS", 0)
    computed = mask_by_evolution(task, options)
    assert known.fittest is not None and computed.fittest is not None
    assert known.fittest.swaps.tolist() == computed.fittest.swaps.tolist()


def test_flow_seeds_stay_within_one_percent_of_the_optimum() -> None:
    task = made(3)
    network = Network(task)
    seeds = flow_seeds(task, network, budget=40)
    assert seeds
    answer = mask_by_evolution(
        task, MemeticSettings(runs=1, generations=30, tau=True), seeds=seeds, network=network, seed=1
    )
    best = answer.solutions[0]
    assert best.distortion <= 1.01 * least_distortion(task, best.counts)
    assert (
        max(s.facts["fitness"] for s in answer.solutions)
        >= max(fitness(task, MemeticSettings(), s) for s in seeds) - 1e-9
    )


def test_a_table_that_holds_only_movers_gives_the_same_flow() -> None:
    task = made(7)
    whole, part = Network(task), Network(task, table=1)
    assert part.nearest.targets.size < whole.nearest.targets.size
    low, high = np.zeros(task.region_count, dtype=int), task.room.copy()
    high[task.outlying] = 6
    one, two = whole.solve(low, high), part.solve(low, high)
    assert one is not None and two is not None and one.distortion == two.distortion


def test_a_flow_from_before_the_network_grew_is_still_good() -> None:
    task = made(7)
    whole, part = Network(task), Network(task, table=1)
    low, high = np.zeros(task.region_count, dtype=int), task.room.copy()
    high[task.outlying] = 6
    flow = part.solve(low, high)
    assert flow is not None
    before = part.solution(flow)
    part._grow(task.targets, 2 * part.nearest.depth)
    assert part.nearest.targets.size > flow.targets.size
    after = part.solution(flow)
    np.testing.assert_array_equal(after.swaps, before.swaps)
    np.testing.assert_allclose(part.shift_costs(flow), whole.shift_costs(whole.reach(flow.counts)))


def test_nearest_partners_are_the_nearest_with_ties_by_position() -> None:
    task = made(11, n=300)
    network = Network(task)
    table = nearest_partners(task.matching, task.targets[:7], task.partners, network.bounds, 5)
    for i, v in enumerate(task.targets[:7]):
        for d in range(task.region_count):
            inside = np.arange(network.bounds[d], network.bounds[d + 1])
            cost = task.matching.between(np.full(inside.size, v), task.partners[inside])
            order = np.argsort(cost, kind="stable")[:5]
            assert table.who[i, d, : order.size].tolist() == inside[order].tolist()
            assert table.cost[i, d, : order.size].tolist() == cost[order].tolist()


def test_signals() -> None:
    region = np.array([0, 0, 0, 1, 1, 2])
    is_target = np.array([True, False, True, False, True, False])
    second = np.array([False, True, False, False, False, True])
    assert goal_signal(region, is_target).values.tolist() == [2, 1, 0]
    assert goal_signal(region, is_target, "concentration").values.tolist() == pytest.approx([2 / 3, 1 / 2, 0])
    assert goal_signal(region, is_target, "difference", second).values.tolist() == pytest.approx([1 / 3, 1 / 2, -1])


@pytest.mark.parametrize("kind", ["concentration", "difference"])
def test_other_signals_are_masked_too(kind: str) -> None:
    rng = np.random.default_rng(2)
    base = made(2)
    second = ~base.is_target & (rng.random(base.is_target.size) < 0.02) if kind == "difference" else None
    task = masking_task(base.region, base.is_target, base.matching, kind=kind, second=second)
    answer = mask_by_flow(task, budget=40)
    assert answer.solutions
    best = answer.solutions[0]
    assert not set(outliers(task.signal.of(best.counts))) & set(task.outlying.tolist())
    assert second is None or not second[best.swaps].any()


def test_a_region_without_target_records_can_receive_some() -> None:
    task = made(4)
    assert (task.signal.counts == 0).any()
    assert mask_by_flow(task, budget=60, steps=100).solutions


def test_a_hole_is_filled() -> None:
    rng = np.random.default_rng(0)
    region = np.repeat(np.arange(12), 100)
    is_target = np.zeros(1200, dtype=bool)
    for d in range(12):
        is_target[d * 100 : d * 100 + (2 if d == 4 else 40 + d % 5)] = True
    task = masking_task(region, is_target, matching_values(np.empty((1200, 0)), rng.integers(0, 3, (1200, 4))))
    assert task.outlying.tolist() == [4]
    best = mask_by_flow(task, budget=60).solutions[0]
    assert best.counts[4] > 2 and 4 not in outliers(best.counts)


def test_odd_files_get_clear_errors() -> None:
    values = matching_values(np.empty((6, 0)), np.zeros((6, 1), dtype=int))
    some = np.array([True, False, False, True, False, False])
    with pytest.raises(InputError, match="All records belong to the target group"):
        masking_task(np.array([0, 0, 0, 1, 1, 1]), np.ones(6, dtype=bool), values)
    with pytest.raises(InputError, match="All records are in one region"):
        masking_task(np.zeros(6, dtype=int), some, values)
    with pytest.raises(InputError, match="No record belongs to the target group"):
        masking_task(np.array([0, 0, 0, 1, 1, 1]), np.zeros(6, dtype=bool), values)
    with pytest.raises(InputError, match="finds no outlier region"):
        masking_task(np.array([0, 0, 0, 1, 1, 1]), some, values)
    with pytest.raises(ShoalError, match="threshold"):
        masking_task(np.array([0, 0, 0, 1, 1, 1]), some, values, outlying=np.array([0]), threshold=np.array([1.0]))


def test_an_ordinal_column_of_text_names_the_option() -> None:
    job, sex = ["x", "y", "y"] * 40, ["f"] * 7 + ["m"] * 53
    frame = pl.DataFrame({"region": ["a", "b", "c", "d"] * 30, "job": job, "sex": sex * 2})
    with pytest.raises(UsageError, match="'sex' needs numbers, but row 1 has 'f'. Leave it out of --ordinal"):
        mask_group(frame, vital=("job", ["x"]), parameter="region", influential=["sex"], ordinal=["sex"])


def test_zmf_is_the_papers() -> None:
    assert float(zmf(53.5, 10, 97)) == pytest.approx(0.5)
    assert float(zmf(30, 10, 97)) == pytest.approx(1 - 2 * (20 / 87) ** 2)
    assert float(zmf(90, 10, 97)) == pytest.approx(2 * (7 / 87) ** 2)


@pytest.mark.parametrize("root", [False, True])
def test_the_compatibility_is_the_product_of_the_restrictions_or_its_root(root):
    values = np.array([3.0, 30.0, 5.0, 55.0])
    both = Restrictions(np.array([1, 3]), np.array([10.0, 20.0]), np.array([40.0, 90.0]), "linear", root)
    product = (40 - 30) / (40 - 10) * (90 - 55) / (90 - 20)
    assert both.compatibility(values) == pytest.approx(product**0.5 if root else product)
    assert both.alone(3, [55.0])[0] == pytest.approx(0.5**0.5 if root else 0.5)


@pytest.mark.parametrize(
    "values, wanted, marked",
    [
        ([1, 2, 2], ["2"], [False, True, True]),
        ([1.0, None, 2.0], ["2"], [False, False, True]),
        ([True, False, True], [1], [True, False, True]),
        (["a", "b", None], ["a"], [True, False, False]),
        ([date(2020, 1, 1), None, date(2020, 1, 2)], ["2020-01-02"], [False, False, True]),
    ],
)
def test_target_records_are_marked_by_their_values(values: list[Any], wanted: list[Any], marked: list[bool]) -> None:
    table = Table(pl.DataFrame({"v": values}))
    assert marked_records(table, ("v", wanted), "vital").tolist() == marked
    with pytest.raises(
        UsageError, match="Unknown v value '7'|Unknown v value 'x'|value 'x' of --vital is not a number"
    ):
        marked_records(table, ("v", ["x" if isinstance(values[0], (int, float)) else "7"]), "vital")


def test_regions_keep_their_labels_and_a_missing_one_names_its_row() -> None:
    assert numbered_regions(Table(pl.DataFrame({"r": [30, 10, 30]})), "r", by_label=True)[0] == [10, 30]
    assert numbered_regions(Table(pl.DataFrame({"r": ["b", "a", "b"]})), "r", by_label=True)[1].tolist() == [1, 0, 1]
    fewer = Table(pl.DataFrame({"r": ["a", "b", None]})).take(np.array([False, True, True]))
    with pytest.raises(InputError, match="'r', has 1 missing value, the first in row 3"):
        numbered_regions(fewer, "r", by_label=True)
