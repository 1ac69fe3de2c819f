"""What each protection writes: k, l and t of the file by pycanon, and stars by both readings of the reference.

The columns are odd: domains of one to five thousand values, ties, constants, missing values only, dates, zeros with a
sign. Suppressed records (a star in every protected column) are not counted.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pycanon import anonymity

import shoal
from reference import suppression as slow
from shoal.errors import UsageError

Case = tuple[pl.DataFrame, int]
EVERY_KIND = (
    "number", "real", "zeros", "constant", "names", "many", "gaps", "holes", "missing", "dates", "months", "moments",
    "flags",
)  # fmt: skip
WITHOUT_GAPS = ("number", "real", "zeros", "constant", "names", "dates", "flags")
ROLES: dict[str, Any] = {"confidential": "secret", "unit": False}


def column(kind: str, rng: np.random.Generator, n: int, domain: int) -> pl.Series:
    """One column of n cells; `domain` is the number of values that are drawn from."""
    if kind == "number":
        return pl.Series(rng.integers(-3, domain, n))
    if kind == "real":
        return pl.Series(rng.choice(rng.normal(0, 1e3, domain), n).round(2))
    if kind == "zeros":
        return pl.Series(rng.choice([0.0, -0.0, 1e-9, 1e9, -1e9], n))
    if kind == "constant":
        return pl.Series(["same"] * n)
    if kind == "names":
        return pl.Series([f"v{value}" for value in rng.integers(0, min(domain, 6), n)])
    if kind == "many":
        return pl.Series([f"v{value}" for value in rng.integers(0, domain, n)])
    if kind == "gaps":
        return pl.Series([None if hole else int(value) for hole, value in zip(rng.random(n) < 0.3,
                         rng.integers(0, domain, n), strict=True)], dtype=pl.Int64)  # fmt: skip
    if kind == "holes":
        return pl.Series([None if value == 0 else f"w{value}" for value in rng.integers(0, 4, n)], dtype=pl.String)
    if kind == "missing":
        return pl.Series([None] * n, dtype=pl.Float64)
    if kind == "dates":
        return pl.Series([dt.date(1930, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 7 * domain, n)])
    if kind == "moments":
        return pl.Series(
            [dt.datetime(1990, 1, 1) + dt.timedelta(hours=int(hour)) for hour in rng.integers(0, domain, n)]
        )
    if kind == "months":
        return pl.Series(
            [f"{1950 + month // 12}-{month % 12 + 1:02d}" for month in rng.integers(0, domain % 600 + 1, n)]
        )
    return pl.Series(rng.random(n) < 0.4)


@st.composite
def tables(draw: Any, kinds: tuple[str, ...] = EVERY_KIND, most_rows: int = 60) -> Case:
    """Columns to protect, a confidential one, and k."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(6, most_rows))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    domains = [draw(st.sampled_from([1, 2, 7, 100, 5000])) for _ in chosen]
    columns = {f"q{j}": column(kind, rng, n, domains[j]) for j, kind in enumerate(chosen)}
    secret = pl.Series(rng.choice(["u", "v", "w"], n))
    return pl.DataFrame({**columns, "secret": secret}), draw(st.integers(2, max(2, n // 4)))


def quasi_of(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name != "secret"]


def written(release: Any, path: Path) -> tuple[pd.DataFrame, list[str], Any]:
    """The written file as text without suppressed records, its protected columns, and what `save` found."""
    saved = release.save(path, keep_order=True)  # a few drawn rows may be in order
    frame = pd.read_csv(saved, dtype=str, keep_default_na=False)
    names = [name for name in frame.columns if name != "secret"]
    return frame[~(frame[names] == "*").all(axis=1)].reset_index(drop=True), names, saved


def assert_kept(frame: pd.DataFrame, names: list[str], k: int, l: float | None = None, t: float | None = None) -> None:  # noqa: E741
    """The guarantees in pycanon's opinion."""
    if not len(frame):
        return
    assert anonymity.k_anonymity(frame, names) >= k
    if l is not None:
        assert anonymity.l_diversity(frame, names, ["secret"]) >= l
    if t is not None:
        assert anonymity.t_closeness(frame, names, ["secret"]) <= t + 1e-9


def make(protect: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The release, if the table can keep l and t at all."""
    try:
        return protect(*arguments, **options)
    except UsageError as error:
        assume("not that diverse" not in str(error) and "does not reach l" not in str(error))
        raise


@settings(max_examples=15)
@given(tables(), st.sampled_from(["text", "bounds", "mean"]), st.sampled_from(["sets", "nodes"]),
       st.sampled_from([None, 2]), st.sampled_from([None, 0.5]), st.sampled_from([0.0, 0.3]))  # fmt: skip
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_recode(tmp_path_factory: Any, case: Case, style: str, loss: str, l: Any, t: Any, suppress: float) -> None:  # noqa: E741
    frame, k = case
    data = shoal.read(frame, quasi=quasi_of(frame), **ROLES)
    more = {"suppress": suppress} if style == "text" else {}
    release = make(shoal.recode, data, k, style=style, loss=loss, l=l, t=t, effort="quick", **more)
    after, names, _ = written(release, tmp_path_factory.mktemp("out") / "out.csv")
    assert_kept(after, names, k, l, t)
    assert frame.height - len(after) == release.facts["suppressed"]


@settings(max_examples=8)
@given(tables(), st.sampled_from([None, 2]), st.sampled_from([None, 0.5]), st.sampled_from([0.0, 0.3]))
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_generalize(tmp_path_factory: Any, case: Case, l: Any, t: Any, suppress: float) -> None:  # noqa: E741
    frame, k = case
    data = shoal.read(frame, quasi=quasi_of(frame), **ROLES)
    release = make(shoal.generalize, data, k, l=l, t=t, suppress=suppress, effort="quick")
    after, names, _ = written(release, tmp_path_factory.mktemp("out") / "out.csv")
    assert_kept(after, names, k, l, t)


@settings(max_examples=10)
@given(tables(WITHOUT_GAPS), st.sampled_from(["changes", "gini"]), st.sampled_from([None, 2]),
       st.sampled_from([None, 0.5]))  # fmt: skip
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_mixed_microaggregation(tmp_path_factory: Any, case: Case, loss: str, l: Any, t: Any) -> None:  # noqa: E741
    frame, k = case
    assume(any(frame[name].n_unique() > 1 for name in quasi_of(frame)))
    data = shoal.read(frame, quasi=quasi_of(frame), **ROLES)
    release = make(shoal.microaggregate, data, k, loss=loss, l=l, t=t, effort="quick")
    after, names, _ = written(release, tmp_path_factory.mktemp("out") / "out.csv")
    assert_kept(after, names, k, l, t)


def as_codes(frame: pd.DataFrame, names: list[str]) -> list[slow.Record]:
    """The cells as codes, a star as the reference knows it."""
    codes = [
        np.where(frame[name] == "*", slow.STAR, np.unique(frame[name].to_numpy(str), return_inverse=True)[1])
        for name in names
    ]
    return [tuple(int(cell) for cell in record) for record in zip(*codes, strict=True)]


def some_values_are_left(release: Any, names: list[str]) -> bool:
    """Whether at least a tenth of the records have a value: a file of stars and missing cells only is not written."""
    cells = release.frame.select(names).cast(pl.String)
    empty = cells.select(pl.all_horizontal(pl.all().is_null() | (pl.all() == "*")).alias("empty"))["empty"]
    return 10 * int(empty.sum()) < 9 * cells.height


@settings(max_examples=12)
@given(tables(most_rows=40), st.sampled_from(["value", "wildcard"]))
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_suppress_by_both_readings(tmp_path_factory: Any, case: Case, star: str) -> None:
    frame, k = case
    path = tmp_path_factory.mktemp("out") / "out.csv"
    release = shoal.suppress(shoal.read(frame, quasi=quasi_of(frame), **ROLES), k, star=star, effort="quick")
    assume(some_values_are_left(release, quasi_of(frame)))
    saved = release.save(path, keep_order=True, accept_k=1)
    after = pd.read_csv(saved, dtype=str, keep_default_na=False)
    names = quasi_of(frame)
    cells = as_codes(after, names)
    by_value, by_wildcard = min(slow.as_value(cells)), min(slow.as_wildcard(cells))
    assert (release.facts["k_value"], release.facts["k_wildcard"]) == (by_value, by_wildcard)
    assert k <= (by_value if star == "value" else by_wildcard)
    assert anonymity.k_anonymity(after, names) == by_value
    finding = saved.findings["k-of-stars"].finding
    assert f"at least {by_value} record" in finding and f"{by_wildcard} record" in finding
    stars = sum(slow.STAR in record and record.count(slow.STAR) for record in cells)
    assert stars == release.facts["suppressed_cells"]
    assert star == "wildcard" or stars >= release.facts["lower_bound"]


@settings(max_examples=8)
@given(tables(most_rows=40), st.integers(1, 3))
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_suppress_of_every_combination(tmp_path_factory: Any, case: Case, m: int) -> None:
    frame, k = case
    path = tmp_path_factory.mktemp("out") / "out.csv"
    m = min(m, len(quasi_of(frame)))
    release = shoal.suppress(shoal.read(frame, quasi=quasi_of(frame), **ROLES), k, subsets=m, effort="quick")
    assume(some_values_are_left(release, quasi_of(frame)))
    after = pd.read_csv(release.save(path, keep_order=True, accept_k=1), dtype=str, keep_default_na=False)
    names = quasi_of(frame)
    present = [
        tuple(None if cell == slow.STAR or text == "" else cell for cell, text in zip(record, texts, strict=True))
        for record, texts in zip(as_codes(after, names), after[names].itertuples(index=False, name=None), strict=True)
    ]
    assert slow.rare(present, k, m) == release.facts["rare_combinations"] == 0
