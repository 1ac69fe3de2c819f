"""What the pages are made of: bins, suppression, figures of columns, charts of a search."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import shoal
from shoal.engine.trace import TracePoint
from shoal.measures.columns import correlations, detail_lost, moments
from shoal.report.bins import (
    bins,
    is_dominated,
    is_dominated_by_few,
    round_edges,
    smoothed,
    sorted_present,
    without_small,
)
from shoal.report.charts import evolution, search_curves
from shoal.report.page import Charts, Code, Grid, Page, Section, Text

COUNTS = arrays(np.int64, st.integers(1, 12), elements=st.integers(0, 40))
VALUES = arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e9, 1e9, allow_subnormal=True))


@given(COUNTS, st.integers(1, 30))
def test_what_is_hidden_is_not_a_small_number(counts: np.ndarray, least: int) -> None:
    shown = without_small(counts, least)
    assert ((shown == 0) | ((shown == counts) & (shown >= least))).all()
    hidden = int(counts.sum() - shown.sum())
    assert hidden == 0 or hidden >= least or not shown.any()
    if (counts[counts > 0] >= least).all():
        assert (shown == counts).all()


@given(VALUES, st.booleans())
def test_bins_hold_every_record(values: np.ndarray, rounded: bool) -> None:
    values = np.rint(values) if rounded else values
    found = bins(values, values)
    assert found is not None and sum(found.before) == sum(found.after) == values.size
    assert found.width > 0 and len(found.before) == len(found.middles) <= 34


@given(VALUES.filter(lambda v: v.max() > v.min()))
@example(np.array([0.0, 5e-324]))
def test_bins_end_at_round_numbers(values: np.ndarray) -> None:
    edges = round_edges(float(values.min()), float(values.max()))
    assert edges[0] <= values.min() * (1 - 1e-12 * np.sign(values.min())) or np.isclose(edges[0], values.min())
    assert edges[-1] >= values.max() or np.isclose(edges[-1], values.max())
    if len(edges) > 2:
        step = float(edges[1] - edges[0])
        assert min(abs(np.log10(step / m) - round(np.log10(step / m))) for m in (1, 2, 5)) < 1e-3


def test_few_records_make_no_mean() -> None:
    rng = np.random.default_rng(0)
    plain = sorted_present(rng.normal(0, 1, 200))
    assert not is_dominated_by_few(plain, 10)
    assert is_dominated_by_few(plain[:9], 10)
    assert is_dominated_by_few(sorted_present(np.append(plain, 1e6)), 10)  # one record is nearly all of the sum
    assert is_dominated_by_few(
        sorted_present(np.r_[np.zeros(200), np.ones(5)]), 10
    )  # the mean would count five records
    assert not is_dominated_by_few(np.zeros(200), 10)  # everybody has it
    assert is_dominated(np.array([0.0, 0.0, 0.0, 5.0]), 1) and not is_dominated(np.zeros(4), 2)


def test_a_quantile_is_the_mean_of_many() -> None:
    ordered = np.arange(100.0)
    assert smoothed(ordered, 0.5, 10) == pytest.approx(49.5)
    assert smoothed(ordered, 0.0, 10) == pytest.approx(4.5)
    assert smoothed(ordered[:19], 0.5, 10) is None
    assert smoothed(np.append(ordered, 1e9), 1.0, 10) is None
    assert smoothed(np.r_[np.zeros(50), 1.0, np.ones(49)], 0.5, 10) == pytest.approx(0.5)


@given(arrays(np.float64, (20, 3), elements=st.floats(-1e3, 1e3).map(lambda v: round(v, 3))))
def test_correlations_as_numpy_has_them(values: np.ndarray) -> None:
    found = correlations(values + 1e9)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = np.corrcoef(values.T)
    varied = np.ptp(values, axis=0) > 1e-3
    for i in range(3):
        for j in range(3):
            if varied[i] and varied[j]:
                assert found[i, j] == pytest.approx(expected[i, j], abs=1e-3)


def test_moments_and_detail() -> None:
    values, weights = np.array([1.0, 3.0, np.nan]), np.array([3.0, 1.0, 5.0])
    found = moments(values, weights)
    assert found.mean == 1.5 and found.deviation == pytest.approx(np.sqrt(0.75))
    codes = np.arange(16)
    assert detail_lost(codes, codes) == 0.0
    assert detail_lost(codes, codes // 4) == pytest.approx(50.0)
    assert detail_lost(codes, np.zeros(16, dtype=np.int64)) == pytest.approx(100.0)
    assert detail_lost(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)) is None


def test_the_curve_of_a_search() -> None:
    looks = [("first", 1, 10, 5.0), ("first", 10, 10, 4.0), ("second", 1, 4, 4.0), ("", 4, 4, 3.0)]
    trace = [TracePoint(*look) for look in looks]
    curves = search_curves(trace)
    assert [c.y for c in curves] == [[5.0, 4.0], [4.0, 3.0]]
    assert [c.x for c in curves] == [[0.1, 1.0], [1.25, 2.0]]
    assert [c.name for c in curves] == ["first", "second"]
    chart = evolution(trace)
    assert chart is not None and ">first</text>" in chart.html("c", "t") and ">second</text>" in chart.html("c", "t")
    assert evolution(trace[:1]) is None and evolution([]) is None  # a single point is not a curve
    assert evolution([trace[1], trace[0]._replace(done=11)]) is None  # a best that rises: several objectives
    assert [c.x for c in search_curves(trace[:2])] == [[1.0, 10.0]]


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    nasty = "</script><img src=x onerror=alert(1)>"
    frame = pl.DataFrame({nasty: np.arange(60.0) ** 2, "b": np.sqrt(np.arange(60.0))})
    page = shoal.microaggregate(frame, k=3, method="mdav").report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<img" not in page and "<script" not in page and "&lt;/script&gt;&lt;img src=x" in page


def test_a_page_without_charts_is_small(tmp_path: Path) -> None:
    sections = [
        Section("One", [Text("a & b"), Grid(["x", "y"], [["p", 1.25]]), Code("c", "d < e")]),
        Section("Two", []),
        Section("Three", [Charts([])]),
    ]
    html = Page("T", sections).write(tmp_path / "p.html").read_text(encoding="utf-8")
    assert len(html) < 10_000 and "a &amp; b" in html and "1.25" in html and "d &lt; e" in html and "Two" not in html


@pytest.mark.parametrize("external", [False, True])
def test_odd_columns_make_a_page(external: bool, tmp_path: Path) -> None:
    n = 40
    frame = pl.DataFrame(
        {
            "huge": 1e9 + np.arange(n) / 7,
            "two": np.arange(n) % 2,
            "spike": np.r_[np.zeros(n - 1), 1e100],
            "tiny": np.arange(n) * 1e-100,
        }
    )
    release = shoal.microaggregate(shoal.read(frame, numeric=["two"]), k=4, method="mdav")
    html = release.report(tmp_path / "page.html", external).read_text(encoding="utf-8")
    drawn = re.findall(r"<svg role.*?</svg></div>", html, re.DOTALL)
    assert drawn and all("nan" not in svg and "inf" not in svg for svg in drawn)
    assert ("<th>minimum</th>" in html) != external


def test_a_word_in_between_does_not_part_a_stage() -> None:
    looks = [TracePoint("parents", i, 10, 9.0 - i) for i in range(4)]
    between = [TracePoint("best of 7 groups", 3, 10, 6.0)]
    later = [TracePoint("parents", i, 10, 9.0 - i) for i in range(4, 8)]
    assert [c.y for c in search_curves([*looks, *between, *later])] == [[9.0 - i for i in range(8)]]
    again = [TracePoint("parents", i, 10, 1.0 - i / 10) for i in range(3)]  # a run of its own: it begins anew
    assert len(search_curves([*looks, *between, *again])) == 2
