"""`shoal compare`: which methods run, what is measured of them, and the answer."""

from __future__ import annotations

import itertools
import json
import re
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
    named = {method.name: method for method in compared.runs}
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
    for method in compared.runs:
        beaten = any(
            other.loss <= method.loss
            and other.risk <= method.risk
            and (other.loss, other.risk) != (method.loss, method.risk)
            for other in compared.runs
        )
        assert method.on_front == (not beaten), method.name


def test_the_answer_names_the_least_loss_and_the_best_balance(compared) -> None:
    keeping = [method for method in compared.runs if method.keeps_k]
    least, balanced = (min(keeping, key=lambda r, a=a: getattr(r, a)) for a in ("loss", "score"))
    assert f"{least.name} loses the least information at k = 3 ({least.loss:.2f} %)" in compared.answer
    assert balanced.name in compared.answer
    assert "group, each column" in compared.answer and "only within column groups" in compared.answer


def test_the_command_prints_a_table_and_json_and_writes_a_map(numbers: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ("compare", numbers, "-k", 3, "--quasi", "a,b", "--effort", "quick", "--report", page)
    facts = json.loads(run(*arguments, "--json").stdout)
    assert {"n", "d", "k", "runs", "front", "left_out", "stopped", "answer", "explanation"} == set(facts)
    assert all(set(method) >= MEASURES for method in facts["runs"])
    assert (facts["n"], facts["d"], facts["k"], facts["stopped"]) == (90, 2, 3, False)
    html = page.read_text()
    assert "Risk-utility map" in html and "Pareto front" in html and 'src="http' not in html
    shown = run(*arguments).stdout
    assert "risk %" in shown and "mdav" in shown
    assert "loses the least information at k =" in shown.strip().splitlines()[-1]


def test_a_single_column_has_its_optimum(numbers: Path) -> None:
    comparison = shoal.compare(numbers, 4, quasi=["a"], effort="quick")
    least = min(comparison.runs, key=lambda r: (round(r.loss, 9), r.name != "univariate"))
    assert least.name == "univariate"
    assert "auto" in {item.name for item in comparison.left_out}


def test_weights_leave_out_what_cannot_honour_them(numbers: Path) -> None:
    table = shoal.read(numbers, quasi=["a", "b"], weight="w")
    suitable, left = room.candidates(table, ["a", "b"], "thorough", True)
    assert {"group", "genetic", "hybrid"} <= {item.name for item in left if "weights" in item.why}
    assert {"auto, quick", "auto, standard", "auto, thorough"} <= {item.name for _, item in suitable}


def test_text_columns_are_recoded_generalized_and_suppressed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(18, 60, 80), "town": rng.choice(list("abcd"), 80)})
    comparison = shoal.compare(frame, 4, quasi=["age", "town"], effort="quick")
    runs = {item.name: item for item in comparison.runs}
    assert list(runs) == ["recode, quick", "generalize, quick", "suppress, quick"]
    assert all(item.k >= 4 for item in runs.values()) and "recode, quick loses the least" in comparison.answer
    starred = shoal.suppress(frame, 4, quasi=["age", "town"], effort="quick").facts["suppressed_cells"]
    assert runs["suppress, quick"].loss == pytest.approx(100 * starred / 160)
    recoded = shoal.recode(frame, 4, quasi=["age", "town"], effort="quick").facts["loss"]
    assert runs["recode, quick"].loss == pytest.approx(100 * recoded)
    with pytest.raises(UsageError, match="needs numeric columns"):
        shoal.compare(frame, 4, quasi=["age", "town"], missing="drop")


