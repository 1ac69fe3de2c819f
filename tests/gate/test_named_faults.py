"""Faults that have a finding of their own: moved rows, copies, too few or too many suppressed rows, types, two zeros.

Each through the command line and in Python, in every format in which it can happen.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from command_line import attempt, run
from gate.test_sets import ENDINGS, write
from shoal.errors import InputError, PromiseError, ShoalError, ShoalWarning
from shoal.gate.policy import names as policies

N, K = 120, 4
QUASI = ("age", "income", "town")


def people(n: int = N, seed: int = 8) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "town": rng.choice(["ayr", "bute", "cork"], n),
            "visits": rng.normal(5, 2, n).round(3),
            "illness": rng.permutation(np.resize(["flu", "gout", "none"], n)),
        }
    )


PEOPLE = people()
ROLES: dict[str, Any] = {"quasi": QUASI, "confidential": "illness", "as_is": "visits", "unit": False}
OPTIONS = ["--quasi", ",".join(QUASI), "--confidential", "illness", "--as-is", "visits", "--no-unit", "-k", K]
AGGREGATED = shoal.microaggregate(shoal.read(PEOPLE, **ROLES), K, method="mdav").frame
GENERALIZED = shoal.generalize(
    shoal.read(PEOPLE, **ROLES), K, granularity={"age": 10, "income": 5000}, effort="quick"
).frame


def checked(release: pl.DataFrame, tmp_path: Path, ending: str, *more: Any, code: int) -> str:
    """What `shoal check` prints of a release that was written in some format."""
    original = write(PEOPLE, tmp_path / "original.csv")
    return run("check", original, write(release, tmp_path / f"r.{ending}"), *OPTIONS, *more, code=code).output


# -- rows of the protected columns moved against the others ----------------------------------------


def moved(release: pl.DataFrame, seed: int) -> pl.DataFrame:
    order = np.random.default_rng(seed).permutation(release.height)
    return release.with_columns(release[name][order] for name in QUASI)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("release", [AGGREGATED, GENERALIZED], ids=["aggregated", "generalized"])
def test_protected_rows_moved_against_the_rest(release: pl.DataFrame, tmp_path: Path, ending: str) -> None:
    asked: dict[str, Any] = ROLES | {"k": K}
    assert shoal.check(PEOPLE, release, **asked)["rows"].status == "ok"
    gate = shoal.check(PEOPLE, write(moved(release, 1), tmp_path / f"moved.{ending}"), **asked)
    assert gate["joint-k"].status == gate["untouched"].status == "ok"  # nothing else shows it
    assert gate["rows"].status == "block"
    assert "do not follow the original values of their rows" in gate["rows"].finding
    answer = " ".join(checked(moved(release, 1), tmp_path, ending, code=1).split())
    assert "do not follow the original values" in answer


@pytest.mark.parametrize("dtype", [pl.Decimal(12, 2), pl.Float32, pl.Int16, pl.UInt64, pl.Date, pl.Time])
def test_moved_rows_are_found_in_columns_of_every_type(dtype: Any) -> None:
    steps = PEOPLE["age"].cast(pl.Int64) * (10**11 if dtype == pl.Time else 1)
    original = PEOPLE.with_columns(income=steps.cast(pl.Int32 if dtype == pl.Date else pl.Int64).cast(dtype))
    order = np.random.default_rng(2).permutation(N)
    shuffled = original.with_columns(original[name][order] for name in QUASI)
    asked: dict[str, Any] = ROLES | {"k": 1}
    assert shoal.check(original, original, **asked)["rows"].status == "ok"
    assert shoal.check(original, shuffled, **asked)["rows"].status == "block"


@given(st.integers(0, 10**6), st.sampled_from(["number", "label", "mixed"]), st.integers(2, 12))
@settings(max_examples=10)
def test_honest_rows_are_in_place(seed: int, kind: str, k: int) -> None:
    """No false alarm: independent columns and large groups, of which little is left."""
    rng, n = np.random.default_rng(seed), 80
    made = {"number": rng.normal(size=(3, n)).tolist(), "label": [rng.choice(["a", "b", "c"], n).tolist()] * 3}
    columns = made.get(kind) or [*made["number"][:2], made["label"][0]]
    frame = pl.DataFrame({f"c{j}": column for j, column in enumerate(columns)})
    release = shoal.microaggregate(shoal.read(frame, unit=False), k, method="mdav").frame
    assert shoal.check(frame, release, k=k, unit=False)["rows"].status == "ok"


# -- an exact copy under another name --------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("source", QUASI)
def test_a_new_column_that_copies_a_quasi_identifier(source: str, tmp_path: Path, ending: str) -> None:
    release = AGGREGATED.with_columns(PEOPLE[source].alias("score"))
    gate = shoal.check(PEOPLE, write(release, tmp_path / f"r.{ending}"), **ROLES, k=K)
    assert gate["columns"].status == gate["undone"].status == "block"
    assert f"new column: 'score' (a copy of the original {source!r})" in gate["columns"].finding
    assert f"'score' is a copy of the original values of {source!r}" in gate["undone"].finding


@pytest.mark.parametrize("role", ["as_is", "confidential", "weight"])
@pytest.mark.parametrize("source", QUASI)
def test_a_copy_is_named_whatever_its_role(source: str, role: str, tmp_path: Path) -> None:
    if role == "weight" and source == "town":
        pytest.skip("a weight is a number")
    original, release = (frame.with_columns(PEOPLE[source].alias("score")) for frame in (PEOPLE, AGGREGATED))
    given_roles = [ROLES[role], "score"] if role != "weight" else "score"
    roles = {**ROLES, role: given_roles}
    gate = shoal.check(original, release, **roles, k=K)
    assert gate["undone"].status == "block"
    assert f"'score' is a copy of the original values of {source!r}" in gate["undone"].finding
    assert f"--derived score={source}" in gate["undone"].todo and "--drop score" in gate["undone"].todo
    with pytest.raises(PromiseError, match="'score' is a copy"):
        made = shoal.microaggregate(shoal.read(original, **roles), K, method="mdav")
        made.save(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
    accepted = shoal.check(original, release, **roles, k=K, accept_derived="score")
    assert accepted["undone"].status == "ok"


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_command_line_names_a_copy(tmp_path: Path, ending: str) -> None:
    source = write(PEOPLE.with_columns(score=pl.col("income")), tmp_path / f"in.{ending}")
    answer = run("microaggregate", source, "--method", "mdav", *OPTIONS[:-2], "--as-is", "score", "-k", K,
                 "-o", tmp_path / f"out.{ending}", code=1).output  # fmt: skip
    assert "'score' is a copy of the original values of 'income'" in " ".join(answer.split())
    assert not (tmp_path / f"out.{ending}").exists()


def test_a_copy_in_shuffled_rows_is_found() -> None:
    release = AGGREGATED.with_columns(PEOPLE["income"].alias("score")).sample(fraction=1, shuffle=True, seed=2)
    gate = shoal.check(PEOPLE, release, **ROLES, k=K, shuffled=True)
    assert gate["undone"].status == "block" and "'score' is a copy" in gate["undone"].finding


def test_similar_columns_are_not_copies() -> None:
    """Rare yes/no columns agree in most records by chance, and a protected column may be as it was."""
    rng = np.random.default_rng(4)
    rare = pl.DataFrame({"rare": rng.random(N) < 0.03, "other": rng.random(N) < 0.03}).cast(pl.Int8)
    original = PEOPLE.with_columns(rare)
    release = AGGREGATED.with_columns(pl.Series("rare", np.zeros(N, dtype=np.int8)), rare["other"])
    roles = ROLES | {"quasi": [*QUASI, "rare"], "as_is": ["visits", "other"]}
    assert shoal.check(original, release, **roles, k=K)["undone"].status == "ok"
    kept = pl.DataFrame({"town": ["a", "b"] * 20, "again": ["a", "b"] * 20}).sample(fraction=1, shuffle=True, seed=1)
    assert shoal.check(kept, kept, quasi="town", as_is="again", k=5)["undone"].status == "ok"


# -- suppressed rows -------------------------------------------------------------------------------


def with_rare(rare: int, n: int = 100, seed: int = 3) -> pl.DataFrame:
    """Two common towns, and so many records of towns of their own."""
    town = ["a", "b"] * ((n - rare) // 2) + [f"z{i}" for i in range(rare)]
    illness = np.resize(["flu", "gout", "none"], len(town))
    return pl.DataFrame({"town": town, "illness": illness}).sample(fraction=1, shuffle=True, seed=seed)


@pytest.mark.parametrize(
    ("rare", "suppress", "ending"),
    [*((rare, suppress, "csv") for rare in (0, 2, 4, 10) for suppress in (0.02, 0.1)), *((6, 0.1, e) for e in ENDINGS)],
)
def test_no_row_or_at_least_k_are_suppressed(tmp_path: Path, rare: int, suppress: float, ending: str) -> None:
    source, target = write(with_rare(rare), tmp_path / f"in.{ending}"), tmp_path / f"out.{ending}"
    run("generalize", source, "-k", 5, "--suppress", suppress, "--quasi", "town", "--confidential", "illness",
        "--effort", "quick", "-o", target)  # fmt: skip
    after = shoal.read(target).frame
    sizes = after.group_by("town").len()
    assert sizes["len"].min() >= 5
    starred = int((after["town"] == "*").sum())
    assert starred == 0 or 5 <= starred <= 100 * suppress
    assert starred == 6 or rare != 6


def test_a_share_that_allows_fewer_than_k_rows_is_reported() -> None:
    table = shoal.read(with_rare(6), quasi="town", confidential="illness")
    with pytest.warns(ShoalWarning, match=r"allows 2 of 100 records, fewer than k = 5.*Use --suppress 0\.05 or more"):
        shoal.generalize(table, 5, suppress=0.02, effort="quick")


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([0.1, 0.2, 0.4]), st.booleans())
@settings(max_examples=6)
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_suppressed_rows_of_every_pick_hide_each_other(seed: int, k: int, suppress: float, free: bool) -> None:
    """What is written is what the figures say, and a point of the front either hides its rows or is refused."""
    rng, n = np.random.default_rng(seed), 60
    town = rng.choice(list("abcdefgh"), n, p=np.array([8, 8, 4, 3, 1, 1, 1, 1]) / 27)
    frame = pl.DataFrame({"town": town, "age": rng.choice([20, 30, 40, 90], n, p=[0.4, 0.3, 0.25, 0.05])})
    order = "auto" if free else "alphabetical"
    table = shoal.read(frame, no_confidential=True)
    first = shoal.generalize(table, k, suppress=suppress, effort="quick", order=order, seed=seed)
    for pick in [None, *range(1, min(len(first.facts["front"]), 3) + 1)]:
        try:
            made = shoal.generalize(table, k, suppress=suppress, effort="quick", order=order, seed=seed, pick=pick)
        except ShoalError as error:
            assert pick is not None and "fewer than k" in str(error)
            continue
        made.verify()
        starred = made.frame["town"].cast(pl.String) == "*"
        count = int(starred.sum())
        assert count == made.facts["suppressed"] <= suppress * n
        assert count == 0 or count >= made.k >= k
        kept = made.frame.filter(~starred).group_by("town", "age").len()["len"]
        assert kept.min() == made.facts["effective_k"]
        assert np.isclose(made.facts["necd"], (kept.max() - kept.min()) / (n - 1))
        assert np.isclose(made.facts["nwp"], detail_lost(frame, made, starred, free))


def detail_lost(frame: pl.DataFrame, made: Any, starred: pl.Series, free: bool) -> float:
    """NWP by its definition: the width of a value's group, the mean over both columns, and 1 for a suppressed row."""
    lost = np.zeros(frame.height)
    for j, domain in enumerate(made.domains):
        values = sorted(frame[domain.name].unique().to_list())
        places = [float(v) for v in values] if domain.name == "age" else [float(i) for i in range(len(values))]
        group = {value: int(label) for value, label in zip(domain.values, made.solution.best.labels[j], strict=False)}
        members = [[p for w, p in zip(values, places, strict=True) if group[w] == group[v]] for v in values]
        widths = [len(m) - 1 if free and domain.name == "town" else max(m) - min(m) for m in members]
        share = np.array(widths) / max(places[-1] - places[0], 1)
        lost += share[[values.index(v) for v in frame[domain.name].to_list()]] / 2
    return float(np.where(starred.to_numpy(), 1.0, lost).mean())


