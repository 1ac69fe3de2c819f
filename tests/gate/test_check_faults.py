"""The release gate: every planted fault is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from planted import AS_IS, ORIGINAL, QUASI, RELEASE, ROLES, K, cell, found, protected, write
from shoal.errors import ShoalError


def test_a_group_of_k_less_one(tmp_path: Path, ending: str) -> None:
    apart = RELEASE.with_columns(pl.Series("age", [a + 1.0 if i == 7 else a for i, a in enumerate(RELEASE["age"])]))
    gate = found(apart, tmp_path, ending)
    assert gate["joint-k"].status == "block" and gate["joint-k"].figure == 1
    assert gate["known-k"].status == "block" and gate.figures.known.k == gate.figures.known.uniques == 1
    smaller = found(protected(ORIGINAL, K - 1), tmp_path, ending)
    assert smaller["joint-k"].status == "block" and smaller["joint-k"].figure == K - 1
    assert [f.check for f in smaller.blocking] == ["known-k", "joint-k"]


@pytest.mark.parametrize("column", ["age", "income", "town", "visits", "illness"])
def test_a_swapped_cell(tmp_path: Path, ending: str, column: str) -> None:
    values = RELEASE[column].to_list()
    other = next(i for i in range(1, 60) if values[i] != values[0])
    values[0], values[other] = values[other], values[0]
    gate = found(RELEASE.with_columns(pl.Series(column, values)), tmp_path, ending)
    expected = {"rows", "known-k", "joint-k"} if column in QUASI else {"untouched"}
    assert {f.check for f in gate.blocking} == expected


def test_a_leaked_identifier(tmp_path: Path, ending: str) -> None:
    gate = found(RELEASE.with_columns(ORIGINAL["name"]), tmp_path, ending)
    assert gate["identifiers"].status == "block" and "'name' is still in the release" in gate["identifiers"].finding


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
    gate = shoal.check(original, release, **(ROLES | {"identifiers": ["name", "number"]}))
    assert gate["identifiers"].status == "block"
    assert "'code' holds the values of 'number'" in gate["identifiers"].finding
    forgotten = shoal.check(original, RELEASE.with_columns(original["number"]), **ROLES)
    assert forgotten["looks-like-identifier"].status == forgotten["known-k"].status == "block"


def test_a_changed_untouched_column(tmp_path: Path, ending: str) -> None:
    gate = found(cell(RELEASE, "town", 11, "west"), tmp_path, ending)
    assert gate["untouched"].status == "block"
    assert "'town' differs in 1 cell, the first in row 12" in gate["untouched"].finding


def test_a_value_that_differs_in_its_last_bit(tmp_path: Path, ending: str) -> None:
    visits = RELEASE["visits"][5]
    gate = found(cell(RELEASE, "visits", 5, np.nextafter(visits, 1e9)), tmp_path, ending)
    assert gate["untouched"].figure == 1 and [f.check for f in gate.blocking] == ["untouched"]
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


@pytest.mark.parametrize(("steps", "near"), [(2, 1), (8, 1), (20, 0)])
def test_means_that_differ_in_several_steps_of_the_last_bit(steps: int, near: int) -> None:
    original = pl.DataFrame({"x": [4.0, 5.0, 6.0, 4.5, 5.0, 5.5, 6.5, 7.0, 7.5]})
    release = pl.DataFrame({"x": [5.0] * 3 + [5.0 + steps * float(np.spacing(5.0))] * 3 + [7.0] * 3})
    assert shoal.check(original, release, k=3)["float-residue"].figure == near


def test_two_members_that_make_up_a_total_dominate_it() -> None:
    original = pl.DataFrame({"x": [50.0, 40.0, 5.0, 5.0, 30.0, 30.0, 30.0, 30.0]})
    release = pl.DataFrame({"x": [25.0] * 4 + [30.0] * 4})
    finding = shoal.check(original, release, k=4)["dominance"]
    assert finding.status == "warn" and finding.figure == 0.9
    assert "more than 85 % of 1 group total (at most 90 % in 'x', the largest member alone 50 %)" in finding.finding


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "-A1"])
def test_a_formula(tmp_path: Path, ending: str, text: str) -> None:
    original = cell(ORIGINAL, "town", 3, text)
    gate = shoal.check(original, write(protected(original), tmp_path / f"r.{ending}"), **ROLES)
    assert gate["untouched"].status == "ok"
    assert gate["formulas"].status == "warn" and gate["formulas"].figure == 1
    assert "'town' (1 cell, the first in row 4)" in gate["formulas"].finding
    strict = shoal.check(original, tmp_path / f"r.{ending}", **ROLES, policy="scientific")
    assert strict["formulas"].status == "block"


@pytest.mark.parametrize("text", ["-5", "+3.2", "-1e5", "-1,234.5", "-", "- 7", "-12 %", "a=b", "x@y"])
def test_signed_numbers_are_not_formulas(text: str) -> None:
    original = cell(ORIGINAL, "town", 3, text)
    assert shoal.check(original, protected(original), **ROLES)["formulas"].status == "ok"


def test_a_formula_as_the_name_of_a_column() -> None:
    original, release = (frame.rename({"town": "=A1"}) for frame in (ORIGINAL, RELEASE))
    roles = ROLES | {"as_is": ["=A1", "visits"]}
    assert "the first line" in shoal.check(original, release, **roles)["formulas"].finding


def test_lost_doubled_and_swapped_rows(tmp_path: Path, ending: str) -> None:
    lost = found(RELEASE[1:], tmp_path, ending)
    assert lost["rows"].status == "block" and "1 row is missing" in lost["rows"].finding
    doubled = found(pl.concat([RELEASE, RELEASE[:1]]), tmp_path, ending)
    assert doubled["rows"].status == "block" and "1 row is too many" in doubled["rows"].finding
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
    assert f"{first.len()} records are in 1 class with a single value" in told["l"].finding
    assert "'gout'" in told["l"].finding
    for more in ({"l": 2}, {"l": ("entropy", 1.5)}, {"l": ("recursive", 3, 2)}, {"policy": "public"}):
        assert shoal.check(original, release, **ROLES, **more)["l"].status == "block"
    assert shoal.check(original, release, **ROLES, t=0.3)["t"].status == "block"
    assert shoal.check(original, release, **ROLES, l=1)["l"].status == "warn"


def test_a_column_of_group_numbers(tmp_path: Path, ending: str) -> None:
    groups = RELEASE["income"].rank("dense").cast(pl.Int64)
    gate = found(RELEASE.with_columns(groups.alias("cluster")), tmp_path, ending)
    assert gate["columns"].status == "block" and "'cluster'" in gate["columns"].finding
    assert "'cluster' has a different value in each group" in gate["traces"].finding
    shuffled = found(RELEASE.with_columns((groups * 7919 % 101).cast(pl.String).alias("c")), tmp_path, ending)
    assert "'c' has a different value in each group" in shuffled["traces"].finding


def test_an_index_in_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    RELEASE.to_pandas().set_index(pd.Index(np.arange(100, 160))).to_parquet(path)
    gate = shoal.check(ORIGINAL, path, **ROLES)
    assert gate["columns"].status == "block" and "__index_level_0__" in gate["columns"].finding
    assert "numbers the rows" in gate["traces"].finding and "'pandas'" in gate["traces"].finding
    RELEASE.with_row_index("row").write_csv(tmp_path / "r.csv")
    assert "'row' numbers the rows" in shoal.check(ORIGINAL, tmp_path / "r.csv", **ROLES)["traces"].finding
    backwards = RELEASE.with_columns(row=pl.int_range(pl.len(), 0, -1))
    assert "'row' numbers the rows" in shoal.check(ORIGINAL, backwards, **ROLES)["traces"].finding


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_metadata_that_disclose_the_seed_or_a_path(tmp_path: Path, ending: str) -> None:
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
    for policy in ("default", "public"):  # a median is somebody's value, but five records have it: no row stands out
        gate = shoal.check(bare, pl.DataFrame({"income": values}), k=5, policy=policy)
        assert gate["unchanged-cells"].figure == 12 / 60 and gate["unchanged-cells"].status == "warn"
        assert gate["unchanged-rows"].figure == 0 and gate["unchanged-rows"].status == "ok"
    one = found(cell(RELEASE, "income", 9, ORIGINAL["income"][9]))
    assert one["joint-k"].status == "block" and one["unchanged-rows"].figure == 0
    assert one["unchanged-cells"].figure == pytest.approx(1 / 120, abs=1e-6)  # one by chance, in two columns
    assert one["unchanged-cells"].status == "ok"
    row = cell(cell(RELEASE, "income", 9, ORIGINAL["income"][9]), "age", 9, float(ORIGINAL["age"][9]))
    for policy, status in (("default", "warn"), ("public", "block")):
        gate = found(row, policy=policy)
        assert gate["unchanged-rows"].figure == 1 and gate["unchanged-rows"].status == status
    equal = pl.DataFrame({"income": [3.0] * 6})
    assert shoal.check(equal, equal, quasi="income", k=6)["unchanged-rows"].figure == 0


def test_missing_cells_make_k_ambiguous(tmp_path: Path, ending: str) -> None:
    gaps = RELEASE["income"] == RELEASE["income"][0]
    release = RELEASE.with_columns(pl.when(gaps).then(None).otherwise("age").alias("age"))
    gate = found(release, tmp_path, ending)
    assert gate["joint-k"].status == "ok"
    assert gate["missing"].status == "warn" and gate["missing"].figure == K
    assert "and 1 if it differs from every other cell" in gate["missing"].finding
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
    roles = {"quasi": QUASI, "as_is": AS_IS, "k": K}
    lost = shoal.check(path, tmp_path / "out.csv", **roles)
    assert lost.passed and lost["labels"].status == "warn" and "'town'" in lost["labels"].finding
    assert shoal.check(path, tmp_path / "out.sav", **roles)["labels"].status == "ok"


def test_shifted_columns(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    lines = RELEASE.write_csv().splitlines()
    path.write_text("\n".join([lines[0], "Smith, " + lines[1], *lines[2:]]) + "\n")
    with pytest.raises(ShoalError, match="Record 2 .* 6 cells, but the first one has 5, so its columns are shifted"):
        shoal.check(ORIGINAL, path, **ROLES)
    path.write_text("\n".join([lines[0], *lines[1:9], lines[9].rsplit(",", 1)[0], *lines[10:]]) + "\n")
    with pytest.raises(ShoalError, match="Record 10 .* has 4 cells"):
        shoal.check(ORIGINAL, path, **ROLES)
    moved = RELEASE.with_columns(RELEASE["illness"].alias("town"), RELEASE["town"].alias("illness"))
    gate = found(moved)
    assert "'town' holds the values of 'illness': the columns are shifted" in gate["untouched"].finding
    turned = found(RELEASE.select(reversed(RELEASE.columns)))
    assert turned["columns"].status == "block"


def test_an_earlier_release(tmp_path: Path, ending: str) -> None:
    groups = (ORIGINAL["visits"].rank("ordinal") - 1) // K
    other = RELEASE.with_columns(ORIGINAL.select(pl.col(QUASI).mean().over(groups)))
    both = RELEASE.with_columns(other["age"].alias("age before"), other["income"].alias("income before"))
    least = both.group_by(*QUASI, "age before", "income before").len()["len"].min()
    gate = found(RELEASE, tmp_path, ending, previous=write(other, tmp_path / f"earlier.{ending}"))
    assert gate["previous"].status == "warn" and gate["previous"].figure == least < K
    strict = found(RELEASE, tmp_path, ending, previous=tmp_path / f"earlier.{ending}", policy="scientific")
    assert strict["previous"].status == "block"
    assert found(RELEASE, previous=RELEASE)["previous"].status == "ok"
    assert found(RELEASE, previous=RELEASE)["previous"].figure == K


def test_an_earlier_release_of_other_rows_in_another_order() -> None:
    groups = (ORIGINAL["visits"].rank("ordinal") - 1) // K
    other = RELEASE.with_columns(ORIGINAL.select(pl.col(QUASI).mean().over(groups)))
    for earlier, records in ((other[::-1], 60), (other[1:], 59), (other[::-1][:40], 40)):
        gate = found(RELEASE, previous=earlier)["previous"]
        assert gate.status == "warn" and gate.figure == 1
        assert f"can join {records} records to the earlier release by the columns town, visits" in gate.finding
    same = found(RELEASE, previous=RELEASE[::-1])["previous"]
    assert same.status == "ok" and same.figure == K
    for new in (1, 5):  # records that the earlier release did not hold hide only behind each other
        gate = found(RELEASE, previous=RELEASE[new:])["previous"]
        assert gate.status == "warn" and gate.figure == RELEASE[:new].group_by(QUASI).len()["len"].min()
    for apart in (other.select(QUASI)[::-1], other.select(QUASI)[1:]):  # nothing exact in common
        gate = found(RELEASE, previous=apart)["previous"]
        assert gate.status == "warn" and "not measured" in gate.finding


def test_exact_means_of_two_or_three() -> None:
    release = protected(ORIGINAL, 3)
    gate = shoal.check(ORIGINAL, release, **(ROLES | {"k": 3}))
    assert gate["exact-means"].status == "warn" and gate["exact-means"].figure == 20
    whole = ORIGINAL.select(pl.col("age"), pl.col("income").round(0))
    rounded = protected(whole.with_columns(pl.lit("x").alias("name")), 3).select(pl.all().round(0))
    assert shoal.check(whole, rounded, k=3)["exact-means"].status == "ok"
    assert found(RELEASE)["exact-means"].status == "ok"