@pytest.mark.filterwarnings("ignore:Missing values were replaced")
@pytest.mark.parametrize("missing", ["error", "median"])
def test_the_lines_can_be_pasted(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    ages = [*rng.normal(40, 9, 59).round(3), None if missing == "median" else 40.0]
    pl.DataFrame({"age": ages, "pay": rng.lognormal(10, 1, 60).round(2)}).write_csv("people.csv")
    comparison = shoal.compare("people.csv", 4, quasi=["age", "pay"], effort="quick", missing=missing)
    runs = {item.name: item for item in comparison.runs}
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

    comparison = shoal.compare(numbers, 3, quasi=["a", "b"], effort="quick", progress=stop_at_the_third)
    assert comparison.stopped and [item.name for item in comparison.runs] == calls[:2]
    assert comparison.answer and comparison.as_json()["stopped"]
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


def made_run(name: str, loss: float, risk: float, il: float | None = None, keeps_k: bool = True) -> room.Run:
    measures = {"detail_lost": loss, "class_risk": risk} if il is None else {"il": il, "disclosure_risk": risk}
    score = ((loss if il is None else il) + risk) / 2
    return room.Run(name, "", {}, loss, risk, score, 3, keeps_k, 0.1, {**measures, "score": score})


def made_comparison(*runs: room.Run) -> room.Comparison:
    return room.Comparison(90, 2, 3, runs, (), False)


def test_the_explanation_says_why_loss_and_score_differ() -> None:
    """The method with the lowest loss is a, that with the best score is b; g does not keep k and does not count."""
    g = made_run("g", 0.1, 1.0, 0.1, keeps_k=False)
    risk = made_comparison(made_run("a", 1.0, 40.0, 2.0), made_run("b", 5.0, 20.0, 3.0), g)
    assert "b has IL 3.00 % (a: 2.00 %) and risk 20.00 % (a: 40.00 %); its lower risk outweighs" in risk.explanation
    il = made_comparison(made_run("a", 1.0, 20.0, 9.0), made_run("b", 1.1, 21.0, 3.0), g)
    assert (
        "b has IL 3.00 % (a: 9.00 %)" in il.explanation and "IL is lower although its loss is higher" in il.explanation
    )
    text = made_comparison(made_run("a", 10.0, 60.0), made_run("b", 20.0, 30.0))
    assert "a loss of 20.00 % (a: 10.00 %) and a risk of 30.00 % (a: 60.00 %)" in text.explanation
    assert made_comparison(made_run("a", 1.0, 20.0, 2.0), made_run("b", 5.0, 20.0, 3.0), g).explanation == ""
    assert made_comparison(g).explanation == ""


def test_the_explanation_is_in_the_report_and_in_json(tmp_path: Path) -> None:
    comparison = made_comparison(made_run("a", 1.0, 40.0, 2.0), made_run("b", 5.0, 20.0, 3.0))
    page = comparison.report(tmp_path / "page.html").read_text()
    assert "Loss and score differ because" in page and "The loss axis of the map is logarithmic" not in page
    assert comparison.as_json()["explanation"] == comparison.explanation
    wide = made_comparison(made_run("a", 1.0, 40.0, 2.0), made_run("b", 50.0, 20.0, 3.0))
    assert "The loss axis of the map is logarithmic" in wide.report(tmp_path / "page.html").read_text()


def test_the_map_shows_every_method_in_one_chart() -> None:
    """A method that loses 500 times as much is on the map, and the others stay apart."""
    runs = [
        made_run(name, loss, 90.0 - 10 * i, 2.0)
        for i, (name, loss) in enumerate(zip("abcd", (0.1, 0.2, 0.4, 50.0), strict=True))
    ]
    (chart,) = room.risk_utility_maps(made_comparison(*runs)).values()
    drawn = str(chart.panels[0].inside)
    places = sorted(float(x) for x in re.findall(r'<circle[^>]* cx="([\d.]+)%', drawn))
    assert len(places) == 4 and places[0] > 0.0 and places[-1] < 100.0
    assert min(b - a for a, b in itertools.pairwise(places)) > 5.0  # percent of the width
    narrow = [
        made_run(name, loss, 50.0, 2.0) for name, loss in zip("ab", (0.0, 500.0), strict=True)
    ]  # 0 has no logarithm
    assert not room._is_wide(narrow) and room._is_wide(runs)
