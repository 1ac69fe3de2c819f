"""`shoal microaggregate` and `shoal assess` as a user runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import run
from shoal.protections.microaggregation.command import _distance

KEYS = {
    "n", "d", "k", "method", "sse", "sst", "information_loss", "groups", "smallest_group", "largest_group",
    "cpu_seconds", "seconds", "per_column", "figures", "findings", "check_cpu_seconds", "written",
}  # fmt: skip
BESIDE = ("--identifiers", "name", "--confidential", "illness")
ROLES = (*BESIDE, "--quasi", "age,income", "--as-is", "weight")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    n = 200
    frame = pl.DataFrame(
        {
            "name": [f"person {7 * i % n}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "weight": rng.uniform(0.5, 2, n),
            "illness": rng.choice(["none", "flu", "asthma"], n),
        }
    )
    path = tmp_path / "people.csv"
    frame.write_csv(path)
    return path


@pytest.mark.parametrize("method", ["auto", "mdav", "md", "vmdav", "mst", "path"])
def test_protects_a_file(people: Path, tmp_path: Path, method: str) -> None:
    target = tmp_path / "out.csv"
    result = run(
        "microaggregate", people, "-k", 4, *ROLES, "--method", method, "-o", target, "--json",
    )  # fmt: skip
    facts = json.loads(result.stdout)
    assert set(facts) >= KEYS
    before, after = pl.read_csv(people), pl.read_csv(target)
    assert after.columns == ["age", "income", "weight", "illness"]
    assert after["illness"].equals(before["illness"]) and after["weight"].equals(before["weight"])
    sizes = after.group_by("age", "income").len()["len"]
    assert sizes.min() >= 4
    assert abs(after["age"].mean() - before["age"].mean()) < 1e-9
    assert facts["smallest_group"] <= facts["largest_group"]
    assert facts["written"] is True and facts["figures"]["known"]["k"] == sizes.min()
    every = after.group_by(after.columns).len()["len"]  # what an intruder finds who knows all
    released = facts["figures"]["released"]
    assert (released["k"], released["uniques"]) == (every.min(), every.filter(every == 1).len())
    figures = json.loads(run("assess", people, target, "--quasi", "age,income", "--json").stdout)
    assert figures["k"] == sizes.min() and figures["uniques"] == 0
    assert figures["information_loss"] == pytest.approx(facts["information_loss"], rel=1e-9)


def test_round_keeps_integers_and_the_promise(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    run("microaggregate", people, "-k", 4, *ROLES, "--round", "-o", target)
    after = pl.read_parquet(target)
    assert after["age"].dtype == pl.Int64
    assert after.group_by("age", "income").len()["len"].min() >= 4


def test_median_is_the_median(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    roles = (*BESIDE, "--quasi", "income", "--as-is", "age,weight")
    run("microaggregate", people, "-k", 5, *roles, "--method", "univariate", "-o", target, "--aggregate", "median")
    after = pl.read_parquet(target)["income"].to_numpy()
    before = pl.read_csv(people)["income"].to_numpy()
    for value in np.unique(after):
        assert value == np.median(before[after == value])


def test_weights_change_the_centroids(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    roles = (*BESIDE, "--quasi", "age,income", "--weight", "weight")
    run("microaggregate", people, "-k", 5, *roles, "-o", target)
    before, after = pl.read_csv(people), pl.read_parquet(target)
    assert after["weight"].equals(before["weight"])
    weight = before["weight"].to_numpy()
    for column in ("age", "income"):
        mean = np.average(before[column].to_numpy(), weights=weight)
        assert np.average(after[column].to_numpy(), weights=weight) == pytest.approx(mean, rel=1e-12)


def test_same_seed_same_file(people: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    for target, threads in ((first, 1), (second, 2)):
        run("microaggregate", people, "-k", 4, *ROLES, "--threads", threads, "-o", target)
    assert first.read_bytes() == second.read_bytes()


def test_missing_rows_are_dropped_on_request(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b\n" + "".join(f"{i * 37 % 101},{'' if i == 3 else i % 7}\n" for i in range(30)))
    result = run("microaggregate", source, "-k", 3, "--missing", "drop", "-o", target)
    assert "1 of 30 rows was dropped" in result.stderr
    assert pl.read_csv(target).height == 29
    run("microaggregate", source, "-k", 3, "--missing", "median", "-o", target)
    assert pl.read_csv(target).height == 30


def test_readable_table_and_report(people: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("microaggregate", people, "-k", 4, *ROLES, "--report", page)
    for word in ("records", "groups", "smallest group", "information loss", "mean before", "std. dev. after"):
        assert word in result.stdout
    for title in ("Numbers", "What an intruder finds", "Findings"):
        assert title in result.stdout
    assert re.search(r"^No guarantee is broken\. \d+ warnings need your judgement\.$", result.stdout, re.MULTILINE)
    html = page.read_text()
    assert "Information loss" in html and '<svg role="img"' in html and 'src="http' not in html


def test_labels_are_shown_with_the_share_of_their_cells_that_changed(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    roles = ("--identifiers", "name", "--as-is", "weight", "--no-confidential")
    shown = run("microaggregate", people, "-k", 4, *roles, "--effort", "quick", "-o", target).stdout
    before, after = pl.read_csv(people), pl.read_csv(target)
    changed = 100 * (before["illness"] != after["illness"]).mean()
    assert re.search(rf"Labels.*illness +nominal +{changed:.1f} %", shown, re.DOTALL)
    assert after.group_by("age", "income", "illness").len()["len"].min() >= 4


def test_a_column_without_a_role_stops_the_file_but_not_the_figures(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    common = ("microaggregate", people, "-k", 4, "--quasi", "age,income", "--identifiers", "name", "--method", "mdav")
    refused = run(*common, "-o", target, "--json", code=1)
    facts = json.loads(refused.stdout)
    assert set(facts) >= KEYS and facts["written"] is False and not target.exists()
    assert facts["figures"]["protected"]["k"] == 4 and facts["figures"]["known"]["k"] == 1
    for words in ("Nothing was written", "weight, illness", "--confidential", "--as-is", "shoal look FILE"):
        assert words in refused.stderr
    shown = run(*common, "-o", target, code=1)
    assert "What an intruder finds" in shown.stdout and "Blocked by 1 finding: known-k." in shown.stdout
    warned = run(*common)  # nothing is to be written: a warning
    assert "The release check would block this table" in warned.stderr and not target.exists()


def test_a_method_that_loses_more_than_mdav_says_so(people: Path) -> None:
    few = ("--method", "genetic", "--generations", 5, "--population", 10)
    result = run("microaggregate", people, "-k", 4, *ROLES, *few)
    assert "method 'genetic' lose" in result.stderr and "Use --method auto" in result.stderr
    facts = json.loads(run("microaggregate", people, "-k", 4, *ROLES, *few, "--json").stdout)
    mdav = json.loads(run("microaggregate", people, "-k", 4, *ROLES, "--method", "mdav", "--json").stdout)
    assert facts["times_mdav"] == pytest.approx(facts["sse"] / mdav["sse"]) and facts["times_mdav"] > 1.5
    assert (
        f"{facts['information_loss']:.2f} %" in result.stderr and f"{mdav['information_loss']:.2f} %" in result.stderr
    )


def test_a_method_that_does_not_lose_more_than_mdav_says_nothing(people: Path) -> None:
    for method in ("mdav", "auto", "path"):
        result = run("microaggregate", people, "-k", 4, *ROLES, "--method", method, "--json")
        assert "times_mdav" not in json.loads(result.stdout) and "MDAV" not in result.stderr, method


def test_a_bound_that_runs_out_of_time_does_not_call_the_groups_stopped(people: Path) -> None:
    result = run(
        "microaggregate", people, "-k", 5, *ROLES, "--method", "mdav", "--bound", "--bound-seconds", 0.001
    )  # fmt: skip
    assert "Stopped before" not in result.stderr and "best so far" not in result.stderr
    assert "the bound was stopped early, the groups are complete" in " ".join(result.stdout.split())


def test_a_small_file_is_proved_without_being_asked(people: Path) -> None:
    facts = json.loads(run("microaggregate", people, "-k", 3, *ROLES, "--effort", "quick", "--json").stdout)
    assert facts["proved"] is True and facts["gap"] == 0
    assert facts["lower_bound"] == pytest.approx(facts["information_loss"], rel=1e-9)
    shown = run("microaggregate", people, "-k", 3, *ROLES, "--effort", "quick").stdout
    assert re.search(r"no groups lose less than\s+[\d.]+ % \(proved optimal\)", shown)


def test_a_proof_about_squared_distances_does_not_claim_the_loss_of_medians(people: Path) -> None:
    shown = run("microaggregate", people, "-k", 3, *ROLES, "--effort", "quick", "--aggregate", "median").stdout
    assert "(proved optimal)" not in shown and "labels, medians or rounding add the rest" in " ".join(shown.split())


def test_a_gap_is_never_shown_as_zero():
    facts = {"proved": False, "gap": 0.002, "information_loss": 10.0, "lower_bound": 9.9998}
    assert _distance(facts) == "gap below 0.01 %"
    assert _distance({**facts, "gap": 0.26}) == "gap 0.26 %"


def test_the_loss_and_l_stand_in_the_recipe(people: Path, tmp_path: Path) -> None:
    """A repeated run gives the same file, and the recipe tells the release check that l is promised."""
    target, recipe = tmp_path / "out.csv", tmp_path / "run.toml"
    frame = pl.read_csv(people).with_columns(town=pl.Series([f"town {i % 7}" for i in range(200)]))
    frame.write_csv(people)
    roles = (*BESIDE, "--quasi", "age,income,town", "--as-is", "weight")
    options = ("-k", 4, "-l", 2, "-t", 0.5, "--loss", "changes", "--effort", "quick", "--seed", 3)
    facts = json.loads(
        run("microaggregate", people, *options, *roles, "-o", target, "--save-recipe", recipe, "--json").stdout
    )
    assert facts["loss"] == "changes" and facts["l"] >= 2 and facts["t"] <= 0.5
    assert 'loss = "changes"' in recipe.read_text() and "l = 2" in recipe.read_text()
    first = target.read_bytes()
    run("run", recipe)
    assert target.read_bytes() == first
    broken = pl.read_csv(target)
    one = broken["age"] == broken["age"][0]
    broken = broken.with_columns(illness=pl.when(one).then(pl.lit("flu")).otherwise(pl.col("illness")))
    broken.write_csv(target)
    found = json.loads(run("check", target, "--original", people, "--recipe", recipe, "--json", code=1).stdout)
    assert any(finding["check"] == "l" for finding in found["findings"] if finding["status"] == "block")


def test_a_method_without_rules_refuses_l(people: Path) -> None:
    result = run("microaggregate", people, "-k", 4, "-l", 2, "--method", "vmdav", *ROLES, code=2)
    assert "vmdav does not use l" in result.stderr and "auto, anneal, memetic, blocks" in result.stderr
