"""Categories and stars in many files: the answer of one file, cell by cell, and a recount that refuses a wrong one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import attempt, run
from folders.here import Here, Killing
from shoal.errors import InputError, PromiseError, UsageError
from shoal.gate.cells import classes
from shoal.gate.diversity import diversity as diversity_of_rows
from shoal.gate.diversity import farthest as farthest_of_rows
from shoal.gate.folders import whole
from shoal.gate.folders.by_file import value_of
from shoal.gate.folders.promises import Weighted, distinct_tuples, diversity, farthest, value_name
from shoal.gate.folders.recount import key_name
from shoal.gate.promises import LDiversity, TCloseness

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

ROWS = 400
STARTS = (0, 130, 150)
QUASI = ["age", "town", "sex", "born"]
ROLES: dict[str, Any] = {"quasi": QUASI, "confidential": ["diagnosis"], "unit": False}


def records() -> pl.DataFrame:
    """Numbers, names with an order, missing values, dates as text, a confidential label and a confidential number."""
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, size=ROWS)
    sex = [None if x == 2 else "fm"[x] for x in rng.choice(3, p=[0.48, 0.48, 0.04], size=ROWS)]
    return pl.DataFrame(
        {
            "age": age,
            "town": rng.choice(["lower", "middle", "upper", "port"], size=ROWS),
            "sex": sex,
            "born": [f"{2020 - int(x)}-0{1 + int(x) % 9}-15" for x in age],
            "diagnosis": rng.choice(["a", "b", "c", "d"], p=[0.5, 0.3, 0.15, 0.05], size=ROWS),
        }
    )


def write(frame: pl.DataFrame, folder: Path, starts: tuple[int, ...] = STARTS, ending: str = "parquet") -> Path:
    """Write the rows into files that begin at these rows."""
    folder.mkdir()
    for number, (start, stop) in enumerate(zip(starts, (*starts[1:], frame.height), strict=True)):
        target = folder / f"part-{number}.{ending}"
        part = frame[start:stop]
        part.write_parquet(target) if ending == "parquet" else part.write_csv(target)
    return folder


def cells(folder: Path) -> pl.DataFrame:
    """The records of a released folder, in order."""
    assert (folder / "_SUCCESS").exists()
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(records(), tmp_path_factory.mktemp("data") / "claims")


def both(function: Any, data: Path, target: Path, k: int, on: Any = None, accept_k: int | None = None, **options: Any):
    """The release of one file with all records, and the saved release of the folder."""
    one = function(shoal.read(records(), **ROLES), k, effort="quick", **options)
    staged = function(shoal.scan(data, on=on or Here(), **ROLES), k, effort="quick", **options)
    return one, staged, staged.save(target, accept_k=accept_k)


def without_times(facts: dict[str, Any]) -> dict[str, Any]:
    """The values of a run that do not depend on the clock. A sum over tuples may differ in its last digit."""
    kept = {name: value for name, value in facts.items() if "seconds" not in name and name != "front"}
    return {name: round(value, 12) if isinstance(value, float) else value for name, value in kept.items()}


# -- the answer of one file ------------------------------------------------------------------------

GENERALIZED: list[dict[str, Any]] = [
    {},
    {"l": 2, "suppress": 0.05},
    {"l": ("entropy", 2.0), "t": 0.4, "missing": "alone", "suppress": 0.2},
    {"granularity": {"age": 10, "born": "year"}, "order": {"town": ["lower", "middle", "upper", "port"]}},
    {"taxonomy": {"town": {"city": ["lower", "middle"], "outside": ["upper", "port"]}}, "weights": {"age": 2.0}},
    {"method": "nsga2", "effort": None, "evaluations": 200, "population": 20, "suppress": 0.05},
]


@pytest.mark.parametrize("options", GENERALIZED)
def test_the_categories_are_those_of_one_file(data: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    options = dict(options)
    effort = {"effort": "quick"} if "effort" not in options else {}
    options.pop("effort", None)
    one = shoal.generalize(shoal.read(records(), **ROLES), 4, **effort, **options)
    staged = shoal.generalize(shoal.scan(data, on=Here(), **ROLES), 4, **effort, **options)
    saved = staged.save(tmp_path / "out")
    assert cells(tmp_path / "out").equals(one.table) and cells(tmp_path / "out").schema == one.table.schema
    expected, found = without_times(one.facts), without_times(staged.facts)
    assert {name: found[name] for name in expected} == expected
    check = shoal.check(records(), one.table, k=4, l=options.get("l"), t=options.get("t"), **ROLES)
    assert saved.findings.figures.facts() == check.figures.facts()


SUPPRESSED: list[dict[str, Any]] = [
    {},
    {"star": "wildcard", "accept_k": 1},
    {"subsets": 2, "accept_k": 1},
    {"sets": [["age", "town"], ["sex", "born"]], "accept_k": 1},
    {"within": ["sex"], "importance": {"age": 3.0}},
]


@pytest.mark.parametrize("options", SUPPRESSED)
def test_the_stars_are_those_of_one_file(data: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    one, staged, saved = both(shoal.suppress, data, tmp_path / "out", 3, **options)
    assert cells(tmp_path / "out").equals(one.table) and cells(tmp_path / "out").schema == one.table.schema
    expected, found = without_times(one.facts), without_times(staged.facts)
    assert {name: found[name] for name in expected} == expected
    assert one.facts["suppressed_cells"] > 0 and saved.findings["only-stars"].status == "ok"


def test_the_same_cells_for_other_files_and_killed_workers(data: Path, tmp_path: Path) -> None:
    place = Killing(2, "group", "write")
    try:
        _, _, _ = both(shoal.generalize, data, tmp_path / "killed", 5, place, suppress=0.1)
    finally:
        place.close()
    assert place.kills == 2
    other = write(records(), tmp_path / "other", (0, 1, 399))
    both(shoal.generalize, other, tmp_path / "split", 5, suppress=0.1)
    assert cells(tmp_path / "split").equals(cells(tmp_path / "killed"))


def test_columns_without_a_role_are_starred_beside(tmp_path: Path) -> None:
    frame = records().with_columns(note=pl.lit("same"), height=pl.lit(1.5))
    folder = write(frame, tmp_path / "in")
    one = shoal.generalize(shoal.read(frame, **ROLES), 4, effort="quick", missing="alone", suppress=0.1)
    staged = shoal.generalize(shoal.scan(folder, on=Here(), **ROLES), 4, effort="quick", missing="alone", suppress=0.1)
    saved = staged.save(tmp_path / "out", accept_k=1)
    assert one.facts["suppressed"] > 0 and cells(tmp_path / "out").equals(one.table)
    check = shoal.check(frame, one.table, k=4, **ROLES)
    assert saved.findings.figures.facts() == check.figures.facts()


def test_numbers_that_only_some_files_write_with_decimals(tmp_path: Path) -> None:
    frame = records().with_columns(age=pl.when(pl.int_range(pl.len()) == 399).then(30.5).otherwise(pl.col("age")))
    (tmp_path / "in").mkdir()
    parts = [frame[:150].with_columns(pl.col("age").cast(pl.Int64)), frame[150:]]
    for number, part in enumerate(parts):
        part.write_csv(tmp_path / "in" / f"{number}.csv")
    frame.write_csv(tmp_path / "one.csv")
    one = shoal.suppress(shoal.read(tmp_path / "one.csv", **ROLES), 3, effort="quick")
    staged = shoal.suppress(shoal.scan(tmp_path / "in", on=Here(), **ROLES), 3, effort="quick")
    staged.save(tmp_path / "out")
    new = pl.concat([pl.read_csv(path, infer_schema=False) for path in sorted((tmp_path / "out").glob("*.csv"))])
    one.save(tmp_path / "expected.csv")
    assert new.equals(pl.read_csv(tmp_path / "expected.csv", infer_schema=False))


# -- the recount -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_l_and_t_of_tuples_are_those_of_records(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"a": rng.integers(0, 3, 60).astype(str), "v": rng.integers(0, 5, 60).astype(float)})
    frame = frame.with_columns(v=pl.when(pl.col("v") < 4).then(pl.col("v")))
    tuples = frame.select(pl.col("a").alias(key_name(0)), value_of(frame["v"]).alias(value_name("v")))
    weighted = Weighted(distinct_tuples(tuples, tuples.columns), ("a",))
    groups = classes(frame, ("a",))
    for kind, c in (("distinct", 1.0), ("entropy", 1.0), ("recursive", 0.8), ("recursive", 3.0)):
        expected = diversity_of_rows(groups, frame["v"], kind, c)
        assert diversity(weighted, LDiversity(("a",), ("v",), 2.0, kind, c), "v") == pytest.approx(expected)
    for distance in ("equal", "ordered"):
        expected = farthest_of_rows(groups, frame["v"], distance)
        assert farthest(weighted, TCloseness(("a",), ("v",), 0.5, distance), "v") == pytest.approx(expected)


def draw(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Let the checks of a whole table see so many drawn records."""
    for name in ("ALL_ROWS", "ALL", "SAMPLE"):
        monkeypatch.setattr(whole, name, rows)


