"""Every command honours the roles and statements it is given, or refuses them: nothing is silently ignored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import attempt, run

NAMES = "name,a,b\n" + "".join(f"n{i},{i * 37 % 101},{i * 7 % 11}\n" for i in range(20))
NUMBERS = "pid,a\n" + "".join(f"{1000 + i * 17 % 31},{i * i % 23}\n" for i in range(1, 31))


@pytest.mark.parametrize("command, text", [("generalize", NAMES), ("generalize", NUMBERS), ("group", NUMBERS)])
def test_an_identifier_without_a_role_is_never_written(tmp_path: Path, command: str, text: str) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(text)
    result = attempt(command, source, "-k", 3, "-o", target, "--json")
    assert result.exit_code != 0 and "looks like an identifier" in result.stderr and not target.exists()


def test_a_mask_in_a_file_sorted_by_district_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    district = np.sort(rng.integers(0, 15, 600))
    job = np.where((district == 3) | (rng.random(600) < 0.05), "guard", "cook")
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    pl.DataFrame({"district": district, "job": job, "age": rng.integers(18, 80, 600)}).write_csv(source)
    words = (
        "mask",
        source,
        "--vital",
        "job=guard",
        "--parameter",
        "district",
        "--influential",
        "age",
        "--budget",
        30,
        "--steps",
        10,
        "--accept-k",
        1,
        "--seed",
        1,
        "-o",
        target,
        "--json",
    )
    refused = run(*words, code=1)
    assert "order of the rows" in refused.stderr and not target.exists()
    run(*words, "--shuffle")


@pytest.mark.parametrize(
    "check", ["maximum-risk", "average-risk", "row-risk", "distance-linkage", "released-linkage", "small-counts"]
)
def test_a_policy_that_blocks_on_a_check_needs_its_threshold(tmp_path: Path, check: str) -> None:
    own, source, target = tmp_path / "own.toml", tmp_path / "in.csv", tmp_path / "out.csv"
    own.write_text(f'title = "Own"\njustification = "Agreed."\nblocks = ["{check}"]\n')
    source.write_text(NAMES)
    words = ("microaggregate", source, "--identifiers", "name", "-k", 3, "--method", "mdav", "-o", target)
    assert attempt(*words, "--policy", own).exit_code != 0 and not target.exists()


@pytest.mark.parametrize("command", ["group", "generalize"])
def test_derived_is_refused_where_nothing_honours_it(tmp_path: Path, command: str) -> None:
    source = tmp_path / "in.csv"
    source.write_text("a,b,tax\n" + "".join(f"{i * 37 % 101},{i * 7 % 11},{i * 37 % 101 * 3}\n" for i in range(40)))
    result = attempt(command, source, "-k", 3, "--quasi", "a,b", "--derived", "tax=a")
    assert result.exit_code == 2 and "--derived" in result.stderr
