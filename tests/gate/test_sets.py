"""k, l and means that hold in the first set, column group or group alone: every other one is verified too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from command_line import run
from shoal.engine.partition.partition import KPartition
from shoal.errors import PromiseError, ShoalWarning

ENDINGS = ("csv", "parquet", "arrow", "csv.gz")
K = 4
SETS = (("town", "sex"), ("job", "flat"), ("car", "pet"))
COLUMNS = tuple(name for chosen in SETS for name in chosen)


def people(n: int = 120, seed: int = 5) -> pl.DataFrame:
    """Six columns of labels; in every pair that is a set each combination has many records."""
    rng = np.random.default_rng(seed)
    labels = {name: rng.choice(["a", "b", "c"], n) for name in COLUMNS}
    return pl.DataFrame({**labels, "illness": np.tile(["flu", "gout", "none"], n // 3)})


PEOPLE = people()
ROLES: dict[str, Any] = {"quasi": COLUMNS, "confidential": "illness"}
KNOWN_K = int(PEOPLE.group_by(COLUMNS).len()["len"].min())  # type: ignore[arg-type]


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".gz":
        import gzip

        path.write_bytes(gzip.compress(frame.write_csv().encode(), mtime=0))
        return path
    writers: dict[str, Any] = {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".arrow": frame.write_ipc}
    writers[path.suffix](path)
    return path


def broken(frame: pl.DataFrame, place: int) -> pl.DataFrame:
    """The frame with a record alone in its class of one set, and in no class of another set below k."""
    column = SETS[place][1]
    values = frame[column].to_list()
    values[7] = "nobody else"
    return frame.with_columns(pl.Series(column, values))


def one_valued(frame: pl.DataFrame, place: int) -> pl.DataFrame:
    """The frame with k records of one illness that form a class of one set."""
    rows = np.flatnonzero((frame["illness"] == "flu").to_numpy())[:K]
    values = {name: np.array(frame[name].to_list(), dtype=object) for name in SETS[place]}
    for column in values.values():
        column[rows] = "flu only"
    return frame.with_columns(pl.Series(name, column.tolist()) for name, column in values.items())


# -- sets of a generalization ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def generalized() -> Any:
    return shoal.generalize(shoal.read(PEOPLE, **ROLES), K, sets=SETS, l=2, effort="quick")


@pytest.mark.parametrize("place", range(len(SETS)))
def test_each_set_of_a_generalization_is_verified(generalized: Any, tmp_path: Path, place: int) -> None:
    generalized.verify()
    spoiled = replace(generalized, frame=broken(generalized.frame, place))
    assert spoiled.smallest_class() == spoiled.assessment["k"] == 1
    with pytest.raises(PromiseError, match=f"smallest class .* has 1 record, fewer than k = {K}"):
        spoiled.save(tmp_path / "out.csv", accept_k=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", range(len(SETS)))
def test_l_of_each_set_of_a_generalization_is_verified(generalized: Any, tmp_path: Path, place: int) -> None:
    spoiled = replace(generalized, frame=one_valued(generalized.frame, place))
    assert spoiled.smallest_class() >= K and spoiled.assessment["l of illness"] == 1
    with pytest.raises(PromiseError, match="l = 1 .distinct. in 'illness'"):
        spoiled.save(tmp_path / "out.csv", accept_k=1)


# -- the gate --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("place", range(len(SETS)))
def test_the_gate_counts_k_within_each_column_group(tmp_path: Path, place: int, ending: str) -> None:
    asked: dict[str, Any] = ROLES | {"k": K, "column_groups": SETS, "accept_k": KNOWN_K, "keep_order": True}
    sound = shoal.check(PEOPLE, write(PEOPLE, tmp_path / f"sound.{ending}"), **asked)
    assert sound["k-within-groups"].status == "ok" and sound["k-within-groups"].figure >= K
    spoiled = write(broken(PEOPLE, place), tmp_path / f"spoiled.{ending}")
    finding = shoal.check(PEOPLE, spoiled, **asked)["k-within-groups"]
    assert finding.status == "block" and finding.figure == 1
    assert ", ".join(SETS[place]) in finding.finding
    original = write(PEOPLE, tmp_path / "original.csv")
    groups = ";".join(",".join(chosen) for chosen in SETS)
    roles = ["--quasi", ",".join(COLUMNS), "--confidential", "illness", "-k", K, "--accept-k", 1, "--keep-order"]
    answer = run("check", original, spoiled, "--groups", groups, *roles, code=1).output
    assert "k-within-groups" in answer


def test_a_class_of_one_record_too_few_breaks_k_within_its_column_group() -> None:
    smallest = min(int(PEOPLE.group_by(chosen).len()["len"].min()) for chosen in SETS)  # type: ignore[arg-type]
    asked: dict[str, Any] = ROLES | {"column_groups": SETS, "accept_k": 1, "keep_order": True}
    assert shoal.check(PEOPLE, PEOPLE, k=smallest, **asked)["k-within-groups"].status == "ok"
    finding = shoal.check(PEOPLE, PEOPLE, k=smallest + 1, **asked)["k-within-groups"]
    assert finding.status == "block" and finding.figure == smallest


@pytest.mark.parametrize("place", range(len(SETS)))
def test_the_gate_counts_l_within_each_column_group(place: int) -> None:
    asked: dict[str, Any] = ROLES | {"k": K, "column_groups": SETS, "accept_k": 1, "l": 2}
    assert shoal.check(PEOPLE, PEOPLE, **asked)["l"].status == "ok"
    found = shoal.check(PEOPLE, one_valued(PEOPLE, place), **asked)
    assert found["k-within-groups"].status == "ok"
    assert found["l"].status == "block" and found["l"].figure == 1


# -- t, in a generalization and in the gate --------------------------------------------------------


@pytest.mark.parametrize("place", range(len(SETS)))
def test_t_of_each_set_is_verified(tmp_path: Path, place: int) -> None:
    made = shoal.generalize(shoal.read(PEOPLE, **ROLES), K, sets=SETS, t=0.6, effort="quick")
    made.verify()
    spoiled = replace(made, frame=one_valued(made.frame, place))
    assert spoiled.smallest_class() >= K
    with pytest.raises(PromiseError, match=r"from the whole table is t = 0\.66\d* \(\w+\) in 'illness'"):
        spoiled.save(tmp_path / "out.csv", accept_k=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", range(len(SETS)))
def test_the_gate_measures_t_within_each_column_group(place: int) -> None:
    asked: dict[str, Any] = ROLES | {"k": K, "column_groups": SETS, "accept_k": 1, "t": 0.6}
    assert shoal.check(PEOPLE, PEOPLE, **asked)["t"].status != "block"
    found = shoal.check(PEOPLE, one_valued(PEOPLE, place), **asked)
    assert found["k-within-groups"].status == "ok"
    assert found["t"].status == "block" and found["t"].figure == pytest.approx(2 / 3)


# -- quasi-identifiers in no set -------------------------------------------------------------------


def test_quasi_identifiers_in_no_set_are_named_and_count_as_known(tmp_path: Path) -> None:
    """Released as they are, they make records unique: nothing is written, and the message names them."""
    frame = PEOPLE.with_columns(age=pl.Series(np.random.default_rng(1).integers(20, 60, PEOPLE.height)))
    table = shoal.read(frame, quasi=["town", "sex", "age"], drop=["job", "flat", "car", "pet"], confidential="illness")
    with pytest.warns(ShoalWarning, match="in no --set are released unchanged: age"):
        release = shoal.generalize(table, K, sets=[["town", "sex"]], effort="quick")
    with pytest.raises(PromiseError, match=r"1 quasi-identifier is in no set or column group: age"):
        release.save(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_command_line_names_quasi_identifiers_in_no_set(tmp_path: Path, ending: str) -> None:
    frame = PEOPLE.with_columns(age=pl.Series(np.random.default_rng(1).integers(20, 60, PEOPLE.height)))
    source, target = write(frame, tmp_path / f"in.{ending}"), tmp_path / f"out.{ending}"
    roles = ["--quasi", "town,sex,age", "--drop", "job,flat,car,pet", "--confidential", "illness"]
    options = ["-k", K, "--set", "town,sex", "--effort", "quick", *roles]
    answer = run("generalize", source, *options, "-o", target, code=1).output
    assert "in no set or column group: age" in answer and not target.exists()
    few = write(frame.with_columns(age=pl.lit(30)), tmp_path / f"few.{ending}")  # a column that distinguishes nobody
    run("generalize", few, *options, "-o", target)
    assert target.exists()


def test_suppression_with_one_set_looks_at_that_set() -> None:
    """A column in no set takes no part in which rows are suppressed."""
    rng = np.random.default_rng(2)
    town = np.array(["a", "b"] * 47 + ["c", "d", "e"] * 2)
    frame = pl.DataFrame({"town": town, "age": rng.integers(20, 60, 100)}).sample(fraction=1, shuffle=True, seed=1)
    table = shoal.read(frame, quasi=["town", "age"], no_confidential=True)
    with pytest.warns(ShoalWarning, match="in no --set"):
        release = shoal.generalize(table, 5, sets=[["town"]], suppress=0.1, effort="quick")
    starred = release.frame["town"] == "*"
    assert int(starred.sum()) == release.facts["suppressed"] == 6
    assert (release.frame["age"] == "*").equals(starred)


# -- means inside their group ----------------------------------------------------------------------

NUMBERS = st.lists(
    st.one_of(
        st.floats(-1e12, 1e12, allow_nan=False).map(lambda x: x + 0.0),
        st.sampled_from([0.1, 0.7, 1.1, 3.3, 1e-9, 1e9 + 0.1, -0.1]),
    ),
    min_size=3,
    max_size=40,
)


@given(NUMBERS, st.integers(1, 7), st.booleans())
@settings(max_examples=200)
def test_a_mean_lies_within_its_group(numbers: list[float], repeats: int, weighted: bool) -> None:
    """Rounding takes the mean of three times 0.1 out of the group: 0.10000000000000002."""
    values = np.repeat(numbers, repeats)[:, None]
    partition = KPartition(np.arange(values.size) // (3 * repeats))
    weights = np.linspace(0.3, 2.7, values.size) if weighted else None
    for rows, mean in zip(partition.members(), partition.centroids(values, weights)[:, 0], strict=True):
        assert values[rows].min() <= mean <= values[rows].max()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_group_of_equal_values_keeps_the_value(tmp_path: Path, ending: str) -> None:
    """Through the command line: groups of three equal numbers are released unchanged, bit for bit."""
    bases = np.round(np.random.default_rng(3).permutation(np.arange(1, 41)) * 0.1 + 0.007, 3)
    frame = pl.DataFrame({"x": np.repeat(bases, 3), "y": np.repeat(bases[::-1] * 7.0, 3)})
    assert any(sum([x, x, x]) / 3 != x for x in bases)  # rounding would show
    frame = frame.sample(fraction=1, shuffle=True, seed=5)
    source, target = write(frame, tmp_path / f"in.{ending}"), tmp_path / f"out.{ending}"
    for command in (["microaggregate", "--method", "mdav"], ["group", "--method", "all"]):
        run(command[0], source, "-k", 3, *command[1:], "-o", target, "--no-unit", "--quasi", "x,y")
        made = shoal.read(target).frame
        assert made["x"].to_list() == frame["x"].to_list() and made["y"].to_list() == frame["y"].to_list()
        target.unlink()
