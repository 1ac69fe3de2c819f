"""`shoal compare`: which methods run, what is measured of them, and the answer."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import run
from shoal import comparison as room
from shoal.errors import UsageError

MEASURES = {
    "information_loss", "il", "interval_disclosure", "distance_linkage", "disclosure_risk", "score", "k", "cpu_seconds",
}  # fmt: skip


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(2)
    mixed = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3))
    path = tmp_path_factory.mktemp("compare") / "numbers.csv"
    pl.DataFrame(mixed, schema=["a", "b", "c"]).with_columns(w=pl.Series(rng.uniform(1, 2, 90))).write_csv(path)
    return path


@pytest.fixture(scope="module")
def compared(numbers: Path) -> shoal.comparison.Comparison:
    return shoal.compare(numbers, 3, quasi=["a", "b", "c"], effort="quick")


def test_the_suitable_methods_are_measured_as_assess_measures_them(compared, numbers: Path) -> None:
    named = {found.name: found for found in compared.runs}
    assert {"mdav", "md", "vmdav", "mst", "path", "hybrid", "auto, quick", "group, each column"} <= set(named)
    assert {item.name for item in compared.left_out} == {"genetic"}
    release = shoal.microaggregate(numbers, 3, quasi=["a", "b", "c"], method="mdav")
    figures = shoal.assess(release.original, release.protected)
    for name in ("information_loss", "il", "interval_disclosure", "distance_linkage", "disclosure_risk", "score"):
        assert named["mdav"].measures[name] == pytest.approx(figures[name], rel=1e-9), name
    assert named["mdav"].k == figures["k"]
    assert named["auto, quick"].loss <= min(named[m].loss for m in ("mdav", "md", "vmdav", "mst", "path"))
    assert named["group, each column"].loss < named["auto, quick"].loss
    assert not named["group, each column"].keeps_k


def test_the_front_is_what_no_other_beats_in_both(compared) -> None:
    for found in compared.runs:
        beaten = any(
            other.loss <= found.loss
            and other.risk <= found.risk
            and (other.loss, other.risk) != (found.loss, found.risk)
            for other in compared.runs
        )
        assert found.on_front == (not beaten), found.name


def test_the_answer_names_the_least_loss_and_the_best_balance(compared) -> None:
    keeping = [found for found in compared.runs if found.keeps_k]
    least, balanced = (min(keeping, key=lambda r, a=a: getattr(r, a)) for a in ("loss", "score"))
    assert f"{least.name} loses the least information at k = 3 ({least.loss:.2f} %)" in compared.answer
    assert balanced.name in compared.answer
    assert "group, each column" in compared.answer and "only within column groups" in compared.answer


def test_the_command_prints_a_table_and_json_and_writes_a_map(numbers: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    asked = ("compare", numbers, "-k", 3, "--quasi", "a,b", "--effort", "quick", "--report", page)
    facts = json.loads(run(*asked, "--json").stdout)
    assert {"n", "d", "k", "runs", "front", "left_out", "stopped", "answer"} == set(facts)
    assert all(set(found) >= MEASURES for found in facts["runs"])
    assert (facts["n"], facts["d"], facts["k"], facts["stopped"]) == (90, 2, 3, False)
    html = page.read_text()
    assert "Risk-utility map" in html and "Pareto front" in html and 'src="http' not in html
    shown = run(*asked).stdout
    assert "risk %" in shown and "mdav" in shown
    assert "loses the least information at k =" in shown.strip().splitlines()[-1]


def test_a_single_column_has_its_optimum(numbers: Path) -> None:
    found = shoal.compare(numbers, 4, quasi=["a"], effort="quick")
    least = min(found.runs, key=lambda r: (round(r.loss, 9), r.name != "univariate"))
    assert least.name == "univariate"
    assert "auto" in {item.name for item in found.left_out}


def test_weights_leave_out_what_cannot_honour_them(numbers: Path) -> None:
    table = shoal.read(numbers, quasi=["a", "b"], weight="w")
    suitable, left = room.candidates(table, ["a", "b"], "thorough", True)
    assert {"group", "genetic", "hybrid"} <= {item.name for item in left if "weights" in item.why}
    assert {"auto, quick", "auto, standard", "auto, thorough"} <= {item.name for _, item in suitable}


def test_text_columns_are_generalized_only(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(18, 60, 80), "town": rng.choice(list("abcd"), 80)})
    found = shoal.compare(frame, 4, quasi=["age", "town"], effort="quick")
    assert [item.name for item in found.runs] == ["generalize, quick"]
    assert found.runs[0].k >= 4 and "generalize, quick" in found.answer
    with pytest.raises(UsageError, match="needs numeric columns"):
        shoal.compare(frame, 4, quasi=["age", "town"], missing="drop")


@pytest.mark.filterwarnings("ignore:missing values filled")
@pytest.mark.parametrize("missing", ["error", "median"])
def test_the_lines_can_be_pasted(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    ages = [*rng.normal(40, 9, 59).round(3), None if missing == "median" else 40.0]
    pl.DataFrame({"age": ages, "pay": rng.lognormal(10, 1, 60).round(2)}).write_csv("people.csv")
    found = shoal.compare("people.csv", 4, quasi=["age", "pay"], effort="quick", missing=missing)
    runs = {item.name: item for item in found.runs}
    line = shlex.split(runs["mdav"].command)
    assert line[:3] == ["shoal", "microaggregate", "people.csv"]
    facts = json.loads(run(*line[1:], "--json").stdout)
    assert facts["information_loss"] == pytest.approx(runs["mdav"].loss)
    generalized = runs["generalize, quick"].command
    if missing == "error":
        assert "--cuts" in generalized and json.loads(run(*shlex.split(generalized)[1:], "--json").stdout)["k"] == 4
    else:  # no command of generalize fills missing numbers, so that the line names no file
        assert generalized.startswith("shoal generalize FILE ")


def test_labels_count_as_the_mean_of_what_they_stand_for() -> None:
    frame = pl.DataFrame({"x": [1, 2, 3, 10, 20, 30], "y": [5, 5, 5, 7, 7, 7]})
    release = shoal.generalize(frame, 3, quasi=["x", "y"])
    assert release.table["x"].n_unique() == 2
    before = release.original.numbers(["x"])[:, 0]
    assert room._as_numbers(release, "x", before).tolist() == [2, 2, 2, 20, 20, 20]


def test_stopped_it_gives_what_was_done_so_far(numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def stop_at_the_third(done: float, total: float, best: float | None = None, what: str = "") -> None:
        if what not in calls:
            calls.append(what)
        if len(calls) == 3 and done < total:
            raise KeyboardInterrupt

    found = shoal.compare(numbers, 3, quasi=["a", "b"], effort="quick", progress=stop_at_the_third)
    assert found.stopped and [item.name for item in found.runs] == calls[:2]
    assert found.answer and found.as_json()["stopped"]
    with pytest.raises(KeyboardInterrupt):
        shoal.compare(numbers, 3, quasi=["a", "b"], progress=_stop)


def _stop(done: float, total: float, best: float | None = None, what: str = "") -> None:
    raise KeyboardInterrupt


def test_points_of_the_map_that_lie_close_share_a_label() -> None:
    def at(name: str, loss: float, risk: float) -> room.Run:
        return room.Run(name, "", {}, loss, risk, 0.0, 3, True, 0.1, {})

    runs = [at("a", 0.0, 90.0), at("b", 50.0, 20.0), at("c", 50.5, 20.4), at("d", 51.0, 20.2), at("e", 100.0, 10.0)]
    numbers = {run.name: i for i, run in enumerate(runs, start=1)}
    assert room._labels(runs, numbers) == {"a": "1", "c": "2–4", "e": "5"}
    far = [at("a", 0.0, 90.0), at("b", 50.0, 20.0), at("e", 100.0, 10.0)]
    assert room._labels(far, {"a": 1, "b": 2, "e": 3}) == {"a": "1", "b": "2", "e": "3"}