@pytest.mark.parametrize("policy", policies())
@pytest.mark.parametrize("count", [1, K - 1])
def test_fewer_suppressed_rows_than_k_block_under_every_policy(count: int, policy: str) -> None:
    release = GENERALIZED.with_columns(
        pl.Series(name, ["*"] * count + GENERALIZED[name].cast(pl.String).to_list()[count:]) for name in QUASI
    )
    gate = shoal.check(PEOPLE, release, **ROLES, k=K, policy=policy)
    assert gate["suppressed"].status == "block" and "so they form a small class" in gate["suppressed"].finding


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("count", "status"), [(20, "ok"), (40, "warn"), (115, "block")])
def test_many_suppressed_rows(count: int, status: str, tmp_path: Path, ending: str) -> None:
    """115 of 120 rows: the rest is not a release of the file."""
    release = GENERALIZED.with_columns(
        pl.Series(name, ["*"] * count + GENERALIZED[name].cast(pl.String).to_list()[count:]) for name in QUASI
    )
    gate = shoal.check(PEOPLE, write(release, tmp_path / f"r.{ending}"), **ROLES, k=K)
    assert gate["suppressed"].status == status and gate["suppressed"].figure == count
    answer = attempt("check", write(PEOPLE, tmp_path / "o.csv"), tmp_path / f"r.{ending}", *OPTIONS).output
    answer = " ".join(answer.split())
    assert (f"{count} of 120 records (" in answer) == (status != "ok")


