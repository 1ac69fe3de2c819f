"""Faults that users reported of other tools, each through the real commands: none of them happens here.

Wrong values and row order after MDAV; `median` giving the mean; unselected columns changed; missing values making k
ambiguous; a stale hierarchy used; an "other" bucket still below k; silent failure; state lost when a run is stopped;
labels exported as codes; CSV columns shifted.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import attempt, run

QUASI = ("--quasi", "age,income")
# A number of the case in no order, a town, a note and a score that no intruder knows.
REST = ("id", "town", "note", "score")
ROLES = (*QUASI, "--as-is", ",".join(REST))


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    rng, n = np.random.default_rng(8), 120
    places = np.random.default_rng(9).permutation(n)
    pl.DataFrame(
        {
            "id": [f"{i:04d}" for i in places],
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "town": rng.choice(["Aba", "Bee", "Cue"], n),
            "note": rng.choice(["fine", 'say "no", twice', "two\nlines", "a;b", "", "007"], n),
            "score": rng.normal(size=n),
        }
    ).write_csv(tmp_path / "in.csv")
    return tmp_path / "in.csv"


def test_values_and_row_order_after_mdav(survey: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    common = (*QUASI, "--identifiers", "id", "--confidential", "town", "--as-is", "note,score")
    run("microaggregate", survey, "-k", 5, "--method", "mdav", *common, "-o", target, "--json")
    before, after = pl.read_csv(survey), pl.read_csv(target)
    assert after["score"].to_list() == before["score"].to_list()
    for name in ("age", "income"):
        means = (
            before.select(name).with_columns(after[name].alias("new"), after["age"].alias("key")).group_by("new", "key")
        )
        for new, mean in means.agg(pl.col(name).mean()).select("new", name).iter_rows():
            assert new == pytest.approx(mean, rel=1e-12)
    run("check", survey, target, *common, "-k", 5)


def test_the_median_is_not_the_mean(survey: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    roles = ("--quasi", "income", "--drop", "age", "--as-is", ",".join(REST))
    run("microaggregate", survey, "-k", 5, "--method", "mdav", *roles, "--aggregate", "median", "-o", target)
    before, after = pl.read_csv(survey)["income"].to_numpy(), pl.read_parquet(target)["income"].to_numpy()
    groups = [before[after == value] for value in np.unique(after)]
    assert [np.median(g) for g in groups] == list(np.unique(after))
    assert any(np.median(g) != pytest.approx(g.mean()) for g in groups)


@pytest.mark.parametrize("command", ["microaggregate", "group", "generalize"])
def test_columns_that_were_not_selected_stay(survey: Path, tmp_path: Path, command: str) -> None:
    target = tmp_path / "out.csv"
    method = {"microaggregate": "mdav", "group": "univariate", "generalize": "search"}[command]
    common = (command, survey, "-k", 4, "--method", method, *ROLES, "-o", target, "--json")
    if command == "group":  # k holds in each column by itself: over both it must be accepted
        assert "--accept-k" in run(*common, code=1).stderr and not target.exists()
        common += ("--accept-k", 1)
    run(*common)
    before, after = (pl.read_csv(path, infer_schema=False) for path in (survey, target))
    assert after.columns == before.columns and after.select(REST).equals(before.select(REST))


def test_missing_values_leave_k_clear(tmp_path: Path) -> None:
    source, numbers, target = tmp_path / "in.csv", tmp_path / "numbers.csv", tmp_path / "out.csv"
    cells = [(i % 6, "" if i % 9 == 0 else "ab"[i % 2]) for i in range(60)]
    source.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in cells))
    numbers.write_text("a,b\n" + "".join(f"{a if b else ''},x{a}\n" for a, b in cells))
    common = ("-k", 4, "--quasi", "a,b", "-o", target)
    assert attempt("microaggregate", numbers, *common).exit_code == 2 and not target.exists()
    assert attempt("generalize", source, *common, "--missing", "error").exit_code == 2 and not target.exists()
    result = json.loads(run("microaggregate", source, *common, "--json").stdout)
    assert min(Counter(pl.read_csv(target).rows()).values()) == result["figures"]["known"]["k"] >= 4
    gaps = next(f for f in result["findings"] if f["check"] == "missing")
    assert gaps["status"] == "warn" and gaps["figure"] == pl.read_csv(target)["b"].null_count() > 0
    assert "and 1 if it differs from every other cell" in gaps["finding"]
    run("generalize", source, *common, "--json")
    after = pl.read_csv(target, infer_schema=False)
    assert after.null_count().sum_horizontal()[0] == 0
    assert min(Counter(after.rows()).values()) >= 4
    gap = tmp_path / "gap.csv"
    after.with_columns(pl.when(pl.int_range(60) == 7).then(None).otherwise("a").alias("a")).write_csv(gap)
    refused = attempt("check", source, gap, "--quasi", "a,b", "-k", 4, "--json")
    assert refused.exit_code == 1 and {"joint-k", "known-k"} <= set(json.loads(refused.stdout)["blocking"])


def test_a_changed_hierarchy_is_read_anew(tmp_path: Path) -> None:
    source, tree, target = tmp_path / "in.csv", tmp_path / "tree.json", tmp_path / "out.csv"
    source.write_text("town\n" + "".join(f"{t}\n" * n for t, n in (("Aba", 3), ("Bee", 3), ("Cue", 3), ("Dee", 3))))
    for pairs in ((("Aba", "Bee"), ("Cue", "Dee")), (("Aba", "Cue"), ("Bee", "Dee"))):
        tree.write_text(json.dumps({f"group of {p[0]}": {name: {} for name in p} for p in pairs}))
        run("generalize", source, "-k", 6, "--quasi", "town", "--taxonomy", f"town={tree}", "-o", target, "--json")
        labels = pl.read_csv(target)["town"].to_list()
        own = dict(zip(pl.read_csv(source)["town"].to_list(), labels, strict=True))
        assert all(own[p[0]] == own[p[1]] == f"group of {p[0]}" for p in pairs)


def test_no_bucket_of_others_below_k(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    rare, often = ["king,99", "queen,98"], ["cook,30", "clerk,40"] * 20
    lines = [often[0], rare[0], *often[1:], rare[1]]
    source.write_text("job,age\n" + "".join(f"{line}\n" for line in lines))
    run("generalize", source, "-k", 5, "--quasi", "job,age", "-o", target, "--json")
    assert min(Counter(pl.read_csv(target).rows()).values()) >= 5
    run("generalize", source, "-k", 5, "--quasi", "job,age", "--suppress", 0.2, "-o", target, "--json")
    counts = Counter(pl.read_csv(target).rows())
    starred = counts.pop(("*", "*"), 0)
    assert min(counts.values()) >= 5
    result = json.loads(run("check", source, target, "--quasi", "job,age", "-k", 5, "--json").stdout)
    assert ("suppressed" in result["warnings"]) == (0 < starred < 5)
    other = tmp_path / "other.csv"
    other.write_text("job,age\n" + "".join("other,other\n" if line in rare else f"{line}\n" for line in lines))
    refused = attempt("check", source, other, "--quasi", "job,age", "-k", 5, "--json")
    assert refused.exit_code == 1 and json.loads(refused.stdout)["blocking"] == ["known-k", "joint-k"]


def test_nothing_fails_in_silence(survey: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    named, rest = ("--identifiers", "id"), ("--as-is", "note,score", "--confidential", "town")
    for arguments, code, cause in (
        (("microaggregate", survey, "-k", 999, *ROLES), 2, "999"),
        (("microaggregate", survey, "-k", 5, "--quasi", "age,id", "--as-is", "income,town,note,score"), 2, "'id'"),
        (("microaggregate", survey, "-k", 5, "--quasi", "age,incme"), 2, "Did you mean 'income'"),
        (("microaggregate", survey, "-k", 5, *QUASI, "--method", "mdav"), 1, "4 columns have no role"),
        (("microaggregate", survey, "-k", 5, *QUASI, *named, *rest, "--policy", "public"), 1, "'public'"),
        (("generalize", survey, "-k", 5, "--quasi", "age", *named, "--confidential", "town", "-l", 9), 2, "lower l"),
    ):
        result = attempt(*arguments, "-o", target)
        assert result.exit_code == code and result.stderr.startswith("Error: ") and len(result.stderr) > 40
        assert cause in result.stderr and not target.exists()


def test_a_stopped_run_goes_on_from_its_checkpoint(survey: Path, tmp_path: Path) -> None:
    common = ("microaggregate", survey, "-k", 5, *ROLES, "--method", "anneal", "--seed", 3)
    whole, resumed, state = tmp_path / "whole.csv", tmp_path / "resumed.csv", tmp_path / "state.npz"
    run(*common, "-o", whole)
    run(*common, "--checkpoint", state, "--seconds", 0, "-o", tmp_path / "part.csv")
    assert state.exists()
    run(*common, "--checkpoint", state, "--resume", "-o", resumed)
    assert resumed.read_bytes() == whole.read_bytes()


def test_labels_are_not_exported_as_codes(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    source = tmp_path / "in.sav"
    ages = np.random.default_rng(1).permutation(np.arange(20.0, 40.0))
    frame = pl.DataFrame({"age": ages, "sex": [1.0, 2.0] * 10})
    pyreadstat.write_sav(frame, str(source), variable_value_labels={"sex": {1.0: "woman", 2.0: "man"}})
    roles = ("--quasi", "age", "--as-is", "sex")
    common = ("microaggregate", source, "-k", 4, *roles, "--method", "mdav")
    run(*common, "-o", tmp_path / "out.sav", "--json")
    _, meta = pyreadstat.read_sav(str(tmp_path / "out.sav"))
    assert meta.variable_value_labels["sex"] == {1.0: "woman", 2.0: "man"}
    result = run(*common, "-o", tmp_path / "out.csv", "--json")
    assert "cannot keep value labels: sex holds codes" in result.stderr
    checked = json.loads(run("check", source, tmp_path / "out.csv", *roles, "-k", 4, "--json").stdout)
    assert "labels" in checked["warnings"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_columns_of_text_files_are_not_shifted(survey: Path, tmp_path: Path, delimiter: str) -> None:
    source, target = tmp_path / "odd.csv", tmp_path / "out.csv"
    pl.read_csv(survey).with_columns(pl.col("town") + delimiter + "x").write_csv(source, separator=delimiter)
    run("microaggregate", source, "-k", 5, *ROLES, "--method", "mdav", "-o", target, "--json")
    before, after = (pl.read_csv(path, separator=delimiter, infer_schema=False) for path in (source, target))
    assert after.shape == before.shape
    assert after.select(REST).equals(before.select(REST))
    run("check", source, target, *ROLES, "-k", 5)
