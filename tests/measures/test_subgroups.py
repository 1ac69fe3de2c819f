"""Measures by subgroup against plain loops over the records, and against examples with known answers."""

from __future__ import annotations

import math
import statistics
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.measures import subgroups
from shoal.measures.subgroups import (
    far_off,
    sign_change_pairs,
    sign_changes,
    slopes,
    subgroup_figures,
    worst_subgroups,
    worst_total_factor,
)

SEEDS = st.integers(0, 2**32 - 1)
APPROX = {"rel": 1e-9, "abs": 1e-9}


def made_number(rng, n):
    """A column with ties, zeros, both signs, gaps on either side, and at times a huge offset."""
    kind = rng.integers(0, 4)
    before = rng.integers(-3, 8, n).astype(float) if kind < 2 else rng.lognormal(0, 2, n) * rng.choice([-1, 1], n)
    if kind == 3:
        before = 1e9 + rng.integers(0, 50, n).astype(float)
    after = np.where(rng.random(n) < 0.5, before, before[rng.permutation(n)] * rng.choice([1.0, -1.0, 0.5, 30.0]))
    return tuple(np.where(rng.random(n) < 0.1, np.nan, side) for side in (before, after))


def made_labels(rng, n, width):
    before = rng.integers(-1, width, n)
    after = np.where(rng.random(n) < 0.8, before, rng.integers(-1, width, n))
    return before, after, [f"v{c}" for c in range(width)]


def made_weights(rng, n):
    """No weights, or a few whole and half ones, so that half the weight is often met exactly; some are 0."""
    return None if rng.random() < 0.5 else rng.integers(0, 5, n) / 2


def made_table(rng, n):
    numeric = {f"x{j}": made_number(rng, n) for j in range(rng.integers(1, 4))}
    labels = {f"g{j}": made_labels(rng, n, int(rng.integers(1, 5))) for j in range(rng.integers(1, 4))}
    return numeric, labels, made_weights(rng, n)


def counted(before, after, weights):
    """The rows that count."""
    return [
        i
        for i in range(len(before))
        if math.isfinite(before[i]) and math.isfinite(after[i]) and (weights is None or weights[i] > 0)
    ]


def weigh(weights, i):
    return 1.0 if weights is None else float(weights[i])


def mean_of(values, weights, rows):
    total = math.fsum(weigh(weights, i) for i in rows)
    return math.fsum(weigh(weights, i) * float(values[i]) for i in rows) / total if rows else math.nan


def median_of(values, weights, rows):
    """Each value as often as twice its weight says, then the middle of that list."""
    repeated = [float(values[i]) for i in rows for _ in range(round(2 * weigh(weights, i)))]
    return statistics.median(repeated) if repeated else math.nan


def floor_of(before, after, rows):
    for values in (before, after):
        sizes = [abs(float(values[i])) for i in rows if values[i] != 0]
        if sizes:
            return 0.1 * statistics.median(sizes)
    return 1.0


def factor_of(one, two, floor):
    large, small = max(abs(one), abs(two), floor), max(min(abs(one), abs(two)), floor)
    return large / floor if one < 0 < two or two < 0 < one else large / small


def slow_subgroups(numeric, labels, weights, min_records):
    """(column, by, label) -> records, means, medians, relative change of mean and median, labels that vanished."""
    found, vanished = {}, set()
    for column, (before, after) in numeric.items():
        rows = counted(before, after, weights)
        floor = floor_of(before, after, rows)
        for by, (codes_before, codes_after, names) in labels.items():
            for code, name in enumerate(names):
                left = [i for i in rows if codes_before[i] == code]
                right = [i for i in rows if codes_after[i] == code]
                if len(left) < min_records or not left:
                    continue
                vanished |= set() if right else {(by, name)}
                means = mean_of(before, weights, left), mean_of(after, weights, right)
                medians = median_of(before, weights, left), median_of(after, weights, right)
                changes = [(b - a) / max(abs(a), floor) for a, b in (means, medians)]
                found[column, by, name] = (len(left), len(right), *means, *medians, *changes)
    return found, len(vanished)


