"""The release gate: a good release passes, every planted fault is found, and its figures agree with slow twins."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.data.roles import Roles
from shoal.data.table import Table
from shoal.errors import PromiseError, ShoalError, ShoalWarning, UsageError
from shoal.gate.asked import Asked, Diversity, read_diversity
from shoal.gate.cells import classes, differing
from shoal.gate.diversity import diversity, farthest
from shoal.gate.order import shuffled_order
from shoal.gate.policy import JUDGED, names, policy_named
from shoal.gate.saving import save_checked
from shoal.measure.diversity import diversity_of, t_closeness

K = 4
QUASI = ("age", "income")
ROLES: dict[str, Any] = {"quasi": QUASI, "identifiers": "name", "confidential": "illness", "k": K}


def people(n: int = 60, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"Person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "town": rng.choice(["north", "south"], n),
            "visits": rng.normal(5, 2, n),
            "illness": [["none", "flu", "asthma", "gout"][i % 4] for i in range(n)],
        }
    )


def protected(frame: pl.DataFrame, k: int = K) -> pl.DataFrame:
    """Groups of k by the order of income, replaced by their means: a method of the tests' own."""
    order = np.argsort(frame["income"].to_numpy(), kind="stable")
    label = np.empty(frame.height, dtype=int)
    label[order] = np.minimum(np.arange(frame.height) // k, frame.height // k - 1)
    new = []
    for name in QUASI:
        values = frame[name].to_numpy().astype(float)
        new.append(pl.Series(name, np.array([values[label == g].mean() for g in range(label.max() + 1)])[label]))
    return frame.drop("name").with_columns(new)


ORIGINAL = people()
RELEASE = protected(ORIGINAL)


@pytest.fixture(params=["csv", "parquet", "arrow", "csv.gz"])
def ending(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".arrow":
        frame.write_ipc(path)
    elif path.suffix == ".gz":
        import gzip

        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(path)
    return path


def found(release: Any, tmp_path: Path | None = None, ending: str = "csv", **more: Any) -> Any:
    """The findings on a release, by way of a file if a folder is given."""
    if tmp_path is not None:
        release = write(release, tmp_path / f"release.{ending}")
    return shoal.check(ORIGINAL, release, **(ROLES | more))


def cell(frame: pl.DataFrame, column: str, row: int, value: Any) -> pl.DataFrame:
    values = frame[column].to_list()
    values[row] = value
    return frame.with_columns(pl.Series(column, values, dtype=frame[column].dtype))


def test_a_good_release_passes(tmp_path: Path, ending: str) -> None:
    gate = found(RELEASE, tmp_path, ending)
    assert gate.passed, gate.blocking
    assert {f.check for f in gate.warnings} <= {"dominance", "uniques-other", "distance-linkage", "group-linkage"}
    assert gate["joint-k"].figure == K
    for finding in gate:
        assert finding.finding
        assert (finding.todo == "") == (finding.status == "ok")


# -- planted faults ------------------------------------------------------------------------------


def test_a_group_of_k_less_one(tmp_path: Path, ending: str) -> None:
    apart = RELEASE.with_columns(pl.Series("age", [a + 1.0 if i == 7 else a for i, a in enumerate(RELEASE["age"])]))
    gate = found(apart, tmp_path, ending)
    assert gate["joint-k"].status == "block" and gate["joint-k"].figure == 1
    smaller = found(protected(ORIGINAL, K - 1), tmp_path, ending)
    assert smaller["joint-k"].status == "block" and smaller["joint-k"].figure == K - 1


@pytest.mark.parametrize("column", ["age", "income", "town", "visits", "illness"])
def test_a_swapped_cell(tmp_path: Path, ending: str, column: str) -> None:
    values = RELEASE[column].to_list()
    other = next(i for i in range(1, 60) if values[i] != values[0])
    values[0], values[other] = values[other], values[0]
    gate = found(RELEASE.with_columns(pl.Series(column, values)), tmp_path, ending)
    assert not gate.passed
    assert gate["joint-k" if column in QUASI else "untouched"].status == "block"


def test_a_leaked_identifier(tmp_path: Path, ending: str) -> None:
    gate = found(RELEASE.with_columns(ORIGINAL["name"]), tmp_path, ending)
    assert gate["identifiers"].status == "block" and "still there" in gate["identifiers"].finding


@pytest.mark.parametrize("way", ["same", "capitals", "mixed", "replacing"])
def test_an_identifier_under_another_name(tmp_path: Path, ending: str, way: str) -> None:
    names = ORIGINAL["name"].rename("ref")
    if way == "capitals":
        names = names.str.to_uppercase() + " "
    if way == "mixed":
        names = names.shuffle(seed=1)
    release = RELEASE.with_columns(names.alias("town") if way == "replacing" else names)
    gate = found(release, tmp_path, ending)
    assert gate["identifiers"].status == "block" and "holds the values of 'name'" in gate["identifiers"].finding


def test_a_numeric_identifier_under_another_name_and_type() -> None:
    original = ORIGINAL.with_columns(pl.Series("number", np.random.default_rng(5).permutation(90_000)[:60]))
    release = RELEASE.with_columns(original["number"].cast(pl.Float64).alias("code"))
    gate = shoal.check(original, release, quasi=QUASI, identifiers=["name", "number"], k=K)
    assert "'code' holds the values of 'number'" in gate["identifiers"].finding


def test_a_changed_untouched_column(tmp_path: Path, ending: str) -> None:
    gate = found(cell(RELEASE, "town", 11, "west"), tmp_path, ending)
    assert gate["untouched"].status == "block"
    assert "'town' differs in 1 cells, the first in row 12" in gate["untouched"].finding


def test_a_value_that_differs_in_its_last_bit(tmp_path: Path, ending: str) -> None:
    visits = RELEASE["visits"][5]
    gate = found(cell(RELEASE, "visits", 5, np.nextafter(visits, 1e9)), tmp_path, ending)
    assert gate["untouched"].status == "block" and gate["untouched"].figure == 1
    income = RELEASE["income"][5]
    gate = found(cell(RELEASE, "income", 5, np.nextafter(income, 1e9)), tmp_path, ending)
    assert gate["joint-k"].status == "block" and gate["joint-k"].figure == 1
    assert gate["float-residue"].status == "warn" and gate["float-residue"].figure == 1


def test_two_groups_whose_means_differ_in_the_last_bit() -> None:
    original = pl.DataFrame({"x": [0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 5.0, 6.0, 7.0]})
    up, down = (0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3
    assert up != down
    gate = shoal.check(original, pl.DataFrame({"x": [up] * 3 + [down] * 3 + [6.0] * 3}), k=3)
    assert gate.passed and gate["float-residue"].status == "warn"
    same = shoal.check(original, pl.DataFrame({"x": [up] * 6 + [6.0] * 3}), k=3)
    assert same["float-residue"].status == "ok"


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "-A1"])
def test_a_formula(tmp_path: Path, ending: str, text: str) -> None:
    original = cell(ORIGINAL, "town", 3, text)
    gate = shoal.check(original, write(protected(original), tmp_path / f"r.{ending}"), **ROLES)
    assert gate["untouched"].status == "ok"
    assert gate["formulas"].status == "warn" and gate["formulas"].figure == 1
    assert "'town' (1 cells, the first in row 4)" in gate["formulas"].finding
    strict = shoal.check(original, tmp_path / f"r.{ending}", **ROLES, policy="scientific")
    assert strict["formulas"].status == "block"


@pytest.mark.parametrize("text", ["-5", "+3.2", "-1e5", "-1,234.5", "-", "- 7", "-12 %", "a=b", "x@y"])
def test_signed_numbers_are_no_formulas(text: str) -> None:
    original = cell(ORIGINAL, "town", 3, text)
    assert shoal.check(original, protected(original), **ROLES)["formulas"].status == "ok"


def test_a_formula_as_the_name_of_a_column() -> None:
    original, release = (frame.rename({"town": "=A1"}) for frame in (ORIGINAL, RELEASE))
    assert "the first line" in shoal.check(original, release, **ROLES)["formulas"].finding


def test_lost_doubled_and_swapped_rows(tmp_path: Path, ending: str) -> None:
    lost = found(RELEASE[1:], tmp_path, ending)
    assert lost["rows"].status == "block" and "1 rows are missing" in lost["rows"].finding
    doubled = found(pl.concat([RELEASE, RELEASE[:1]]), tmp_path, ending)
    assert doubled["rows"].status == "block" and "1 rows are too many" in doubled["rows"].finding
    replaced = found(pl.concat([RELEASE[:1], RELEASE[:1], RELEASE[2:]]), tmp_path, ending)
    assert replaced["untouched"].status == "block"
    places = np.arange(60)
    places[[4, 31]] = 31, 4
    swapped = found(RELEASE[places], tmp_path, ending)
    assert swapped["rows"].status == "block" and "in another order" in swapped["rows"].finding


def test_swapped_rows_where_every_column_is_protected(tmp_path: Path, ending: str) -> None:
    bare = ORIGINAL.select(QUASI)
    release = RELEASE.select(QUASI)
    places = np.arange(60)
    income = release["income"].to_list()
    other = next(i for i in range(60) if income[i] != income[4])
    places[[4, other]] = other, 4
    assert shoal.check(bare, write(release, tmp_path / f"r.{ending}"), k=K)["rows"].status == "ok"
    gate = shoal.check(bare, write(release[places], tmp_path / f"r.{ending}"), k=K)
    assert gate["rows"].status == "block" and "2 groups do not hold the mean" in gate["rows"].finding
    assert gate["joint-k"].status == "ok"


def test_a_class_of_one_confidential_value() -> None:
    first = RELEASE.filter(pl.col("income") == RELEASE["income"][0])["visits"]
    illness = [
        "gout" if v in first.to_list() else i for v, i in zip(RELEASE["visits"], RELEASE["illness"], strict=True)
    ]
    original, release = (frame.with_columns(pl.Series("illness", illness)) for frame in (ORIGINAL, RELEASE))
    told = shoal.check(original, release, **ROLES)
    assert told["l"].status == "warn" and told["l"].figure == 1
    for more in ({"l": 2}, {"l": ("entropy", 1.5)}, {"l": ("recursive", 3, 2)}, {"policy": "public"}):
        assert shoal.check(original, release, **ROLES, **more)["l"].status == "block"
    assert shoal.check(original, release, **ROLES, t=0.3)["t"].status == "block"
    assert shoal.check(original, release, **ROLES, l=1)["l"].status == "warn"


def test_a_column_of_group_numbers(tmp_path: Path, ending: str) -> None:
    groups = RELEASE["income"].rank("dense").cast(pl.Int64)
    gate = found(RELEASE.with_columns(groups.alias("cluster")), tmp_path, ending)
    assert gate["columns"].status == "block" and "'cluster'" in gate["columns"].finding
    assert "'cluster' tells the groups apart" in gate["traces"].finding
    shuffled = found(RELEASE.with_columns((groups * 7919 % 101).cast(pl.String).alias("c")), tmp_path, ending)
    assert "'c' tells the groups apart" in shuffled["traces"].finding


def test_an_index_in_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    RELEASE.to_pandas().set_index(pd.Index(np.arange(100, 160))).to_parquet(path)
    gate = shoal.check(ORIGINAL, path, **ROLES)
    assert gate["columns"].status == "block" and "__index_level_0__" in gate["columns"].finding
    assert "numbers the rows" in gate["traces"].finding and "'pandas'" in gate["traces"].finding
    RELEASE.with_row_index("row").write_csv(tmp_path / "r.csv")
    assert "'row' numbers the rows" in shoal.check(ORIGINAL, tmp_path / "r.csv", **ROLES)["traces"].finding


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_metadata_that_tells_the_seed_or_a_path(tmp_path: Path, ending: str) -> None:
    table = RELEASE.to_arrow().replace_schema_metadata({"seed": "42", "source": "/data/secret/original.csv"})
    path = tmp_path / f"r.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    gate = shoal.check(ORIGINAL, path, **ROLES)
    assert gate["traces"].status == "warn"
    assert "'seed'" in gate["traces"].finding and "'source'" in gate["traces"].finding
    assert "42" not in gate["traces"].finding


def test_original_values_that_were_kept() -> None:
    order = np.argsort(ORIGINAL["income"].to_numpy(), kind="stable")
    values = ORIGINAL["income"].to_numpy().copy()
    for group in order.reshape(-1, 5):
        values[group] = np.median(values[group])
    bare = ORIGINAL.select("income")
    gate = shoal.check(bare, pl.DataFrame({"income": values}), k=5)
    assert gate.passed and gate["unchanged-rows"].figure == 12 and gate["unchanged-rows"].status == "warn"
    assert shoal.check(bare, pl.DataFrame({"income": values}), k=5, policy="public")["unchanged-rows"].status == "block"
    one = found(cell(RELEASE, "income", 9, ORIGINAL["income"][9]))
    assert one["joint-k"].status == "block" and one["unchanged-cells"].figure == 1
    equal = pl.DataFrame({"income": [3.0] * 6})
    assert shoal.check(equal, equal, quasi="income", k=6)["unchanged-rows"].figure == 0


def test_missing_cells_make_k_ambiguous(tmp_path: Path, ending: str) -> None:
    gaps = RELEASE["income"] == RELEASE["income"][0]
    release = RELEASE.with_columns(pl.when(gaps).then(None).otherwise("age").alias("age"))
    gate = found(release, tmp_path, ending)
    assert gate["joint-k"].status == "ok"
    assert gate["missing"].status == "warn" and gate["missing"].figure == K
    assert "1 if a missing cell is like no other" in gate["missing"].finding
    single = found(cell(RELEASE, "age", 0, None), tmp_path, ending)
    assert single["joint-k"].status == "block" and single["joint-k"].figure == 1


def test_labels_written_as_codes(tmp_path: Path, ending: str) -> None:
    codes = RELEASE["town"].replace_strict({"north": 1, "south": 2}, return_dtype=pl.Int64)
    gate = found(RELEASE.with_columns(codes), tmp_path, ending)
    assert gate["untouched"].status == "block" and "labels were written as codes" in gate["untouched"].finding


def test_value_labels_that_were_lost(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    bare = ORIGINAL.with_columns(pl.Series("town", np.arange(60) % 2 + 1.0)).drop("name", "illness")
    path = tmp_path / "in.sav"
    pyreadstat.write_sav(bare, str(path), variable_value_labels={"town": {1.0: "north", 2.0: "south"}})
    release = protected(bare.with_columns(pl.Series("name", ["x"] * 60)))
    release.write_csv(tmp_path / "out.csv")
    pyreadstat.write_sav(release, str(tmp_path / "out.sav"), variable_value_labels={"town": {1.0: "north"}})
    lost = shoal.check(path, tmp_path / "out.csv", quasi=QUASI, k=K)
    assert lost.passed and lost["labels"].status == "warn" and "'town'" in lost["labels"].finding
    assert shoal.check(path, tmp_path / "out.sav", quasi=QUASI, k=K)["labels"].status == "ok"


def test_shifted_columns(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    lines = RELEASE.write_csv().splitlines()
    path.write_text("\n".join([lines[0], "Smith, " + lines[1], *lines[2:]]) + "\n")
    with pytest.raises(ShoalError, match="record 2 .* has 6 cells and the first has 5: its columns are shifted"):
        shoal.check(ORIGINAL, path, **ROLES)
    path.write_text("\n".join([lines[0], *lines[1:9], lines[9].rsplit(",", 1)[0], *lines[10:]]) + "\n")
    with pytest.raises(ShoalError, match="record 10 .* has 4 cells"):
        shoal.check(ORIGINAL, path, **ROLES)
    moved = RELEASE.with_columns(RELEASE["illness"].alias("town"), RELEASE["town"].alias("illness"))
    gate = found(moved)
    assert "'town' holds the values of 'illness': the columns are shifted" in gate["untouched"].finding
    turned = found(RELEASE.select(reversed(RELEASE.columns)))
    assert turned["columns"].status == "block"


def test_an_earlier_release(tmp_path: Path, ending: str) -> None:
    other = ORIGINAL.with_columns(pl.Series("income", ORIGINAL["visits"].to_numpy()))
    earlier = write(RELEASE.with_columns(protected(other)["income"].alias("income")), tmp_path / f"earlier.{ending}")
    gate = found(RELEASE, tmp_path, ending, previous=earlier)
    both = RELEASE.with_columns(pl.read_parquet(earlier)["income"].alias("before")) if ending == "parquet" else None
    assert gate["previous"].status == "warn" and gate["previous"].figure < K
    if both is not None:
        assert gate["previous"].figure == both.group_by("age", "income", "before").len()["len"].min()
    assert found(RELEASE, previous=RELEASE)["previous"].status == "ok"
    assert "not measured" in found(RELEASE, previous=RELEASE[1:])["previous"].finding
    assert found(RELEASE, previous=RELEASE[::-1])["previous"].status == "warn"


def test_exact_means_of_two_or_three() -> None:
    release = protected(ORIGINAL, 3)
    gate = shoal.check(ORIGINAL, release, **(ROLES | {"k": 3}))
    assert gate["exact-means"].status == "warn" and gate["exact-means"].figure == 20
    whole = ORIGINAL.select(pl.col("age"), pl.col("income").round(0))
    rounded = protected(whole.with_columns(pl.lit("x").alias("name")), 3).select(pl.all().round(0))
    assert shoal.check(whole, rounded, k=3)["exact-means"].status == "ok"
    assert found(RELEASE)["exact-means"].status == "ok"


# -- column groups, swaps, suppression -----------------------------------------------------------


def test_joint_k_of_column_groups_warns_and_a_policy_blocks() -> None:
    release = RELEASE.with_columns(protected(ORIGINAL.with_columns(income=-pl.col("visits")))["age"].alias("age"))
    gate = found(release, column_groups=[["age"], ["income"]])
    assert gate["k-within-groups"].status == "ok" and gate["k-within-groups"].figure >= K
    assert gate["joint-k"].status == "warn" and gate["joint-k"].figure < K and gate.passed
    assert not found(release, column_groups=[["age"], ["income"]], policy="scientific").passed
    broken = found(cell(release, "age", 3, -1.0), column_groups=[["age"], ["income"]])
    assert broken["k-within-groups"].status == "block" and "age" in broken["k-within-groups"].finding


def test_swapped_values_keep_their_counts() -> None:
    towns = ORIGINAL["town"].to_list()
    other = towns.index("south" if towns[0] == "north" else "north")
    towns[0], towns[other] = towns[other], towns[0]
    release = ORIGINAL.drop("name").with_columns(pl.Series("town", towns))
    gate = shoal.check(ORIGINAL, release, identifiers="name", swapped="town")
    assert gate.passed and gate["swapped"].status == "ok"
    changed = shoal.check(ORIGINAL, cell(release, "town", 0, "west"), identifiers="name", swapped="town")
    assert changed["swapped"].status == "block"


def test_a_bucket_of_suppressed_rows_below_k_is_told() -> None:
    original = pl.DataFrame({"a": ["x"] * 5 + ["y"] * 2, "b": ["u"] * 5 + ["v"] * 2})
    release = pl.DataFrame({"a": ["x"] * 5 + ["*"] * 2, "b": ["u"] * 5 + ["*"] * 2})
    gate = shoal.check(original, release, quasi=["a", "b"], k=5)
    assert gate["joint-k"].status == "ok" and gate["suppressed"].status == "warn" and gate["suppressed"].figure == 2
    half = shoal.check(original, release.with_columns(original["b"]), quasi=["a", "b"], k=5)
    assert half["joint-k"].status == "block"
    other = release.with_columns(pl.col("a").replace("*", "other"), pl.col("b").replace("*", "other"))
    assert shoal.check(original, other, quasi=["a", "b"], k=5)["joint-k"].status == "block"


def test_a_frame_of_mixed_objects_can_be_an_identifier(tmp_path: Path) -> None:
    frame = RELEASE.to_pandas().assign(who=[1, "two", 3.5, None, (5,), True] * 10)
    release = shoal.microaggregate(shoal.read(frame, identifiers="who", quasi=QUASI), k=K, method="mdav")
    release.save(tmp_path / "out.csv")
    assert shoal.check(frame, tmp_path / "out.csv", identifiers="who", quasi=QUASI, k=K).passed


def test_a_release_of_suppressed_rows_only() -> None:
    original = pl.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 2]})
    gate = shoal.check(original, original.with_columns(pl.lit("*").alias("a")), quasi="a", confidential="b", k=2)
    assert gate["l"].figure is None and gate["suppressed"].figure == 3


