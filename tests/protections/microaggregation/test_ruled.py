"""l-diversity and t-closeness during the search: no group ever breaks them, whatever the method, loss and seed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.engine.partition.kernels.anneal import anneal
from shoal.engine.partition.kernels.local_search import sweep
from shoal.engine.partition.kernels.rules import GroupRules
from shoal.engine.partition.space import search_space
from shoal.errors import UsageError
from shoal.measures.diversity import broken_classes, distinct_l, t_closeness
from shoal.protections.class_rules import Rule, rules_of
from shoal.protections.microaggregation.changed_cells import ChangedCells
from shoal.protections.microaggregation.ruled import RuledSquaredError


def group_rules(confidential, rule):
    """The rules of one confidential column."""
    width = int(confidential.max()) + 1
    rules = rules_of([rule], [width])
    shares = np.bincount(confidential, minlength=width) / confidential.size
    return GroupRules(confidential[:, None].astype(np.int32), rules.integers, rules.floats, shares)


RULES = (
    Rule(2.0),
    Rule(1.6, "entropy"),
    Rule(2.0, "recursive", 2.0),
    Rule(t=0.35),
    Rule(t=0.2, distance="ordered"),
    Rule(2.0, t=0.4),
)


def keeps(labels, confidential, rule):
    return not broken_classes(labels, confidential, rule.l, rule.kind, rule.c, rule.t, rule.distance).any()


@st.composite
def confidential_records(draw):
    """(values, codes, confidential, rule, k) such that all records as one group keep the rule."""
    k = draw(st.integers(2, 4))
    n = draw(st.integers(3 * k, 12 * k))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    confidential = rng.integers(0, draw(st.integers(2, 5)), n)
    confidential = np.unique(confidential, return_inverse=True)[1].reshape(-1)
    rule = draw(st.sampled_from(RULES))
    values = np.column_stack([rng.normal(size=n), confidential + 0.1 * rng.normal(size=n)])  # near means alike
    return values, rng.integers(0, 3, (n, 1)), confidential, rule, k


@settings(max_examples=60, deadline=None)
@given(confidential_records(), st.integers(0, 2**31), st.sampled_from([1e-12, 0.1, 5.0]), st.booleans())
def test_no_move_makes_a_group_that_breaks_a_rule(case, seed, temperature, mixed):
    values, codes, confidential, rule, k = case
    if not keeps(np.zeros(len(values), dtype=np.int64), confidential, rule):
        return
    rules = group_rules(confidential, rule)
    if mixed:
        loss = ChangedCells(values, np.zeros((len(values), 0)), codes, k, rules=rules)
    else:
        loss = RuledSquaredError(values, k, rules)
    loss.start_from_kept()
    first = loss.first().labels
    assert keeps(first, confidential, rule)
    assert np.bincount(first).min() >= k and np.bincount(first).max() <= loss.most
    space = search_space(loss)
    g, _ = space.state(first)
    word = np.array([seed], dtype=np.uint64)
    for _ in range(10):
        anneal(space.marker, g, space.near, space.local_scale, space.visits, word, 60, temperature, temperature)
        sweep(space.marker, g, space.near, space.smallest_gain, 0, loss.n)
        sizes = np.bincount(g.label, minlength=g.size.size)
        np.testing.assert_array_equal(sizes, g.size)
        assert ((sizes == 0) | ((sizes >= k) & (sizes <= loss.most))).all()
        assert keeps(g.label, confidential, rule)
        np.testing.assert_array_equal(g.member[g.label, g.place], np.arange(loss.n))
    assert np.isfinite(loss.costs(g.label)[g.label]).all()


@settings(max_examples=40, deadline=None)
@given(confidential_records())
def test_a_group_that_breaks_a_rule_costs_infinity(case):
    values, codes, confidential, rule, k = case
    labels = np.arange(len(values)) % 3
    loss = ChangedCells(values, np.zeros((len(values), 0)), codes, k, rules=group_rules(confidential, rule))
    broken = broken_classes(labels, confidential, rule.l, rule.kind, rule.c, rule.t, rule.distance)
    np.testing.assert_array_equal(np.isposinf(loss.costs(labels)), broken)
    groups = [np.flatnonzero(labels == g) for g in range(3)]
    np.testing.assert_array_equal(np.isposinf(loss.costs_of(groups)), broken)


# -- the release ---------------------------------------------------------------------------------------


def patients(n=200, seed=5):
    """Neighbours in age share an illness, so that groups of near records are not diverse by themselves."""
    rng = np.random.default_rng(seed)
    age = np.sort(rng.integers(18, 90, n))
    illness = [f"illness {x}" for x in (age // 12 + (rng.random(n) < 0.2)) % 5]
    frame = pl.DataFrame({"age": age, "sex": rng.choice(["f", "m"], n), "hours": rng.normal(size=n)})
    # in random order: rows in the order of age would give it away, and the release check would refuse them
    return frame.with_columns(illness=pl.Series(illness)).sample(fraction=1.0, shuffle=True, seed=seed)


def read(frame):
    return shoal.read(frame, quasi=("age", "sex", "hours"), confidential="illness")


def classes_of(release):
    rows = release.frame.select("age", "sex", "hours").rows()
    number = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    return np.array([number[row] for row in rows])


@pytest.mark.parametrize("loss", ["changes", "gini"])
@pytest.mark.parametrize("method", ["auto", "anneal", "memetic", "blocks"])
def test_every_class_of_the_release_keeps_l_and_t(method, loss):
    frame = patients()
    plain = shoal.microaggregate(read(frame), 4, method=method, effort="quick", loss=loss)
    illness = np.unique(frame["illness"].to_numpy(), return_inverse=True)[1]
    assert distinct_l(classes_of(plain), illness) < 3  # otherwise the rules would forbid nothing
    release = shoal.microaggregate(read(frame), 4, l=3, t=0.5, method=method, effort="quick", loss=loss)
    classes = classes_of(release)
    assert min(Counter(classes.tolist()).values()) >= 4
    assert release.facts["l"] == 3 or distinct_l(classes, illness) > 3
    assert distinct_l(classes, illness) >= 3
    assert release.facts["t"] == pytest.approx(t_closeness(release.solution.labels, illness))
    assert t_closeness(classes, illness) <= 0.5 + 1e-12
    assert {type(promise).__name__ for promise in release.promises} == {"KAnonymity", "LDiversity", "TCloseness"}
    assert not any(finding.status == "block" for finding in release.findings)


def test_the_search_gains_on_the_first_groups():
    frame = patients()
    release = shoal.microaggregate(read(frame), 4, l=3, method="anneal", effort="quick")
    stages = release.facts["stages"]
    assert stages[-1]["loss_after"] < 0.8 * stages[0]["loss_after"]


def test_each_class_of_within_keeps_the_rules():
    frame = patients(260)
    table = shoal.read(frame, quasi=("age", "hours"), confidential="illness")
    release = shoal.microaggregate(table, 3, l=2, within="sex", effort="quick")
    illness = np.unique(frame["illness"].to_numpy(), return_inverse=True)[1]
    assert distinct_l(release.solution.labels, illness) >= 2
    assert all(frame["sex"].gather(rows).n_unique() == 1 for rows in release.solution.members())


def test_units_and_rules_together():
    frame = patients(300).with_columns(person=pl.Series(np.arange(300) // 2))
    table = shoal.read(frame, quasi=("age", "hours"), confidential="illness", unit="person")
    release = shoal.microaggregate(table, 3, l=2, effort="quick", method="anneal")
    illness = np.unique(frame["illness"].to_numpy(), return_inverse=True)[1]
    assert distinct_l(release.solution.labels, illness) >= 2
    assert release.facts["smallest_group_units"] >= 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l": 3, "method": "mdav"}, "mdav does not use l: it belongs to auto, anneal, memetic, blocks"),
        ({"t": 0.3, "method": "vmdav"}, "vmdav does not use t"),
        ({"l": 6}, "Use a lower l"),
        ({"distance": "ordered"}, "has no effect without"),
        ({"l": 2, "bound": True}, "Remove --bound"),
    ],
)
def test_what_cannot_be_kept_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        shoal.microaggregate(read(patients()), 4, **options)


def test_rules_need_a_confidential_column():
    table = shoal.read(patients(), quasi=("age", "sex", "hours"), no_confidential=True, drop="illness")
    with pytest.raises(UsageError, match="Add --confidential"):
        shoal.microaggregate(table, 4, l=2)