# -- types of columns ------------------------------------------------------------------------------


def odd_columns(n: int = 40) -> dict[str, pl.Series]:
    step = np.random.default_rng(0).integers(0, 6, n)
    night = dt.datetime(2020, 10, 25, 0, tzinfo=dt.UTC)  # Berlin's clocks show the hour from 2 to 3 twice
    stamps = pl.Series([night + dt.timedelta(minutes=30 * int(i)) for i in step])
    return {
        "nanoseconds": pl.Series(step * (86_400 * 10**9 + 1)).cast(pl.Datetime("ns")),
        "repeated hour": stamps.cast(pl.Datetime("us", "Europe/Berlin")),
        "utc": stamps,
        "time": pl.Series([dt.time(int(i), 30) for i in step]),
        "duration": pl.Series([dt.timedelta(minutes=int(i)) for i in step]),
        "list": pl.Series([[int(i), 1] for i in step]),
        "struct": pl.Series([{"a": int(i)} for i in step]),
        "boolean": pl.Series(step > 2),
    }


ODD = odd_columns()
PROTECTIONS: dict[str, Any] = {
    "generalize": lambda table: shoal.generalize(table, 3, effort="quick"),
    "microaggregate": lambda table: shoal.microaggregate(table, 3, method="mdav"),
    "group": lambda table: shoal.group_attributes(table, 3, method="all"),
    "within": lambda table: shoal.microaggregate(table, 3, method="mdav", within=["c"]),
}
REFUSED = {
    "nanoseconds": {"group"}, "repeated hour": {"group", "microaggregate"}, "utc": {"group", "microaggregate"},
    "time": {"group", "microaggregate"}, "duration": set(PROTECTIONS), "list": set(PROTECTIONS),
    "struct": set(PROTECTIONS), "boolean": {"group"},
}  # fmt: skip


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("protection", PROTECTIONS)
def test_every_type_is_protected_or_refused_with_the_ways_out(
    kind: str, protection: str, library: str, tmp_path: Path
) -> None:
    frame = pl.DataFrame({"x": np.random.default_rng(1).integers(0, 9, 40) + 0.5, "c": ODD[kind]})
    given_as = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[library]
    table = shoal.read(given_as, quasi=["x", "c"], unit=False, no_confidential=True)
    refused = protection in REFUSED[kind]
    if kind == "time" and library == "pandas":
        refused = False  # a column of Python's own times is text for pandas
    if not refused:
        try:
            release = PROTECTIONS[protection](table)
        except InputError as error:
            assert protection in ("within", "group"), error  # classes below k; text where numbers are needed
            return
        for ending in ("csv", "parquet"):
            assert release.save(tmp_path / f"out.{ending}", keep_order=True).exists()
        return
    with pytest.raises(InputError, match="column 'c' holds") as raised:
        PROTECTIONS[protection](table)
    assert "--drop c" in str(raised.value)


