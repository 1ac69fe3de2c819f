"""The three figures against a slow reference, on ties, labels, units and suppressed rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from reference.figures import k_and_uniques, people_found
from shoal.gate import figures as module
from shoal.gate.figures import added_uniques


@st.composite
def releases(draw: st.DrawFn) -> dict[str, Any]:
    """An original with its release: numbers and labels replaced by values of groups, a category and raw columns."""
    n = draw(st.integers(4, 24))
    small = st.integers(0, 4)
    label = st.sampled_from("abc")
    columns = {
        "x": draw(st.lists(small.map(float), min_size=n, max_size=n)),
        "y": draw(st.lists(st.integers(-3, 3).map(lambda v: v * 1e9), min_size=n, max_size=n)),
        "label": draw(st.lists(label, min_size=n, max_size=n)),
        "raw": draw(st.lists(small, min_size=n, max_size=n)),
        "town": draw(st.lists(st.sampled_from("pqrs"), min_size=n, max_size=n)),
    }
    groups = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    new: dict[str, list[Any]] = {name: list(values) for name, values in columns.items()}
    for group in set(groups):
        rows = [i for i in range(n) if groups[i] == group]
        for i in rows:
            new["x"][i] = sum(columns["x"][j] for j in rows) / len(rows)
            new["y"][i] = sum(columns["y"][j] for j in rows) / len(rows)
            new["label"][i] = max(sorted({columns["label"][j] for j in rows}),
                                  key=[columns["label"][j] for j in rows].count)  # fmt: skip
    new["town"] = ["[p-q]" if v in "pq" else "[r-s]" for v in columns["town"]]
    units = draw(st.none() | st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return {"before": columns, "after": new, "units": units}


def kinds_of(case: dict[str, Any]) -> dict[str, str]:
    kinds = {"x": "number", "y": "number", "label": "label", "raw": "exact", "town": "category"}
    for name in ("x", "y", "label"):
        if case["before"][name] == case["after"][name]:
            kinds[name] = "exact"
    pairs = set(zip(case["before"]["label"], case["after"]["label"], strict=True))
    if kinds["label"] == "label" and len(pairs) == len(set(case["before"]["label"])):
        kinds["label"] = "category"  # each value became one other value: the intruder can derive it
    return kinds


@given(case=releases(), dimensions=st.sampled_from([0, 40]))
@settings(max_examples=150)
def test_figures_are_those_of_the_reference(case: dict[str, Any], dimensions: int) -> None:
    before, after = pl.DataFrame(case["before"]), pl.DataFrame(case["after"])
    roles: dict[str, Any] = {"quasi": ["x", "y", "label", "town"], "as_is": [], "unit": False}
    if case["units"] is not None:
        before = before.with_columns(pl.Series("pid", case["units"]))
        roles["unit"] = "pid"
    former = module.TREE_DIMENSIONS, module.FEW_PAIRS
    module.TREE_DIMENSIONS, module.FEW_PAIRS = (
        dimensions,
        0,
    )  # both ways to look for people: by a tree, and by comparing all
    try:
        found = shoal.check(before, after, k=2, keep_order=True, **roles).figures
    finally:
        module.TREE_DIMENSIONS, module.FEW_PAIRS = former
    kinds = kinds_of(case)
    protected = {name: kind for name, kind in kinds.items() if name != "raw"}
    for figure, chosen in ((found.protected, protected), (found.known, kinds)):
        assert set(figure.columns) == set(chosen)
        assert (figure.k, figure.uniques) == k_and_uniques([case["after"][c] for c in chosen], case["units"])
        assert figure.linked == pytest.approx(
            people_found(case["before"], case["after"], chosen, case["units"]), abs=2e-6
        )


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=30),
)
@settings(max_examples=100)
def test_added_uniques_are_those_of_a_direct_count(rows: list[tuple[int, ...]]) -> None:
    frame = pl.DataFrame(rows, schema=["a", "b", "c", "d"], orient="row")

    def uniques(columns: list[str]) -> int:
        return int((frame.group_by(columns).len()["len"] == 1).sum()) if columns else int(frame.height == 1)

    found = added_uniques(frame, frame.columns, ["b", "c"])
    for name in ("b", "c"):
        assert found[name] == uniques(frame.columns) - uniques([c for c in frame.columns if c != name])


def test_beyond_twenty_thousand_records_a_sample_is_linked_with_its_error() -> None:
    rng = np.random.default_rng(0)
    n = 20_500
    before = pl.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n)})
    order = np.argsort(before["x"].to_numpy())
    label = np.empty(n, dtype=int)
    label[order] = np.arange(n) // 5
    after = before.with_columns(
        pl.Series(c, (np.bincount(label, before[c].to_numpy()) / np.bincount(label))[label]) for c in ("x", "y")
    )
    found = shoal.check(before, after, quasi=["x", "y"], k=5, unit=False).figures.known
    assert found.k == 5 and found.linked_se is not None and 0 < found.linked_se < 0.01
    assert 0 < found.linked < 0.2


def test_a_suppressed_row_with_a_raw_column_beside_it_counts() -> None:
    before = pl.DataFrame({"age": [1, 1, 2, 2, 9], "town": ["a", "a", "b", "b", "z"], "job": ["x", "x", "y", "y", "q"]})
    after = before.with_columns(age=pl.Series(["1", "1", "2", "2", "*"]), town=pl.Series(["a", "a", "b", "b", "*"]))
    found = shoal.check(before, after, quasi=["age", "town"], k=2, unit=False)
    assert found.figures.protected.k == 2 and found.figures.known.k == 1
    assert found["known-k"].status == "block"
    starred = after.with_columns(job=pl.Series(["x", "x", "y", "y", "*"]))
    assert shoal.check(before, starred, quasi=["age", "town"], k=2, unit=False).figures.known.k == 2
