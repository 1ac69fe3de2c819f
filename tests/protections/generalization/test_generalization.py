"""Generalization: kernels against their slow twins, searches against all possible cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import generalization as slow
from shoal.engine.control import Control
from shoal.engine.nsga2 import ranked, survivors
from shoal.errors import InputError, UsageError
from shoal.protections.class_rules import Rule, rules_of
from shoal.protections.generalization.bits import canonical, groups_of, labels_of_bits
from shoal.protections.generalization.branch_and_bound import exact, loss_of
from shoal.protections.generalization.evaluate import Preference, in_bins, make_problem, without_empty
from shoal.protections.generalization.nsga2 import Nsga2Settings, nsga2
from shoal.protections.generalization.search import BINS, LONG, _Annealing, search
from shoal.table.domain import nominal_domain, numeric_domain
from shoal.table.labels import group_names
from shoal.table.taxonomy import read_taxonomy

WHAT = ["k", "rule", "sets", "suppress", "rule and suppress", "sets and suppress", "rule, sets and suppress"]


@st.composite
def cases(draw, most_rows=40, most_attributes=4, most_size=6, plain=False):
    """A coded table with domains, labels, and perhaps rules or sets."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, most_rows)), draw(st.integers(1, most_attributes))
    sizes = [draw(st.integers(1, most_size)) for _ in range(d)]
    positions = [np.cumsum(rng.integers(1, 5, size)).astype(float) + draw(st.sampled_from([0, 1e9])) for size in sizes]
    columns = [rng.integers(0, size, n) for size in sizes]
    if draw(st.booleans()):
        columns = [c[rng.integers(0, max(1, n // 4), n)] for c in columns]
    free = [not plain and draw(st.booleans()) for _ in range(d)]
    positions = [np.arange(float(p.size)) if f else p for p, f in zip(positions, free, strict=True)]
    k = draw(st.integers(2, max(2, n // 2)))
    rule, confidential, sets, suppress = None, None, None, 0.0
    if not plain:
        what = draw(st.sampled_from(WHAT))
        if "rule" in what:
            kind = draw(st.sampled_from(["distinct", "entropy", "recursive"]))
            t = draw(st.sampled_from([None, 0.1, 0.3, 0.5]))
            rule = Rule(
                draw(st.sampled_from([1.0, 1.5, 2.0, 3.0])), kind, 2.0, t, draw(st.sampled_from(["equal", "ordered"]))
            )
            confidential = rng.integers(0, draw(st.integers(1, 4)), n)
        if "sets" in what:
            sets = [sorted(set(rng.integers(0, d, rng.integers(1, d + 1)).tolist())) for _ in range(2)]
        if "suppress" in what:
            suppress = draw(st.sampled_from([0.05, 0.3, 0.9]))
    weights = rng.uniform(0.1, 2, d)
    problem = make_problem(
        columns,
        positions,
        k,
        free=free,
        weights=weights,
        suppress=suppress,
        preference=Preference(0.2, draw(st.sampled_from([1.0, 0.1, 0.0]))),
        confidential=[] if rule is None else [confidential],
        rules=None if rule is None else rules_of([rule], [int(confidential.max()) + 1]),
        sets=sets,
    )
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    told = None if confidential is None else confidential.tolist()

    def reference(labels, k=k):
        own = [labels[j, :size].tolist() for j, size in enumerate(sizes)]
        every = sets or [list(range(d))]
        evaluate = slow.cascade if problem.cascades else slow.evaluate
        return evaluate(rows, positions, own, free, weights.tolist(), k, told, rule, every)

    return problem, reference, rng


def random_labels(problem, rng):
    stack = []
    for _ in range(4):
        labels = np.zeros((len(problem.sizes), max(problem.sizes)), dtype=np.int64)
        for j, size in enumerate(problem.sizes):
            if problem.free[j]:
                labels[j, :size] = rng.integers(0, size, size)
            else:
                labels[j, :size] = np.cumsum(rng.random(size) < rng.random())
        stack.append(canonical(labels, problem.sizes))
    return np.array(stack)


@settings(max_examples=80)
@given(cases())
def test_costs_are_those_of_the_slow_twin(case):
    problem, reference, rng = case
    stack = random_labels(problem, rng)
    costs = problem.evaluate(stack)
    for i, labels in enumerate(stack):
        nwp, largest, smallest, broken, least = reference(labels)
        assert costs.nwp[i] == pytest.approx(nwp, abs=1e-9)
        assert costs.effective_k[i] == smallest
        assert costs.suppressed[i] == broken
        assert costs.least[i] == least
        assert costs.necd[i] == pytest.approx(max(largest - smallest, 0) / max(problem.n - 1, 1))
        bias, loss = problem.preference.bias, problem.preference.loss
        w = (1 / (loss + 1e-6)) / (1 / (loss + 1e-6) + 1 / (bias + 1e-6))
        assert costs.achievement[i] == pytest.approx(
            max(w * (costs.nwp[i] + 1e-6), (1 - w) * (costs.necd[i] + 1e-6)), abs=1e-12
        )


@settings(max_examples=60)
@given(cases())
def test_annealing_keeps_its_books(case):
    """Its energy, kept step by step, is that of its answer counted from nothing; what it gives is allowed."""
    problem, reference, rng = case
    small, whole = without_empty(problem)
    start = np.zeros((len(small.sizes), max(small.sizes)), dtype=np.int64)
    if small.evaluate(start).suppressed[0] > small.allowed:
        return
    point = _Annealing(small, Control()).round(start, small.k, 5_000.0, 0.05, int(rng.integers(2**63)))
    labels = canonical(whole(point.labels), problem.sizes)
    nwp, _, smallest, broken, _ = reference(labels)
    assert point.nwp == pytest.approx(nwp, abs=1e-9)
    assert point.effective_k == smallest and point.suppressed == broken <= problem.allowed
    for j, size in enumerate(problem.sizes):
        if not problem.free[j]:
            assert all(group == list(range(group[0], group[-1] + 1)) for group in groups_of(labels[j], size))


@settings(max_examples=8)
@given(cases(most_rows=25, most_attributes=3, most_size=4, plain=True))
def test_exact_is_the_best_of_all_cuts(case):
    problem, reference, _ = case
    best = np.inf
    for own in slow.all_cuts(problem.sizes):
        labels = np.zeros((len(problem.sizes), max(problem.sizes)), dtype=np.int64)
        for j, row in enumerate(own):
            labels[j, : len(row)] = row
        nwp, largest, smallest, broken, _ = reference(labels)
        if broken == 0:
            necd = (largest - smallest) / max(problem.n - 1, 1)
            best = min(best, float(problem.preference.achievement(np.array(nwp), np.array(necd))))
            assert loss_of(problem, labels) == pytest.approx(nwp, abs=1e-9)
    front = exact(problem)
    assert front.facts["optimal"]
    assert front.best.achievement == pytest.approx(best, abs=1e-9)


@settings(max_examples=100)
@given(st.integers(1, 30), st.integers(1, 3), st.integers(0, 2**32 - 1), st.booleans())
def test_sorting_is_pymoos(n, m, seed, ties):
    from pymoo.operators.survival.rank_and_crowding.metrics import calc_crowding_distance
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, m)).astype(float) if ties else rng.random((n, m))
    found = ranked(points)
    assert found.rank.tolist() == slow.ranks(points.tolist())
    fronts = NonDominatedSorting().do(points)
    for rank, front in enumerate(fronts):
        assert set(front) == set(np.flatnonzero(found.rank == rank))
        if not ties and len(front) > 1:  # pymoo gives a front of one point 0, Deb et al. infinity
            theirs = calc_crowding_distance(points[front], filter_out_duplicates=False)
            finite = np.isfinite(found.distance[front])
            assert (finite == np.isfinite(theirs)).all()
            # pymoo divides by the number of objectives.
            assert found.distance[front][finite] == pytest.approx(theirs[finite] * m)
    order = survivors(found, max(1, n // 2))
    assert found.rank[order].max() <= np.sort(found.rank)[len(order) - 1]


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_bits_and_groups_are_the_same_thing(sizes, seed):
    bits = (np.random.default_rng(seed).random(sum(s - 1 for s in sizes)) < 0.5).astype(np.uint8)
    labels = labels_of_bits(bits, sizes)
    cuts = [row[1:size] != row[: size - 1] for row, size in zip(labels, sizes, strict=True) if size > 1]
    assert [int(cut) for row in cuts for cut in row] == bits.tolist()


def table(seed=0, n=400):
    rng = np.random.default_rng(seed)
    sizes = [12, 6, 5, 2]
    columns = [np.minimum(rng.geometric(0.3, n) - 1, s - 1) for s in sizes]
    return columns, [np.arange(float(s)) for s in sizes]


def test_same_seed_same_answer():
    columns, positions = table()
    problem = make_problem(columns, positions, 5, free=[False, True, True, False])
    a, b = (search(problem, seed=3, effort="quick") for _ in range(2))
    assert [p.nwp for p in a.points] == [p.nwp for p in b.points]
    assert (a.best.labels == b.best.labels).all()


def test_search_is_no_worse_than_nsga2_and_exact_no_worse_than_both():
    columns, positions = table()
    problem = make_problem(columns[:3], positions[:3], 4)
    evolved = nsga2(problem, seed=1, settings=Nsga2Settings(evaluations=5000)).best.achievement
    searched = search(problem, seed=1, effort="quick").best.achievement
    optimum = exact(problem, seed=1)
    assert optimum.facts["optimal"]
    assert optimum.best.achievement <= searched + 1e-12 <= evolved + 2e-12


def long_table(n=1500, days=900, seed=3):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, days, n), rng.integers(0, 4, n), rng.integers(0, 3, n)]
    return columns, [np.arange(float(size)) for size in (days, 4, 3)]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_categories_of_bins_have_the_classes_of_their_values(seed):
    columns, positions = long_table(seed=seed)
    rng = np.random.default_rng(seed)
    problem, _ = without_empty(make_problem(columns, positions, 5, free=[False, True, False], sets=[[0, 1], [0, 2]]))
    small, whole = in_bins(problem, LONG, BINS)
    assert small.sizes[0] <= BINS < LONG < problem.sizes[0] and small.sizes[1:] == problem.sizes[1:]
    assert small.rows[0].sum() == small.n and np.ptp(small.rows[0, : small.sizes[0]]) <= 15  # about the same size
    labels = canonical(np.sort(rng.integers(0, 3, (3, small.sizes[0])), axis=1), small.sizes)
    coarse, fine = small.evaluate(labels), problem.evaluate(whole(labels))
    assert (coarse.effective_k, coarse.necd, coarse.least) == (fine.effective_k, fine.necd, fine.least)
    assert in_bins(problem, 5000, BINS) is None


def test_a_long_column_is_searched_in_bins_and_refined_by_value():
    columns, positions = long_table()
    problem = make_problem(columns, positions, 5)
    front = search(problem, effort="quick")
    assert front.best.effective_k >= 5
    limits = np.flatnonzero(np.diff(front.best.labels[0]))
    fine, whole = without_empty(problem)
    _, widened = in_bins(fine, LONG, BINS)
    of_bins = whole(widened(np.tile(np.arange(BINS), (3, 1))))
    assert any(of_bins[0, limit] == of_bins[0, limit + 1] for limit in limits)  # a limit inside a bin
    assert front.best.nwp == problem.evaluate(front.best.labels).nwp[0]


def test_the_published_nsga2_keeps_duplicates_and_shoals_does_not():
    columns, positions = table()
    problem = make_problem(columns, positions, 5)
    plain, published = (
        nsga2(problem, seed=1, settings=Nsga2Settings(60, 3000, published=published)) for published in (False, True)
    )
    assert plain.facts["unique_solutions"] == 60 > published.facts["unique_solutions"]
    assert published.best.effective_k >= 5


def test_the_rates_of_nsga2_take_effect():
    columns, positions = table()
    problem = make_problem(columns, positions, 5)
    still = nsga2(problem, settings=Nsga2Settings(40, 2000, crossover=0.0, mutation=0.0, published=True))
    assert still.evaluations == 2000 and still.facts["unique_solutions"] <= 40
    first = nsga2(problem, settings=Nsga2Settings(40, 40, crossover=0.0, mutation=0.0, published=True))
    assert still.best.achievement == first.best.achievement  # copies only: no solution is new
    both = [(0.8, 0.0), (0.0, 0.02)]
    moved = [nsga2(problem, settings=Nsga2Settings(40, 2000, *rates)).best.achievement for rates in both]
    assert all(achievement < still.best.achievement for achievement in moved) and moved[0] != moved[1]


def test_infeasible_points_of_the_front_are_kept_apart():
    columns, positions = table()
    front = nsga2(make_problem(columns, positions, 5), settings=Nsga2Settings(60, 3000, published=True))
    assert front.infeasible and all(p.suppressed > 0 for p in front.infeasible)
    assert all(p.achievement < front.best.achievement for p in front.infeasible)
    assert all(p.effective_k >= 5 and p.suppressed == 0 for p in front.points)


def test_the_front_rises():
    columns, positions = table()
    front = search(make_problem(columns, positions, 5), effort="quick")
    ks = [p.effective_k for p in front.points]
    losses = [p.achievement for p in front.points]
    assert ks == sorted(set(ks)) and losses == sorted(losses)
    assert front.picked(len(ks)).best.effective_k == ks[-1]
    with pytest.raises(UsageError, match="pick must be between 1 and"):
        front.picked(len(ks) + 1)


def test_numbers_become_intervals():
    paper = numeric_domain("age", [17.0, 38.0, 90.0], False, granularity=(5, 1, 101))
    assert paper.size == 20 and paper.encode([17.0, 20.0, 21.0, 90.0]).tolist() == [3, 3, 4, 17]
    assert group_names(paper, [[3, 4, 5], [6]]) == ["[16-30]", "[31-35]"]
    cut = numeric_domain("x", [0.5, 2.5], True, cuts=[1, 2])
    assert group_names(cut, [[0], [1, 2], [3]]) == ["[0.5-1)", "[1-2.5000000000000004)", "missing"]
    with pytest.raises(UsageError, match="granularity x=5"):
        numeric_domain("x", np.linspace(0, 200, 1000).tolist(), False)
    with pytest.raises(UsageError, match="does not contain all"):
        numeric_domain("x", [1.0, 7.0], False, granularity=(1, 2, 9))


def test_names_are_ordered_as_asked():
    values, counts = ["a", "b", "c"], [1, 5, 5]
    assert nominal_domain("x", values, counts, False, "frequency").values == ("b", "c", "a")
    assert nominal_domain("x", values, counts, False, ["c", "a", "b", "z"]).values == ("c", "a", "b", "z")
    with pytest.raises(InputError, match="'b', which is not in the order"):
        nominal_domain("x", values, counts, False, ["a", "c"])


def test_taxonomies_name_their_groups(tmp_path):
    rows = tmp_path / "t.csv"
    rows.write_text("fr;Europe;*\nit;Europe;*\njp;Asia;*\ncn;Asia;*\nbr;br;*\n")
    nested = tmp_path / "t.json"
    nested.write_text('{"*": {"Europe": ["fr", "it"], "Asia": ["jp", "cn"], "br": {}}}')
    toml = tmp_path / "t.toml"
    toml.write_text('["*"]\nEurope = ["fr", "it"]\nAsia = ["jp", "cn"]\nbr = []\n')
    trees = [read_taxonomy(path, "c") for path in (rows, nested, toml)]
    assert trees[0] == trees[1] == trees[2]
    domain = nominal_domain("c", ["br", "cn", "fr", "it", "jp"], [1] * 5, True, "taxonomy", trees[0])
    assert domain.values == ("fr", "it", "jp", "cn", "br")
    assert domain.missing_code == 3  # beside the most frequent leaf, or the last of them
    assert group_names(domain, [[0, 1], [2, 4], [5], [3]]) == ["Europe", "Asia", "br", "missing"]
    assert group_names(domain, [[0, 1], [2, 3, 4], [5]]) == ["Europe", "Asia or missing", "br"]
    assert group_names(domain, [[0, 1, 2], [3, 4, 5]]) == ["fr | it | jp", "cn | br | missing"]
    with pytest.raises(InputError, match="'fr' twice"):
        read_taxonomy({"a": ["fr"], "b": ["fr"]}, "c")


@given(st.lists(st.text(max_size=4), min_size=1, max_size=6, unique=True), st.integers(0, 2**32 - 1), st.booleans())
def test_labels_are_unique(values, seed, missing):
    domain = nominal_domain("x", values, [1] * len(values), missing)
    labels = np.random.default_rng(seed).integers(0, domain.size, domain.size)
    names = group_names(domain, groups_of(labels, domain.size))
    assert len(set(names)) == len(names) and "*" not in names


def test_impossible_wishes_are_refused():
    columns, positions = table()
    with pytest.raises(UsageError, match="exact does not suppress records"):
        exact(make_problem(columns, positions, 3, suppress=0.1))
    with pytest.raises(UsageError, match="exact needs an order"):
        exact(make_problem(columns, positions, 3, free=[True] * 4))
