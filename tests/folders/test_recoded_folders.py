"""Recoding of many files: the answer of one file in one leaf; with several leaves, its form, its k, l and t."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import run
from folders.here import Here, Killing
from folders.test_categories import QUASI, ROLES, cells, records, write
from shoal.errors import InputError, PromiseError, UsageError
from shoal.folders.leaves import first_members
from shoal.protections.recoding.columns import ColumnOptions, column_of
from shoal.protections.recoding.leaves.tree import build_tree
from shoal.protections.recoding.losses import SetColumn, ValueSetLoss

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

LEAVES: dict[str, Any] = {"effort": "quick", "leaf": 110, "rounds": 1}
ORDER = {"town": ["lower", "middle", "upper", "port"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(records(), tmp_path_factory.mktemp("data") / "claims")


def recoded(folder: Path, *, on: Any = None, scan: dict[str, Any] | None = None, k: int = 5, **options: Any) -> Any:
    files = shoal.scan(folder, on=on or Here(), **{**ROLES, **(scan or {})})
    return shoal.recode(files, k, **{**LEAVES, **options})


@pytest.fixture(scope="module")
def leaves(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, pl.DataFrame]:
    """A release of several leaves and a round."""
    out = tmp_path_factory.mktemp("leaves") / "out"
    release = recoded(data)
    return release, release.save(out), cells(out)


def test_a_refused_run_leaves_no_staging_folder(data: Path, tmp_path: Path) -> None:
    """Nothing was staged, so there is nothing to continue from."""
    with pytest.raises(UsageError, match="does not support"):
        recoded(data, scan={"derived": {"sex": ["age"]}, "quasi": ["age"], "staging": tmp_path / "staged"})
    assert not (tmp_path / "staged").exists()
    recoded(data, scan={"staging": tmp_path / "staged"}).close()
    assert (tmp_path / "staged" / "plan.json").exists()  # from which a run can continue


# -- one leaf ---------------------------------------------------------------------------------------

TREE = {"city": ["lower", "middle"], "outside": ["upper", "port"]}
ONE_LEAF: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({}, {"l": 2, "importance": {"age": 3.0}, "labels": "full"}),
    ({}, {"l": ("entropy", 1.8), "t": 0.5, "seed": 3}),
    ({}, {"taxonomy": {"town": TREE}, "steps": {"age": [5, 10, 20]}}),
    ({"order": ORDER}, {"round_ends": {"age": 5}}),
    ({"nominal": ["age"]}, {}),
    ({}, {"style": "mean"}),
]


@pytest.mark.parametrize(("scan", "options"), ONE_LEAF)
def test_one_leaf_has_the_answer_of_one_file(
    data: Path, tmp_path: Path, scan: dict[str, Any], options: dict[str, Any]
) -> None:
    one = shoal.recode(shoal.read(records(), **ROLES, **scan), 5, effort="quick", **options)
    release = recoded(data, scan=scan, leaf=1000, **options)
    release.save(tmp_path / "out")
    assert cells(tmp_path / "out").equals(one.table) and cells(tmp_path / "out").schema == one.table.schema
    others = ("stages", "effective_k", "cpu_seconds", "seconds")
    for name, value in one.facts.items():
        if name not in others:
            expected = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            assert release.facts[name] == expected, name
    assert release.facts["leaves"] == 1


# -- several leaves ---------------------------------------------------------------------------------


def test_every_value_is_true_and_k_holds(leaves: Any) -> None:
    release, saved, new = leaves
    assert release.facts["leaves"] > 2 and release.facts["smallest_group"] >= 5
    assert new.group_by(QUASI).len()["len"].min() >= 5
    assert saved.findings.figures.protected.k >= 5
    old = records()
    assert new["diagnosis"].equals(old["diagnosis"])
    for text, age in zip(new["age"], old["age"], strict=True):
        low, _, high = text.strip("[]").partition("-")
        assert int(low) <= age <= int(high or low)
    for text, town in zip(new["town"], old["town"], strict=True):
        assert town in text.split(" | ")
    for text, sex in zip(new["sex"], old["sex"], strict=True):
        assert ("missing" if sex is None else sex) in text.replace(" or ", " | ").split(" | ")


def test_the_facts_are_those_of_the_written_cells(leaves: Any) -> None:
    release, _, new = leaves
    old = records()
    width = int(old["age"].max()) - int(old["age"].min())
    ends = [text.strip("[]").partition("-") for text in new["age"]]
    lost = [(int(high or low) - int(low)) / width for low, _, high in ends]
    assert release.facts["per_column"]["age"]["loss"] == pytest.approx(np.mean(lost), rel=1e-12)
    names = [(len(text.split(" | ")) - 1) / 3 for text in new["town"]]
    assert release.facts["per_column"]["town"]["loss"] == pytest.approx(np.mean(names), rel=1e-12)
    every = [about["loss"] for about in release.facts["per_column"].values()]
    assert release.facts["loss"] == pytest.approx(np.mean(every), rel=1e-12)
    classes = new.group_by(QUASI).agg(pl.col("diagnosis").n_unique())
    assert release.facts["l"] <= classes["diagnosis"].min()
    assert release.facts["groups"] >= classes.height


def test_a_round_lowers_the_loss(leaves: Any, data: Path) -> None:
    """Groups of other leaves meet in a round; without one, they keep to the first leaves."""
    without = recoded(data, rounds=0)
    assert leaves[0].facts["loss"] < without.facts["loss"]
    alone = shoal.recode(shoal.read(records(), **ROLES), 5, effort="quick").facts["loss"]
    assert leaves[0].facts["loss"] < 1.25 * alone


def test_the_same_cells_for_other_files(leaves: Any, tmp_path: Path) -> None:
    for number, starts in enumerate([(0,), (0, 3, 250, 399)]):
        recoded(write(records(), tmp_path / f"in{number}", starts)).save(tmp_path / f"out{number}")
        assert cells(tmp_path / f"out{number}").equals(leaves[2])


def test_the_same_cells_on_one_and_two_processes_one_of_which_is_killed(
    leaves: Any, data: Path, tmp_path: Path
) -> None:
    for number, place in enumerate([1, Killing(2, "code", "search", "write")]):
        on = {"workers": place} if isinstance(place, int) else {"on": place}
        shoal.recode(shoal.scan(data, **on, **ROLES), 5, **LEAVES).save(tmp_path / f"out{number}")
        assert cells(tmp_path / f"out{number}").equals(leaves[2])
        if isinstance(place, Killing):
            assert place.kills == 3
            place.close()


def test_l_and_t_hold_in_every_class(data: Path, tmp_path: Path) -> None:
    release = recoded(data, l=3, t=0.35)
    saved = release.save(tmp_path / "out")
    new = cells(tmp_path / "out")
    assert new.group_by(QUASI).agg(pl.col("diagnosis").n_unique())["diagnosis"].min() >= 3
    assert release.facts["l"] >= 3 and release.facts["t"] <= 0.35 + 1e-12
    assert saved.findings["l"].status == "ok" and saved.findings["t"].status in ("ok", "info")
    with pytest.raises(UsageError, match="not that diverse"):
        recoded(data, l=5)


def test_leaves_that_lack_values_are_joined(tmp_path: Path) -> None:
    """The diagnosis follows the town, so a leaf of one town has two at most."""
    towns = pl.col("town").replace_strict({"lower": "a", "middle": "b", "upper": "c", "port": "d"})
    frame = records().with_columns(diagnosis=pl.when(pl.int_range(pl.len()) % 3 > 0).then(towns).otherwise(pl.lit("x")))
    with pytest.warns(shoal.errors.ShoalWarning, match="Leaves that do not reach l or t"):
        release = recoded(write(frame, tmp_path / "in"), l=3, importance={"town": 20.0})
    assert release.facts["l"] >= 3 and release.facts["leaves"] > 1


def test_equal_records_in_more_than_a_leaf(tmp_path: Path) -> None:
    """Records of one tuple stay together and unchanged, however small a leaf is."""
    often = {"age": 40, "town": "port", "sex": "f", "born": "1980-01-15"}
    is_often = pl.int_range(pl.len()) % 4 > 0
    frame = records().with_columns(pl.when(is_often).then(pl.lit(often[n])).otherwise(n).alias(n) for n in QUASI)
    release = recoded(write(frame, tmp_path / "in"))
    release.save(tmp_path / "out")
    assert release.facts["unchanged_rows"] >= 300
    assert cells(tmp_path / "out").group_by(QUASI).len()["len"].min() >= 5
    few = records().with_columns(age=pl.when(pl.int_range(pl.len()) % 70 == 0).then(41).otherwise(40))
    only = {"quasi": ["age"], "drop": ["town", "sex", "born"]}
    assert recoded(write(few, tmp_path / "few"), scan=only).facts["unchanged_rows"] == few.height


def test_missing_numbers(tmp_path: Path) -> None:
    """The label of an interval beside missing values names both ends and the missing ones."""
    frame = records().with_columns(age=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("age"))
    one = shoal.recode(shoal.read(frame, **ROLES), 5, effort="quick")
    folder = write(frame, tmp_path / "in")
    recoded(folder, leaf=1000).save(tmp_path / "out")
    assert cells(tmp_path / "out").equals(one.table)
    assert one.table["age"].str.contains(r"^\[\d+-\d+\] or missing$").any()


def test_long_labels_of_different_leaves_differ(tmp_path: Path) -> None:
    """Cut labels of two leaves may hold different values; the legend names them, and no text has two meanings."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"job": [f"a rather long name of job {x:03}" for x in rng.integers(150, size=600)],
                          "age": rng.integers(20, 60, size=600)})  # fmt: skip
    files = shoal.scan(write(frame, tmp_path / "in", (0, 200)), on=Here(), quasi=["job", "age"], unit=False)
    release = shoal.recode(files, 6, importance={"age": 20.0}, **{**LEAVES, "leaf": 150})
    release.save(tmp_path / "out")
    new, legend = cells(tmp_path / "out"), release.facts["legend"]["job"]
    held = {text: set() for text in new["job"]}
    for text, job in zip(new["job"], frame["job"], strict=True):
        held[text].add(job)
    cut = {text: values for text, values in held.items() if text in legend}
    assert cut and all(values <= set(legend[text]) for text, values in cut.items())
    groups = {frozenset(values) for values in legend.values()}
    assert len(groups) == len(legend)