def test_nanoseconds_and_a_repeated_hour_are_distinguished() -> None:
    """Python's dates confuse both; two moments a nanosecond or an hour apart are two values."""
    for kind in ("nanoseconds", "repeated hour"):
        frame = pl.DataFrame({"c": ODD[kind]})
        release = shoal.generalize(shoal.read(frame, quasi="c"), 2, effort="quick")
        assert len(release.domains[0].values) == frame["c"].n_unique() == 6
        release.verify()


@pytest.mark.parametrize("kind", ["nanoseconds", "repeated hour", "time", "duration", "list", "struct"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("command", ["generalize", "microaggregate", "group"])
def test_the_command_line_never_ends_in_a_traceback(kind: str, ending: str, command: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": np.random.default_rng(1).integers(0, 9, 40) + 0.5, "c": ODD[kind]})
    source, target = write(frame, tmp_path / f"in.{ending}"), tmp_path / f"out.{ending}"
    method = {"generalize": ["--effort", "quick"], "group": ["--method", "all"]}.get(command, ["--method", "mdav"])
    result = attempt(command, source, "--quasi", "x,c", "-k", 3, *method, "--no-unit", "--keep-order", "-o", target)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code == 0) == target.exists()
    if result.exit_code:
        assert result.exit_code == 2 and "'c' holds" in result.output and "--drop c" in result.output


@pytest.mark.parametrize("kind", ["list", "struct", "duration", "infinite"])
@pytest.mark.parametrize("command", ["generalize", "microaggregate"])
def test_a_column_that_is_not_protected_may_hold_anything(kind: str, command: str, tmp_path: Path) -> None:
    """Losses and the report look at every released column: none of them ends a run after the file was written."""
    beside = ODD.get(kind, pl.Series([float("inf")] * 15 + [1.0, 2.0] * 5 + [-float("inf")] * 15))
    source = write(pl.DataFrame({"x": ["a", "b"] * 20, "c": beside}), tmp_path / "in.parquet")
    method = ["--effort", "quick"] if command == "generalize" else ["--method", "mdav", "--nominal", "x"]
    for role in ("confidential", "as-is"):
        run(command, source, "--quasi", "x", f"--{role}", "c", "-k", 3, *method, "--no-unit", "--keep-order",
            "-o", tmp_path / "out.parquet", "--report", tmp_path / "page.html")  # fmt: skip
        assert pl.read_parquet(tmp_path / "out.parquet")["c"].to_list() == beside.to_list()


# -- one zero --------------------------------------------------------------------------------------


def zeros(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame({"x": rng.choice([-0.0, 0.0, 1.5], n), "y": rng.choice([-0.0, 0.0, 2.0, -2.0], n)})


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "command",
    [
        ("generalize", "--quasi", "x,y", "--effort", "quick"),
        ("microaggregate", "--quasi", "x,y", "--method", "mdav"),
        ("microaggregate", "--quasi", "y", "--within", "x", "--method", "mdav"),
        ("microaggregate", "--quasi", "x,y", "--method", "mdav", "--round", "--aggregate", "median"),
        ("group", "--quasi", "x,y", "--method", "univariate"),
    ],
    ids=["generalize", "microaggregate", "within", "median", "group"],
)
def test_both_zeros_are_one_value(command: tuple[str, ...], tmp_path: Path, ending: str) -> None:
    source, target = write(zeros(), tmp_path / f"in.{ending}"), tmp_path / f"out.{ending}"
    accept = ["--accept-k", 1] if command[0] == "group" else []
    run(command[0], source, "-k", 3, *command[1:], "--no-unit", "--keep-order", *accept, "-o", target)
    after = shoal.read(target).frame
    for name in ("x", "y"):
        if after[name].dtype.is_float():
            assert not (np.signbit(after[name].to_numpy()) & (after[name].to_numpy() == 0)).any()
        assert "-0.0" not in after[name].cast(pl.String).to_list()
    if ending == "csv":
        assert "-0.0" not in target.read_text(encoding="utf-8").replace("-0.0 ", "")


@pytest.mark.parametrize("command", [("microaggregate", "mdav"), ("group", "all")])
def test_a_rounded_mean_is_not_a_negative_zero(command: tuple[str, str], tmp_path: Path) -> None:
    """A mean of -0.33 is rounded to 0.0, like one of 0.33."""
    values = np.array([-1.0, 0.0, 0.0, 50.0, 51.0, 51.0, 100.0, 100.0, 101.0])[np.random.default_rng(2).permutation(9)]
    source, target = write(pl.DataFrame({"x": values}), tmp_path / "in.parquet"), tmp_path / "out.parquet"
    name, method = command
    run(name, source, "-k", 3, "--quasi", "x", "--method", method, "--round", "--no-unit", "--keep-order", "-o", target)
    after = pl.read_parquet(target)["x"].to_numpy()
    assert sorted(after)[:3] == [0.0] * 3 and not np.signbit(after).any()


def test_the_message_on_a_release_with_both_zeros_gives_the_reason() -> None:
    """A reader sees the sign: in a release that somebody else wrote the two zeros are two values."""
    original = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    release = pl.DataFrame({"x": [0.0, 0.0, -0.0, 3.0, 3.0, 3.0]})
    gate = shoal.check(original, release, quasi="x", k=3)
    assert gate["joint-k"].status == "block" and "0.0 and -0.0 count as two values in 'x'" in gate["joint-k"].finding
    unchanged = pl.DataFrame({"x": [1.0] * 3 + [2.0] * 3, "y": [0.0, -0.0, 1.0] * 2})
    flipped = unchanged.with_columns(y=pl.Series([0.0, 0.0, 1.0] * 2))
    assert shoal.check(unchanged, flipped, quasi="x", as_is="y", k=3)["untouched"].status == "block"
    assert shoal.check(unchanged, unchanged, quasi="x", as_is="y", k=3)["untouched"].status == "ok"


def test_whole_numbers_beyond_float_are_one_value_where_the_search_cannot_tell_them_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [2**62 + i % 7 for i in range(40)], "y": ["a", "b"] * 20})
    with pytest.warns(ShoalWarning, match="beyond 2"):
        release = shoal.generalize(shoal.read(frame, quasi=["x", "y"], unit=False), 3, effort="quick")
    assert release.save(tmp_path / "out.parquet", keep_order=True).exists()
    assert pl.read_parquet(tmp_path / "out.parquet").group_by("x", "y").len()["len"].min() == 20