@pytest.mark.parametrize(
    ("function", "options", "check"),
    [
        (shoal.generalize, {"l": 2, "suppress": 0.05}, "l"),
        (shoal.generalize, {"t": 0.5, "suppress": 0.05}, "t"),
        (shoal.generalize, {"sets": [["age", "town"], ["sex", "born"]], "accept_k": 1}, "k-within-groups"),
        (shoal.suppress, {}, "k-of-stars"),
        (shoal.suppress, {"star": "wildcard", "accept_k": 1}, "k-of-stars"),
        (shoal.suppress, {"subsets": 2, "accept_k": 1}, "every-subset"),
    ],
)
def test_a_large_table_is_recounted_by_tuples(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: Any, options: dict[str, Any], check: str
) -> None:
    draw(monkeypatch, 100)
    one, _, saved = both(function, data, tmp_path / "out", 4, **options)
    options.pop("accept_k", None)
    assert cells(tmp_path / "out").equals(one.table)
    assert saved.findings[check].status in ("ok", "info") and saved.findings["drawn"].figure < ROWS


@pytest.mark.parametrize("all_rows", [ROWS, 100])
@pytest.mark.parametrize(
    ("function", "options", "lost", "check"),
    [
        (shoal.generalize, {"l": 2, "suppress": 0.05}, "000000-suppressed.arrow", "l"),
        (shoal.suppress, {}, "000000-stars-2.arrow", "k-of-stars"),
        (shoal.suppress, {"subsets": 2}, "000000-stars-2.arrow", "every-subset"),
    ],
)
def test_staged_stars_that_are_removed_are_refused(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    all_rows: int,
    function: Any,
    options: dict[str, Any],
    lost: str,
    check: str,
) -> None:
    draw(monkeypatch, all_rows)
    staged = tmp_path / "staged"

    def remove_stars(work: str) -> None:
        if work == "write":
            path = staged / "search" / lost
            frame = pl.read_ipc(path.read_bytes())
            kept = frame[:0] if "suppressed" in lost else frame.select(pl.lit(False).alias(c) for c in frame.columns)
            if "suppressed" not in lost:
                kept = pl.concat([kept] * frame.height)
            kept.write_ipc(path)

    release = function(shoal.scan(data, on=Here(remove_stars), staging=staged, **ROLES), 4, effort="quick", **options)
    with pytest.raises(PromiseError) as refused:
        release.save(tmp_path / "out", accept_k=1 if "subsets" in options else None)
    assert refused.value.findings[check].status == "block"
    assert not (tmp_path / "out").exists() and not (tmp_path / ".out.part").exists()


