"""The release check of a swapped file looks at the group's signal, with an outlier test of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import run
from reference import masking as twin
from shoal.arrays import Ints
from shoal.gate.checks import masked, same_values
from shoal.gate.checks.masked import outlier_signs
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import policy_named
from shoal.gate.promises import Masked, SameValues, Step
from shoal.gate.reading import Written
from shoal.protections.regions import protect as regions
from shoal.table.roles import Roles
from shoal.table.table import Table

GUARDS = ("job", ["guard"])


def people(counts: list[int], sizes: list[int] | int = 200) -> pl.DataFrame:
    """Regions of these sizes with these numbers of guards."""
    sizes = [sizes] * len(counts) if isinstance(sizes, int) else sizes
    region = np.repeat([f"R{d:02d}" for d in range(len(counts))], sizes)
    job = np.concatenate([["guard"] * c + ["cook"] * (s - c) for c, s in zip(counts, sizes, strict=True)])
    return pl.DataFrame({"district": region, "job": job})


def finding(
    before: pl.DataFrame, after: pl.DataFrame, vital: tuple[str, list[str]] | None = GUARDS, **target: Any
) -> Finding:
    """The findings on one target group; by default the release guarantees that it is hidden."""
    groups = () if vital is None else (Masked(("district",), vital[0], tuple(vital[1]), **target),)
    guarantees = Guarantees(Roles(), ("district",), (SameValues(("district",)), *groups))
    (found,) = masked.check(CheckContext(before, Written(after), guarantees, policy_named("default")))
    return found


ORDINARY = [12, 15, 18, 14, 17, 13, 16, 19, 15, 14, 16, 17]
BEFORE = people([*ORDINARY, 90])


@pytest.mark.parametrize(
    "after, status, words",
    [
        ([*[c + 6 for c in ORDINARY], 18], "ok", "neither outliers nor the largest"),
        ([*ORDINARY, 90], "block", "1 region is still an outlier: R12"),
        ([*[c + 6 for c in ORDINARY], 25], "block", "1 region is still the largest: R12"),
        ([*ORDINARY[:-1], 92, 17], "block", "1 region is a new outlier: R11"),
    ],
)
def test_what_is_left_of_the_signal(after: list[int], status: str, words: str) -> None:
    found = finding(BEFORE, people(after))
    assert found.status == status and words in found.finding
    assert (found.figure == 0) == (status == "ok") and bool(found.todo) == (status != "ok")


def test_a_peak_in_the_share_alone_is_seen() -> None:
    """The original outlier has an ordinary number, but it is a small region: its share stands out."""
    sizes = [*[200] * 12, 100]
    after = people([*[c + 6 for c in ORDINARY], 22], sizes)
    found = finding(people([*ORDINARY, 90], sizes), after)
    assert found.status == "block" and "R12" in found.finding


def test_decoys_are_new_outliers_that_were_asked_for() -> None:
    after = people([*ORDINARY[:-1], 92, 17])
    assert finding(BEFORE, after, decoys=1).status == "ok"
    two = people([*ORDINARY[:-2], 90, 92, 17])
    assert finding(BEFORE, two, decoys=1).status == "block"


def test_a_region_that_was_low_and_becomes_a_peak_is_new() -> None:
    before, after = people([*ORDINARY, 90, 0]), people([*[c + 1 for c in ORDINARY], 16, 62])
    found = finding(before, after)
    assert found.status == "block" and "R13" in found.finding


def test_without_the_group_nothing_is_passed() -> None:
    unnamed = finding(BEFORE, BEFORE, None)
    assert unnamed.status == "warn" and "not measured" in unnamed.finding and "--vital" in unnamed.todo
    assert "no column 'post'" in finding(BEFORE, BEFORE, ("post", ["x"]), promised=False).finding
    assert "no record of the original has" in finding(BEFORE, BEFORE, ("job", ["gard"]), promised=False).finding
    gone = finding(BEFORE, BEFORE.drop("district"))
    assert gone.status == "block" and "the release has no column 'district'" in gone.finding
    assert finding(BEFORE, BEFORE, promised=False).status == "warn"  # not promised, and the policy does not block


def test_the_regions_to_hide_can_be_named() -> None:
    """A region that was named, though the test would not find it, must not stand out either."""
    after = people([*[c + 6 for c in ORDINARY], 18])
    assert finding(BEFORE, after, outliers=("R12",)).status == "ok"
    assert "1 region is still the largest: R07" in finding(BEFORE, after, outliers=("R07",)).finding


def test_low_regions_do_not_count_where_only_high_ones_are_asked_for() -> None:
    after = people([*[c + 6 for c in ORDINARY[:-1]], 1, 18])
    assert finding(BEFORE, after).status == "block"
    assert finding(BEFORE, after, upper=True).status == "ok"


def test_numbers_as_values_of_the_group() -> None:
    frame = BEFORE.with_columns((pl.col("job") == "guard").cast(pl.Int64).alias("code"))
    found = finding(frame, frame, ("code", ["1"]))
    assert found.status == "block" and "R12" in found.finding


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=3, max_size=40), st.sampled_from([0.001, 0.01, 0.05]))
def test_its_outliers_are_those_of_the_twin(values: list[int], alpha: float) -> None:
    ours = set(np.flatnonzero(outlier_signs(np.array(values, dtype=float), alpha)).tolist())
    thrown_out = {values[i] for i in twin.tau_outliers(values, alpha, "both")}
    assert {i for i, value in enumerate(values) if value in thrown_out} <= ours


PAIRED = SameValues(("district",), swaps=((1, 5), (2, 6)))
NAMED = pl.DataFrame({"district": ["A", "A", "A", "A", "B", "B", "B", "C"], "age": [1, 2, 3, 4, 5, 6, 7, 8]})


def with_districts(*districts: str) -> pl.DataFrame:
    return NAMED.with_columns(district=pl.Series(districts))


@pytest.mark.parametrize(
    "districts, words",
    [
        ("BBAAAABC", None),  # rows 1 and 5, 2 and 6, as the list says
        ("BABAAABC", "2 rows of 'district' differ from the list of swaps, the first of them is row 2 "),
        ("BBACAABA", "2 rows of 'district' differ from the list of swaps, the first of them is row 4 "),
        ("AAAABBBC", "4 rows of 'district' differ from the list of swaps, the first of them is row 1 "),
        ("BBAAAACC", "'district' has other values than the original"),
    ],
)
@pytest.mark.parametrize("shuffle", [False, True])
def test_each_row_is_compared_with_the_list_of_swaps(districts: str, words: str | None, shuffle: bool) -> None:
    """Every release but the last has each district as often as before: only a row by row comparison finds the fault."""
    order = np.random.default_rng(3).permutation(8) if shuffle else np.arange(8)
    context = CheckContext(
        NAMED[order], Written(with_districts(*districts)[order]), Guarantees(Roles(), ("district",), (PAIRED,)),
        policy_named("default"), row_numbers=np.arange(1, 9)[order],
    )  # fmt: skip
    found = same_values.check(context)
    if words is None:
        assert found.status == "ok" and "only the 4 swapped ones changed" in found.finding
    else:
        assert found.status == "block" and words.rsplit(" the first", 1)[0].rstrip(",") in found.finding
        assert shuffle or words in found.finding
    if words and "list of swaps" in words:
        assert same_values.check(replace(context, row_numbers=None)).status == "ok"  # without the list: as often


def test_two_steps_that_swap_the_same_column_are_followed_in_their_order() -> None:
    """The second step moves on what the first brought to row 1."""
    swaps = tuple(
        SameValues(("district",), swaps=pairs, step=Step(number, "mask"))
        for number, pairs in ((2, ((1, 8),)), (1, ((1, 5),)))
    )
    guarantees = Guarantees(Roles(), ("district",), swaps)
    for districts, status in (("CAAAABBB", "ok"), ("BAAACBBA", "block")):
        context = CheckContext(
            NAMED, Written(with_districts(*districts)), guarantees, policy_named("default"), row_numbers=np.arange(1, 9)
        )
        assert same_values.check(context).status == status


@pytest.mark.parametrize("arguments", [[], ["--shuffle"]])
def test_a_file_with_other_rows_swapped_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """The fault keeps every count per region and group, so that neither the values nor the signal show it."""
    path, out = written(tmp_path, [*ORDINARY, 90]), tmp_path / "out.csv"
    swapped = regions.swapped_frame

    def other_rows(table: Table, columns: Sequence[str], swaps: Ints) -> Any:
        """Two cooks who were not swapped, of different districts, exchange them."""
        frame = swapped(table, columns, swaps)
        district = frame["district"].to_list()
        cooks = [i for i, job in enumerate(frame["job"]) if job == "cook" and i not in swaps]
        one, two = cooks[0], next(i for i in cooks if district[i] != district[cooks[0]])
        district[one], district[two] = district[two], district[one]
        return frame.with_columns(pl.Series("district", district))

    monkeypatch.setattr(regions, "swapped_frame", other_rows)
    monkeypatch.setattr(regions.GroupRelease, "verify", lambda self: None)
    result = run("mask", path, *OWN, "--accept-k", "1", "--no-unit", "-o", out, *arguments, code=1)
    assert "2 rows of 'district' differ from the list of swaps" in " ".join(result.output.split()) and not out.exists()


def written(folder: Path, counts: list[int]) -> Path:
    """A file of these counts in random order, with a column in which records are matched."""
    frame = people(counts).sample(fraction=1.0, shuffle=True, seed=0)
    frame = frame.with_columns(age=pl.Series(np.arange(frame.height) % 7 + 30))
    path = folder / "people.csv"
    frame.write_csv(path)
    return path


OWN = ["--vital", "job=guard", "--parameter", "district", "--influential", "age"]
CHECK = ["--swapped", "district", "--vital", "job=guard", "--accept-k", "1", "--no-unit", "--json"]


def signal_of(*arguments: object, code: int = 0) -> dict[str, Any]:
    facts = json.loads(run("check", *arguments, code=code).stdout)
    return next(finding for finding in facts["findings"] if finding["check"] == "swapped-signal")


def test_a_masked_file_is_checked_by_its_signal(tmp_path: Path) -> None:
    """The written file passes, by its options and by its recipe; the original given out as a release does not."""
    path, out, recipe = written(tmp_path, [*ORDINARY, 90]), tmp_path / "out.csv", tmp_path / "run.toml"
    run("mask", path, *OWN, "--accept-k", "1", "--no-unit", "-o", out, "--save-recipe", recipe)
    assert signal_of(path, out, *CHECK)["status"] == "ok"
    by_recipe = signal_of(path, out, "--recipe", recipe, "--json")
    assert by_recipe["status"] == "ok" and "neither outliers nor the largest" in by_recipe["finding"]
    assert signal_of(path, path, *CHECK)["status"] == "warn"
    raw = signal_of(path, path, *CHECK, "--policy", "public", code=1)
    assert raw["status"] == "block" and "R12" in raw["finding"]


def test_a_swapped_quasi_identifier_without_a_target_group_is_not_passed(tmp_path: Path) -> None:
    """The regions may also be named as a quasi-identifier: the signal was not checked, and the finding says so."""
    path = written(tmp_path, [*ORDINARY, 90])
    arguments = (path, path, "--swapped", "district", "--quasi", "district", "--no-unit", "--accept-k", "1", "--json")
    found = signal_of(*arguments)
    assert found["status"] == "warn" and "not measured" in found["finding"] and "--vital" in found["todo"]
    assert signal_of(*arguments, "--policy", "public", code=1)["status"] == "block"


def test_a_target_group_needs_the_regions(tmp_path: Path) -> None:
    path = written(tmp_path, [*ORDINARY, 90])
    assert "--swapped COLUMN" in run("check", path, path, "--vital", "job=guard", code=2).output
    assert "--vital COL" in run("check", path, path, "--swapped", "district", "--decoys", "2", code=2).output
    assert "COLUMN=VALUE" in run("check", path, path, "--swapped", "district", "--vital", "job", code=2).output


def test_a_run_that_would_show_the_group_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that swaps nothing and a verification that sees nothing: the release check still refuses the file."""
    path, out = written(tmp_path, [*ORDINARY, 90]), tmp_path / "out.csv"
    monkeypatch.setattr(
        "shoal.protections.regions.protect.swapped_frame", lambda table, columns, swaps: table.protected({})
    )
    monkeypatch.setattr("shoal.protections.regions.protect.GroupRelease.verify", lambda self: None)
    result = run("mask", path, *OWN, "--accept-k", "1", "--no-unit", "-o", out, code=1)
    assert "is still an outlier: R12" in result.output and not out.exists()


def test_a_group_that_stands_out_at_the_largest_alpha_only_is_found() -> None:
    """The region has the fewest guards now, which Thompson's test sees at alpha 0.05 and not at 0.02."""
    after = people([*[c + 5 for c in ORDINARY], 15])
    assert finding(BEFORE, after).status == "block"
    assert finding(BEFORE, after, alphas=(0.001, 0.005, 0.01, 0.02)).status == "ok"