def test_minimality_is_told() -> None:
    assert found(RELEASE)["minimality"].status == "ok"
    assert found(RELEASE, l=2)["minimality"].status == "warn"


def test_confidential_values_have_no_part_in_the_groups_unless_asked() -> None:
    other = ORIGINAL.with_columns(ORIGINAL["illness"].shuffle(seed=4))
    tables = [
        shoal.microaggregate(shoal.read(f, identifiers="name", quasi=QUASI, confidential="illness"), k=K, method="mdav")
        for f in (ORIGINAL, other)
    ]
    assert tables[0].table.select(QUASI).equals(tables[1].table.select(QUASI))


# -- rows in another order -----------------------------------------------------------------------


def test_the_policy_public_asks_for_another_order(tmp_path: Path) -> None:
    release = protected(ORIGINAL, 12)
    roles = ROLES | {"k": 12}
    kept = shoal.check(ORIGINAL, release, **roles, policy="public")
    assert kept["rows"].status == "block" and "--shuffle" in kept["rows"].todo
    order = shuffled_order(5, ORIGINAL, QUASI)
    moved = write(release[order], tmp_path / "r.csv")
    unknown = shoal.check(ORIGINAL, moved, **roles, policy="public")
    assert unknown["rows"].status == "ok" and unknown["untouched"].status == "ok"
    assert unknown["distance-linkage"].status == "block" and "--seed" in unknown["distance-linkage"].todo
    known = shoal.check(ORIGINAL, moved, **roles, policy="public", seed=5)
    assert known["rows"].status == "ok" and "not measured" not in known["distance-linkage"].finding
    wrong = shoal.check(ORIGINAL, moved, **roles, policy="public", seed=6)
    assert not wrong.passed and wrong["untouched"].status == "block"
    plain = shoal.check(ORIGINAL, moved, **roles)
    assert plain["rows"].status == "block" and "--shuffled" in plain["rows"].todo
    assert shoal.check(ORIGINAL, moved, **roles, shuffled=True).passed
    changed = cell(release[order], "town", 0, "west")
    assert shoal.check(ORIGINAL, changed, **roles, shuffled=True)["untouched"].status == "block"


