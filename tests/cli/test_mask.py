"""`shoal mask`: the JSON, the written file, and the messages."""

from __future__ import annotations

import csv
import inspect
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from shoal.cli.protect import command_of
from shoal.errors import PromiseError, ShoalError, ShoalWarning, UsageError
from shoal.protections.regions import MASK, mask_group
from shoal.protections.regions.outliers import outliers

QUICK = ["--budget", "60", "--steps", "100"]
SEED = ["--seed", "1"]


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,200 records in 15 regions; the target group is concentrated in D03 and D11; some ages are missing."""
    rng = np.random.default_rng(1)
    region = rng.integers(0, 15, 1200)
    job = rng.choice(["cook", "clerk", "nurse"], 1200)
    for d in range(15):
        rows = np.flatnonzero(region == d)
        count = {3: 30, 11: 20}.get(d, int(rng.integers(1, 4)))
        job[rows[:count]] = "guard"
    age = rng.integers(18, 80, 1200).astype(object)
    age[::97] = None
    frame = pl.DataFrame(
        {
            "district": [f"D{d:02d}" for d in region],
            "job": job,
            "age": pl.Series(age.tolist(), dtype=pl.Int64),
            "sex": rng.choice(["f", "m"], 1200),
            "income": rng.lognormal(10, 0.5, 1200).round(2),
            "name": [f"person {i}" for i in range(1200)],
        }
    )
    path = tmp_path_factory.mktemp("mask") / "survey.csv"
    frame.write_csv(path)
    return path


def run(survey: Path, *more: str):
    columns = ["--vital", "job=guard", "--parameter", "district", "--influential", "age,sex,income"]
    columns += ["--ordinal", "age,income"]
    return CliRunner().invoke(command_of(MASK), [str(survey), *columns, *more], catch_exceptions=True)


def test_the_json_and_the_written_file_agree(survey: Path, tmp_path: Path) -> None:
    target, swap_file, page = tmp_path / "masked.csv", tmp_path / "swaps.csv", tmp_path / "masked.html"
    out = ["-o", str(target), "--swaps", str(swap_file), "--report", str(page), "--identifiers", "name", "--json"]
    with pytest.warns(ShoalWarning, match="depend on a seed"):
        refused = run(survey, *QUICK, *SEED, *out)
    assert isinstance(refused.exception, PromiseError) and "does not guarantee a k" in str(refused.exception)
    assert json.loads(refused.stdout)["written"] is False and not target.exists() and not swap_file.exists()
    with pytest.warns(ShoalWarning, match="depend on a seed"):
        result = run(survey, *QUICK, *SEED, *out, "--accept-k", "1")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["outliers"] == ["D03", "D11"]
    assert not set(facts["outliers"]) & set(facts["modified_outliers"])
    assert facts["feasible"] is True and facts["hidden"] is True and facts["compatibility"] >= 0.95
    assert facts["new_outliers"] == [] and facts["outliers_left"] == [] and facts["still_largest"] == []
    assert facts["lower_bound"] <= facts["metric"] + 1e-9
    before, after = pl.read_csv(survey), pl.read_csv(target)
    assert after.columns == ["district", "job", "age", "sex", "income"]
    assert before.drop("district", "name").equals(after.drop("district"))
    changed = (before["district"] != after["district"]).to_numpy()
    assert changed.sum() == 2 * facts["swaps"]
    counts = after.filter(pl.col("job") == "guard")["district"].value_counts()
    modified = dict(zip(facts["districts"], facts["modified_signal"], strict=True))
    assert {d: c for d, c in modified.items() if c} == dict(counts.iter_rows())
    for alpha in (0.001, 0.005, 0.01, 0.02, 0.05):
        seen = set(outliers(facts["modified_signal"], alpha).tolist())
        assert not seen & {3, 11} and seen <= set(outliers(facts["signal"], alpha).tolist())
    assert (
        before["district"]
        .value_counts(sort=True)
        .sort("district")
        .equals(after["district"].value_counts(sort=True).sort("district"))
    )
    with swap_file.open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(r[k]) - 1 for r in rows for k in ("vital_row", "partner_row")) == np.flatnonzero(changed).tolist()
    assert sum(float(r["metric"]) for r in rows) == pytest.approx(facts["metric"])
    assert '<svg role="img"' in page.read_text()


def test_pick_takes_another_solution(survey: Path) -> None:
    first = json.loads(run(survey, *QUICK, *SEED, "--json").stdout)
    assert len(first["feasible_solutions"]) > 1
    other = 2 if first["picked"] == 1 else 1
    second = json.loads(run(survey, *QUICK, *SEED, "--pick", str(other), "--json").stdout)
    assert second["metric"] == first["feasible_solutions"][other - 1]["metric"] != first["metric"]
    assert second["modified_signal"] == first["feasible_solutions"][other - 1]["signal"]


def test_without_a_seed_the_swapped_records_are_drawn_from_a_fresh_secret(survey: Path, tmp_path: Path) -> None:
    lists = [tmp_path / name for name in ("1.csv", "2.csv", "3.csv", "4.csv")]
    for path, seed in zip(lists, ([], [], SEED, SEED), strict=True):
        assert run(survey, *QUICK, *seed, "--swaps", str(path)).exit_code == 0
    one, two, three, four = (path.read_text() for path in lists)
    assert one != two and three == four


def test_memetic_with_tau_prints_a_table(survey: Path) -> None:
    memetic = ["--method", "memetic", "--runs", "2", "--generations", "60", "--tau", *SEED]
    refused = run(survey, *memetic)
    assert isinstance(refused.exception, UsageError) and "add --settings published" in str(refused.exception)
    result = run(survey, *memetic, "--settings", "published")
    assert result.exit_code == 0, result.output
    assert "Feasible solutions" in result.output


def test_the_first_line_says_what_was_measured(survey: Path) -> None:
    hidden = run(survey, *QUICK, *SEED).stdout.splitlines()[0]
    assert hidden.startswith("Measured in quantity and concentration at alpha 0.001 to 0.05: none of the 2 original")
    published = run(survey, *QUICK, *SEED, "--settings", "published").stdout
    first = published.splitlines()[0]
    assert "no longer stand out" not in published
    assert "still" in first or "new outliers: " in first


def test_decoys_are_drawn_and_reported(survey: Path) -> None:
    facts = json.loads(run(survey, *QUICK, *SEED, "--decoys", "1", "--json").stdout)
    assert len(facts["decoys"]) == 1 and facts["new_outliers"] == facts["decoys"]


def test_an_impossible_wish_ends_with_the_nearest_choices(survey: Path, tmp_path: Path) -> None:
    target = tmp_path / "masked.csv"
    result = run(survey, *QUICK, *SEED, "--distortion", "0", "-o", str(target))
    assert isinstance(result.exception, PromiseError) and result.exception.exit_code == 1
    message = str(result.exception)
    assert "The group can be hidden at alpha 0.001" in message and not target.exists()
    named = message.split("--distortion ")[1].split(")")[0]
    assert run(survey, *QUICK, *SEED, "--distortion", named).exit_code == 0


def test_a_column_beside_the_region_moves_along_or_is_refused(survey: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(survey).with_columns(pl.col("district").str.slice(0, 2).alias("county"))
    beside, target = tmp_path / "beside.csv", tmp_path / "masked.csv"
    frame.write_csv(beside)
    out = [*QUICK, "-o", str(target), "--identifiers", "name", "--accept-k", "1"]
    refused = run(beside, *out)
    assert isinstance(refused.exception, PromiseError) and "--along county" in str(refused.exception)
    assert not target.exists()
    result = run(beside, *out, "--along", "county")
    assert result.exit_code == 0, result.output
    after = pl.read_csv(target)
    assert (after["district"].str.slice(0, 2) == after["county"]).all()
    assert (after["county"] != frame["county"]).any()


@pytest.mark.parametrize(
    "more, message",
    [
        (["--runs", "3"], "The method flow does not use runs: it belongs to memetic."),
        (["--outliers", "D99"], "Unknown region in 'district' 'D99'"),
        (["--outliers", "D03", "--thresholds", "1,2"], "--thresholds has 2 values and --outliers 1 region."),
        (["--outliers", "D03,D03"], "names a region of 'district' twice"),
        (["--pick", "9999", *QUICK], "--pick must be between 1 and"),
        (["--weights", "height=2"], "Unknown matching column 'height'"),
        (["--signal", "difference"], "needs a second group. Add --second"),
    ],
)
def test_wrong_options_are_refused(survey: Path, more: list[str], message: str) -> None:
    result = run(survey, *more)
    assert isinstance(result.exception, ShoalError) and message in str(result.exception)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_every_kind_of_frame_comes_back_as_it_was(survey: Path, library: str) -> None:
    frame = pl.read_csv(survey)
    if library == "pandas":
        frame = frame.to_pandas()
        frame["district"] = frame["district"].astype("category")
        frame.index = frame.index[::-1]
    elif library == "pyarrow":
        frame = frame.to_arrow()
    options = {"influential": ["age", "sex"], "ordinal": ["age"], "budget": 60, "steps": 100, "seed": 1}
    release = mask_group(frame, vital=("job", ["guard"]), parameter="district", **options)
    assert type(release.table) is type(frame)
    if library == "pandas":
        assert release.table.dtypes.equals(frame.dtypes) and release.table.index.equals(frame.index)
    release.verify()


def test_unknown_values_and_missing_regions_are_refused(survey: Path) -> None:
    frame = pl.read_csv(survey)
    options = {"parameter": "district", "influential": ["sex"]}
    with pytest.raises(ShoalError, match="Did you mean 'guard'"):
        mask_group(frame, vital=("job", ["gard"]), **options)
    holed = frame.with_columns(pl.when(pl.col("age") == 30).then(None).otherwise(pl.col("district")).alias("district"))
    with pytest.raises(
        ShoalError,
        match="regions, 'district', has 23 missing values, the first in row 11. Every record needs a region",
    ):
        mask_group(holed, vital=("job", ["guard"]), **options)


def test_no_feasible_solution_names_the_options_that_help(survey: Path) -> None:
    """A larger alpha flags more outliers, so that masking is harder: the way out is a smaller one."""
    hard = ["--settings", "published", "--budget", "5", "--steps", "0", "--distortion", "0", *SEED]
    refused = run(survey, *hard)
    assert isinstance(refused.exception, PromiseError)
    assert str(refused.exception).endswith("Lower --compatibility or --alpha, or raise --distortion.")


def test_a_smaller_alpha_makes_a_feasible_solution(survey: Path) -> None:
    """The hint above, tried: the same search finds nothing at the larger alpha and a solution at the smaller one."""
    wanted = ["--settings", "published", "--outliers", "D03,D11", "--budget", "30", "--steps", "0", *SEED]
    wanted += ["--distortion", "2.1e-5"]  # between what the two alphas need
    refused = run(survey, *wanted, "--alpha", "0.05")
    assert isinstance(refused.exception, PromiseError) and "or --alpha" in str(refused.exception)
    assert run(survey, *wanted, "--alpha", "0.001").exit_code == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"influential": ["sex", "job"]}, "--influential must not name 'job', the column of the target group"),
        ({"influential": ["sex", "district"]}, "--influential must not name 'district', the column of the regions"),
        ({"along": ["job"]}, "--along must not name 'job', the column of the target group"),
        ({"parameter": "job"}, "'job' cannot be both that of the target group"),
        (
            {"influential": ["debt"], "ordinal": ["debt"]},
            "column 'debt' has 1 negative or infinite value, the first in row 8.",
        ),
        (
            {"influential": ["sex"], "weights": {"sex": -1.0}},
            "weight of the matching column 'sex' must be a finite number",
        ),
        ({"influential": ["age", "sex"], "ordinal": ["age"], "weights": {"sex": -1.0}}, "matching column 'sex'"),
        ({"chi": (0.0, float("nan"))}, "--chi must be two finite numbers"),
        ({"influential": ["sex"], "ordinal": ["sex"]}, "'sex'"),
        ({"vital": ("age", ["old"])}, "The column 'age' has numbers, and the value 'old' of --vital is not a number"),
        ({"outliers": ["D03"], "thresholds": [float("inf")]}, "--thresholds must be finite numbers"),
        ({"parameter": "country"}, r"All records are in one region \(column 'country'\)"),
        ({"vital": ("country", ["NZ"])}, r"All records belong to the target group \(column 'country'\)"),
    ],
)
def test_a_message_names_the_column(survey: Path, more: dict, message: str) -> None:
    frame = pl.read_csv(survey).with_columns(
        debt=pl.when(pl.int_range(pl.len()) == 7).then(-1.0).otherwise(5.0), country=pl.lit("NZ")
    )
    options = {"vital": ("job", ["guard"]), "parameter": "district", "influential": ["sex"], **more}
    with pytest.raises(ShoalError, match=message):
        mask_group(frame, **options, seed=1)


@pytest.mark.parametrize("value", [True, "True", "true"])
def test_a_column_of_true_and_false_can_be_the_target_group(survey: Path, value: object) -> None:
    frame = pl.read_csv(survey).with_columns(guard=pl.col("job") == "guard").drop("job")
    release = mask_group(frame, vital=("guard", [value]), parameter="district", influential=["sex"], seed=1)
    assert release.facts["vital_records"] == int(frame["guard"].sum())


def test_the_lower_bound_says_what_it_takes_into_account(survey: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    by_kind = {}
    for steps, kind, title in (
        (0, "compatibility", "compatibility alone"),
        (400, "tau test", "compatibility and tau test"),
    ):
        options = ["--settings", "hiding", "--budget", "60", "--steps", str(steps), *SEED]
        facts = json.loads(run(survey, *options, "--json").stdout)
        assert facts["lower_bound_kind"] == kind
        by_kind[kind] = facts["lower_bound"]
        assert f"lower bound ({title})" in " ".join(run(survey, *options).output.split())
        assert run(survey, *options, "--report", str(page)).exit_code == 0
        assert f"lower bound ({title}) is {facts['lower_bound']:.6g}" in page.read_text()
    assert by_kind["compatibility"] < by_kind["tau test"]


def test_every_parameter_is_an_option() -> None:
    options = {option for param in command_of(MASK).params for option in param.opts}
    for name in inspect.signature(mask_group).parameters:
        if name not in {"data", "secret", "progress", "control"}:  # the file, the recipe's, and objects
            assert f"--{name.replace('_', '-')}" in options, name
