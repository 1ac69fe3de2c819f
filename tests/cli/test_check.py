"""`shoal check`, and `--policy` and `--shuffle` of the commands that write, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import attempt, run

ROLES = ("--quasi", "age,income", "--identifiers", "name", "--confidential", "illness")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    n = 144
    district = np.sort(rng.integers(0, 12, n))
    frame = pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "district": district,
            "job": np.where((district == 3) | (rng.random(n) < 0.1), "guard", "cook"),
            "illness": [["none", "flu", "asthma"][i % 3] for i in range(n)],
        }
    )
    path = tmp_path / "people.csv"
    frame.write_csv(path)
    return path


@pytest.fixture
def release(people: Path, tmp_path: Path) -> Path:
    target = tmp_path / "release.csv"
    run("microaggregate", people, *ROLES, "-k", 4, "--method", "mdav", "-o", target, "--json")
    return target


def test_exit_codes(people: Path, release: Path) -> None:
    result = run("check", people, release, *ROLES, "-k", 4)
    assert "Nothing blocks the release" in result.stdout and "WARN" in result.stdout
    broken = attempt("check", people, release, *ROLES, "-k", 5)
    assert broken.exit_code == 1 and "BLOCK" in broken.stdout and "blocked by 1" in broken.stdout
    for wrong in (
        ("check", people),
        ("check", people, release.with_name("none.csv"), *ROLES),
        ("check", people, release, *ROLES, "--policy", "publik"),
        ("check", people, release, *ROLES, "-k", 0),
        ("check", people, release, *ROLES, "--groups", "age;wealth"),
        ("check", people, release, *ROLES, "--groups", "[1"),
        ("check", people, release, "--quasi", "age,wealth"),
        ("check", people, release, "--quasi", "age", "-l", "2"),
        ("check", people, release, *ROLES, "-l", "many"),
        ("check", people, release, *ROLES, "--missing", "guess"),
    ):
        refused = attempt(*wrong)
        assert refused.exit_code == 2, refused.output
        assert "Traceback" not in refused.output and refused.stdout == ""


def test_json_has_every_part_of_a_finding(people: Path, release: Path) -> None:
    facts = json.loads(run("check", people, release, *ROLES, "-k", 4, "--json").stdout)
    assert facts["passed"] and facts["policy"] == "default" and facts["blocking"] == []
    names = [f["check"] for f in facts["findings"]]
    assert len(names) == len(set(names))
    assert {
        "rows",
        "columns",
        "identifiers",
        "untouched",
        "joint-k",
        "l",
        "t",
        "distance-linkage",
        "group-linkage",
    } <= set(names)
    for finding in facts["findings"]:
        assert set(finding) == {"check", "status", "finding", "figure", "threshold", "todo"}
    blocked = attempt("check", people, release, *ROLES, "-k", 5, "--json")
    assert blocked.exit_code == 1 and json.loads(blocked.stdout)["blocking"] == ["joint-k"]


def test_policies_are_listed_with_their_justification() -> None:
    text = run("check", "--list-policies").stdout
    for name in ("default", "public", "scientific", "clinical-0.09"):
        assert f"{name}: " in text
    listed = json.loads(run("check", "--list-policies", "--json").stdout)["policies"]
    assert all(len(policy["justification"]) > 100 for policy in listed)


def test_a_policy_file_of_ones_own(people: Path, release: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('title = "Own"\njustification = "Agreed with the board."\nblocks = ["uniques-other"]\n')
    assert attempt("check", people, release, *ROLES, "-k", 4, "--policy", own).exit_code == 1
    own.write_text('title = "Own"\n')
    result = attempt("check", people, release, *ROLES, "--policy", own)
    assert result.exit_code == 2 and "justification" in result.stderr


def test_column_groups_in_both_forms(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "grouped.csv"
    run("group", people, *ROLES, "-k", 4, "--method", "univariate", "-o", target, "--json")
    for groups in ("age;income", '[["age"],["income"]]'):
        facts = json.loads(run("check", people, target, *ROLES, "-k", 4, "--groups", groups, "--json").stdout)
        assert "joint-k" in facts["warnings"]
    assert attempt("check", people, target, *ROLES, "-k", 4).exit_code == 1


def test_a_masked_file(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "masked.csv"
    run(
        "mask", people, "--identifiers", "name", "--vital", "job=guard", "--parameter", "district", "--influential",
        "age,income", "--ordinal", "age,income", "--budget", 30, "--steps", 10, "-o", target, "--json", "--shuffle",
    )  # fmt: skip
    common = ("check", people, target, "--identifiers", "name", "--swapped", "district")
    run(*common, "--seed", 0)
    assert attempt(*common).exit_code == 1


def test_missing_rows_that_were_dropped(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b\n" + "".join(f"{i},{'' if i == 3 else i % 7}\n" for i in range(30)))
    run("microaggregate", source, "-k", 3, "--missing", "drop", "-o", target, "--method", "mdav")
    assert attempt("check", source, target, "-k", 3).exit_code == 1
    run("check", source, target, "-k", 3, "--missing", "drop")


def test_the_first_release_is_held_against_the_second(people: Path, release: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    run("microaggregate", people, *ROLES, "-k", 4, "--method", "mst", "-o", other, "--json")
    facts = json.loads(run("check", people, other, *ROLES, "-k", 4, "--previous", release, "--json").stdout)
    assert "previous" in facts["warnings"]
    result = attempt("check", people, other, *ROLES, "-k", 4, "--previous", release, "--policy", "scientific")
    assert result.exit_code == 1


COMMANDS = {
    "microaggregate": (*ROLES, "-k", 12, "--method", "mdav"),
    "group": (*ROLES, "-k", 12, "--method", "all"),
    "generalize": (*ROLES, "-k", 12, "--effort", "quick"),
    "mask": (
        "--identifiers", "name", "--vital", "job=guard", "--parameter", "district", "--influential", "age",
        "--budget", 30, "--steps", 10,
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_shuffle_and_policy_of_every_command(command: str, people: Path, tmp_path: Path) -> None:
    own, first, second, kept = COMMANDS[command], tmp_path / "1.csv", tmp_path / "2.csv", tmp_path / "kept.csv"
    for target in (first, second):
        run(command, people, *own, "--shuffle", "--seed", 5, "-o", target, "--json")
    run(command, people, *own, "--seed", 5, "-o", kept, "--json")
    assert first.read_bytes() == second.read_bytes() != kept.read_bytes()
    assert sorted(first.read_text().splitlines()) == sorted(kept.read_text().splitlines())
    for option in (("--shuffle",), ("--policy", "public")):
        refused = attempt(command, people, *own, *option)
        assert refused.exit_code == 2 and "-o" in refused.stderr
    blocked = attempt(command, people, *own, "--policy", "public", "-o", tmp_path / "no.csv", "--json")
    assert blocked.exit_code == 1 and "write the release with --shuffle" in blocked.stderr and blocked.stdout == ""
    assert not (tmp_path / "no.csv").exists()
    unknown = attempt(command, people, *own, "--policy", "publik", "-o", tmp_path / "no.csv")
    assert unknown.exit_code == 2 and "did you mean 'public'" in unknown.stderr
    assert not [p for p in tmp_path.iterdir() if p.name.endswith(".part")]


def test_warnings_of_a_policy_go_to_stderr(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    result = run("microaggregate", people, *COMMANDS["microaggregate"], "--policy", "default", "-o", target, "--json")
    assert "Warning: uniques-other" in result.stderr
    json.loads(result.stdout)


def test_a_recipe_keeps_the_order_and_the_policy(people: Path, tmp_path: Path) -> None:
    target, recipe, policy = tmp_path / "out.csv", tmp_path / "run.toml", tmp_path / "own.toml"
    policy.write_text('title = "Own"\njustification = "Agreed."\norder = "shuffled"\n')
    common = (*COMMANDS["microaggregate"], "--seed", 3, "-o", target, "--json")
    run("microaggregate", people, *common, "--shuffle", "--policy", policy, "--save-recipe", recipe)
    assert 'policy = "own.toml"' in recipe.read_text() and "shuffle = true" in recipe.read_text()
    written = target.read_bytes()
    target.unlink()
    assert json.loads(run("run", recipe, "--json").stdout)["identical"] is True
    assert target.read_bytes() == written
    recipe.write_text(recipe.read_text().replace("shuffle = true", "shuffle = false"))
    refused = attempt("run", recipe, "--json")
    assert refused.exit_code == 1 and "--shuffle" in refused.stderr and target.read_bytes() == written


def test_every_step_of_a_recipe_is_held_to_its_promise(people: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    import shoal
    from shoal.errors import PromiseError
    from shoal.gate.saving import save_checked

    recipe, target = tmp_path / "run.toml", tmp_path / "out.csv"
    recipe.write_text(
        f'seed = 1\n[input]\nfile = "{people.name}"\nidentifiers = ["name"]\nconfidential = ["illness"]\n'
        '[[steps]]\ndo = "generalize"\nk = 6\nquasi = ["district"]\neffort = "quick"\n'
        '[[steps]]\ndo = "microaggregate"\nk = 4\nquasi = ["age", "income"]\nmethod = "mdav"\n'
    )
    release = shoal.run(recipe)
    release.save(target, shuffle=True)
    how = {"seed": 1, "shuffle": False, "policy": None, "previous": None}
    found = save_checked(release.original, release.table, release.asked(), target, **how)
    assert found["joint-k of step 1"].threshold == 6 and found["joint-k of step 2"].threshold == 4
    steps = tuple(replace(step, k=5) if "age" in step.quasi else step for step in release.asked().also)
    with pytest.raises(PromiseError, match="joint-k of step 2"):
        save_checked(release.original, release.table, replace(release.asked(), also=steps), target, **how)
