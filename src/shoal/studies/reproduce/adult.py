"""Table 1 and the four experiments of Dewri et al. 2009 on Adult, published values beside those of Shoal.

NSGA-II with the paper's settings: nine columns, names in alphabetical order, ages in 20 intervals of five years.
The paper prints no table of losses; docs/explain/conventions.md has the reference values. The paper's five weight
vectors were not published, so Shoal uses five of its own, named by the columns that they stress.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.protections.generalization.bits import groups_of
from shoal.protections.generalization.evaluate import Preference, Problem, make_problem
from shoal.protections.generalization.front import Front
from shoal.protections.generalization.nsga2 import Settings, nsga2
from shoal.protections.generalization.search import search
from shoal.report.charts import Chart, Series, series_chart
from shoal.studies.reproduce.data import known_folder
from shoal.studies.reproduce.result import Result, Table
from shoal.table.domain import Domain, nominal_domain, numeric_domain

QUASI = ("age", "workclass", "education", "marital_status", "occupation", "race", "sex", "native_country", "salary")
REFERENCE = {2: 0.3685, 5: 0.4294, 10: 0.4587, 25: 0.4759, 50: 0.5315, 100: 0.5690}
# Figure 2: by population, the reported solution's k, the unique solutions and prefdev.
PRINTED_POPULATIONS = {100: (5, 55, -0.661), 250: (7, 52, -0.610), 500: (5, 54, -0.649)}
WEIGHTS = {
    "equal": (1, 1, 1, 1, 1, 1, 1, 1, 1),
    "by domain size": (20, 7, 16, 7, 14, 5, 2, 41, 2),
    "person": (4, 1, 1, 2, 1, 4, 4, 1, 1),
    "work": (1, 4, 4, 1, 4, 1, 1, 1, 4),
    "origin": (1, 1, 1, 1, 1, 4, 1, 8, 1),
}
BIASES = (1.0, 0.5, 0.1, 0.05, 0.02)
PRINTED_SIZES = (20, 7, 16, 7, 14, 5, 2, 41, 2)
CONVENTION = (
    "The 30,162 complete records of Adult, nine columns, 105 bits. Ages are in 20 intervals of five years from 1 to "
    "100, names are in alphabetical order. NSGA-II has the settings of Dewri et al. 2009 (100 chromosomes, crossover "
    "0.8, mutation 0.001). Each of the first chromosomes draws its own density of bits; without this, none becomes "
    "feasible. The paper has plots without values: the reference losses were measured with its settings."
)
# Evaluations of NSGA-II, the k, and the effort of the search beside it.
BUDGETS: dict[str, tuple[int, tuple[int, ...], str]] = {
    "quick": (50_000, tuple(REFERENCE), "quick"),
    "full": (50_000, tuple(REFERENCE), "standard"),
}


def adult(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """The four experiments; quick takes less effort for the search beside them."""
    make = _problems(known_folder("adult", data_folder) / "adult.csv")
    evaluations, levels, effort = BUDGETS["quick" if quick else "full"]

    def run(problem: Problem, population: int = 100) -> Front:
        return nsga2(problem, seed=seed, settings=Settings(population, evaluations))

    fronts = {k: run(make(k, Preference(0.2, 1.0), None)) for k in levels}
    by_k = [_row(k, front, REFERENCE[k]) for k, front in fronts.items()]
    for row, k in zip(by_k, levels, strict=True):
        row.append(search(make(k, Preference(0.2, 1.0), None), seed=seed, effort=effort).best.nwp)
    sizes = {size: run(make(5, Preference(0.2, 1.0), None), size) for size in PRINTED_POPULATIONS}
    weighted = {name: run(make(5, Preference(0.2, 0.1), w)) for name, w in WEIGHTS.items()}
    biased = {bias: run(make(5, Preference(0.2, bias), WEIGHTS["by domain size"])) for bias in BIASES}
    tables = [
        _domains(make.domains),
        _table(
            "Figure 1: k (preference 0.2, 1.0)",
            ["k", "effective k", "NWP", "NECD", "reference NWP", "search NWP"],
            by_k,
        ),
        _table(
            "Figure 2: population size (k = 5, preference 0.2, 1.0)",
            [
                *("population", "k printed", "unique printed", "prefdev printed"),
                *("effective k", "unique", "prefdev", "NWP", "NECD"),
            ],
            [
                [
                    *(size, *PRINTED_POPULATIONS[size], front.best.effective_k, front.facts["unique_solutions"]),
                    *(front.best.deviation, front.best.nwp, front.best.necd),
                ]
                for size, front in sizes.items()
            ],
            "Shoal keeps distinct solutions first, so all solutions of a population are unique.",
        ),
        _table(
            "Figure 3: weights (k = 5, preference 0.2, 0.1)",
            ["weights", "effective k", "NWP", "NECD", *(f"groups of {name}" for name in QUASI)],
            [[name, *_figures(front), *_groups(front, make.domains)] for name, front in weighted.items()],
            "The weight vectors of the paper were not published; these are those of Shoal.",
        ),
        _table(
            "Figure 4: bias preference (k = 5, weights by domain size)",
            ["preferred NECD", "effective k", "NWP", "NECD"],
            [[bias, *_figures(front)] for bias, front in biased.items()],
            "In the paper k rises from 5 to 7 when the preferred bias falls below 0.1: more generalization, less bias.",
        ),
    ]
    figures = {
        "Figure 1: NWP and NECD of the fronts": _scatter({f"k = {k}": front for k, front in fronts.items()}),
        "Figure 3: weights": _scatter(weighted, only_best=True),
        "Figure 4: bias preference": _scatter({f"{bias:g}": front for bias, front in biased.items()}, only_best=True),
    }
    convention = CONVENTION + f" {evaluations:,} evaluations per run (published: 50,000)."
    return Result("k-anonymity of Adult by NSGA-II", tables, figures, convention=convention)


class _problems:
    """Adult's complete rows, coded once; called with k, preference and weights."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InputError(f"there is no {str(path)!r}: the experiments need Adult as a CSV file with that name")
        frame = pl.read_csv(path, null_values="?").drop_nulls()
        self.columns, domains = [], []
        for name in QUASI:
            values, codes, counts = np.unique(frame[name].to_numpy(), return_inverse=True, return_counts=True)
            plain = values.tolist()
            if name == "age":
                domain = numeric_domain(name, plain, False, granularity=(5, 1, 101))
            else:
                domain = nominal_domain(name, plain, counts.tolist(), False, "alphabetical")
            self.columns.append(domain.encode(plain)[codes.reshape(-1)])
            domains.append(domain)
        self.domains: tuple[Domain, ...] = tuple(domains)

    def __call__(self, k: int, preference: Preference, weights: tuple[int, ...] | None) -> Problem:
        positions = [domain.positions for domain in self.domains]
        return make_problem(self.columns, positions, k, weights=weights, preference=preference)


