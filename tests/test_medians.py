"""Every median of Shoal on an even number of values: the mean of the two middle ones, or the lower one where it must be
a value of the data. A median by the upper middle fails each of these tests."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from reference.masking import tau_outliers
from shoal.engine.partition.partition import KPartition
from shoal.errors import ShoalWarning
from shoal.gate.checks.masked import outlier_signs
from shoal.gate.undone.formulas import _coefficients
from shoal.gate.undone.one_column import _medians as lower_medians_of_labels
from shoal.measures.columns import quantiles
from shoal.measures.subgroups import _floor, subgroup_figures
from shoal.protections.microaggregation.replacement import lower_medians
from shoal.protections.regions.hiding import _count_bounds, concealment
from shoal.protections.regions.outliers import tau_test
from shoal.protections.regions.restriction import AutomaticThreshold
from shoal.protections.regions.signal_search import _heights
from shoal.protections.regions.similarity import matching_values
from shoal.protections.regions.task import Task, masking_task
from shoal.report.bins import is_dominated
from shoal.table.missing import median

EVEN = [9.0, 1.0, 4.0, 2.0]  # the median is 3, the lower middle 2, the upper middle 4


def test_aggregate_median_of_a_group() -> None:
    frame = pl.DataFrame({"x": [*EVEN, *(100.0 + value for value in EVEN)]})
    release = shoal.microaggregate(frame, 4, quasi=["x"], method="mdav", aggregate="median")
    assert release.table["x"].to_list() == [3.0] * 4 + [103.0] * 4
    labels = np.zeros(4, dtype=np.int64)
    assert KPartition(labels, {}).medians(np.array(EVEN)[:, None]).tolist() == [[3.0]]


def test_the_release_check_knows_the_median_of_a_group() -> None:
    """If most groups of four hold their median, the group with a row out of place is found; it is not if most hold
    their upper middle, which is not an aggregate that the release check knows."""
    rng = np.random.default_rng(4)
    values = np.sort(rng.lognormal(3, 1, 40)).round(3)
    groups = values.reshape(10, 4)
    before = pl.DataFrame({"x": values})
    for released, is_median in ((np.median(groups, axis=1), True), (groups[:, 2], False)):
        after = pl.DataFrame({"x": released.repeat(4)})
        after[0, "x"], after[4, "x"] = after[4, "x"], after[0, "x"]  # two rows out of place
        (rows,) = [finding for finding in shoal.check(before, after, k=4, quasi=["x"]) if finding.check == "rows"]
        assert (rows.status == "block") == is_median


def test_the_ordinal_median_is_the_lower_one() -> None:
    sizes = ["l", "s", "m", "s", "xl", "xl", "m", "l"]
    frame = pl.DataFrame({"size": sizes, "x": [1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]})
    table = shoal.read(frame, quasi=["size", "x"], order={"size": ["s", "m", "l", "xl"]})
    release = shoal.microaggregate(table, 4, method="mdav")
    assert release.table["size"].to_list() == ["s"] * 4 + ["l"] * 4
    ranks, one_group = np.array([0, 1, 2, 3]), np.zeros(4, dtype=np.int64)
    assert lower_medians(one_group, ranks, 4).tolist() == [1]
    assert lower_medians(one_group, ranks, 4, np.array([2.0, 1.0, 2.0, 1.0])).tolist() == [1]  # half of 6 is reached


def test_the_median_of_numbers_for_missing_values() -> None:
    values = np.array(EVEN)
    assert median(values, None) == 3.0
    assert median(values, np.ones(4)) == 3.0
    assert median(values, np.array([2.0, 2.0, 1.0, 1.0])) == 3.0  # 1, 2 and 4, 9 weigh 3 each


@pytest.mark.parametrize(
    ("values", "order", "filled"),
    [
        ([*EVEN, None], None, 3.0),
        ([date(2020, 1, day) for day in (9, 1, 4, 2)] + [None], None, date(2020, 1, 2)),
        (["l", "s", "xl", "m", None], ["s", "m", "l", "xl"], "m"),
    ],
    ids=["numbers", "dates", "ordinal"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_missing_median(values: list[Any], order: list[str] | None, filled: Any, weighted: bool) -> None:
    frame = pl.DataFrame({"x": values, "w": [1.0] * 5})
    table = shoal.read(frame, quasi=["x"], weight="w" if weighted else None, order={"x": order} if order else {})
    kind = "ordinal" if order else "date" if isinstance(filled, date) else "number"
    with pytest.warns(ShoalWarning, match="median"):
        complete = table.with_missing("median", ["x"], {"x": kind})
    assert wrapped(complete.frame)["x"].to_list()[-1] == filled


def wrapped(frame: Any) -> pl.DataFrame:
    return frame if isinstance(frame, pl.DataFrame) else pl.from_dataframe(frame)


@pytest.mark.parametrize("weights", [None, np.ones(4)])
def test_medians_by_label(weights: Any) -> None:
    values, codes = np.array(EVEN), np.zeros(4, dtype=np.int64)
    figures = subgroup_figures(values, values + 10.0, codes, codes, weights)
    assert figures.median_before.tolist() == [3.0] and figures.median_after.tolist() == [13.0]


def test_a_typical_size_is_a_tenth_of_the_median_size() -> None:
    assert _floor(np.array(EVEN), np.array(EVEN)) == pytest.approx(0.3)


def test_the_median_of_a_report() -> None:
    assert quantiles(np.array(EVEN), [0.5]) == [3.0]


def test_dominance_in_a_report_counts_from_the_median() -> None:
    """Distances from 5 are 5, 5, 5, 5: no record dominates. From the upper middle 10 they are 10, 10, 0, 0."""
    assert not is_dominated(np.array([0.0, 0.0, 10.0, 10.0]), 2)


def test_the_release_check_takes_the_lower_median_of_a_label() -> None:
    medians, sizes = lower_medians_of_labels(np.zeros(4, dtype=np.int64), np.array(EVEN))
    assert medians.tolist() == [2.0] and sizes.tolist() == [4]


def test_a_trimmed_formula_keeps_half_of_the_records() -> None:
    """Half of the records follow y = 3 + 2 x, the others do not: the upper middle would keep one of them."""
    x = np.arange(20.0)[:, None]
    y = 3.0 + 2.0 * x
    y[1::2] += np.linspace(50.0, 900.0, 10)[:, None] * np.array([1.0, -1.0] * 5)[:, None]
    assert _coefficients(x, y, trimmed=True)[:, 0] == pytest.approx([3.0, 2.0])


def test_the_tau_test_counts_from_the_median() -> None:
    test = tau_test([8, 1, 6, 3, 4, 9, 2, 7])
    assert test.positions.size == 0 and test.median == 5.0


def test_both_tau_tests_equal_the_twin_on_an_even_number_of_values() -> None:
    rng, differing = np.random.default_rng(5), 0
    for _ in range(300):
        values = rng.permutation(rng.standard_t(3, 20))
        for alpha in (0.005, 0.01, 0.05):
            outliers = tau_outliers(values.tolist(), alpha, "both")
            assert np.flatnonzero(outlier_signs(values, alpha)).tolist() == outliers
            assert tau_test(values, alpha).positions.tolist() == outliers
            differing += bool(outliers)
    assert differing > 100


def test_an_automatic_threshold_is_on_the_side_of_the_median() -> None:
    """A value of 6 is above the median 5 of the ordinary values 0 and 10, so that it comes down to the largest one."""
    assert AutomaticThreshold().of(np.array([0.0, 10.0, 6.0]), np.array([2])).tolist() == [10.0]


def task_with(counts: list[int], size: int = 100) -> Task:
    """A task with these numbers of target records, regions of one size, and the last region as the outlier."""
    region = np.repeat(np.arange(len(counts)), size)
    is_target = np.concatenate([np.arange(size) < count for count in counts])
    values = matching_values(np.empty((region.size, 0)), np.zeros((region.size, 1), dtype=int))
    return masking_task(region, is_target, values, outlying=np.array([len(counts) - 1]))


def test_heights_end_at_the_median_of_the_ordinary_regions() -> None:
    task = task_with([0, 2, 6, 7, 40])
    assert _heights(task, task.outlying, 100).tolist() == [float(x) for x in range(40, 3, -1)]


def test_an_ordinary_peak_may_rise_by_the_share_above_the_median() -> None:
    """The peak of 50 is not masked. The median of the other ten regions is 5, so each takes (105 - 5) / 10 records."""
    task = task_with([1, 1, 1, 1, 1, 9, 9, 9, 9, 50, 105], size=200)
    high = _count_bounds(task, concealment(task), np.empty(0, dtype=np.int64))[1]
    assert high[9] == 50 + int(np.ceil(10.0 + 2.0 * np.sqrt(10.0)))
