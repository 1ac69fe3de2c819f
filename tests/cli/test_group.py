"""`shoal group` and `shoal assess` as a user runs them."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from command_line import attempt
from shoal.cli.assess import command as assess
from shoal.cli.protect import command_of
from shoal.errors import PromiseError, ShoalError
from shoal.protections.grouping import GROUP, group_attributes

KEYS = {
    "fitness", "information_loss", "interval_disclosure", "distance_linkage", "groups", "joint_k", "evaluations",
    "generations", "cpu_seconds",
}  # fmt: skip
group = command_of(GROUP)


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(50, 2))
    frame = pl.DataFrame({f"c{j}": base @ rng.normal(size=2) + 0.3 * rng.normal(size=50) for j in range(5)})
    path = tmp_path / "data.csv"
    frame.write_csv(path)
    return path


def run(command, *arguments):
    return CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)


@pytest.mark.parametrize("method", ["memetic", "gomm", "d-gomm", "exact", "all", "univariate", "correlated"])
def test_every_method_prints_its_keys_and_keeps_k_within_each_column_group(file, tmp_path, method):
    out = tmp_path / "out.csv"
    more = ["--size", 2] if method == "correlated" else ["--evaluations", 300] if method == "memetic" else []
    result = run(group, file, "-k", 4, "--method", method, "--json", "-o", out, "--accept-k", 1, *more)
    facts = json.loads(result.stdout)
    assert facts.keys() >= KEYS
    assert facts["figures"]["known"]["k"] == facts["joint_k"] and facts["written"] is True
    protected = pl.read_csv(out)
    assert sorted(c for g in facts["groups"] for c in g) == protected.columns
    for names in facts["groups"]:
        assert protected.group_by(names).len()["len"].min() >= 4
    assert protected.group_by(protected.columns).len()["len"].min() == facts["joint_k"]
    measured = run(assess, file, out, "--json")
    figures = json.loads(measured.stdout)
    assert figures["information_loss"] == pytest.approx(facts["information_loss"])
    assert figures["interval_disclosure"] == pytest.approx(facts["interval_disclosure"])
    assert figures["k"] == facts["joint_k"]
    assert figures.keys() >= {"il1", "il2", "il3", "il4", "il5", "il", "probabilistic_linkage", "score", "uniques"}


def test_a_joint_k_below_k_is_written_only_if_it_is_accepted(file, tmp_path):
    out = tmp_path / "out.csv"
    common = ("group", file, "-k", 4, "--method", "univariate", "--json", "-o", out)
    for accepted in ((), ("--accept-k", 2)):
        refused = attempt(*common, *accepted)
        facts = json.loads(refused.stdout)
        assert refused.exit_code == 1 and "--accept-k" in refused.stderr and not out.exists()
        assert facts["written"] is False and facts["joint_k"] == facts["figures"]["protected"]["k"] == 1
    accepted = attempt(*common, "--accept-k", 1)
    assert accepted.exit_code == 0 and json.loads(accepted.stdout)["written"] is True and out.exists()


def test_own_groups_by_name_number_and_entry(file, tmp_path):
    lists = tmp_path / "groups.json"
    lists.write_text(json.dumps({"a": {"b": [[1, 2], [3, 4, 5]]}}))
    by_number = json.loads(run(group, file, "-k", 4, "--groups", f"{lists}#a.b", "--json").stdout)
    assert by_number["groups"] == [["c0", "c1"], ["c2", "c3", "c4"]]
    named = group_attributes(str(file), 4, groups=[["c2", "c3", "c4"], ["c0", "c1"]])
    assert named.facts["fitness"] == by_number["fitness"]
    for wrong in (lists, f"{lists}#a.x", tmp_path / "none.json"):
        with pytest.raises(ShoalError):
            run(group, file, "-k", 4, "--groups", wrong)


def test_the_thesis_convention_refuses_to_write_a_group_smaller_than_k(file, tmp_path):
    out = tmp_path / "out.csv"
    release = group_attributes(
        str(file), 6, method="all", convention="thesis"
    )  # 50 records: 8 groups, two records left
    assert release.facts["smallest_group"] == 2
    with pytest.raises(PromiseError, match="fewer than k = 6"):
        release.save(out)
    assert not out.exists()


def test_the_front_and_the_page(file, tmp_path):
    page = tmp_path / "page.html"
    facts = json.loads(run(group, file, "-k", 4, "--evaluations", 300, "--front", "--json", "--report", page).stdout)
    losses = [choice["information_loss"] for choice in facts["front"]]
    risks = [choice["risk"] for choice in facts["front"]]
    assert losses == sorted(losses) and risks == sorted(risks, reverse=True) and len(losses) > 1
    text = page.read_text()
    assert "measured, not guaranteed" in text and "Pareto front: no other choice is better in both" in text
    assert "INTERNAL" in text.splitlines()[0]


def test_pick_floor_and_fitness_on_the_command_line(file, tmp_path):
    common = ("group", file, "-k", 4, "--within-groups", "mdav", "--evaluations", 200, "--seed", 0)
    front = json.loads(attempt(*common, "--front", "--json").stdout)["front"]
    picked = attempt(*common, "--front", "--pick", 1, "--json")
    assert json.loads(picked.stdout)["groups"] == front[0]["groups"]
    shown = attempt(*common, "--front", "--pick", 1, "--no-baselines").stdout
    assert "1 (taken)" in shown and "Estimates of the search" in shown and "Baselines" not in shown
    assert "Fitness F is the mean of information loss and disclosure risk" in shown
    assert "the mean of information" in " ".join(run(group, "--help").stdout.split())
    floor = attempt(*common, "--joint-k", 3, "--max-linkage", 0.5, "--json")
    assert json.loads(floor.stdout)["joint_k"] >= 3
    refused = attempt(*common, "--max-linkage", 0, "-o", tmp_path / "out.csv")
    assert refused.exit_code == 1 and not (tmp_path / "out.csv").exists()
    assert "No column grouping meets the limits" in refused.stderr and "raise --max-linkage" in refused.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "best"},
        {"method": "correlated"},
        {"method": "all", "size": 2},
        {"method": "gomm", "evaluations": 5},
        {"method": "all", "groups": [["c0"]]},
        {"groups": [["c0", "nobody"]]},
        {"groups": ["c0"]},
        {"convention": "odd"},
        {"within_groups": "tree"},
        {"pick": 1},
        {"joint_k": 1},
        {"max_linkage": 1.5},
        {"method": "gomm", "patience": 3},
    ],
)
def test_options_that_cannot_be_followed_are_refused(file, wrong):
    with pytest.raises(ShoalError):
        group_attributes(str(file), 4, **wrong)


def test_the_study_of_operators_writes_a_table_and_a_page(tmp_path):
    from shoal.protections.grouping.operators import OPERATORS
    from shoal.studies.operators import COMBINED, relative_best, study_operators, write_operators

    values = np.random.default_rng(0).normal(size=(40, 5))
    table = study_operators(values, 4, generations=4, population=10, seeds=2)
    assert set(table["run"]) == {COMBINED, *OPERATORS}
    assert relative_best(table).filter(pl.col("generation") == 0)["relative"].to_list() == [1.0] * len(OPERATORS)
    data, page = write_operators(table, tmp_path / "study")
    assert pl.read_parquet(data).height == table.height
    text = page.read_text()
    for title in ("Utilisation", "Mean lifetime", "Efficacy", "Efficiency", "Best cost relative", "number of column"):
        assert title in text