def test_a_staged_category_that_is_lost_is_refused(data: Path, tmp_path: Path) -> None:
    staged = tmp_path / "staged"

    def lose(work: str) -> None:
        if work == "write":
            path = staged / "search" / "000000-0.arrow"
            pl.read_ipc(path.read_bytes())[1:].write_ipc(path)

    release = shoal.generalize(shoal.scan(data, on=Here(lose), staging=staged, **ROLES), 4, effort="quick")
    with pytest.raises(PromiseError, match="The staged categories lack a value of the column 'age'"):
        release.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


# -- what breaks, and what a folder cannot have -------------------------------------------------------


def test_a_run_continues_and_a_lost_file_is_made_again(data: Path, tmp_path: Path) -> None:
    staged = tmp_path / "staged"
    first = shoal.generalize(shoal.scan(data, on=Here(), staging=staged, **ROLES), 5, effort="quick")
    first.close()
    (staged / "group" / "000001.arrow").unlink()
    place = Here()
    again = shoal.generalize(shoal.scan(data, on=place, staging=staged, **ROLES), 5, effort="quick")
    assert place.units.count("group") == 1 and "look" not in place.units
    (staged / "search" / "000000-1.arrow").unlink()
    with pytest.warns(shoal.errors.ShoalWarning, match="was lost, so its part of the work was done again"):
        again.save(tmp_path / "out")
    one = shoal.generalize(shoal.read(records(), **ROLES), 5, effort="quick")
    assert cells(tmp_path / "out").equals(one.table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.with_columns(pl.col("age").cast(pl.String)), r"part-1.parquet: the column 'age' holds values of"),
        (lambda f: f.drop("age"), r"part-1.parquet lacks 'age'"),
        (lambda f: f[:0], "part-1.parquet has no records"),
        (lambda f: f.with_columns(age=pl.lit(float("inf"))), r"part-1.parquet: .*infinite"),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, change: Any, message: str) -> None:
    folder = write(records(), tmp_path / "in")
    change(records()[130:150]).write_parquet(folder / "part-1.parquet")
    with pytest.raises(InputError, match=message):
        shoal.generalize(shoal.scan(folder, on=Here(), **ROLES), 5, effort="quick")


