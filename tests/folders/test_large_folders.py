"""A folder above ALL_ROWS records gets the verdict of one file with the same rows, under every policy.

The limit is set low, so that the checks of classes and of single columns are counted bucket by bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from folders.here import Here
from shoal.folders import judging
from shoal.gate import policy as policies
from shoal.gate.checks import content, members
from shoal.gate.context import CheckContext
from shoal.gate.folders import values as streams
from shoal.gate.folders import whole
from shoal.gate.guarantees import Guarantees
from shoal.gate.inside import _scale, nearly_unique
from shoal.gate.reading import Written
from shoal.table.roles import Roles

ROWS, DRAWN = 900, 400
OF_FOLDERS = {"files", "drawn"}
STARTS = (0, 250, 600)
FIGURES = (
    *("average-risk", "row-risk", "small-counts", "dominance", "unchanged-cells", "exact-means", "l", "float-residue"),
    *("few-valued", "spread", "weight", "keys", "joint-k", "group-linkage"),
)
EVERY = """
title = "everything"
justification = "tests"
blocks = [%s]
[thresholds]
k = 3
l = 2
t = 0.9
maximum_risk = 0.3
average_risk = 0.2
row_risk = 0.3334
linkage = 0.2
released_linkage = 0.9
small_count = 2
[sources]
%s
"""


def table(rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, size=rows)
    return pl.DataFrame(
        {
            "age": age,
            "income": np.round(rng.lognormal(3, 0.5, size=rows) + age / 10, 2),
            "x": rng.normal(size=rows) + age / 20,
            "child": rng.integers(0, 2, size=rows),
            "area": rng.choice(["n", "s", "w"], size=rows),
            "diagnosis": rng.choice(["a", "b", "c", "d"], size=rows),
            "bill": np.round(rng.lognormal(8, 1.0, size=rows), 2),
            "weight": rng.choice([1.0, 1.5, 2.0], size=rows),
            "house": rng.integers(0, 300, size=rows),
        }
    )


QUASI = ["age", "income", "x", "child", "area"]
ROLES: dict[str, Any] = {
    "quasi": QUASI, "nominal": ["area"], "numeric": ["child"], "confidential": ["diagnosis", "bill"], "drop": ["house"],
    "unit": False,
}  # fmt: skip


CATEGORIES = {"quasi": ["age", "child", "area"], "drop": ["house", "weight", "income", "x"]}


def protected(k: int = 12, **more: Any) -> pl.DataFrame:
    roles = {**ROLES, "drop": ["house", "weight"], **more}
    roles["drop"] = [name for name in roles["drop"] if name not in (more.get("unit"), more.get("weight"))]
    return shoal.microaggregate(shoal.read(table(), **roles), k, effort="quick").table


def generalized(k: int = 12) -> pl.DataFrame:
    data = shoal.read(
        table(), **{**ROLES, "quasi": ["age", "child", "area"], "drop": ["house", "weight", "income", "x"]}
    )
    return shoal.generalize(data, k, effort="quick", suppress=0.05).table


def _every_policy(folder: Path) -> list[str | Path]:
    blocks = ", ".join(f'"{check}"' for check in policies.JUDGED if check not in ("swapped-signal",))
    names = ["k", "l", "t", "maximum_risk", "average_risk", "row_risk", "linkage", "released_linkage", "small_count"]
    (folder / "own.toml").write_text(EVERY % (blocks, "\n".join(f'{name} = "tests"' for name in names)))
    return [*policies.names(), folder / "own.toml"]


Change = Callable[[pl.DataFrame], pl.DataFrame]


def _set(name: str, row: int, value: Any) -> Change:
    return lambda frame: frame.with_columns(
        pl.when(pl.int_range(pl.len()) == row).then(pl.lit(value)).otherwise(name).alias(name)
    )


def _residue(frame: pl.DataFrame) -> pl.DataFrame:
    """The last bit of some released values differs, in classes of two buckets."""
    x = frame["x"].to_numpy().copy()
    x[: x.size // 2] = np.nextafter(x[: x.size // 2], np.inf)
    return frame.with_columns(x=x)


# what is released, what it is made from, and how both are declared
CASES: dict[str, tuple[Callable[[], pl.DataFrame], Change, dict[str, Any]]] = {
    "passes": (protected, lambda f: f, {"drop": ["house", "weight"]}),
    "k of three": (lambda: protected(3), lambda f: f, {"drop": ["house", "weight"]}),
    "a changed value": (protected, _set("x", 700, 2.5), {"drop": ["house", "weight"]}),
    "last bits": (protected, _residue, {"drop": ["house", "weight"]}),
    "a weight": (lambda: protected(drop=["house"], weight="weight"), lambda f: f, {"weight": "weight"}),
    "a rare weight": (lambda: protected(drop=["house"], weight="weight"), lambda f: f, {"weight": "weight", "rare": 1}),
    "households": (lambda: protected(unit="house"), lambda f: f, {"drop": ["weight"], "unit": "house"}),
    "few households": (protected, lambda f: f, {"drop": ["weight"], "unit": "house", "houses": 40}),
    "original values": (lambda: table().drop("house", "weight"), lambda f: f, {"drop": ["house", "weight"]}),
    "medians": (lambda: shoal.microaggregate(shoal.read(table(), **{**ROLES, "drop": ["house", "weight"]}), 3,
                                             effort="quick", aggregate="median").table, lambda f: f,
                {"drop": ["house", "weight"]}),
    "two records in a wrong place": (
        protected, lambda f: f.with_columns(f.select(QUASI)[[1, 0, *range(2, f.height)]].get_columns()),
        {"drop": ["house", "weight"]},
    ),
    "categories": (generalized, lambda f: f, CATEGORIES),
    "groups of columns": (protected, lambda f: f, {
        "drop": ["house", "weight"], "column_groups": [["age", "income"], ["x", "child", "area"]],
    }),
    "original values in groups of columns": (lambda: table().drop("house", "weight"), lambda f: f, {
        "drop": ["house", "weight"], "column_groups": [["age", "income"], ["x", "child", "area"]],
    }),
    "a narrow confidential number": (protected, lambda f: f, {"drop": ["house", "weight"], "narrow": True}),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_the_verdict_is_that_of_one_file(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release, change, more = CASES[case]
    before, options = table(), dict(more)
    after = release()
    if options.pop("narrow", False):
        bill = pl.Series("bill", after["x"].rank("dense").cast(pl.Float64) * 1000.0) + before["bill"] / 1e6
        before, after = before.with_columns(bill), after.with_columns(bill)
    if options.pop("rare", 0):
        before, after = _set("weight", 8, 17.25)(before), _set("weight", 8, 17.25)(after)
    houses = options.pop("houses", 0)
    if houses:
        before = before.with_columns(house=pl.col("house") % houses)
    after = change(after)
    stated = {name: options.pop(name) for name in ("column_groups",) if name in options}
    roles = {**ROLES, **options}
    monkeypatch.setattr(judging, "BUCKET_ROWS", 130)
    for folder, frame in (("in", before), ("out", after)):
        _write(frame, tmp_path / folder)
    verdicts = set()
    for name in _every_policy(tmp_path):
        given = {"policy": name, "k": 3, "first_release": True, **stated}
        one = shoal.check(before, after, **given, **roles)
        monkeypatch.setattr(whole, "ALL_ROWS", DRAWN)
        many = shoal.check_files(shoal.scan(tmp_path / "in", on=Here(), **roles), tmp_path / "out", **given)
        monkeypatch.setattr(whole, "ALL_ROWS", 100_000)
        assert many["drawn"].status == "info"
        there, expected = ({f.check: f.status for f in found if f.check not in OF_FOLDERS} for found in (many, one))
        assert {check: there.get(check) for check in expected if check in there} == {
            check: expected[check] for check in expected if check in there
        }
        assert set(expected) - set(there) <= {"t"} and set(there) <= set(expected)
        assert many.passed == one.passed
        verdicts.add(one.passed)
        for check in FIGURES:
            if check == "few-valued" and "unit" in options:
                continue  # a large folder counts records
            figure = {f.check: f.figure for f in one}.get(check)
            assert {f.check: f.figure for f in many}.get(check) == pytest.approx(figure), check
    assert verdicts in ({True, False}, {False})


def _write(frame: pl.DataFrame, folder: Path) -> None:
    folder.mkdir()
    for number, (start, stop) in enumerate(zip(STARTS, (*STARTS[1:], frame.height), strict=True)):
        frame[start:stop].write_parquet(folder / f"part-{number}.parquet")
    (folder / "_SUCCESS").touch()


def test_a_policy_decides_on_a_large_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of a large folder is written under a policy, or refused by it."""
    monkeypatch.setattr(whole, "ALL_ROWS", DRAWN)
    _write(table().drop("house", "weight", "child"), tmp_path / "in")
    roles = {**ROLES, "quasi": ["age", "income", "x", "area"], "drop": [], "numeric": []}
    for k, blocked in ((12, False), (4, True)):
        release = shoal.microaggregate(
            shoal.scan(tmp_path / "in", on=Here(), **roles), k, effort="quick", leaf=300, rounds=1
        )
        how: dict[str, Any] = {"policy": "public", "shuffle": True, "first_release": True}
        if not blocked:
            with pytest.warns(shoal.errors.ShoalWarning, match="keys: Nearly every record"):
                assert release.save(tmp_path / "out", **how).findings.policy == "public"
            continue
        with pytest.raises(shoal.errors.PromiseError) as refused:
            release.save(tmp_path / "more", **how)
        assert {f.check for f in refused.value.findings.blocking} >= {"small-counts", "maximum-risk"}
        assert not (tmp_path / "more").exists()