def test_a_shuffled_file_of_protected_columns_only() -> None:
    bare, release = ORIGINAL.select(QUASI), RELEASE.select(QUASI)
    order = shuffled_order(1, bare, QUASI)
    assert shoal.check(bare, release, policy="public")["rows"].status == "block"
    assert shoal.check(bare, release[order], policy="public")["rows"].status == "ok"


def test_the_order_depends_on_seed_and_original_alone() -> None:
    first = shuffled_order(1, ORIGINAL, QUASI)
    assert np.array_equal(first, shuffled_order(1, ORIGINAL, QUASI))
    assert np.array_equal(np.sort(first), np.arange(60))
    assert not np.array_equal(first, shuffled_order(2, ORIGINAL, QUASI))
    assert not np.array_equal(first, shuffled_order(1, ORIGINAL.with_columns(pl.col("age") + 1), QUASI))


# -- saving --------------------------------------------------------------------------------------


def save(table: pl.DataFrame, target: Path, **more: Any) -> Any:
    given: dict[str, Any] = {"seed": 0, "shuffle": False, "policy": None, "previous": None} | more
    original = Table(ORIGINAL, Roles("name", QUASI, "illness"))
    return save_checked(original, table, Asked(("name",), QUASI, ("illness",), None, K), target, **given)


