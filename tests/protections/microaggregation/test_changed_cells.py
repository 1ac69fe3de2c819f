"""The loss of changed cells, rank distances and squares against a slow reference, and the releases that it makes."""

from __future__ import annotations

import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from reference import mixed as slow
from shoal.engine.kernels.compiling import load_numba
from shoal.engine.partition.kernels.anneal import anneal
from shoal.engine.partition.kernels.groups import refresh_state
from shoal.engine.partition.kernels.losses import entering, leaving, replacing, swapping
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.space import search_space
from shoal.errors import InputError, UsageError
from shoal.protections.microaggregation.changed_cells import BLOCK, ChangedCells

load_numba()  # the function below is compiled here, also where the library has all kernels


@numba.njit
def costs_of(loss, g, a, i, b, j):
    """The four costs that moves are made of: i of a, j of b."""
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    return (
        leaving(loss, x, w, summary, mass, member, size, a, i),
        entering(loss, x, w, summary, mass, member, size, b, i),
        replacing(loss, x, w, summary, mass, member, size, a, i, j),
        swapping(loss, x, w, summary, mass, member, size, a, i, b, j),
    )


@st.composite
def mixed_records(draw):
    """(columns, weights, importance, k): few values, so that ties and constant columns are common."""
    k = draw(st.integers(2, 4))
    n = draw(st.integers(2 * k, 6 * k))

    def column(values):
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    kinds = sorted(
        draw(st.lists(st.sampled_from(["name", "number", "rank"]), min_size=1, max_size=5)),
        key=["number", "rank", "name"].index,
    )
    values = {"number": [0.0, 1.5, -3.0, 1e9, 1e9 + 1], "rank": [0, 1, 2, 7], "name": [0, 1, 2, 3, 4999]}
    columns = [(kind, column(values[kind][: draw(st.integers(1, 5))])) for kind in kinds]
    weights = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0]), min_size=n, max_size=n))
    importance = draw(st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=len(kinds), max_size=len(kinds)))
    return columns, weights, importance, k


def loss_of(case):
    columns, weights, importance, k = case
    n = len(columns[0][1])
    parts = {
        kind: np.array([values for other, values in columns if other == kind], dtype=float).reshape(-1, n).T
        for kind in ("number", "rank", "name")
    }
    heavy = None if weights is None else np.array(weights)
    return ChangedCells(parts["number"], parts["rank"], parts["name"], k, weights=heavy, importance=importance)


def expected(case, labels):
    columns, weights, importance, _ = case
    return slow.lost(columns, weights or [1.0] * len(labels), importance, list(labels))


