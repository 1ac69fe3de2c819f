"""The charts of the study of GOMM's operators, from a table by hand."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.studies.operators import COMBINED, PLOTS, relative_best

ROWS = pl.DataFrame(
    {
        "generation": [1, 1, 2, 2],
        "seed": [0, 1, 0, 1],
        "children": [10, 30, 10, 10],
        "discarded_unused": [1, 9, 5, 10],
        "lifetime": [1.0, 2.0, 0.0, 4.0],
        "better": [4, 2, 0, 1],
        "worse": [3, 6, 8, 8],
    }
)


def test_the_best_cost_of_an_operator_is_relative_to_that_of_all_together() -> None:
    """An operator that is worse alone is above 1. Costs are means over the seeds, per data set, k and generation."""
    costs = {(COMBINED, 0): (8.0, 12.0), (COMBINED, 1): (4.0, 4.0), ("swap", 0): (9.0, 11.0), ("swap", 1): (5.0, 7.0)}
    runs = [
        {"dataset": "water", "k": k, "run": run, "generation": generation, "seed": seed, "best_cost": k * cost}
        for k in (5, 25)
        for (run, generation), pair in costs.items()
        for seed, cost in enumerate(pair)
    ]
    relative = relative_best(pl.DataFrame(runs)).sort("k", "generation")
    assert relative.select("k", "run", "generation", "relative").rows() == [
        (5, "swap", 0, 1.0),
        (5, "swap", 1, 1.5),
        (25, "swap", 0, 1.0),
        (25, "swap", 1, 1.5),
    ]


@pytest.mark.parametrize(
    ("plot", "lines"),
    [
        ("Utilisation", {"discarded unused (%)": [25.0, 75.0]}),
        ("Mean lifetime", {"generations lived": [1.5, 2.0]}),
        ("Efficacy", {"better": [3.0, 0.5], "worse": [-4.5, -8.0]}),
    ],
)
def test_the_lines_of_a_plot(plot: str, lines: dict[str, list[float]]) -> None:
    draw, _ = PLOTS[plot]
    series = draw(ROWS)
    assert {one.name: list(one.y) for one in series} == lines
    assert all(list(one.x) == [1, 2] for one in series)


def test_the_lines_of_efficiency_are_means_over_the_seeds_and_gains_are_not_losses() -> None:
    kinds = [f"{what}_{which}" for what in ("improvement", "worsening") for which in ("mean", "min", "max")]
    rows = pl.DataFrame({"generation": [1, 1], **{kind: [float(i), i + 1.0] for i, kind in enumerate(kinds)}})
    draw, _ = PLOTS["Efficiency"]
    series = draw(rows)
    assert [list(one.y) for one in series] == [[i + 0.5] for i in range(6)]
    assert [one.name for one in series][::3] == ["improvement, mean (%)", "worsening, mean (%)"]
    assert len({one.look for one in series[:3]}) == len({one.look for one in series[3:]}) == 1
    assert series[0].look != series[3].look and not series[0].faint and series[1].faint