# -- numbers that are not quantities ---------------------------------------------------------------


@pytest.mark.parametrize("command", ["microaggregate", "group", "generalize"])
def test_a_key_among_the_quasi_identifiers_is_reported(command: str, tmp_path: Path) -> None:
    key = np.random.default_rng(6).permutation(60) + 1
    source = write(people(60).with_columns(id=pl.Series(key)), tmp_path / "in.csv")
    method = {"generalize": ["--granularity", "id=10"], "group": ["--method", "all"]}.get(command, ["--method", "mdav"])
    common = ["-k", 4, *method, "--quasi", "id,age", "--drop", "income,town,visits", "--confidential", "illness"]
    with pytest.warns(ShoalWarning, match=r"look like identifiers: id .*--identifiers id"):
        run_in_python(command, source)
    answer = attempt(command, source, *common).output
    assert "look like identifiers: id" in " ".join(answer.split())
    quantity = attempt(command, source, *common, "--numeric", "id").output
    assert "look like identifiers" not in quantity


def run_in_python(command: str, source: Path) -> None:
    table = shoal.read(source, quasi=["id", "age"], drop=["income", "town", "visits"], confidential="illness")
    if command == "generalize":
        shoal.generalize(table, 4, granularity={"id": 10}, effort="quick")
    elif command == "group":
        shoal.group_attributes(table, 4, method="all")
    else:
        shoal.microaggregate(table, 4, method="mdav")


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_codes_with_value_labels_are_not_averaged_by_group(tmp_path: Path, ending: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {"region": rng.integers(1, 5, 60).astype(float), "age": rng.integers(18, 90, 60).astype(float)}
    )
    writer = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[ending]
    labels = {"region": {1.0: "north", 2.0: "south", 3.0: "east", 4.0: "west"}}
    if ending == "dta":
        frame, labels = frame.cast(pl.Int32), {"region": {int(k): v for k, v in labels["region"].items()}}
    writer(frame.to_pandas(), str(tmp_path / f"in.{ending}"), variable_value_labels=labels)
    source = tmp_path / f"in.{ending}"
    for command in ("group", "microaggregate"):
        answer = run(command, source, "-k", 3, "--quasi", "region,age", code=2).output
        assert "codes with value labels" in answer and "--numeric region" in answer
    answer = attempt("generalize", source, "-k", 3, "--quasi", "region,age", "--effort", "quick", "--json").output
    assert '"cuts"' in answer and "1.5" not in answer


def test_few_whole_numbers_are_reported_by_group() -> None:
    rng = np.random.default_rng(9)
    frame = pl.DataFrame({"children": rng.integers(0, 4, 120), "age": rng.normal(40, 10, 120)})
    with pytest.warns(ShoalWarning, match="may be codes, but Shoal averages them as numbers: children"):
        shoal.group_attributes(frame, 3, method="all")
    shoal.group_attributes(shoal.read(frame, numeric="children"), 3, method="all")