def _domains(domains: tuple[Domain, ...]) -> Table:
    """Table 1: the sizes of the domains, and how many of their values occur."""
    rows: list[list[Any]] = [
        [d.name, printed, d.size, d.size - 1] for d, printed in zip(domains, PRINTED_SIZES, strict=True)
    ]
    bits = sum(row[3] for row in rows)
    return _table(
        "Table 1: domains", ["attribute", "size printed", "size", "bits"], rows, f"{bits} bits (published: 105)."
    )


def _figures(front: Front) -> list[Any]:
    return [front.best.effective_k, front.best.nwp, front.best.necd]


def _row(first: Any, front: Front, reference: float) -> list[Any]:
    return [first, *_figures(front), reference]


def _groups(front: Front, domains: tuple[Domain, ...]) -> list[int]:
    return [len(groups_of(front.best.labels[j], domain.size)) for j, domain in enumerate(domains)]


def _table(title: str, columns: list[str], rows: list[list[Any]], note: str = "") -> Table:
    return {"title": title, "columns": columns, "rows": rows, "note": note}


def _scatter(fronts: dict[str, Front], only_best: bool = False) -> Chart:
    series = []
    for i, (name, front) in enumerate(fronts.items(), start=1):
        points = (front.best,) if only_best else front.points
        titles = [f"{name}, smallest class {p.effective_k}" for p in points]
        size = 5.0 if only_best else 3.5
        nwp, necd = [p.nwp for p in points], [p.necd for p in points]
        series.append(Series(name, nwp, necd, line=False, titles=titles, look=i, size=size))
    return series_chart(series, "NWP (loss)", "NECD (bias)")