@pytest.mark.parametrize(
    "table",
    [
        cell(RELEASE, "income", 3, 1.0),
        cell(RELEASE, "visits", 3, 1.0),
        RELEASE[1:],
        RELEASE.with_columns(ORIGINAL["name"]),
        RELEASE.with_columns(ORIGINAL["name"].alias("town")),
        RELEASE.with_row_index(),
        RELEASE.drop("town"),
    ],
    ids=["k", "untouched", "row", "identifier", "copy", "index", "column"],
)
def test_nothing_is_left_of_a_file_that_breaks_a_promise(tmp_path: Path, ending: str, table: pl.DataFrame) -> None:
    target = tmp_path / f"out.{ending}"
    target.write_bytes(b"precious")
    with pytest.raises(PromiseError, match="nothing is written"):
        save(table, target)
    assert target.read_bytes() == b"precious"
    assert [p.name for p in tmp_path.iterdir()] == [target.name]


def test_saving_under_a_policy(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    with pytest.raises(PromiseError, match="'public'.*joint-k"):
        save(RELEASE, target, policy="public")
    assert not list(tmp_path.iterdir())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gate = save(RELEASE, target, policy="default")
    assert gate.passed and target.exists()
    assert [str(w.message).split(":")[0] for w in told if w.category is ShoalWarning] == [
        f.check for f in gate.warnings
    ]
    assert "uniques-other" in {f.check for f in gate.warnings}


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "arrow", "sav", "dta", "xpt"])
def test_every_format_is_read_back(tmp_path: Path, ending: str) -> None:
    if ending in ("sav", "dta", "xpt"):
        pytest.importorskip("pyreadstat")
    gate = save(RELEASE, tmp_path / f"out.{ending}", shuffle=True, seed=3)
    assert gate.passed and gate["written"].status == "ok"


