"""`shoal check`, and `--policy` and `--shuffle` of the commands that write, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import attempt, run

ROLES = ("--quasi", "age,income", "--identifiers", "name", "--confidential", "illness", "--as-is", "district,job")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    n = 144
    district = rng.permutation(np.sort(rng.integers(0, 12, n)))
    frame = pl.DataFrame(
        {
            "name": [f"person {7 * i % n}" for i in range(n)],
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
    assert "No guarantee is broken." in result.stdout and "your judgement" in result.stdout
    assert "WARN" in result.stdout and "What an intruder finds" in result.stdout
    broken = attempt("check", people, release, *ROLES, "-k", 5)
    assert broken.exit_code == 1 and "BLOCK" in broken.stdout
    assert "Blocked by 2 findings: known-k, joint-k." in broken.stdout
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
        "looks-like-identifier",
        "untouched",
        "unit",
        "known-k",
        "joint-k",
        "l",
        "t",
        "undone",
        "order",
        "distance-linkage",
        "released-linkage",
    } <= set(names)
    for finding in facts["findings"]:
        assert set(finding) == {"check", "status", "finding", "figure", "threshold", "todo"}
        assert finding["status"] in ("ok", "info", "warn", "block")
        assert bool(finding["todo"]) == (finding["status"] in ("warn", "block")), finding
    figures = facts["figures"]
    assert [figures[part]["k"] for part in ("protected", "known", "released")] == [4, 4, 1]
    assert figures["known"]["columns"] == ["age", "income"]
    assert set(figures["released"]["columns"]) == {"age", "income", "district", "job", "illness"}
    blocked = attempt("check", people, release, *ROLES, "-k", 5, "--json")
    assert blocked.exit_code == 1 and json.loads(blocked.stdout)["blocking"] == ["known-k", "joint-k"]


def test_policies_are_listed_with_their_justification() -> None:
    text = run("check", "--list-policies").stdout
    for name in ("default", "public", "scientific", "clinical-0.09"):
        assert f"{name}: " in text
    listed = json.loads(run("check", "--list-policies", "--json").stdout)["policies"]
    assert all(len(policy["justification"]) > 100 for policy in listed)


def test_a_policy_file_of_ones_own(people: Path, release: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    text = 'title = "Own"\njustification = "Agreed with the board."\nblocks = ["released-linkage"]\n'
    limit, source = "[thresholds]\nreleased_linkage = 0.3\n", '[sources]\nreleased_linkage = "the board, 4 May"\n'
    own.write_text(text + limit + source)
    facts = json.loads(run("check", people, release, *ROLES, "-k", 4, "--policy", own, "--json", code=1).stdout)
    assert facts["blocking"] == ["released-linkage"]
    for wrong, words in (
        ('title = "Own"\n', "justification"),
        (text + limit, "The threshold released_linkage"),
        (text.replace("released-linkage", "released-linkag"), "Did you mean 'released-linkage'"),
    ):
        own.write_text(wrong)
        result = attempt("check", people, release, *ROLES, "--policy", own)
        assert result.exit_code == 2 and words in result.stderr


def test_column_groups_in_both_forms(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "grouped.csv"
    run("group", people, *ROLES, "-k", 4, "--method", "univariate", "-o", target, "--json", "--accept-k", 1)
    common = ("check", people, target, *ROLES, "-k", 4, "--json")
    for groups in ("age;income", '[["age"],["income"]]'):
        facts = json.loads(run(*common, "--groups", groups, "--accept-k", 1).stdout)
        assert "joint-k" in facts["warnings"] and "group-linkage" in facts["warnings"]
        assert json.loads(run(*common, "--groups", groups, code=1).stdout)["blocking"] == ["known-k"]
    assert json.loads(run(*common, "--accept-k", 1, code=1).stdout)["blocking"] == ["joint-k"]


def test_a_masked_file(people: Path, tmp_path: Path) -> None:
    target, recipe = tmp_path / "masked.csv", tmp_path / "run.toml"
    masking = (
        "mask", people, "--identifiers", "name", "--vital", "job=guard", "--parameter", "district", "--influential",
        "age,income", "--ordinal", "age,income", "--budget", 30, "--steps", 10, "-o", target, "--json", "--shuffle",
        "--accept-k", 1, "--save-recipe", recipe,
    )  # fmt: skip
    common = ("check", people, target, "--identifiers", "name", "--swapped", "district", "--json")
    run(*masking)  # the order is drawn from a secret that stands in the recipe alone
    assert json.loads(run(*common, "--recipe", recipe).stdout)["passed"] is True
    for other in ((), ("--seed", 0)):
        assert "untouched" in json.loads(run(*common, *other, "--accept-k", 1, code=1).stdout)["blocking"]
    run(*masking, "--seed", 6)  # the order is drawn from the seed
    assert json.loads(run(*common, "--seed", 6, "--accept-k", 1).stdout)["passed"] is True
    assert json.loads(run(*common, "--seed", 6, code=1).stdout)["blocking"] == ["known-k"]
    assert "untouched" in json.loads(run(*common, "--seed", 5, "--accept-k", 1, code=1).stdout)["blocking"]


def test_missing_rows_that_were_dropped(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b\n" + "".join(f"{i * 37 % 101},{'' if i == 3 else i % 7}\n" for i in range(30)))
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
        "--identifiers", "name", "--accept-k", 1, "--vital", "job=guard", "--parameter", "district",
        "--influential", "age", "--budget", 30, "--steps", 10,
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_shuffle_and_policy_of_every_command(command: str, people: Path, tmp_path: Path) -> None:
    own, first, second, kept = COMMANDS[command], tmp_path / "1.csv", tmp_path / "2.csv", tmp_path / "kept.csv"
    for target in (first, second):
        warned = run(command, people, *own, "--shuffle", "--seed", 5, "-o", target, "--json").stderr
        assert "Warning: The random choices that hide records" in warned
    run(command, people, *own, "--seed", 5, "-o", kept, "--json")
    assert first.read_bytes() == second.read_bytes() != kept.read_bytes()
    assert sorted(first.read_text().splitlines()) == sorted(kept.read_text().splitlines())
    for option in (("--shuffle",), ("--policy", "public")):
        refused = attempt(command, people, *own, *option)
        assert refused.exit_code == 2 and "-o" in refused.stderr
    blocked = run(command, people, *own, "--policy", "public", "-o", tmp_path / "no.csv", "--json", code=1)
    assert "the policy 'public' blocks it" in blocked.stderr and "Write the release with --shuffle" in blocked.stderr
    facts = json.loads(blocked.stdout)
    assert facts["written"] is False and not (tmp_path / "no.csv").exists()
    blocking = {finding["check"] for finding in facts["findings"] if finding["status"] == "block"}
    assert blocking >= {"rows", "released-linkage", "previous"} and ("as-is" in blocking) == ("--as-is" in own)
    assert ("known-k" in blocking) == ("--accept-k" in own)  # what is accepted overrides no policy
    unknown = attempt(command, people, *own, "--policy", "publik", "-o", tmp_path / "no.csv")
    assert unknown.exit_code == 2 and "Did you mean 'public'" in unknown.stderr
    assert not [p for p in tmp_path.iterdir() if p.name.endswith(".part")]


def test_warnings_of_a_policy_go_to_stderr(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    result = run("microaggregate", people, *COMMANDS["microaggregate"], "--policy", "default", "-o", target, "--json")
    assert "Warning: released-linkage" in result.stderr
    json.loads(result.stdout)


def test_a_shuffle_without_a_seed_is_another_one_each_time(people: Path, tmp_path: Path) -> None:
    targets = [tmp_path / name for name in ("1.csv", "2.csv")]
    recipes = [target.with_suffix(".toml") for target in targets]
    for target, recipe in zip(targets, recipes, strict=True):
        common = ("microaggregate", people, *COMMANDS["microaggregate"], "--shuffle", "-o", target)
        assert "depend on a seed" not in run(*common, "--save-recipe", recipe, "--json").stderr
    one, two = (target.read_text().splitlines() for target in targets)
    assert one != two and sorted(one) == sorted(two)
    check = ("check", people, targets[0], "--json")
    facts = json.loads(run(*check, "--recipe", recipes[0]).stdout)  # with its roles, its k and its order
    assert facts["passed"] and facts["figures"]["known"]["k"] == 12
    assert json.loads(run(*check, "--recipe", recipes[1], code=1).stdout)["blocking"]


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
    assert json.loads(refused.stdout)["written"] is False


def test_every_step_of_a_recipe_is_held_to_its_promise(people: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    import shoal
    from shoal.errors import PromiseError
    from shoal.gate.saving import Saving, save_checked

    recipe, target = tmp_path / "run.toml", tmp_path / "out.csv"
    recipe.write_text(
        f'secret = "{"5" * 32}"\n[input]\nfile = "{people.name}"\nidentifiers = ["name"]\n'
        'confidential = ["illness"]\nas_is = ["job"]\n'
        '[[steps]]\ndo = "generalize"\nk = 6\nquasi = ["district"]\neffort = "quick"\n'
        '[[steps]]\ndo = "microaggregate"\nk = 4\nquasi = ["age", "income"]\nmethod = "mdav"\n'
    )
    release = shoal.run(recipe)
    release.save(target, shuffle=True, accept_k=1)
    how = (target, Saving(accept_k=1), release.secret)
    found = save_checked(release.original, release.table, release.guarantees, *how)
    assert found["joint-k of step 1"].threshold == 6 and found["joint-k of step 2"].threshold == 4
    raised = tuple(replace(promise, k=5) if "age" in promise.columns else promise for promise in release.promises)
    with pytest.raises(PromiseError) as caught:
        save_checked(release.original, release.table, replace(release.guarantees, promises=raised), *how)
    assert [finding.check for finding in caught.value.findings.blocking] == ["joint-k of step 2"]
