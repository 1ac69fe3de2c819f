"""A release is judged as a file: what an intruder finds in every column that leaves the house.

Each test is a release that kept its promise about the named columns and leaked all the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import attempt, run
from shoal.errors import PromiseError, ShoalWarning

SURVEY = Path(__file__).parents[2] / "examples" / "survey.csv"
NUMBERS = ["age", "hours", "income", "expenses", "wealth"]
LABELS = ["district", "sex", "education"]
ORDER = "education=primary,secondary,vocational,bachelor,master,doctorate"
FORMATS = ["csv", "parquet", "arrow", "sav"]


@pytest.fixture(scope="module")
def survey() -> pl.DataFrame:
    """A part of the survey: large enough for every leak, small enough for many runs."""
    return pl.read_csv(SURVEY).head(600)


def written(frame: pl.DataFrame, folder: Path, ending: str = "csv") -> Path:
    path = folder / f"original.{ending}"
    if ending == "parquet":
        frame.write_parquet(path)
    elif ending == "arrow":
        frame.write_ipc(path)
    elif ending in ("sav", "dta"):
        import pyreadstat

        getattr(pyreadstat, f"write_{ending}")(frame.to_pandas(), str(path))
    else:
        frame.write_csv(path)
    return path


def microaggregate(path: Path, out: Path, *more: Any, code: int = 0) -> Any:
    return run("microaggregate", path, "-k", 5, "--method", "mdav", "-o", out, *more, code=code)


@pytest.mark.parametrize("ending", FORMATS)
def test_columns_without_a_role_break_k_and_nothing_is_written(
    survey: pl.DataFrame, tmp_path: Path, ending: str
) -> None:
    path, out = written(survey, tmp_path, ending), tmp_path / f"out.{ending}"
    roles = ["--identifiers", "name", "--quasi", ",".join(NUMBERS), "--confidential", "diagnosis"]
    result = microaggregate(path, out, *roles, code=1)
    assert not out.exists()
    message = result.stderr
    assert (
        "Nothing was written. 3 columns have no role and would be released unchanged: district, sex, education."
        in message
    )
    assert (
        "k is 1 instead of 5" in message
        and "The columns that add most are" in message
        and "shoal look FILE --save-roles" in message
    )
    shown = json.loads(microaggregate(path, out, *roles, "--json", code=1).stdout)
    assert shown["written"] is False and not out.exists()
    figures = shown["figures"]
    assert figures["protected"]["k"] >= 5 and figures["protected"]["uniques"] == 0
    assert figures["known"]["k"] == 1 and figures["known"]["uniques"] > 500 and figures["known"]["linked"] > 0.9
    assert figures["released"]["uniques"] >= figures["known"]["uniques"]
    assert shown["check_cpu_seconds"] > 0 and "cpu_seconds" in shown


def test_without_a_file_the_same_is_a_warning(survey: pl.DataFrame, tmp_path: Path) -> None:
    path = written(survey, tmp_path)
    result = run("microaggregate", path, "-k", 5, "--method", "mdav", "--identifiers", "name", "--quasi", "age,income")
    assert "Warning:" in result.stderr and "have no role" in result.stderr
    release = shoal.microaggregate(shoal.read(survey, identifiers="name", quasi=["age", "income"]), k=5, method="mdav")
    with pytest.warns(ShoalWarning, match="have no role"):
        _ = release.table
    _ = release.table  # once
    with pytest.raises(PromiseError, match="Nothing was written"):
        release.save(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_every_column_protected_is_written(survey: pl.DataFrame, tmp_path: Path) -> None:
    path, out = written(survey, tmp_path), tmp_path / "out.csv"
    result = microaggregate(
        path, out, "--identifiers", "name", "--confidential", "diagnosis", "--order", ORDER, "--json"
    )
    shown = json.loads(result.stdout)
    assert shown["written"] is True and shown["figures"]["known"]["k"] >= 5
    assert shown["columns"] == [c for c in survey.columns if c not in ("name", "diagnosis")]
    after = pl.read_csv(out)
    assert after.select(shown["columns"]).group_by(shown["columns"]).len()["len"].min() >= 5
    assert "district" in shown["per_column"] and 0 <= shown["per_column"]["district"]["changed"] < 0.5


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_generalized_labels_beside_exact_numbers(survey: pl.DataFrame, tmp_path: Path, ending: str) -> None:
    path, out = written(survey, tmp_path, ending), tmp_path / f"out.{ending}"
    quasi = ["--identifiers", "name", "--quasi", "district,sex,education,age", "--effort", "quick"]
    result = run("generalize", path, "-k", 5, *quasi, "-o", out, "--json", code=1)
    shown = json.loads(result.stdout)
    assert shown["figures"]["protected"]["k"] >= 5 and shown["figures"]["known"]["uniques"] == 600
    assert not out.exists() and "income" in result.stderr


@pytest.mark.parametrize("policy", ["default", "scientific", "public", "clinical-0.09"])
def test_forgotten_identifiers_block_under_every_policy(survey: pl.DataFrame, tmp_path: Path, policy: str) -> None:
    path, out = written(survey, tmp_path), tmp_path / "out.csv"
    quasi = ["--quasi", ",".join([*NUMBERS, *LABELS]), "--confidential", "diagnosis", "--policy", policy, "--shuffle"]
    result = microaggregate(path, out, *quasi, code=1)
    assert "'name' looks like an identifier" in result.stderr and "--identifiers name" in result.stderr
    assert not out.exists()


def test_an_identifier_among_columns_without_a_role_is_not_averaged(survey: pl.DataFrame, tmp_path: Path) -> None:
    numbered = survey.drop("name").with_columns(pl.Series("case_id", np.random.default_rng(1).permutation(600) + 1))
    result = attempt("microaggregate", written(numbered, tmp_path), "-k", 5, "--confidential", "diagnosis")
    assert result.exit_code == 2 and "'case_id' has no role and looks like an identifier" in result.stderr


def test_no_identifier_named_is_never_ok(survey: pl.DataFrame) -> None:
    frame = survey.select(NUMBERS)
    found = shoal.check(frame, frame, quasi=NUMBERS)
    assert found["identifiers"].status == "info"


@pytest.mark.parametrize("policy", ["default", "scientific", "public", "clinical-0.09"])
def test_the_original_as_its_own_release_fails_every_policy(survey: pl.DataFrame, policy: str) -> None:
    everything = shoal.check(survey, survey, policy=policy)
    assert not everything.passed
    without_names = survey.drop("name", "diagnosis")
    for roles in ({}, {"quasi": NUMBERS}, {"quasi": NUMBERS, "no_unit": True}):
        given = {name: value for name, value in roles.items() if name != "no_unit"}
        unit = {"unit": False} if "no_unit" in roles else {}
        found = shoal.check(without_names, without_names, policy=policy, no_confidential=True, **given, **unit)
        assert not found.passed and found["known-k"].status == "block"


def test_a_raw_file_with_some_swapped_districts_is_refused(survey: pl.DataFrame) -> None:
    rng = np.random.default_rng(3)
    rows = rng.choice(600, 40, replace=False)
    district = survey["district"].to_numpy().copy()
    district[rows[:20]], district[rows[20:]] = district[rows[20:]].copy(), district[rows[:20]].copy()
    swapped = survey.drop("name").with_columns(pl.Series("district", district))
    found = shoal.check(survey, swapped, identifiers="name", swapped=["district"], policy="clinical-0.09")
    assert not found.passed and found["known-k"].status == "block" and found["maximum-risk"].status == "block"
    assert found.figures.known.uniques == 600


def test_a_mask_is_written_only_with_an_accepted_k(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    n = 3000
    district = rng.integers(0, 20, n)
    soldier = rng.random(n) < np.where(district == 3, 0.5, 0.02)
    frame = pl.DataFrame(
        {
            "district": [f"d{d:02}" for d in district],
            "job": np.where(soldier, "army", rng.choice(["a", "b"], n)),
            "age": rng.integers(18, 60, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    path, out = written(frame, tmp_path), tmp_path / "out.csv"
    mask = ["mask", path, "--vital", "job=army", "--parameter", "district", "--influential", "age,sex", "--budget", 20]
    result = run(*mask, "-o", out, code=1)
    assert "--accept-k" in result.stderr or "have no role" in result.stderr
    assert not out.exists()
    run(*mask, "-o", out, "--accept-k", 1)
    assert out.exists()


def test_saying_less_never_passes_a_policy_on_l(survey: pl.DataFrame, tmp_path: Path) -> None:
    path, out = written(survey, tmp_path), tmp_path / "out.csv"
    common = ["--identifiers", "name", "--policy", "public", "--shuffle", "--first-release", "--quasi"]
    columns = ",".join([*NUMBERS, *LABELS])
    named = attempt("microaggregate", path, "-k", 11, "--method", "mdav", *common, columns, "--confidential",
                    "diagnosis", "-o", out)  # fmt: skip
    silent = attempt("microaggregate", path, "-k", 11, "--method", "mdav", *common, columns, "-o", out)
    assert named.exit_code in (0, 1) and silent.exit_code == 1
    assert "no confidential column is named" in silent.stderr.lower()


LEAKS = {
    "contribution": lambda income: (income * 0.186).round(2),
    "logarithm": lambda income: np.log(income + 1.0),
    "tax": lambda income: np.where(income < 12_000, 0, np.where(income < 40_000, (income - 12_000) * 0.2,
                                                              5_600 + (income - 40_000) * 0.4)).round(0),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*LEAKS, "total"])
@pytest.mark.parametrize("role", ["--confidential", "--as-is"])
def test_a_released_column_that_gives_a_protected_value_away(
    survey: pl.DataFrame, tmp_path: Path, kind: str, role: str
) -> None:
    income = survey["income"].to_numpy().astype(float)
    other = np.random.default_rng(7).lognormal(9, 0.6, 600).round(0)
    if kind == "total":
        extra = {"other": other, "total": income + other}
    else:
        extra = {"extra": LEAKS[kind](income)}
    frame = survey.with_columns(pl.Series(name, values) for name, values in extra.items())
    path, out = written(frame, tmp_path), tmp_path / "out.csv"
    roles = ["--identifiers", "name", "--quasi", ",".join([*NUMBERS, *LABELS]), "--no-unit"]
    unchanged = ["--confidential", "diagnosis"] if role == "--as-is" else []
    named = ",".join(["diagnosis", *extra] if role == "--confidential" else extra)
    result = microaggregate(path, out, *roles, *unchanged, role, named, code=1)
    assert "give" in result.stderr and "'income' away" in result.stderr and not out.exists()
    first = "total" if kind == "total" else "extra"
    assert "--accept-derived" in result.stderr
    microaggregate(path, out, *roles, *unchanged, role, named, "--accept-derived", ",".join(extra))
    assert first in pl.read_csv(out).columns


def test_a_derived_column_is_protected_along(survey: pl.DataFrame, tmp_path: Path) -> None:
    frame = survey.with_columns((pl.col("income") * 0.186).round(2).alias("contribution"))
    path, out = written(frame, tmp_path), tmp_path / "out.csv"
    roles = ["--identifiers", "name", "--quasi", ",".join([*NUMBERS, *LABELS]), "--confidential", "diagnosis"]
    microaggregate(path, out, *roles, "--derived", "contribution=income")
    after = pl.read_csv(out)
    assert after.group_by([*NUMBERS, *LABELS, "contribution"]).len()["len"].min() >= 5


def test_independent_noise_gives_nothing_away(survey: pl.DataFrame, tmp_path: Path) -> None:
    noise = np.random.default_rng(8).normal(100, 20, 600)
    frame = survey.with_columns(pl.Series("noise", noise))
    roles = ["--identifiers", "name", "--quasi", ",".join([*NUMBERS, *LABELS]), "--confidential", "diagnosis,noise"]
    microaggregate(written(frame, tmp_path), tmp_path / "out.csv", *roles)


def test_a_panel_counts_persons_not_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    persons = np.repeat(np.arange(100), 6)
    base = rng.normal(40, 10, 100)
    frame = pl.DataFrame(
        {
            "pid": persons + 1000,
            "wave": np.tile(np.arange(6), 100).astype(str),
            "age": (base[persons] + rng.normal(0, 0.1, 600)).round(1),
            "income": (1000 * base[persons] + rng.normal(0, 50, 600)).round(0),
        }
    ).sample(600, shuffle=True, seed=1)
    path, out = written(frame, tmp_path), tmp_path / "out.csv"
    quasi = ["--quasi", "age,income,wave"]
    refused = microaggregate(path, out, *quasi, "--drop", "pid", code=1)
    assert "--unit pid" in refused.stderr and "--no-unit" in refused.stderr
    shown = json.loads(microaggregate(path, out, *quasi, "--unit", "pid", "--json").stdout)
    assert shown["figures"]["known"]["k"] >= 5 and "pid" not in pl.read_csv(out).columns
    rows = pl.read_csv(out).with_columns(frame["pid"])
    assert rows.group_by("age", "income", "wave").agg(pl.col("pid").n_unique())["pid"].min() >= 5


def test_five_rows_of_one_person_are_not_five_people() -> None:
    frame = pl.DataFrame({"pid": [1] * 5 + [2, 3, 4, 5, 6], "age": [30.0] * 5 + [50.0] * 5})
    found = shoal.check(frame, frame.drop("pid"), quasi="age", unit="pid", k=5)
    assert found.figures.known.k == 1 and found["known-k"].status == "block"


def test_two_releases_side_by_side_give_the_original(survey: pl.DataFrame, tmp_path: Path) -> None:
    path = written(survey, tmp_path)
    numbers, labels = tmp_path / "numbers.csv", tmp_path / "labels.csv"
    common = ["--identifiers", "name", "--confidential", "diagnosis"]
    microaggregate(path, numbers, *common, "--quasi", ",".join(NUMBERS), "--as-is", ",".join(LABELS))
    generalized = ["generalize", path, "-k", 5, *common, "--quasi", ",".join(LABELS), "--as-is", ",".join(NUMBERS),
                   "--effort", "quick", "-o", labels]  # fmt: skip
    run(*generalized)
    labels.unlink()
    result = run(*generalized, "--previous", numbers)
    assert "previous" in result.stderr and "the smallest class has 1 record" in result.stderr.replace("\n", " ")
    labels.unlink()
    blocked = run(*generalized, "--previous", numbers, "--policy", "scientific", code=1)
    assert "earlier release" in blocked.stderr and not labels.exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_sorted_file_is_refused_unless_it_is_shuffled_or_its_order_is_accepted(
    survey: pl.DataFrame, tmp_path: Path, ending: str
) -> None:
    path, out = written(survey.sort("income"), tmp_path, ending), tmp_path / f"out.{ending}"
    roles = ["--identifiers", "name", "--confidential", "diagnosis"]
    result = microaggregate(path, out, *roles, code=1)
    assert "row order follows 'income'" in result.stderr and "--shuffle" in result.stderr and not out.exists()
    microaggregate(path, out, *roles, "--keep-order")
    out.unlink()
    microaggregate(path, out, *roles, "--shuffle")
    assert out.exists()


def test_the_order_of_a_shuffled_file_is_secret_and_repeats_from_the_recipe(
    survey: pl.DataFrame, tmp_path: Path
) -> None:
    path = written(survey, tmp_path)
    roles = ["--identifiers", "name", "--confidential", "diagnosis", "--shuffle"]
    first, second, again = (tmp_path / f"{name}.csv" for name in ("first", "second", "again"))
    recipe = tmp_path / "internal.toml"
    microaggregate(path, first, *roles, "--save-recipe", recipe)
    microaggregate(path, second, *roles)
    assert first.read_bytes() != second.read_bytes()
    assert sorted(first.read_text().splitlines()) == sorted(second.read_text().splitlines())
    assert recipe.read_text().startswith("# INTERNAL") and "secret" in recipe.read_text()
    run("run", recipe, "-o", again)
    assert again.read_bytes() == first.read_bytes()
    checked = run("check", path, first, "--recipe", recipe)
    assert "No guarantee is broken" in checked.stdout
    typed = microaggregate(path, again.with_name("typed.csv"), *roles, "--seed", 4)
    assert "depend on a seed that you typed" in typed.stderr


def test_accept_k_never_overrides_a_policy(survey: pl.DataFrame, tmp_path: Path) -> None:
    path, out = written(survey, tmp_path), tmp_path / "out.csv"
    roles = ["--identifiers", "name", "--confidential", "diagnosis", "--quasi", ",".join(NUMBERS)]
    microaggregate(path, out, *roles, "--accept-k", 1, "--policy", "scientific", code=1)
    assert not out.exists()
    recipe = tmp_path / "r.toml"
    microaggregate(path, out, *roles, "--accept-k", 1, "--save-recipe", recipe)
    assert out.exists() and "accept_k = 1" in recipe.read_text()


def test_patterns_and_a_roles_file(survey: pl.DataFrame, tmp_path: Path) -> None:
    wide = survey.with_columns(*(pl.Series(f"q{i}", np.random.default_rng(i).integers(0, 9, 600)) for i in range(12)))
    path, out = written(wide, tmp_path), tmp_path / "out.csv"
    roles = tmp_path / "roles.toml"
    roles.write_text(
        '[identifiers]\ncolumns = ["name"]\n[confidential]\ncolumns = ["diagnosis"]\n'
        '[as-is]\ncolumns = ["q*"]\nreason = "answers that only the respondent knows"\n[quasi]\n'
        f"columns = {json.dumps([*NUMBERS, *LABELS])}\n"
        '[order]\neducation = ["primary", "secondary", "vocational", "bachelor", "master", "doctorate"]\n'
    )
    shown = json.loads(microaggregate(path, out, "--roles", roles, "--json").stdout)
    assert shown["figures"]["known"]["k"] >= 5 and shown["figures"]["released"]["k"] == 1
    out.unlink()
    refused = microaggregate(path, out, "--roles", roles, "--policy", "public", "--shuffle", "--first-release", code=1)
    assert "named by a pattern" in refused.stderr


def test_two_hundred_columns_without_a_role(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({f"c{i}": rng.integers(0, 4, 2000) for i in range(200)})
    quasi = ["c0", "c1"]
    release = shoal.microaggregate(shoal.read(frame, quasi=quasi, numeric=quasi), k=5, method="mdav")
    with pytest.raises(PromiseError, match="198 columns have no role"):
        release.save(tmp_path / "out.csv")