@pytest.mark.parametrize(("size", "expected"), [(2, "block"), (1, "ok")])
def test_an_order_that_only_neighbours_show(size: int, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows of a household follow each other in a table of which a small part is drawn."""
    for name, value in {"ALL_ROWS": 400, "ALL": 300, "SAMPLE": 300}.items():
        monkeypatch.setattr(whole, name, value)
    rng = np.random.default_rng(1)
    house = np.repeat(rng.permutation(20_000), size)[:20_000]
    before = pl.DataFrame({"house": house, "age": rng.integers(18, 90, size=20_000)})
    rows, _ = whole.drawn_rows(before.height)
    assert (np.diff(rows) == 1).mean() > 0.2  # neighbours are drawn together
    roles = Roles(quasi=("age",), unit="house") if size > 1 else Roles(quasi=("age",), drop=("house",))
    context = CheckContext(
        before[rows], Written(before[rows].drop("house")), Guarantees(roles, ("age",)),
        policies.policy_named("default"), row_numbers=rows + 1,
    )  # fmt: skip
    drawn = whole._drawn(context)  # type: ignore[arg-type]
    assert content.row_order(drawn).status == expected


# -- values of single columns ----------------------------------------------------------------------

NUMBERS = st.lists(
    st.one_of(
        st.floats(-1e3, 1e3), st.integers(-3, 3).map(float), st.integers(0, 40).map(lambda i: 1.0 + i * 2.0**-52)
    ),
    min_size=1, max_size=60,
)  # fmt: skip


def _pieces(files: Sequence[Sequence[float]], step: int) -> Any:
    sources = []
    for values in files:
        frame = pl.DataFrame({"value": pl.Series(values, dtype=pl.Float64)}).group_by("value").len("records")
        frame = frame.sort("value").with_columns(pl.col("records").cast(pl.Int64))
        sources.append(streams.Source(lambda a, b, frame=frame: frame[a:b], frame.height, step))
    return streams.in_order(sources)


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.lists(NUMBERS, min_size=1, max_size=4), st.integers(1, 9))
def test_values_of_many_files_are_measured_as_those_of_one(
    new: list[list[float]], old: list[list[float]], step: int
) -> None:
    together, original = np.concatenate(new) + 0.0, np.concatenate(old) + 0.0
    new, old = ([np.array(part) + 0.0 for part in parts] for parts in (new, old))  # type: ignore[assignment]
    largest = float(np.abs(np.concatenate([together, original])).max())
    if largest > 0:
        near = streams.near_values(_pieces(old, step), _pieces(new, step), largest)
        assert near == members._near(together, original)
    number = streams.confidential_number(_pieces(new, step), together.size)
    assert number.scale == pytest.approx(_scale(together), abs=1e-9)
    assert number.is_key == nearly_unique(together).is_key