@settings(max_examples=80)
@given(st.integers(1, 40), SEEDS)
def test_figures_by_label(n, seed):
    rng = np.random.default_rng(seed)
    before, after = made_number(rng, n)
    labels = made_labels(rng, n, 4)
    weights = made_weights(rng, n)
    figures = subgroup_figures(before, after, labels[0], labels[1], weights)
    slow, _ = slow_subgroups({"x": (before, after)}, {"g": labels}, weights, 1)
    for code, name in enumerate(labels[2][: figures.mean_before.size]):
        row = [float(part[code]) for part in figures]
        if ("x", "g", name) in slow:
            assert row == pytest.approx(slow["x", "g", name], nan_ok=True, **APPROX)
        else:
            assert row[0] == 0 and math.isnan(row[2]) and math.isnan(row[4]) and math.isnan(row[6])


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 6), SEEDS)
def test_the_worst_subgroups(n, min_records, most, seed):
    numeric, labels, weights = made_table(np.random.default_rng(seed), n)
    found = worst_subgroups(numeric, labels, weights, min_records, most)
    slow, vanished = slow_subgroups(numeric, labels, weights, min_records)
    ranked = sorted((abs(one[6]) for one in slow.values() if not math.isnan(one[6])), reverse=True)
    assert found.left_out == 0
    assert found.vanished == vanished
    assert [abs(one.change) for one in found.worst] == pytest.approx(ranked[:most], **APPROX)
    for one in found.worst:
        records, _, *rest = slow[one.column, one.by, one.label]
        assert one.records == records
        assert one[4:] == pytest.approx(rest[:5], **APPROX)


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 6), SEEDS)
def test_slopes_on_labels(n, min_records, seed):
    numeric, labels, weights = made_table(np.random.default_rng(seed), n)
    slow = {}
    for column, (before, after) in numeric.items():
        rows = counted(before, after, weights)
        if not rows:
            continue
        middle = mean_of(before, weights, rows)
        squares = {i: (float(before[i]) - middle) ** 2 for i in rows}
        unit = math.sqrt(mean_of(squares, weights, rows))
        for by, (codes_before, codes_after, names) in labels.items():
            used = [code for code in range(len(names)) if any(codes_before[i] == code for i in rows)]
            for code in used[1:] if len(used) == 2 else used:
                sides = []
                for values, codes in ((before, codes_before), (after, codes_after)):
                    own = [i for i in rows if codes[i] == code]
                    rest = [i for i in rows if codes[i] >= 0 and codes[i] != code]
                    difference = mean_of(values, weights, own) - mean_of(values, weights, rest)
                    sides.append((len(own), len(rest), difference))
                if min(sides[0][:2]) >= min_records and unit > 0 and not math.isnan(sides[1][2]):
                    slow[column, by, names[code]] = (sides[0][2] / unit, sides[1][2] / unit)
    found = slopes(numeric, labels, weights, min_records, most=5)
    ranked = sorted((abs(b - a) for a, b in slow.values()), reverse=True)
    assert [abs(one.change) for one in found] == pytest.approx(ranked[:5], rel=1e-7, abs=1e-7)
    for one in found:
        assert (one.before, one.after) == pytest.approx(slow[one.column, one.by, one.label], rel=1e-7, abs=1e-7)


def test_the_slope_on_a_two_valued_label_is_that_of_a_regression():
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 200)
    income = 3.0 * sex + rng.normal(size=200)
    after = income + 0.5 * rng.normal(size=200)
    (found,) = slopes({"income": (income, after)}, {"sex": (sex, sex, ["f", "m"])})
    assert found.label == "m"
    assert found.before == pytest.approx(np.polyfit(sex, income / income.std(), 1)[0])
    assert found.after == pytest.approx(np.polyfit(sex, after / income.std(), 1)[0])


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 6), SEEDS)
def test_the_worst_total(n, min_records, seed):
    numeric, labels, weights = made_table(np.random.default_rng(seed), n)
    slow = {}
    for column, (before, after) in numeric.items():
        rows = counted(before, after, weights)
        floor = floor_of(before, after, rows)
        for by, (codes_before, codes_after, names) in labels.items():
            for code, name in enumerate(names):
                left = [i for i in rows if codes_before[i] == code]
                if len(left) < min_records:
                    continue
                one = math.fsum(weigh(weights, i) * before[i] for i in left)
                two = math.fsum(weigh(weights, i) * after[i] for i in rows if codes_after[i] == code)
                least = floor * math.fsum(weigh(weights, i) for i in left)
                slow[column, by, name] = (one, two, factor_of(one, two, least))
    found = worst_total_factor(numeric, labels, weights, min_records)
    if found is None:
        assert not slow
        return
    assert found.factor == pytest.approx(max(one[2] for one in slow.values()), **APPROX)
    assert found[3:] == pytest.approx(slow[found[:3]], **APPROX)