def test_text_of_untouched_numbers_stays_when_rows_are_shuffled(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("a;b\n" + "".join(f"{i},50;{i}\n" for i in range(20)))
    release = shoal.microaggregate(shoal.read(source, quasi="b"), k=5, method="mdav", seed=9)
    release.save(tmp_path / "kept.csv")
    release.save(tmp_path / "shuffled.csv", shuffle=True)
    release.save(tmp_path / "again.csv", shuffle=True)
    kept, moved = ((tmp_path / f"{name}.csv").read_text().splitlines() for name in ("kept", "shuffled"))
    assert kept != moved and sorted(kept) == sorted(moved)
    assert moved[1].split(";")[0].endswith(",50")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "shuffled.csv").read_bytes()


# -- policies ------------------------------------------------------------------------------------


def test_policies_have_a_justification_and_known_checks() -> None:
    assert names()[0] == "default" and {"public", "scientific", "clinical-0.09"} <= set(names())
    for name in names():
        policy = policy_named(name)
        assert len(policy.justification) > 100 and policy.blocks <= set(JUDGED)
    assert not policy_named("default").blocks


def test_clinical_needs_twelve() -> None:
    for k, status in ((11, "block"), (12, "ok")):
        frame = people(66 if k == 11 else 72)
        gate = shoal.check(frame, protected(frame, k), quasi=QUASI, identifiers="name", k=k, policy="clinical-0.09")
        assert gate["maximum-risk"].status == status and gate["small-counts"].status == "ok"