def test_columns_that_no_group_changes_stay(tmp_path: Path) -> None:
    frame = records().with_columns(age=pl.when(pl.int_range(pl.len()) % 2 == 0).then(-0.0).otherwise(0.0))
    files = shoal.scan(
        write(frame, tmp_path / "in"), on=Here(), quasi=["age"], drop=["born", "town", "sex"], unit=False
    )
    shoal.recode(files, 5, effort="quick").save(tmp_path / "out")
    new = cells(tmp_path / "out")["age"]
    assert new.dtype == pl.Float64 and not np.signbit(new.to_numpy()).any()


# -- what breaks, and what a folder cannot have -----------------------------------------------------


def test_a_run_continues_and_a_lost_file_is_made_again(leaves: Any, data: Path, tmp_path: Path) -> None:
    staged = tmp_path / "staged"

    def stop_in_the_round(work: str) -> None:
        if work == "search" and (staged / "search-1").exists():
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        shoal.recode(shoal.scan(data, on=Here(stop_in_the_round), staging=staged, **ROLES), 5, **LEAVES)
    place = Here()
    again = shoal.recode(shoal.scan(data, on=place, staging=staged, **ROLES), 5, **LEAVES)
    assert set(place.units) == {"search", "label", "collect"} and place.units.count("search") == again.facts["leaves"]
    (staged / "collect" / "000000.arrow").unlink()  # what it was made of was dropped, and is made again, too
    (staged / "label" / "000002.arrow").unlink()
    with pytest.warns(shoal.errors.ShoalWarning, match="was lost, so its part of the work was done again"):
        again.save(tmp_path / "out")
    assert cells(tmp_path / "out").equals(leaves[2])