def test_a_column_that_is_empty_in_one_file(tmp_path: Path) -> None:
    frame = records().with_columns(sex=pl.when(pl.int_range(pl.len()).is_between(130, 149)).then(None).otherwise("sex"))
    folder = write(frame, tmp_path / "in")
    frame[130:150].with_columns(sex=pl.lit(None)).write_parquet(folder / "part-1.parquet")
    one = shoal.generalize(shoal.read(frame, **ROLES), 4, effort="quick")
    shoal.generalize(shoal.scan(folder, on=Here(), **ROLES), 4, effort="quick").save(tmp_path / "out")
    assert cells(tmp_path / "out").equals(one.table)


def test_messages(data: Path) -> None:
    with pytest.raises(UsageError, match="missing must be value or error"):
        shoal.suppress(shoal.scan(data, on=Here(), **ROLES), 3, missing="drop")
    with pytest.raises(UsageError, match="missing must be category, alone or error"):
        shoal.generalize(shoal.scan(data, on=Here(), **ROLES), 3, missing="drop")
    with pytest.raises(InputError, match=r"part-0.parquet: The column 'sex' has"):
        shoal.generalize(shoal.scan(data, on=Here(), **ROLES), 3, missing="error")
    with pytest.raises(UsageError, match=r"shoal apply cannot protect a folder of files\. Apply the mapping to one"):
        shoal.apply_mapping(shoal.scan(data, on=Here(), **ROLES), "m.json")


# -- the command line ------------------------------------------------------------------------------


def test_the_command_writes_categories_and_their_mapping(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.places.place_named", lambda name, workers: Here())
    roles = ["--quasi", ",".join(QUASI), "--confidential", "diagnosis", "--no-unit", "--effort", "quick"]
    recipe, mapping = tmp_path / "run.toml", tmp_path / "m.json"
    further = ["--mapping", mapping, "--legend", tmp_path / "legend.csv", "--save-recipe", recipe]
    result = run("generalize", data, "-k", 5, *roles, "-o", tmp_path / "out", "--json", *further)
    facts = json.loads(result.stdout)
    assert facts["files"] == 3 and facts["written"] is True and facts["figures"]["known"]["k"] >= 5
    one = shoal.generalize(shoal.read(records(), **ROLES), 5, effort="quick")
    assert cells(tmp_path / "out").equals(one.table)
    assert shoal.apply_mapping(shoal.read(records(), **ROLES), mapping).table.equals(one.table)
    assert "column,category,values" in (tmp_path / "legend.csv").read_text()
    run("run", recipe, "-o", tmp_path / "again")
    assert cells(tmp_path / "again").equals(one.table)
    assert "starred cells" in run("suppress", data, "-k", 3, *roles, "-o", tmp_path / "stars").output
    assert attempt("group", data, "-k", 3, *roles, "-o", tmp_path / "more").exit_code == 2
