"""The Pareto front of `shoal.recode`: its goals, what no other solution beats, and the solution that is taken."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.engine.control import Control
from shoal.errors import UsageError
from shoal.protections.recoding.front import FrontPoint, Goal, front_of, goals

QUASI = ["age", "town"]


def people(n: int = 240) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(list("abcdefgh"), n),
            "ill": rng.choice(["w", "x", "y", "z"], n, p=[0.6, 0.2, 0.1, 0.1]),
        }
    )


def released(**options) -> shoal.Release:
    table = shoal.read(people(), quasi=QUASI, confidential=["ill"])
    return shoal.recode(table, 3, front=True, effort="quick", **options)


def test_goals_differ_from_the_first_in_k_in_l_or_in_the_share() -> None:
    first = Goal(4, 2.0, 0.1)
    found = goals(first, n=100, highest_l=3.0)
    assert found[0] == first
    assert [goal.k for goal in found] == [4, 8, 12, 20, 40, 4, 4, 4]
    assert [goal.l for goal in found] == [2.0] * 5 + [3.0] + [2.0] * 2
    assert [goal.suppress for goal in found] == [0.1] * 6 + [0.05, 0.0]
    assert [goal.k for goal in goals(Goal(4, None, 0.0), n=30, highest_l=1.0)] == [4, 8, 12]


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=12))
def test_the_front_has_what_no_other_solution_beats(figures: list[tuple[int, int, int, int]]) -> None:
    points = [
        FrontPoint(Goal(2 + k, 1.0 + least, 0.0), float(loss), 2, starred, None) for loss, k, least, starred in figures
    ]
    kept = {(p.loss, p.goal.k - 2, p.goal.l - 1, p.suppressed) for p in front_of(points)}
    beaten = {
        one
        for one in figures
        for two in figures
        if one != two and two[0] <= one[0] and two[1] >= one[1] and two[2] >= one[2] and two[3] <= one[3]
    }
    assert kept == set(figures) - beaten
    assert len(front_of(points)) == len(kept)


def test_every_solution_that_is_taken_keeps_its_k_its_l_and_its_figures() -> None:
    front = released().facts["front"]
    assert released().facts["loss"] == min(point["loss"] for point in front)
    assert {point["k"] for point in front} == {3, 6, 9, 15, 30} and {point["l"] for point in front} >= {None, 2.0, 3.0}
    for number in (1, 2, len(front)):
        release, point = released(pick=number), front[number - 1]
        sick = defaultdict(list)
        for *key, ill in release.frame.select(*QUASI, "ill").rows():
            sick[tuple(key)].append(ill)
        assert release.facts["pick"] == number and release.facts["loss"] == pytest.approx(point["loss"])
        assert min(map(len, sick.values())) == point["effective_k"] >= point["k"] == release.facts["k"]
        assert min(len(set(held)) for held in sick.values()) >= (point["l"] or 1)
        assert {type(promise).__name__ for promise in release.promises} == (
            {"KAnonymity"} if point["l"] is None else {"KAnonymity", "LDiversity"}
        )
        release.verify()


def test_fewer_suppressed_records_have_their_cost() -> None:
    near = np.repeat(np.arange(100), 2)
    frame = pl.DataFrame({"a": [*near.tolist(), 5000, 9000, 13000], "ill": ["x", "y"] * 100 + ["x"] * 3})
    table = shoal.read(frame, quasi=["a"], confidential=["ill"])
    release = shoal.recode(table, 3, l=2, effort="quick", suppress=0.02, front=True)
    losses = {number: [p["loss"] for p in release.facts["front"] if p["suppressed"] == number] for number in (0, 3)}
    assert len(losses[3]) == 1 and losses[3][0] < min(losses[0])
    assert release.facts["suppressed"] == 3 and release.facts["loss"] == pytest.approx(losses[3][0])


def test_the_report_draws_the_front_and_a_recipe_repeats_the_solution(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "in.csv")
    table = shoal.read(tmp_path / "in.csv", quasi=QUASI, confidential=["ill"])
    release = shoal.recode(table, 3, front=True, pick=2, effort="quick")
    page = release.report(tmp_path / "r.html").read_text()
    assert "Cost of a higher k" in page and "Cost of a higher l" in page and "2 (taken)" in page
    assert "Cost of a higher k" not in release.report(tmp_path / "public.html", external=True).read_text()
    release.recipe.save(tmp_path / "recipe.toml")
    assert shoal.run(tmp_path / "recipe.toml").frame.equals(release.frame)


def test_a_stop_leaves_the_solutions_that_are_complete() -> None:
    control = Control()

    def stop_in_the_second(done: float, total: float, best: float | None = None, what: str = "") -> None:
        if what == "solution 2":
            control.stop()

    control.progress = stop_in_the_second
    release = released(control=control)
    assert [point["k"] for point in release.facts["front"]] == [3] and release.facts["stopped"]
    release.verify()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pick": 99, "front": True}, "between 1 and"),
        ({"pick": 2}, "without front"),
        ({"front": True, "l": 9}, "not that"),
    ],
)
def test_what_has_no_solution_is_refused(options: dict, words: str) -> None:
    table = shoal.read(people(), quasi=QUASI, confidential=["ill"])
    with pytest.raises(UsageError, match=words):
        shoal.recode(table, 3, method="mondrian", **options)
