"""What classes tell about their members, against plain loops over the records and examples with known answers."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.gate.cells import classes, codes
from shoal.gate.inside import class_shares, few_valued_averaged, largest_share, nearly_unique, spread

SEEDS = st.integers(0, 2**32 - 1)


def made_classes(rng, n):
    frame = pl.DataFrame({"q": rng.integers(0, rng.integers(1, 8), n)})
    return classes(frame, ("q",), rng.random(n) < 0.9 if rng.random() < 0.5 else None)


def made_units(rng, n):
    return None if rng.random() < 0.4 else rng.integers(-3, rng.integers(1, n + 2), n) * 10**15


def members_of(found):
    rows = defaultdict(list)
    for i, label in enumerate(found.labels.tolist()):
        if label >= 0:
            rows[label].append(i)
    return rows


def how_many(rows, units):
    return len(rows) if units is None else len({int(units[i]) for i in rows})


@settings(max_examples=100)
@given(st.integers(1, 40), SEEDS)
def test_the_largest_share_of_a_label(n, seed):
    rng = np.random.default_rng(seed)
    found, units = made_classes(rng, n), made_units(rng, n)
    words = [None, "healthy", "flu", "HIV"][-int(rng.integers(1, 5)) :]
    column = pl.Series("diagnosis", [words[c] for c in rng.integers(0, len(words), n)], dtype=pl.String)
    shares = class_shares(found, codes(column), units)
    answer = largest_share(found, column, units)
    rows = members_of(found)
    if not rows:
        assert answer is None and not shares.share.size
        return
    whole = Counter(column.to_list())
    whole[None] = n + 1
    ranked, homogeneous = [], []
    for label, inside in rows.items():
        counts = {v: how_many([i for i in inside if column[i] == v or (v is None and column[i] is None)], units)
                  for v in {column[i] for i in inside}}  # fmt: skip
        count, size = max(counts.values()), how_many(inside, units)
        assert (shares.count[label], shares.size[label]) == (count, size)
        assert shares.share[label] == count / size
        value = min((v for v in counts if counts[v] == count), key=lambda v: (v is None, v or ""))
        ranked.append((-count / size, whole[value], -size))
        if count == size:
            homogeneous.append((label, value))
    assert (-answer.share, whole[answer.value], -answer.size) == min(ranked)
    assert answer.share == answer.count / answer.size
    inside = [i for label, _ in homogeneous for i in rows[label]]
    assert answer.homogeneous_classes == len(homogeneous)
    assert answer.homogeneous_records == len(inside)
    assert answer.homogeneous_units == how_many(inside, units)
    by_value = Counter()
    for label, value in homogeneous:
        by_value[value] += len(rows[label])
    assert answer.frequent_records == max(by_value.values(), default=0)
    if homogeneous:
        assert by_value[answer.frequent_value] == answer.frequent_records
        assert answer.frequent_classes == sum(value == answer.frequent_value for _, value in homogeneous)


def test_the_alarm_names_the_value_and_the_records():
    frame = pl.DataFrame({"q": [1] * 4 + [2] * 3 + [3] * 5})
    diagnosis = pl.Series(["none"] * 4 + ["HIV"] * 3 + ["none", "none", "none", "flu", "HIV"])
    answer = largest_share(classes(frame, ("q",)), diagnosis)
    assert (answer.value, answer.count, answer.size, answer.share) == ("HIV", 3, 3, 1.0)  # the rarer value first
    assert (answer.homogeneous_classes, answer.homogeneous_records) == (2, 7)
    assert (answer.frequent_value, answer.frequent_records, answer.frequent_classes) == ("none", 4, 1)


def test_rows_of_one_person_count_once():
    """Five records of two persons: three of five records have the value, but one of two persons."""
    frame = pl.DataFrame({"q": [1] * 5})
    column = pl.Series(["a", "a", "a", "b", "b"])
    found = classes(frame, ("q",))
    assert largest_share(found, column).share == 0.6
    answer = largest_share(found, column, np.array([7, 7, 7, 9, 9]))
    assert (answer.count, answer.size, answer.homogeneous_classes) == (1, 2, 0)
    everybody = largest_share(found, column, np.array([7, 7, 9, 7, 9]))
    assert (everybody.share, everybody.homogeneous_units, everybody.homogeneous_records) == (1.0, 2, 5)


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (pl.Series([3.0, 3.0]), "3"),
        (pl.Series([0.5, 0.5]), "0.5"),
        (pl.Series([True, True]), "True"),
        (pl.Series([None, None], dtype=pl.String), None),
        (pl.Series([float("nan"), None]), None),
        (pl.Series(["x", "x"], dtype=pl.Categorical), "x"),
    ],
)
def test_names_of_values(column, name):
    answer = largest_share(classes(pl.DataFrame({"q": [1, 1]}), ("q",)), column)
    assert (answer.value, answer.frequent_value, answer.share) == (name, name, 1.0)


def slow_scale(values):
    finite = [v for v in values if math.isfinite(v)]
    if len(set(finite)) < 2:
        return 0.0
    width = float(np.quantile(finite, 0.75) - np.quantile(finite, 0.25))
    return min(statistics.pstdev(finite), width or math.inf)


@settings(max_examples=100)
@given(st.integers(1, 40), st.booleans(), SEEDS)
def test_the_spread_of_a_number(n, other, seed):
    rng = np.random.default_rng(seed)
    found, units = made_classes(rng, n), made_units(rng, n)
    values = rng.choice([0.0, 1.0, 1.02, 1.05, 5.0, 80.0, np.nan], n)
    reference = rng.normal(size=30) * 10 if other else None
    answer = spread(found, values, reference, units)
    scale = slow_scale((values if reference is None else reference).tolist())
    ranges, narrow = {}, []
    for label, inside in members_of(found).items():
        present = [i for i in inside if not math.isnan(values[i])]
        if 2 * len(present) <= len(inside):
            continue
        width = max(values[i] for i in present) - min(values[i] for i in present)
        relative = width / scale if scale else (math.inf if width else 0.0)
        ranges[label] = (relative, -len(inside), present)
        narrow += [(label, present)] if relative < 0.05 else []
    if not ranges:
        assert answer is None
        return
    rows = [i for _, present in narrow for i in present]
    assert answer.scale == pytest.approx(scale)
    assert (answer.narrow_classes, answer.narrow_records) == (len(narrow), len(rows))
    assert answer.narrow_units == how_many(rows, units)
    relative, _, present = ranges[answer.worst]
    assert answer.spread == pytest.approx(relative)
    assert (answer.spread, -answer.size) == pytest.approx(min(one[:2] for one in ranges.values()))
    inside = [values[i] for i in present]
    assert (answer.low, answer.high, answer.distinct) == (min(inside), max(inside), len(set(inside)))


def test_many_distinct_values_that_lie_close_together_give_the_value_away():
    """l is 5 in both classes; in the second class every income is 40,000 up to 40 euros."""
    frame = pl.DataFrame({"q": [1] * 5 + [2] * 5})
    income = np.array([10_000.0, 25_000, 33_000, 61_000, 90_000, 40_000, 40_010, 40_020, 40_030, 40_040])
    answer = spread(classes(frame, ("q",)), income)
    assert (answer.narrow_classes, answer.narrow_records) == (1, 5)
    assert (answer.worst, answer.distinct, answer.low, answer.high) == (1, 5, 40_000, 40_040)


def test_one_huge_value_does_not_make_every_class_narrow():
    rng = np.random.default_rng(0)
    income = rng.uniform(0, 1_000, 500)
    income[0] = 1e9
    answer = spread(classes(pl.DataFrame({"q": np.arange(500) // 5}), ("q",)), income)
    assert 400 < answer.scale < 600
    assert answer.narrow_classes < 5


def test_a_constant_number_is_known_in_every_class():
    answer = spread(classes(pl.DataFrame({"q": [1, 1, 2, 2]}), ("q",)), np.full(4, 7.0))
    assert (answer.scale, answer.narrow_classes, answer.narrow_records, answer.spread) == (0.0, 2, 4, 0.0)


@settings(max_examples=80)
@given(st.integers(0, 60), st.integers(1, 200), SEEDS)
def test_numbers_that_are_nearly_unique(n, width, seed):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, width, n))
    units = made_units(rng, n)
    pairs = [(i if units is None else int(units[i]), float(v)) for i, v in enumerate(values) if not math.isnan(v)]
    records, distinct = len(set(pairs)), len({v for _, v in pairs})
    answer = nearly_unique(values, units)
    assert (answer.distinct, answer.records) == (distinct, records)
    assert answer.is_key == (records >= 20 and distinct > 0.9 * records)


def test_a_value_repeated_in_a_persons_rows_is_still_a_key():
    values, persons = np.repeat(np.arange(50.0), 6), np.repeat(np.arange(50), 6)
    assert not nearly_unique(values).is_key
    assert nearly_unique(values, persons).is_key
    assert not nearly_unique(np.arange(19.0)).is_key


@settings(max_examples=80)
@given(st.integers(1, 40), st.integers(1, 4), SEEDS)
def test_few_valued_columns_that_were_averaged(n, width, seed):
    rng = np.random.default_rng(seed)
    old = np.where(rng.random(n) < 0.1, np.nan, rng.choice([0.0, 1.0, 5.0, 6.0][:width], n))
    group = rng.integers(0, rng.integers(1, n + 1), n)
    new = np.array([np.nanmean(old[group == g]) if (~np.isnan(old[group == g])).any() else np.nan for g in group])
    units = made_units(rng, n)
    answer = few_valued_averaged(pl.Series(old), pl.Series(new), units)
    found = {v for v in old.tolist() if not math.isnan(v)}
    changed = any(not math.isnan(a) and not math.isclose(a, b) for a, b in zip(old, new, strict=True))
    if not 2 <= len(found) <= 3 or not changed:
        assert answer is None
        return
    having = {v: [i for i in range(n) if old[i] == v] for v in (max(found), min(found))}
    value = min(having, key=lambda v: how_many(having[v], units))
    shown = [i for i in range(n) if math.isclose(new[i], value, abs_tol=1e-9)]
    assert (answer.value, answer.records) == (value, how_many(having[value], units))
    assert answer.given_away == how_many([i for i in having[value] if i in shown], units)
    assert answer.released == how_many([i for i in shown if not math.isnan(old[i])], units)


def test_hiv_positive_people_in_groups_released_as_one():
    """27 of 300 people are positive; 25 of them stand in five groups that hold nobody else."""
    status = np.repeat([1, 0], [27, 273])
    averaged = np.concatenate([np.ones(25), np.full(5, 0.4), np.zeros(270)])
    answer = few_valued_averaged(pl.Series(status), pl.Series(averaged))
    assert answer == (1.0, 27, 25, 25)
    assert few_valued_averaged(pl.Series(status == 1), pl.Series(averaged)) == answer
    assert few_valued_averaged(pl.Series(status), pl.Series(averaged * (1 - 1e-16 * 2))) == answer
    rounded = few_valued_averaged(pl.Series([1, 1, 0, 0, 0, 0]), pl.Series([1, 1, 1, 0, 0, 0]))
    assert rounded == (1.0, 2, 2, 3)  # one of the three that the release shows as positive is not


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0]),  # unchanged
        ([0, 1, 2, 3], [0.5, 0.5, 2.5, 2.5]),  # four values
        ([0.5, 1.0, 0.5, 1.0], [0.75] * 4),  # no whole numbers
        ([1, 1, 1, 1], [1.0, 1.0, 1.0, 2.0]),  # one value
        (["a", "b", "a", "b"], ["a", "a", "a", "a"]),
    ],
)
def test_columns_that_are_not_few_valued_or_not_averaged(before, after):
    assert few_valued_averaged(pl.Series(before), pl.Series(after)) is None


def test_a_file_without_classes():
    nothing = classes(pl.DataFrame({"q": [1, 2]}), ("q",), np.zeros(2, dtype=bool))
    assert largest_share(nothing, pl.Series(["a", "b"])) is None
    assert spread(nothing, np.array([1.0, 2.0])) is None
