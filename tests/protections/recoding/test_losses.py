"""The losses of recoding against a slow reference: kernels, groups, rules, and the move that rebuilds groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import recoding as naive
from shoal.engine.control import Control
from shoal.engine.partition.kernels.greedy import greedy_groups
from shoal.engine.partition.kernels.groups import build_state
from shoal.engine.partition.kernels.rebuild import rebuild_groups
from shoal.engine.partition.kernels.rules import GroupRules, keeps_rules, no_rules
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.engine.partition.search.rebuild import rebuild
from shoal.errors import InputError
from shoal.protections.class_rules import Rule, rules_of
from shoal.protections.recoding.kernels.mondrian import median_cuts
from shoal.protections.recoding.losses import NodeColumn, NodeLoss, SetColumn, ValueSetLoss

QUICK = SearchSettings(seed=1, effort="quick")


def random_sets(rng, n, names, positions):
    """Columns of names with these domains, and of positions up to these, some of them missing."""
    columns = [("names", rng.integers(0, d, n), int(rng.integers(1, 50))) for d in names]
    columns += [("positions", np.where(rng.random(n) < 0.1, -1, rng.integers(0, p + 1, n)), 0) for p in positions]
    made = [
        SetColumn(values, unit, names[c]) if kind == "names" else SetColumn(values)
        for c, (kind, values, unit) in enumerate(columns)
    ]
    return columns, made


def random_tree(rng, n, widths):
    """A tree whose levels have these numbers of nodes, the last one the values."""
    values = widths[-1]
    levels = [np.arange(values)]
    for width, below in zip(widths[-2::-1], widths[:0:-1], strict=True):
        levels.insert(0, rng.integers(0, width, below)[levels[0]])
    levels = np.array(levels)
    costs = np.sort(rng.integers(0, 100, len(widths) + 1))[::-1]
    by_value = np.repeat(costs[:, None], values, axis=1)
    by_value[-1] = 0
    return rng.integers(0, values, n), levels.astype(np.int32), by_value.astype(np.int64)


def check_state(loss, g, cost_of):
    """The state of a search is that of its labels, and its groups have k to `most` records."""
    sizes = np.bincount(g.label)
    assert (sizes[sizes > 0] >= loss.k).all() and (sizes <= loss.most).all()
    for a in np.flatnonzero(g.size):
        rows = np.flatnonzero(g.label == a)
        assert sorted(g.member[a, : g.size[a]]) == rows.tolist()
        assert g.summary[a, 0] == cost_of(rows)
    labels = g.label.copy()
    costs = loss.costs(labels)
    assert (
        build_state(loss.marker, g)
        == costs.sum()
        == sum(cost_of(np.flatnonzero(labels == a)) * (labels == a).sum() for a in np.unique(labels))
    )


def rebuilt(loss, seed):
    """A state after some rebuilds, hot enough to accept what costs more."""
    near = loss.neighbours(8, seed=seed, threads=1)[0]
    g = loss.state()
    g.label[:] = loss.first().labels
    before = build_state(loss.marker, g)
    random_state = np.array([seed], dtype=np.uint64)
    change = rebuild_groups(
        loss.marker, g, near, random_state, 0, loss.n, 60, 0.3, 0.1, 3, 0.3, loss.rule_room, Control().flag
    )
    assert before + change == loss.costs(g.label).sum()
    return g


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 9))
def test_sets_cost_what_the_reference_says(seed: int, k: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    n = k * groups + int(rng.integers(0, k))
    names = [int(d) for d in rng.choice([1, 2, 5, 64, 65, 5000], rng.integers(1, 4))]
    columns, made = random_sets(rng, n, names, [int(p) for p in rng.choice([0, 1, 7, 10**6], rng.integers(0, 3))])
    loss = ValueSetLoss(made, k)
    check_state(loss, rebuilt(loss, seed), lambda rows: naive.set_cost(columns, rows))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 9))
def test_nodes_cost_what_the_reference_says(seed: int, k: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    n = k * groups + int(rng.integers(0, k))
    trees = [random_tree(rng, n, widths) for widths in ([3, 8, 20], [1], [2, 6])[: rng.integers(1, 4)]]
    loss = NodeLoss([NodeColumn(*tree) for tree in trees], k)
    check_state(loss, rebuilt(loss, seed), lambda rows: naive.node_cost(trees, rows))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 9), st.sampled_from(["sets", "nodes"]))
def test_greedy_groups_are_those_of_the_reference(seed: int, k: int, groups: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    n = k * groups + int(rng.integers(0, k))
    if kind == "sets":
        columns, made = random_sets(rng, n, [2, 70], [3])
        loss, cost_of = ValueSetLoss(made, k), lambda rows: naive.set_cost(columns, rows)
    else:
        trees = [random_tree(rng, n, widths) for widths in ([2, 3], [1, 2])]
        loss, cost_of = NodeLoss([NodeColumn(*tree) for tree in trees], k), lambda rows: naive.node_cost(trees, rows)
    seeds = rng.permutation(n).astype(np.int32)
    labels = greedy_groups(loss.marker, loss.state(), seeds, Control().flag)
    found = sorted(np.flatnonzero(labels == a).tolist() for a in np.unique(labels))
    assert found == naive.greedy(cost_of, seeds.tolist(), k)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 60))
def test_mondrian_is_that_of_the_reference(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, n) for size in rng.choice([1, 2, 3, 9, 50], rng.integers(1, 5))]
    named = rng.random(len(columns)) < 0.5
    values = np.column_stack(columns).astype(np.float64)
    labels = median_cuts(no_rules(n), values, named.astype(np.uint8), int(values.max()), k, 0, Control().flag)
    found = sorted(np.flatnonzero(labels == a).tolist() for a in np.unique(labels))
    assert found == naive.mondrian([column.tolist() for column in columns], named.tolist(), k)


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
@pytest.mark.parametrize("ordered", [False, True])
def test_rules_are_those_of_the_reference(kind: str, ordered: bool) -> None:
    rng = np.random.default_rng(3)
    answers = set()
    for _ in range(200):
        whole = rng.integers(0, 5, 40)
        least, c, t = float(rng.choice([1, 2, 2.5, 3])), float(rng.choice([0.5, 1, 2])), rng.choice([0.2, 0.4, None])
        rule = Rule(least, kind, c, None if t is None else float(t), "ordered" if ordered else "equal")
        arrays = rules_of([rule], [5])
        rules = GroupRules(
            whole[:, None].astype(np.int32), arrays.integers, arrays.floats, np.bincount(whole, minlength=5) / 40
        )
        rows = rng.permutation(40)[: rng.integers(1, 9)].astype(np.int32)
        kept = keeps_rules(rules, rows[None], np.array([rows.size]), 0, np.zeros(5, dtype=np.int64))
        asked = kind if least > 1 or kind == "recursive" else ""
        # The reference counts values up to the largest that occurs; all five occur here.
        assert kept == naive.keeps(whole[rows].tolist(), [*whole.tolist()], asked, least, c, t, ordered)
        answers.add(kept)
    assert answers == {True, False}


def test_the_search_gives_the_same_groups_on_any_number_of_threads_and_after_a_resume(tmp_path) -> None:
    made = random_sets(np.random.default_rng(5), 600, [12, 90], [50])[1]
    loss = ValueSetLoss(made, 3)

    def run(threads: int, options: SearchSettings = QUICK) -> KPartition:
        control = Control(threads=threads)
        return control.call(lambda: rebuild(loss, control, options))

    one = run(1)
    assert one.check(3).labels.tolist() == run(3).labels.tolist()
    assert loss.of(one) < loss.of(loss.first())
    options = SearchSettings(seed=1, effort="quick", checkpoint=tmp_path / "state")
    stopping = Control(progress=lambda done, total, best, what: stopping.stop() if done > total / 2 else None)
    half = stopping.call(lambda: rebuild(loss, stopping, options))
    assert half.facts["stopped"]
    resumed = SearchSettings(seed=1, effort="quick", checkpoint=tmp_path / "state", resume=True)
    assert run(2, resumed).labels.tolist() == one.labels.tolist()
    with pytest.raises(InputError, match="another search"):
        run(1, SearchSettings(seed=2, effort="quick", checkpoint=tmp_path / "state", resume=True))
