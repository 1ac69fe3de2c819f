"""The measures against their slow twins, and where relative figures have no base."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records
from reference import linkage as slow
from shoal.errors import UsageError
from shoal.measures.assessment import assess_evidence
from shoal.measures.columns import correlations, means_and_covariances
from shoal.measures.evidence import evidence_of_numbers
from shoal.measures.interval import FORMS, interval_disclosure
from shoal.measures.linkage import as_linkage, distance_linkage, first_columns, same_scale
from shoal.measures.probabilistic import agreement_pairs, expectation_maximisation, probabilistic_linkage
from shoal.measures.relative_change import loss_parts
from shoal.measures.score import disclosure_risk, score


def blurred(values, k, seed):
    """A protection with ties: groups of k in a random order, each replaced by its mean."""
    order = np.random.default_rng(seed).permutation(len(values))
    protected = np.empty_like(values)
    for a in range(0, len(values), k):
        rows = order[a : a + k]
        protected[rows] = values[rows].mean(axis=0)
    return protected


@given(records(most_times=12), st.integers(0, 2**32), st.booleans())
@settings(max_examples=80)
def test_distance_linkage_agrees_with_the_slow_twin(sample, seed, strict):
    values, k = sample
    protected = blurred(values, k, seed)
    found = distance_linkage(values, protected, strict=strict, threads=2)
    assert found.percent == pytest.approx(100 * np.mean(slow.distance_credits(values, protected, strict)))
    assert found.error == 0


def test_the_tree_and_many_blocks_of_records_agree_with_the_slow_twin():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 30, size=(600, 3)).astype(float)
    protected = blurred(values, 2, 0)
    for strict in (False, True):
        expected = 100 * np.mean(slow.distance_credits(values.tolist(), protected.tolist(), strict))
        assert distance_linkage(values, protected, strict=strict).percent == pytest.approx(expected)


def test_linkage_over_the_sets_an_intruder_may_hold_is_their_mean():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(80, 3))
    protected = blurred(values, 4, 0)
    sets = first_columns(3, seed=5)
    assert sorted(sets[-1]) == [0, 1, 2] and [len(s) for s in sets] == [1, 2, 3]
    each = [distance_linkage(values[:, s], protected[:, s]).percent for s in sets]
    assert distance_linkage(values, protected, sets=sets).percent == pytest.approx(np.mean(each))


def test_a_sample_of_the_records_has_a_standard_error():
    credits = np.repeat([0.0, 1.0], 50)
    sampled, full = as_linkage(credits, 1000), as_linkage(credits, 100)
    assert full.error == 0 and full.percent == 50
    assert sampled.error == pytest.approx(100 * credits.std(ddof=1) * np.sqrt(0.9 / 100))


@given(records(), st.integers(0, 2**32))
@settings(max_examples=40)
def test_agreement_patterns_agree_with_the_slow_twin(sample, seed):
    values, k = sample
    protected = blurred(values, k, seed)
    pairs = agreement_pairs(values, protected)
    counts = pairs.pattern_counts(threads=2)
    assert counts.tolist() == slow.pattern_counts(values, protected, pairs.tolerance)
    weights = np.random.default_rng(seed).integers(0, 4, size=counts.size).astype(float)
    assert pairs.ties(weights).tolist() == slow.heaviest(values, protected, pairs.tolerance, weights)


def test_the_em_agrees_with_another_implementation():
    recordlinkage = pytest.importorskip("recordlinkage")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    values = rng.normal(size=(120, 4))
    protected = values + rng.normal(size=values.shape) * 0.05
    pairs = agreement_pairs(values, protected)
    ours = expectation_maximisation(pairs.pattern_counts(), start=0.1, rounds=2000)
    agree = np.abs(values[:, None, :] - protected[None, :, :]) <= pairs.tolerance
    frame = pandas.DataFrame(agree.reshape(-1, 4).astype(int), columns=list("abcd"))
    theirs = recordlinkage.ECMClassifier(max_iter=2000, atol=1e-10)
    theirs.fit(frame)
    assert ours.share == pytest.approx(theirs.p, rel=1e-3)
    for column, name in enumerate("abcd"):
        assert ours.m[column] == pytest.approx(theirs.m_probs[name][1], rel=1e-3)
        assert ours.u[column] == pytest.approx(theirs.u_probs[name][1], rel=1e-3)
    links = probabilistic_linkage(values, protected).percent
    assert links > 50


def test_probabilistic_linkage_where_columns_always_agree_or_are_too_many():
    values = np.column_stack([np.arange(40.0), np.ones(40)])
    # 0.1 deviations of 0..39 are 1.15: each record agrees with its two neighbours, those at the ends with one.
    assert probabilistic_linkage(values, values).percent == pytest.approx(100 * (38 / 3 + 2 / 2) / 40)
    alike = probabilistic_linkage(np.ones((40, 2)), np.ones((40, 2)))
    assert alike.percent == pytest.approx(100 / 40)
    with pytest.raises(UsageError, match="at most 20 columns, not 21"):
        probabilistic_linkage(np.zeros((3, 21)), np.zeros((3, 21)))


@pytest.mark.parametrize("form", sorted(FORMS))
def test_interval_disclosure_of_an_unchanged_and_of_a_constant_file(form):
    values = np.random.default_rng(0).normal(size=(50, 2)) + 10
    assert interval_disclosure(values, values, form) == 100
    assert interval_disclosure(np.ones((5, 1)), np.ones((5, 1)), form) == 0
    assert interval_disclosure(values, values[::-1].copy(), form) < 60


@given(st.integers(2, 30), st.integers(0, 2**32), st.sampled_from(["deviation", "rank"]))
@settings(max_examples=40)
def test_interval_disclosure_agrees_with_the_slow_twin(n, seed, form):
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 40, n) / 8.0
    if np.ptp(before) == 0:
        return
    after = before + rng.normal(size=n) * 0.2
    found = interval_disclosure(before[:, None], after[:, None], form)
    assert found == pytest.approx(slow.interval_share(before, after, form))


def test_the_five_losses_by_hand():
    before = np.array([[1.0, 2.0], [3.0, 6.0]])
    after = np.array([[2.0, 2.0], [2.0, 6.0]])
    parts = loss_parts(before, after)
    assert parts.il1 == pytest.approx((1 + 0 + 1 / 3 + 0) / 4)
    assert parts.il2 == 0
    assert parts.il3 == pytest.approx((1 + 1 + 0) / 3)
    assert parts.il4 == pytest.approx(0.5)
    assert parts.il5 == pytest.approx(1.0)
    assert parts.il == pytest.approx(20 * (1 / 3 + 0 + 2 / 3 + 0.5 + 1))
    assert disclosure_risk(40, 20, 8) == 27 and score(10, 27) == 18.5


def test_zeros_constant_and_collinear_columns_are_left_out_and_counted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    values = np.column_stack([x, 2 * x, np.zeros(30), np.full(30, 5.0), np.where(np.arange(30) < 10, 0.0, x)])
    protected = blurred(values, 3, 0)
    parts = loss_parts(values, protected)
    assert np.isfinite([parts.il1, parts.il2, parts.il3, parts.il4, parts.il5]).all()
    assert parts.left_out["il1"] == 30 + 10 and parts.left_out["il4"] == 2
    assert parts.left_out["il5"] == 10 - 3
    for convention in ("sound", "thesis"):
        found = assess_evidence(evidence_of_numbers(values, protected, convention=convention))
        assert 0 <= found["disclosure_risk"] <= 100 and 0 <= found["score"] <= 100


@given(records(columns=2), st.integers(0, 2**32))
@settings(max_examples=30)
def test_every_measure_of_odd_records_is_within_its_range(sample, seed):
    values, k = sample
    found = assess_evidence(evidence_of_numbers(values, blurred(values, k, seed)))
    for figure in found.figures:
        assert 0 <= figure.value < np.inf
        assert figure.value <= 100 + 1e-9 or figure.range != "0 to 100 %"


def test_a_clone_has_no_loss_and_the_highest_risk():
    values = np.random.default_rng(0).normal(size=(60, 3))
    found = assess_evidence(evidence_of_numbers(values, values.copy()))
    assert found["information_loss"] == 0 and found["il"] == 0
    assert found["interval_disclosure"] == 100 and found["distance_linkage"] == 100


@given(records(columns=3), st.integers(0, 2**32), st.booleans())
@settings(max_examples=40)
def test_one_function_computes_the_correlations_of_il5_and_of_hand_made_groups(sample, seed, weighted):
    values, k = sample
    protected = blurred(values, k, seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(values)) if weighted else None
    before, after = (correlations(v, weights)[np.triu_indices(3, 1)] for v in (values, protected))
    usable = ~np.isnan(before)
    expected = np.abs(before[usable] - np.nan_to_num(after[usable])).mean() if usable.any() else 0.0
    assert loss_parts(values, protected, weights).il5 == pytest.approx(expected, abs=1e-12)


def test_correlations_agree_with_numpy_far_from_the_origin():
    values = np.random.default_rng(3).normal(size=(50, 4)) @ np.triu(np.ones((4, 4)))
    expected = np.corrcoef(values, rowvar=False)
    assert correlations(values + 1e6) == pytest.approx(expected, abs=1e-9)
    assert correlations(values, np.full(50, 2.5)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("standard", [True, False])
def test_the_scale_is_that_of_the_original(standard):
    original, protected = np.array([[0.0, 7.0], [2.0, 7.0], [4.0, 7.0]]), np.array([[1.0, 7.0], [1.0, 8.0], [1.0, 9.0]])
    width = np.sqrt(8 / 3) if standard else 4.0
    before, after = same_scale(original, protected, standard)
    assert before[:, 0] == pytest.approx(np.array([0, 2, 4]) / width)
    assert after[:, 0] == pytest.approx(np.ones(3) / width)
    assert before[:, 1].tolist() == [0, 0, 0] and after[:, 1].tolist() == [0, 1, 2]  # constant: not scaled


def test_each_part_of_il_counts_at_most_fully():
    parts = loss_parts(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([[90.0, 2.0], [-80.0, 6.0]]))
    assert min(parts.il1, parts.il2, parts.il3, parts.il4, parts.il5) >= 0.5 and parts.il1 > 1
    five = (parts.il1, parts.il2, parts.il3, parts.il4, parts.il5)
    assert parts.il == pytest.approx(20 * sum(min(1, part) for part in five))
    assert parts.il <= 100


def test_weighted_covariances_are_those_of_repeated_records():
    rng = np.random.default_rng(4)
    values, times = rng.normal(size=(12, 3)), rng.integers(1, 5, 12)
    means, covariances = means_and_covariances(values, times.astype(float))
    repeated_means, repeated = means_and_covariances(np.repeat(values, times, axis=0), None)
    assert means == pytest.approx(repeated_means) and covariances == pytest.approx(repeated)
    plain = np.cov(np.repeat(values, times, axis=0).T, bias=True)
    assert covariances / covariances[0, 0] == pytest.approx(plain / plain[0, 0])