def test_a_policy_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('title = "Own"\njustification = "Because."\nblocks = ["dominance"]\n[thresholds]\nk = 2\n')
    assert found(RELEASE, policy=path)["dominance"].status == "block"
    for text, match in (
        ("title = 1", "needs a title"),
        ('title = "a"\njustification = "b"\nblok = []', "did you mean 'blocks'"),
        ('title = "a"\njustification = "b"\nblocks = ["dominanc"]', "did you mean 'dominance'"),
        ('title = "a"\njustification = "b"\n[thresholds]\nk = "two"', "must be a number"),
        ('title = "a"\njustification = "b"\norder = "up"', "kept or shuffled"),
        ("title =", "not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(ShoalError, match=match):
            policy_named(path)
    with pytest.raises(UsageError, match="did you mean 'public'"):
        policy_named("publik")


# -- figures against slow twins ------------------------------------------------------------------


@st.composite
def tables(draw: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["grid", "normal", "offset", "text", "gaps"]))
    values: Any = rng.integers(0, 4, (n, 2)).astype(float)
    if kind in ("normal", "offset"):
        values = rng.normal(size=(n, 2)) + (1e9 if kind == "offset" else 0.0)
    frame = pl.DataFrame({"a": values[:, 0], "b": values[:, 1], "c": rng.integers(0, 3, n), "d": rng.normal(size=n)})
    if kind == "text":
        frame = frame.with_columns(pl.col("a").cast(pl.Int64).cast(pl.String))
    if kind == "gaps":
        frame = frame.with_columns(pl.when(pl.col("a") > 2).then(None).otherwise("a").alias("a"))
    groups = np.arange(n) // draw(st.integers(1, 4))
    after = frame.with_columns(frame["a"][groups.tolist()].alias("a"), frame["b"][groups.tolist()].alias("b"))
    return frame, after


@given(tables(), st.sampled_from(["equal", "ordered"]), st.sampled_from(["distinct", "entropy", "recursive"]))
def test_classes_l_and_t_agree_with_the_measures(both: Any, distance: str, kind: str) -> None:
    _, after = both
    alike = classes(after, ("a", "b"))
    rows = list(zip(after["a"].to_list(), after["b"].to_list(), strict=True))
    assert sorted(alike.sizes.tolist()) == sorted(rows.count(row) for row in set(rows))
    assert all((alike.labels[i] == alike.labels[j]) == (rows[i] == rows[j]) for i in range(len(rows)) for j in (0, -1))
    for name in ("c", "d"):
        codes = np.unique(after[name].to_numpy(), return_inverse=True)[1]
        assert farthest(alike, after[name], distance) == pytest.approx(t_closeness(alike.labels, codes, distance))
        expected = diversity_of(alike.labels, codes, kind, 2.0).min()
        assert diversity(alike, after[name], Diversity(2, kind, 2.0)) == pytest.approx(expected)


@given(tables())
def test_linkage_and_dominance_agree_with_loops(both: Any) -> None:
    before, after = both
    assume(before["a"].dtype == pl.Float64 and not before["a"].null_count())
    gate = shoal.check(before, after, quasi=["a", "b"])
    old, new = (frame.select("a", "b").to_numpy() for frame in both)
    scale = np.where(old.std(axis=0) > 0, old.std(axis=0), 1.0)
    chance, worst = 0.0, 0.0
    for i in range(len(old)):
        distance = np.sqrt((((old[i] - new) / scale) ** 2).sum(axis=1))
        near = distance <= distance.min() * (1 + 1e-9)
        chance += near[i] / near.sum()
        members = (new == new[i]).all(axis=1)
        for j in range(2):
            values = np.sort(np.abs(old[members, j]))
            if (old[:, j] != new[:, j]).any() and values.sum() > 0:
                worst = max(worst, values[-2:].sum() / values.sum())
    assume(np.unique(new, axis=0).shape[0] <= 8)  # beyond, ties of more classes than are told apart
    assert gate["distance-linkage"].figure == pytest.approx(chance / len(old), abs=2e-6)
    if gate["dominance"].threshold is not None:
        assert gate["dominance"].figure == pytest.approx(worst, abs=1e-4)


@given(tables(), st.integers(1, 5), st.booleans(), st.sampled_from(["default", "public", "scientific"]))
def test_any_pair_of_tables_gets_findings(both: Any, k: int, turned: bool, policy: str) -> None:
    before, after = both
    gate = shoal.check(before, after[::-1] if turned else after, quasi=["a", "b"], confidential="c", k=k, policy=policy)
    counts = after.group_by("a", "b").len()["len"]
    assert gate["joint-k"].figure == counts.min()
    assert (gate["joint-k"].status == "block") >= (counts.min() < k)
    assert gate.facts()["passed"] == (not gate.facts()["blocking"])


def test_a_sample_is_linked_with_its_error() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": np.sort(rng.normal(size=24_000))})
    release = frame.with_columns(pl.col("a").mean().over(pl.int_range(pl.len()) // 4))
    assert "standard error" in shoal.check(frame, release, k=4)["distance-linkage"].finding


# -- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "different"),
    [
        (pl.Series([0.0, 1.0, None]), pl.Series([-0.0, 1.0, float("nan")]), [True, False, False]),
        (pl.Series([1, 2, None]), pl.Series([1.0, 2.5, None]), [False, True, False]),
        (pl.Series([1, 2], dtype=pl.UInt8), pl.Series([1, 2], dtype=pl.Int64), [False, False]),
        (pl.Series([2**62, 2**62 + 1]), pl.Series([2**62, 2**62], dtype=pl.UInt64), [False, True]),
        (pl.Series([True, False]), pl.Series([1.0, 1.0]), [False, True]),
        (pl.Series(["a", None]), pl.Series([1.0, None]), [True, False]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), pl.Series(["a", "c"]), [False, True]),
        (pl.Series([0.1], dtype=pl.Float32), pl.Series([0.1]), [True]),
        (pl.Series([[1], [2]]), pl.Series([[1], [3]]), [False, True]),
    ],
)
def test_which_cells_differ(before: pl.Series, after: pl.Series, different: list[bool]) -> None:
    assert differing(before, after).tolist() == different


def test_blanks_of_statistical_formats() -> None:
    before, after = pl.Series(["a ", "", None]), pl.Series(["a", None, ""])
    assert differing(before, after).all()
    assert not differing(before, after, blanks=True).any()


def test_l_is_read_or_refused() -> None:
    assert read_diversity("3") == Diversity(3.0)
    assert read_diversity(["entropy", "2"]) == Diversity(2.0, "entropy")
    for wrong in ("many", ("entropy",), ("entropy", 1, 2), ("recursive", 2), 0):
        with pytest.raises(UsageError):
            read_diversity(wrong)
    with pytest.raises(UsageError, match="not protected"):
        Asked(quasi=("a",), column_groups=(("b",),))
    with pytest.raises(UsageError, match="confidential"):
        Asked(quasi=("a",), t=0.5)