def test_a_wrong_text_is_refused(data: Path, tmp_path: Path) -> None:
    """The recount reads the written cells: texts of single values would make small classes."""
    staged = tmp_path / "staged"

    def damage(work: str) -> None:
        if work == "write":
            path = staged / "label" / "000000.arrow"
            frame = pl.read_ipc(path.read_bytes())
            frame.with_columns(text=pl.Series([f"[{i}]" for i in range(frame.height)])).write_ipc(path)
            path = staged / "collect" / "000000.arrow"
            frame = pl.read_ipc(path.read_bytes())
            frame.with_columns(x0=pl.int_range(pl.len(), dtype=pl.Int32) % 3).write_ipc(path)

    release = shoal.recode(shoal.scan(data, on=Here(damage), staging=staged, **ROLES), 5, **LEAVES)
    with pytest.raises(PromiseError, match="Nothing was written"):
        release.save(tmp_path / "out")
    assert not (tmp_path / "out").exists() and not (tmp_path / ".out.part").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "mondrian", "effort": None}, "the method must be search, not 'mondrian'"),
        ({"missing": "drop"}, "missing must be category or error"),
        ({"suppress": 0.1}, "does not support suppress in a folder"),
        ({"bound": True}, "does not support bound in a folder"),
        ({"sets": [["age"], ["town"]]}, "does not support sets in a folder"),
        ({"leaf": 60}, "leaf must be at least 20 k = 100"),
        ({"importance": {"diagnosis": 2.0}}, "'diagnosis'"),
    ],
)
def test_messages(data: Path, options: dict[str, Any], message: str) -> None:
    options = {**LEAVES, **options}
    with pytest.raises(UsageError, match=message):
        shoal.recode(shoal.scan(data, on=Here(), **ROLES), 5, **{n: v for n, v in options.items() if v is not None})