@settings(max_examples=60, deadline=None)
@given(mixed_records(), st.integers(0, 2**31))
def test_costs_are_those_of_the_reference(case, seed):
    loss, k = loss_of(case), case[3]
    labels = np.random.default_rng(seed).permutation(np.arange(loss.n) % (loss.n // k))
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    assert loss.costs(labels) == pytest.approx(expected(case, labels), abs=1e-9)
    assert loss.costs_of(groups) == pytest.approx(expected(case, labels), abs=1e-9)
    assert loss.of(KPartition(labels)) == pytest.approx(sum(expected(case, labels)), abs=1e-9)
    assert loss.total == pytest.approx(sum(expected(case, 0 * labels)), abs=1e-9)
    g, whole = loss_space(loss).state(labels)
    assert whole == pytest.approx(sum(expected(case, labels)), abs=1e-9)
    i, j = 0, int(np.flatnonzero(labels != labels[0])[0])
    a, b = int(labels[i]), int(labels[j])

    def change(*moves):
        after = labels.copy()
        for record, group in moves:
            after[record] = group
        return sum(expected(case, after)) - whole

    alone = int(labels.max()) + 1  # a record alone costs nothing
    leaves = change((i, alone))
    found = costs_of(loss.marker, g, a, i, b, j)
    wanted = (
        leaves,
        change((i, b)) - leaves,
        change((i, alone), (j, a)) - change((j, alone)),
        change((i, b), (j, a)),
    )
    assert found == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(mixed_records(), st.integers(0, 2**31), st.floats(0.001, 10))
def test_every_proposal_keeps_the_state(case, seed, temperature):
    loss = loss_of(case)
    space = loss_space(loss)
    g, _ = space.state(loss.first().labels)
    word = np.array([seed], dtype=np.uint64)
    for _ in range(20):
        anneal(space.marker, g, space.near, space.local_scale, space.visits, word, 40, temperature, temperature)
        kept = np.array([g.summary[a, 0] for a in np.unique(g.label)])
        sizes = np.bincount(g.label)
        assert ((sizes == 0) | ((sizes >= loss.k) & (sizes <= loss.most))).all()
        assert kept == pytest.approx(expected(case, g.label), abs=1e-8)
    assert refresh_state(space.marker, g) == pytest.approx(sum(expected(case, g.label)), abs=1e-9)


def loss_space(loss):
    return search_space(loss)


# -- the release ---------------------------------------------------------------------------------------


def people(n=240, seed=3, weighted=False):
    """Numbers, ranks and labels that depend on each other."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    level = np.clip(age // 20 + rng.integers(-1, 2, n), 0, 4)
    frame = pl.DataFrame(
        {
            "age": age,
            "level": [f"l{x}" for x in level],
            "job": [f"job {x}" for x in (age // 8 + rng.integers(0, 2, n)) % 9],
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["a", "b", "c", "d"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "w": rng.integers(1, 4, n) / 2,
        }
    )
    frame = frame if weighted else frame.drop("w")
    order = {"level": [f"l{x}" for x in range(5)]}
    quasi = ("age", "level", "job", "sex")
    return shoal.read(frame, quasi=quasi, confidential="illness", order=order, weight="w" if weighted else None)


def of_loss(table, labels):
    """The loss of changed cells of groups, by the slow reference."""
    frame = table.frame
    columns = [
        ("number", frame["age"].to_list()),
        ("rank", [int(value[1]) for value in frame["level"]]),
        ("name", frame["job"].to_list()),
        ("name", frame["sex"].to_list()),
    ]
    return sum(slow.lost(columns, [1.0] * table.rows, [1.0] * 4, labels.tolist()))


@pytest.mark.parametrize("method", ["auto", "anneal", "memetic", "blocks"])
def test_the_search_lowers_its_own_loss(method):
    table = people()
    counted, squared = (
        shoal.microaggregate(table, 4, method=method, effort="quick", loss=loss) for loss in ("changes", "gini")
    )
    assert counted.facts["loss"] == "changes" and squared.facts["loss"] == "gini"
    found = of_loss(table, counted.solution.labels)
    assert found == pytest.approx(counted.facts["sse"])
    assert of_loss(table, np.zeros(table.rows, dtype=int)) == pytest.approx(counted.facts["sst"])
    slack = 1.02 if method == "blocks" else 1.0  # on so few records its first groups decide
    assert found < slack * of_loss(table, squared.solution.labels)
    assert "dimensions" not in counted.facts


@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_what_the_release_lost(weighted):
    """The medians, modes and means that are released are those that the search counted."""
    table = people(weighted=weighted)
    release = shoal.microaggregate(table, 3, effort="quick", loss="changes", importance={"job": 2.0})
    facts, weights = release.facts, table.weights()
    heavy = np.ones(table.rows) if weights is None else weights
    before, after = table.frame, release.frame
    shares = 0.0
    for name, importance in (("job", 2.0), ("sex", 1.0)):
        masses = np.bincount(before[name].rank("dense").to_numpy(), heavy) / heavy.sum()
        changed = np.average((before[name] != after[name]).to_numpy(), weights=heavy)
        shares += 1.1 * importance * changed / (1 - (masses**2).sum())
    ages = before["age"].to_numpy().astype(float)
    squares = heavy * (ages - after["age"].to_numpy()) ** 2
    shares += squares.sum() / (heavy * (ages - np.average(ages, weights=heavy)) ** 2).sum()
    rank = [int(value[1]) for value in before["level"]]
    new = np.array([int(value[1]) for value in after["level"]])
    middle = slow.lower_median(rank, heavy.tolist(), range(len(rank)))
    shares += 0.5 * (heavy * np.abs(rank - new)).sum() / (heavy * np.abs(np.array(rank) - middle)).sum()
    assert facts["sse"] == pytest.approx(shares)


def test_a_column_that_is_more_important_changes_less():
    table = people()
    changed = [
        shoal.microaggregate(table, 4, effort="quick", loss="changes", importance={"job": heavy}).facts["per_column"]
        for heavy in (0.1, 10.0)
    ]
    assert changed[1]["job"]["changed"] < changed[0]["job"]["changed"]


def test_threads_do_not_matter_and_seeds_do():
    table = people(n=BLOCK + 300)
    runs = [
        shoal.microaggregate(table, 3, method="blocks", effort="quick", loss="changes", seed=seed, threads=threads)
        for seed, threads in ((1, 1), (1, 2), (2, 1))
    ]
    labels = [run.solution.labels.tolist() for run in runs]
    assert labels[0] == labels[1] != labels[2]


@pytest.mark.parametrize("method", ["anneal", "memetic", "blocks"])
def test_a_stopped_search_gives_groups_and_goes_on(tmp_path, method):
    run = {"method": method, "effort": "quick", "loss": "changes", "checkpoint": tmp_path / "state"}
    stopped = shoal.microaggregate(people(), 3, seconds=0, **run)
    assert stopped.facts["stopped"] and stopped.facts["smallest_group"] >= 3
    resumed = shoal.microaggregate(people(), 3, resume=True, **run)
    whole = shoal.microaggregate(people(), 3, **run)
    np.testing.assert_array_equal(resumed.solution.labels, whole.solution.labels)


def test_thousands_of_values_need_no_matrix():
    rng = np.random.default_rng(0)
    town = [f"town {x}" for x in rng.integers(0, 1500, 6000)]
    table = shoal.read(pl.DataFrame({"town": town, "age": rng.integers(0, 99, 6000)}), quasi=("town", "age"))
    with pytest.raises(InputError, match="--loss changes has no such limit"):
        shoal.microaggregate(table, 2, effort="quick", loss="gini")
    release = shoal.microaggregate(table, 2, method="blocks", effort="quick", loss="changes", importance={"town": 5})
    assert release.facts["per_column"]["town"]["changed"] < 0.25
    assert release.facts["smallest_group"] == 2


def test_numbers_alone_have_one_loss():
    table = shoal.read(people().frame.select("age"), quasi="age")
    by_name = [shoal.microaggregate(table, 4, method="anneal", effort="quick", loss=x) for x in ("changes", "gini")]
    assert by_name[0].frame.equals(by_name[1].frame)
    assert "loss" not in by_name[0].facts


def test_within_and_missing_labels():
    frame = people().frame
    frame = frame.with_columns(job=pl.when(pl.col("age") % 5 == 0).then(None).otherwise(pl.col("job")))
    table = shoal.read(frame, quasi=("age", "job"), confidential="illness", as_is="level")
    release = shoal.microaggregate(table, 3, effort="quick", loss="changes", within="sex")
    for group in release.solution.members():
        assert frame["sex"].gather(group).n_unique() == 1
    assert release.facts["smallest_group"] >= 3 and release.frame["job"].null_count() > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "mdav"}, "mdav does not use loss: it belongs to auto, anneal, memetic, blocks"),
        ({"scaling": "minmax"}, "so --scaling has no effect"),
        ({"bound": True}, "use --loss gini"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        shoal.microaggregate(people(), 4, loss="changes", **options)