@settings(max_examples=80)
@given(st.integers(1, 40), SEEDS)
def test_values_that_are_far_off(n, seed):
    before, after = made_number(np.random.default_rng(seed), n)
    rows = counted(before, after, None)
    floor = floor_of(before, after, rows)
    factors = [factor_of(float(before[i]), float(after[i]), floor) for i in rows]
    found = far_off(before, after)
    assert found.records == sum(f > 10 + 1e-8 for f in factors)
    assert found.share == pytest.approx(found.records / max(len(rows), 1))
    assert found.largest_factor == pytest.approx(max(factors, default=1.0))


@settings(max_examples=80)
@given(st.integers(1, 30), SEEDS)
def test_sign_changes(n, seed):
    rng = np.random.default_rng(seed)
    a, b = made_number(rng, n), made_number(rng, n)
    rows = [i for i in range(n) if all(math.isfinite(side[i]) for side in (*a, *b))]
    changed = [
        i
        for i in rows
        if (a[0][i] > b[0][i] and a[1][i] <= b[1][i]) or (a[0][i] < b[0][i] and a[1][i] >= b[1][i])
    ]  # fmt: skip
    assert sign_changes(*a, *b) == pytest.approx(len(changed) / max(len(rows), 1))


@settings(max_examples=60)
@given(st.integers(2, 30), st.integers(1, 5), SEEDS)
def test_pairs_of_like_scale(n, most, seed):
    rng = np.random.default_rng(seed)
    numeric = {f"x{j}": made_number(rng, n) for j in range(5)}
    shares = []
    for a, b in combinations(numeric, 2):
        ranges = [[v for v in numeric[name][0] if not math.isnan(v)] for name in (a, b)]
        if not all(ranges):
            continue
        (low_a, high_a), (low_b, high_b) = (np.quantile(values, [0.05, 0.95]) for values in ranges)
        common, union = min(high_a, high_b) - max(low_a, low_b), max(high_a, high_b) - min(low_a, low_b)
        if common > 0 and common / union >= 0.5:
            shares.append(sign_changes(*numeric[a], *numeric[b]))
    found = sign_change_pairs(numeric, most)
    assert (found.pairs, found.left_out) == (len(shares), 0)
    assert [pair.share for pair in found.worst] == sorted(shares, reverse=True)[:most]
    for pair in found.worst:
        assert pair.share == sign_changes(*numeric[pair.a], *numeric[pair.b])


def test_income_less_expenses_is_a_pair_and_age_less_income_is_not():
    rng = np.random.default_rng(1)
    income = rng.normal(30_000, 8_000, 500)
    numeric = {
        "age": (rng.uniform(18, 90, 500),) * 2,
        "income": (income, income),
        "expenses": (income - 2_000, income + np.where(np.arange(500) < 100, 2_000, -2_000)),
    }
    (pair,) = sign_change_pairs(numeric).worst
    assert (pair.a, pair.b, pair.share) == ("income", "expenses", 0.2)


def test_a_sector_total_that_is_off_by_a_factor_of_ten():
    """One huge firm shares its group with small firms of another sector."""
    turnover = np.concatenate([np.full(90, 100.0), np.full(10, 50.0)])
    after = turnover.copy()
    turnover[0] = 1e6
    after[90:] = 500.0
    sector = np.repeat([0, 1], [90, 10])
    firms = {"turnover": (turnover, after)}
    total = worst_total_factor(firms, {"sector": (sector, sector, ["retail", "mining"])})
    assert (total.label, total.before, total.after) == ("retail", 1e6 + 8_900, 9_000)
    only = worst_total_factor({"turnover": (after, turnover)}, {"sector": (sector * 2 - 1, sector * 2 - 1, ["", "m"])})
    assert (only.label, only.factor) == ("m", 10.0)
    worst = worst_subgroups(firms, {"sector": (sector, sector, ["retail", "mining"])}).worst
    assert [(one.label, one.change) for one in worst] == [
        ("mining", 9.0),
        ("retail", pytest.approx(9_000 / 1_008_900 - 1)),
    ]


