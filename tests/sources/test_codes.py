"""Codes, booleans and identifiers are not averaged without a word, in every format and command that averages."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pyreadstat
import pytest

from command_line import run

N, K = 60, 3
FORMATS = ["csv", "tsv", "csv.gz", "parquet", "arrow", "sav", "zsav", "dta"]
COMMANDS = [["microaggregate", "--method", "mdav"], ["group", "--method", "univariate"]]
COMPARED = ["csv", "parquet", "sav"]  # it runs every method
CALLS = [*((command, ending) for command in COMMANDS for ending in FORMATS), *((["compare"], e) for e in COMPARED)]
LABELS = {"sex": {1: "man", 2: "woman"}, "job": {1: "clerk", 2: "cook"}, "top": {90: "ninety and more"}}


def put(folder: Path, ending: str, kind: type[pl.DataType] = pl.Float64) -> Path:
    """Records with a number per row, codes, 0 and 1, and quantities; value labels where the format has them."""
    rng, path = np.random.default_rng(6), folder / f"in.{ending}"
    frame = pl.DataFrame(
        {
            "id": np.arange(1, N + 1), "sex": rng.integers(1, 3, N), "job": rng.integers(1, 16, N),
            "flag": rng.integers(0, 2, N), "top": rng.integers(18, 91, N), "age": rng.integers(18, 90, N),
        }
    ).cast(kind)  # fmt: skip
    if ending in ("sav", "zsav", "dta"):
        whole = frame.with_columns(pl.col(*LABELS).cast(pl.Int32))
        writer = pyreadstat.write_dta if ending == "dta" else pyreadstat.write_sav
        writer(whole, str(path), variable_value_labels=LABELS)
    elif ending == "parquet":
        frame.write_parquet(path)
    elif ending == "arrow":
        frame.write_ipc(path)
    else:
        text = frame.write_csv(separator="\t" if ending == "tsv" else ";").encode()
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    return path


def told(*arguments: object, code: int = 0) -> str:
    return " ".join(run(*arguments, code=code).output.split())


@pytest.mark.parametrize(("command", "ending"), CALLS)
def test_numbers_of_the_rows_are_averaged_with_a_word(tmp_path: Path, command: list[str], ending: str) -> None:
    path, word = put(tmp_path, ending), "Some quasi-identifiers look like identifiers: id (the numbers are 1 to 60"
    assert word in told(*command, path, "-k", K, "--quasi", "id,age")
    assert "look like" not in told(*command, path, "-k", K, "--quasi", "id,age", "--numeric", "id,age")


@pytest.mark.parametrize("kind", [pl.Int64, pl.String, pl.Decimal(10, 2)])
def test_numbers_of_the_rows_in_other_types(tmp_path: Path, kind: type[pl.DataType]) -> None:
    path = put(tmp_path, "parquet", kind)
    assert "look like identifiers: id" in told("microaggregate", path, "-k", K, "--method", "mdav", "--quasi", "id,age")


@pytest.mark.parametrize(("command", "ending"), CALLS)
def test_columns_of_0_and_1_are_averaged_with_a_word(tmp_path: Path, command: list[str], ending: str) -> None:
    path = put(tmp_path, ending)
    word = "Warning: Columns of 0 and 1 may be codes, but Shoal averages them as numbers: flag."
    assert word in told(*command, path, "-k", K, "--quasi", "flag,age")
    assert "may be codes" not in told(*command, path, "-k", K, "--quasi", "flag,age", "--numeric", "flag")


@pytest.mark.parametrize(("command", "ending"), [call for call in CALLS if call[1] in ("sav", "zsav", "dta")])
def test_codes_of_which_some_have_labels_are_averaged_with_a_word(
    tmp_path: Path, command: list[str], ending: str
) -> None:
    path = put(tmp_path, ending)
    assert "of which some have value labels may be codes, but Shoal averages them as numbers: job." in told(
        *command, path, "-k", K, "--quasi", "job,age"
    )
    assert "may be codes" not in told(*command, path, "-k", K, "--quasi", "job,age", "--numeric", "job")
    assert "may be codes" not in told(*command, path, "-k", K, "--quasi", "top,age"), "one label is that of a bound"


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta"])
def test_codes_that_all_have_labels_are_not_averaged(tmp_path: Path, ending: str) -> None:
    path, out = put(tmp_path, ending), tmp_path / f"out.{ending}"
    shown = ["-k", K, "--quasi", "sex,age"]
    assert "--nominal sex if they have no order, --order sex=" in told("microaggregate", path, *shown, code=2)
    assert "codes with value labels, which have no mean" in told("group", path, *shown, code=2)
    for way in (["--nominal", "sex"], ["--order", "sex=codes"], ["--order", "sex=woman,man"]):
        told("microaggregate", path, *shown, *way, "--as-is", "id,job,flag,top", "--accept-k", 1, "-o", out)
        out.unlink()
    told("group", path, *shown, "--numeric", "sex")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_booleans_are_not_averaged(tmp_path: Path, ending: str) -> None:
    rng, path, out = np.random.default_rng(2), tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    frame = pl.DataFrame({"flag": rng.integers(0, 2, N) == 1, "age": rng.integers(18, 90, N)})
    frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    told("microaggregate", path, "-k", K, "--method", "mdav", "-o", out)
    assert (pl.read_parquet(out) if ending == "parquet" else pl.read_ipc(out))["flag"].dtype == pl.Boolean
    refused = told("group", path, "-k", K, "--quasi", "flag,age", code=2)
    assert "booleans (true or false), which have no mean" in refused and "--drop flag" in refused


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "sav"])
def test_numbers_and_words_in_one_column(tmp_path: Path, command: list[str], ending: str) -> None:
    """The message names the row and every way out, and each way it names can be taken."""
    ages = [str(a) for a in np.random.default_rng(3).integers(18, 90, N)]
    ages[4] = "ninety plus"
    frame, path = pl.DataFrame({"age": ages, "pay": np.arange(N) % 7 * 1.5}), tmp_path / f"in.{ending}"
    if ending == "sav":
        pyreadstat.write_sav(frame, str(path))
    elif ending == "parquet":
        frame.write_parquet(path)
    else:
        text = frame.write_csv(separator="\t" if ending == "tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    shown = [*command, path, "-k", K, "--quasi", "age,pay"]
    refused = told(*shown, code=2)
    assert "'ninety plus' in row 5" in refused
    for way in ("--nominal age", "--order age=", "--drop age"):
        assert way in refused
    assert "If they are mistakes, correct the file" in refused
    told("microaggregate", path, "-k", K, "--method", "mdav", "--quasi", "age,pay", "--nominal", "age")
    told(*command, path, "-k", K, "--quasi", "pay", "--drop", "age")
