"""`shoal.suppress` and `shoal suppress`: the release, its facts, its files and its messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import main
from shoal.errors import InputError, PromiseError, UsageError
from shoal.gate.promises import EverySubset, KAnonymity, KOfStars, OnlyStars

QUASI = ("age", "town", "sex")


def people(n: int = 240) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    born = rng.integers(0, 12, n)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 50, n),
            "income": rng.lognormal(10, 0.5, n).round(1),
            "town": rng.choice(["a", "b", "c", "dd"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "sex": rng.choice(["f", "m"], n),
            "born": pl.Series(born).cast(pl.Int32).cast(pl.Date),
            "member": rng.random(n) < 0.3,
            "illness": rng.choice(["none", "flu"], n),
        }
    )


def table(*quasi: str) -> Any:
    frame = people()
    drop = [name for name in frame.columns if name not in (*quasi, "illness")]
    return shoal.read(frame, quasi=quasi, confidential=["illness"], drop=drop)


def classes(frame: pl.DataFrame, columns: Any) -> int:
    return int(frame.group_by(columns).len()["len"].min())  # type: ignore[arg-type]


def test_every_class_has_k_records_and_every_other_cell_is_original() -> None:
    release = shoal.suppress(table(*QUASI), 5, effort="quick", seed=2)
    after, facts, before = release.table, release.facts, people()
    assert classes(after, QUASI) == facts["k_value"] >= 5 and facts["k_wildcard"] >= facts["k_value"]
    stars = {name: int((after[name].cast(pl.String) == "*").sum()) for name in QUASI}
    assert facts["by_column"] == stars and facts["suppressed_cells"] == sum(stars.values()) > 0
    assert facts["suppressed_share"] == pytest.approx(sum(stars.values()) / (3 * before.height), abs=1e-6)
    assert facts["lower_bound"] <= facts["suppressed_cells"]
    for name in QUASI:
        same = (after[name].cast(pl.String) == before[name].cast(pl.String)) | (after[name].cast(pl.String) == "*")
        assert same.all()
    assert after["illness"].equals(before["illness"])
    assert release.promises == (KAnonymity(QUASI, 5), KOfStars(QUASI, 5), OnlyStars(QUASI))
    again = shoal.suppress(table(*QUASI), 5, effort="quick", seed=2, threads=2)
    assert again.table.equals(after)


@pytest.mark.parametrize(
    "options, promise",
    [
        ({"star": "wildcard"}, KOfStars(QUASI, 4, "wildcard")),
        ({"subsets": 2}, EverySubset(QUASI, 2, 4)),
    ],
)
def test_weaker_guarantees_are_verified_and_need_consent(options: dict[str, Any], promise: Any, tmp_path: Path) -> None:
    release = shoal.suppress(table(*QUASI), 4, effort="quick", **options)
    assert promise in release.promises and release.k is None
    release.verify()
    with pytest.raises(PromiseError, match="--accept-k"):
        release.save(tmp_path / "release.csv")
    assert release.save(tmp_path / "release.csv", accept_k=1).findings["known-k"].status == "warn"
    strict = shoal.suppress(table(*QUASI), 4, effort="quick")
    assert release.facts["suppressed_cells"] < strict.facts["suppressed_cells"]
    if "subsets" in options:
        assert release.facts["rare_combinations"] == 0
    else:
        assert release.facts["k_wildcard"] >= 4


def test_sets_keep_k_one_by_one() -> None:
    sets = [["age", "sex"], ["town", "sex"]]
    release = shoal.suppress(table(*QUASI), 6, effort="quick", sets=sets)
    assert all(classes(release.frame, chosen) >= 6 for chosen in sets)
    assert KAnonymity(("age", "sex"), 6, group=True) in release.promises
    release.verify()
    assert release.facts["suppressed_cells"] >= release.facts["lower_bound"]


def test_importance_moves_the_stars_and_never_forbids_them() -> None:
    dear = shoal.suppress(table(*QUASI), 4, effort="quick", importance={"age": 20.0})
    cheap = shoal.suppress(table(*QUASI), 4, effort="quick", importance={"age": 0.05})
    assert dear.facts["by_column"]["age"] < cheap.facts["by_column"]["age"]
    cost = sum(count * (20 if name == "age" else 1) for name, count in dear.facts["by_column"].items())
    assert dear.facts["cost"] == cost >= dear.facts["lower_bound"]
    none = shoal.suppress(table(*QUASI), 4, effort="quick", importance={"sex": "never"})
    assert none.facts["by_column"]["sex"] == 0 and none.table["sex"].equals(people()["sex"])


def test_strata_are_files_of_their_own() -> None:
    data = shoal.read(people().select("age", "town", "sex", "illness"), quasi=["age", "town"], confidential="illness")
    release = shoal.suppress(data, 4, effort="quick", within=["sex"])
    assert classes(release.table, QUASI) >= 4 and release.table["sex"].equals(people()["sex"])
    assert release.within == ("sex",) and release.facts["d"] == 2
    few = people().with_columns(sex=pl.Series(["x"] * 3 + ["f"] * 237))
    with pytest.raises(InputError, match="1 of 2 combinations of sex, which are never starred, have fewer than k = 4"):
        shoal.suppress(shoal.read(few, quasi=["age", "town"]), 4, within=["sex"])


def test_columns_with_stars_are_text_that_other_programs_read(tmp_path: Path) -> None:
    names = ("age", "born", "member", "income")
    frame = people().with_columns(pl.when(pl.col("age") < 23).then(None).otherwise(pl.col("income")).alias("income"))
    data = shoal.read(frame.select(*names), quasi=names)
    release = shoal.suppress(data, 3, effort="quick")
    saved = release.save(tmp_path / "release.csv")
    texts = pd.read_csv(saved, dtype=str, keep_default_na=False)
    assert texts.groupby(list(names)).size().min() >= 3
    counts = duckdb.sql(f"select count(*) as c from read_csv('{saved}', all_varchar=true) group by all").fetchall()
    assert min(count for (count,) in counts) >= 3
    starred = texts["income"] == "*"
    assert (starred.sum(), (texts["born"] == "*").sum()) == (
        release.facts["by_column"]["income"], release.facts["by_column"]["born"],
    )  # fmt: skip
    gone = frame["income"].is_null().to_numpy()
    assert ((texts["income"] == "") <= gone).all()  # missing cells stay missing, or are starred
    numbers = pd.read_csv(saved, na_values="*")["age"]
    assert (numbers.dropna() == frame["age"].to_pandas()[numbers.notna()]).all()
    assert set(texts["born"]) <= {"*", *(day.isoformat() for day in frame["born"].to_list())}
    assert set(texts["member"]) <= {"*", "true", "false"}


def test_missing_is_a_value_of_its_own_or_dropped() -> None:
    holed = people().with_columns(pl.when(pl.col("age") < 25).then(None).otherwise(pl.col("town")).alias("town"))
    data = shoal.read(holed.select("town", "sex"), quasi=["town", "sex"])
    assert classes(shoal.suppress(data, 4, effort="quick").table, ["town", "sex"]) >= 4
    with pytest.warns(match="rows were dropped"):
        dropped = shoal.suppress(data, 4, effort="quick", missing="drop")
    assert dropped.facts["n"] == holed["town"].drop_nulls().len()
    with pytest.raises(InputError, match="missing"):
        shoal.suppress(data, 4, missing="error")


@pytest.mark.parametrize(
    "options, words",
    [
        ({"importance": {"aeg": 2.0}}, "aeg"),
        ({"importance": {"age": 0.0}}, "must be a number above 0 or never"),
        ({"star": "wildcard", "subsets": 2}, "--star wildcard and --subsets cannot be combined"),
        ({"sets": [["age"]], "subsets": 2}, r"sets \(--set\) and subsets cannot be combined"),
        ({"subsets": 4}, "--subsets must be between 1 and 3"),
        ({"sets": [[]]}, "A set of columns is empty"),
        ({"within": ["nothing"]}, "nothing"),
        ({"within": ["age", "town", "sex"]}, "No column may be starred"),
        ({"subsets": 2, "importance": {"age": "never"}}, "cannot keep every cell of 'age'"),
    ],
)
def test_what_cannot_be_done_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        shoal.suppress(table(*QUASI), 4, effort="quick", **options)


def test_cells_that_hold_a_star_already_are_no_new_stars() -> None:
    frame = people().with_columns(
        pl.when(pl.col("town") == "dd").then(pl.lit("*")).otherwise(pl.col("town")).alias("town")
    )
    with pytest.warns(match="already has cells with '\\*'"):
        release = shoal.suppress(shoal.read(frame.select(QUASI), quasi=QUASI), 4, effort="quick")
    assert classes(release.table, QUASI) >= 4
    release.verify()


def test_the_command_prints_both_readings_and_repeats_its_run(tmp_path: Path) -> None:
    people().select(*QUASI, "illness").write_csv(tmp_path / "in.csv")
    call = [
        "suppress", str(tmp_path / "in.csv"), "-k", "4", "--quasi", ",".join(QUASI), "--confidential", "illness",
        "--importance", "age=2,town=1.5", "--effort", "quick", "-o", str(tmp_path / "out.csv"),
    ]  # fmt: skip
    shown = CliRunner().invoke(main, call)
    assert shown.exit_code == 0, shown.output
    assert "k, star as a value" in shown.output and "k, star as a wildcard" in shown.output
    made = (tmp_path / "out.csv").read_bytes()
    recipe, page = tmp_path / "run.toml", tmp_path / "report.html"
    printed = CliRunner().invoke(main, [*call, "--json", "--save-recipe", str(recipe), "--report", str(page)])
    facts = json.loads(printed.stdout)
    keys = ("suppressed_cells", "suppressed_share", "by_column", "k_value", "k_wildcard", "lower_bound", "cpu_seconds")
    assert all(key in facts for key in keys) and facts["figures"]["known"]["k"] >= 4
    (tmp_path / "out.csv").unlink()
    again = CliRunner().invoke(main, ["run", str(recipe)])
    assert again.exit_code == 0 and (tmp_path / "out.csv").read_bytes() == made
    text = page.read_text(encoding="utf-8")
    assert "Stars by column" in text and "Values that are starred most" in text
    checked = CliRunner().invoke(
        main, ["check", str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--recipe", str(recipe)]
    )
    assert checked.exit_code == 0, checked.output


def test_more_than_a_dozen_columns_say_how_the_search_is_bounded(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    pl.DataFrame({f"q{j}": rng.integers(0, 3, 60) for j in range(14)}).write_csv(tmp_path / "in.csv")
    command = ["suppress", str(tmp_path / "in.csv"), "-k", "3", "--quasi", "q*", "--effort", "quick"]
    shown = CliRunner().invoke(main, command)
    assert shown.exit_code == 0, shown.output
    assert "the best of 16,384, not all" in shown.output and "no solution has fewer stars than" in shown.output


def test_several_columns_share_one_importance(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "in.csv")
    command = [
        "suppress",
        str(tmp_path / "in.csv"),
        "-k",
        "4",
        "--quasi",
        "age,town,sex",
        "--effort",
        "quick",
        "--json",
    ]
    drop = ["--drop", "income,born,member,illness"]
    shown = CliRunner().invoke(main, [*command, *drop, "--importance", "age=3,sex=never"])
    facts = json.loads(shown.stdout)
    assert facts["by_column"]["sex"] == 0
    assert facts["cost"] == 3 * facts["by_column"]["age"] + facts["by_column"]["town"]
    wrong = CliRunner().invoke(main, [*command, *drop, "--importance", "age=3,sex=nevr"])
    assert wrong.exit_code == 2 and "'nevr' is not a number. Or write never." in wrong.output


def test_a_file_of_stars_only_says_that_nothing_is_left(tmp_path: Path) -> None:
    release = shoal.suppress(pl.DataFrame({"age": range(20)}).sample(20, shuffle=True, seed=1), 3, quasi=["age"])
    with pytest.raises(PromiseError, match=r"(?s)no class of records is left\. Use a smaller k"):
        release.save(tmp_path / "out.csv", keep_order=True)
    assert not list(tmp_path.iterdir())


def test_a_public_report_has_no_counts_by_value(tmp_path: Path) -> None:
    release = shoal.suppress(table(*QUASI), 4, effort="quick")
    text = release.report(tmp_path / "public.html", external=True).read_text(encoding="utf-8")
    assert "Stars by column" in text and "Values that are starred most" not in text