def test_near_zero_no_factor_is_claimed():
    """A share of one in five instead of 0, or of 1, is below a factor of ten. Another sign of a typical size is not."""
    zero_one = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    assert far_off(zero_one, np.full(5, 0.2)).records == 0
    assert far_off(np.zeros(3), np.array([0.0, 2.0, 2.0])).largest_factor == 10.0
    assert far_off(np.zeros(3), np.zeros(3)) == (0, 0.0, 1.0)
    assert far_off(np.array([0.0, 0.7, 0.7]), np.full(3, 0.7)).records == 0  # exactly ten times the least size
    assert far_off(np.array([50.0, 60.0, 70.0]), np.array([50.0, -65.0, 70.0])).records == 1
    assert far_off(np.array([50.0, 60.0, -1.0]), np.array([50.0, 60.0, 1.0])).records == 0


def test_labels_that_cannot_be_tabulated_or_vanish_are_counted():
    values = np.arange(250.0)
    many, half = np.arange(250), np.arange(250) % 2
    labels = {
        "many": (many, many, [str(c) for c in many]),
        "most": (many % 200, many % 200, [str(c) for c in range(200)]),
        "half": (half, np.zeros(250, dtype=np.int64), ["even", "odd"]),
    }
    found = worst_subgroups({"x": (values, values), "y": (values, values)}, labels)
    assert (found.left_out, found.vanished) == (1, 1)
    assert {one.by for one in found.worst} == {"half"}  # labels of `most` have fewer than ten records
    assert {one.by for one in worst_subgroups({"x": (values, values)}, labels, min_records=1, most=300).worst} == {
        "half",
        "most",
    }


def test_wide_files_measure_the_pairs_that_overlap_most(monkeypatch):
    monkeypatch.setattr(subgroups, "MAX_PAIRS", 1)
    one = np.linspace(0, 100, 101)
    numeric = {"a": (one, one), "b": (one + 20, one), "c": (one + 2, one)}
    found = sign_change_pairs(numeric)
    assert (found.pairs, found.left_out) == (1, 2)
    assert (found.worst[0].a, found.worst[0].b) == ("a", "c")


def test_weights_that_say_how_often_a_record_counts():
    """Whole weights give the values of a file in which each record stands that often."""
    rng = np.random.default_rng(3)
    before, after, label, weights = (
        rng.normal(size=50),
        rng.normal(size=50),
        rng.integers(0, 3, 50),
        rng.integers(0, 4, 50),
    )
    names = ["a", "b", "c"]
    often = np.repeat(np.arange(50), weights)
    weighed = subgroup_figures(before, after, label, label, weights.astype(float))
    repeated = subgroup_figures(before[often], after[often], label[often], label[often])
    for left, right in zip(weighed[2:6], repeated[2:6], strict=True):
        assert left == pytest.approx(right)
    long = slopes({"x": (before[often], after[often])}, {"g": (label[often], label[often], names)}, min_records=1)
    short = slopes({"x": (before, after)}, {"g": (label, label, names)}, weights.astype(float), min_records=1)
    assert [one.after for one in short] == pytest.approx([one.after for one in long])


def test_half_the_weight_is_met_up_to_rounding():
    """Weights of 0.1 have running sums that are not exact; the median of 2, 4, ..., 20 is 11 whatever the weight."""
    values = np.tile(np.arange(2.0, 22.0, 2.0), 50)
    label = np.repeat(np.arange(50), 10)
    for weight in (0.1, 0.7, 1 / 3):
        figures = subgroup_figures(values, values, label, label, np.full(500, weight))
        assert figures.median_before.tolist() == [11.0] * 50


def test_every_negative_code_is_a_missing_label():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    nowhere = subgroup_figures(values, values, np.full(4, -1), np.array([-2, -2, -1, 1]))
    assert np.isnan(nowhere.median_before).all() and nowhere.records_before.tolist() == [0, 0]
    assert math.isnan(nowhere.median_after[0]) and nowhere.median_after[1] == 4.0