def test_missing_values_and_files_that_do_not_fit(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"part-0.parquet: The column 'sex' has"):
        recoded(data, missing="error")
    folder = write(records(), tmp_path / "in")
    records()[130:150].with_columns(pl.col("age").cast(pl.String)).write_parquet(folder / "part-1.parquet")
    with pytest.raises(InputError, match=r"part-1.parquet: the column 'age' holds values of"):
        recoded(folder)


# -- parts --------------------------------------------------------------------------------------------


def test_a_tree_of_columns(data: Path) -> None:
    """Leaves hold about the same number of records, and the tree of a round cuts another column first."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(100, size=4000), "b": rng.choice(["x", "y", "z"], size=4000),
                          "c": rng.normal(size=4000)})  # fmt: skip
    table = shoal.read(frame, quasi=["a", "b", "c"])
    columns = [column_of(table, name, ColumnOptions("sets")) for name in frame.columns]
    points = np.column_stack([column.codes.codes for column in columns])
    loss = ValueSetLoss([one for column in columns for one in column.set_columns(1 << 28)], 5)
    first = build_tree(columns, points, loss, 8, 1, 0)
    sizes = np.bincount(first.leaf_of(points), minlength=8)
    assert first.leaves == 8 and sizes.sum() == 4000 and sizes.min() > 150 and sizes.max() < 1100
    second = build_tree(columns, points, loss, 8, 1, 1, first.columns_cut_first()[:1])
    assert second.columns_cut_first()[0] != first.columns_cut_first()[0]
    whole = ValueSetLoss([SetColumn(np.zeros(50, dtype=np.int64))], 5)
    same = build_tree(columns[:1], np.zeros((50, 1), dtype=np.int32), whole, 4, 1, 0)
    assert same.leaves == 1 and same.leaf_of(np.zeros((50, 1), dtype=np.int32)).max() == 0


def test_the_first_members() -> None:
    labels = np.array([2, 0, 2, 1, 0])
    assert first_members(labels).tolist() == [1, 3, 0]


# -- the command line ------------------------------------------------------------------------------


def test_the_command(data: Path, tmp_path: Path, leaves: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.places.place_named", lambda name, workers: Here())
    roles = ["--quasi", ",".join(QUASI), "--confidential", "diagnosis", "--no-unit", "--effort", "quick"]
    recipe, options = tmp_path / "run.toml", ["--leaf", 110, "--rounds", 1]
    further = ["--legend", tmp_path / "legend.csv", "--save-recipe", recipe]
    result = run("recode", data, "-k", 5, *roles, *options, "-o", tmp_path / "out", "--json", *further)
    facts = json.loads(result.stdout)
    assert facts["files"] == 3 and facts["written"] is True and facts["figures"]["known"]["k"] >= 5
    assert cells(tmp_path / "out").equals(leaves[2])
    assert (tmp_path / "legend.csv").read_text().startswith("column,category,values")
    run("run", recipe, "-o", tmp_path / "again")
    assert cells(tmp_path / "again").equals(leaves[2])
    printed = run("recode", data, "-k", 5, *roles, *options, "-o", tmp_path / "printed").output
    assert "loss of age" in printed and "unchanged records" in printed
