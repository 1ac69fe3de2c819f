"""The four steps of the sensitivity analysis (Solanas et al. 2006, section IV), on the runs of a grid.

1. Analysis of variance of the SSE: which factors are significant. 2. Tukey's and Scheffe's tests: which values of
these are as good as the best. 3. and 4. the same for the convergence generation, among runs with the best values.
The tests are those of statsmodels and scikit-posthocs (the extra `study`), imported when they are used.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import UsageError

FACTORS = ("mutation_rate", "crossover_rate", "population")
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class BestSettings:
    """The results of the steps. `sse`, `best`: the values of each factor that remain after two and four steps."""

    steps: list[dict[str, Any]]
    sse: dict[str, list[float]]
    best: dict[str, list[float]]


def analyse(runs: pl.DataFrame) -> BestSettings:
    """Apply the four steps to a table of runs with the factors, `sse` and `convergence_generation`.

    for response in SSE, convergence generation:
        ANOVA on the three factors: those with p < 0.05 are significant
        for each of them: the values that neither Tukey's nor Scheffe's test separates from the one with the least mean
        the next response uses only runs with those values
    """
    steps: list[dict[str, Any]] = []
    left: list[dict[str, list[float]]] = []
    for number, response in ((1, "sse"), (3, "convergence_generation")):
        factors = [name for name in FACTORS if runs[name].n_unique() > 1]
        table = variance(runs, response, factors)
        steps.append({"step": number, "test": "ANOVA", "response": response, "factors": table})
        groups = {
            row["factor"]: best_values(runs, response, row["factor"], factors) for row in table if row["significant"]
        }
        steps.append(
            {"step": number + 1, "test": "Tukey and Scheffe", "response": response, "factors": list(groups.values())}
        )
        for factor, group in groups.items():
            runs = runs.filter(pl.col(factor).is_in(group["best"]))
        left.append({name: sorted(runs[name].unique().to_list()) for name in FACTORS})
    return BestSettings(steps, left[0], left[1])


def variance(runs: pl.DataFrame, response: str, factors: list[str]) -> list[dict[str, Any]]:
    """The analysis of variance of the response on the factors' main effects."""
    values = runs[response].to_numpy().astype(np.float64)
    if not factors or np.ptp(values) <= 1e-9 * np.abs(values).max():
        return [{"factor": name, "f": None, "p": None, "significant": False} for name in factors]
    formula = _library("statsmodels.formula.api")
    anova = _library("statsmodels.stats.anova")
    frame = _frame({name: runs[name] for name in (*factors, response)})
    model = formula.ols(f"{response} ~ " + " + ".join(f"C({name})" for name in factors), data=frame).fit()
    table = anova.anova_lm(model, typ=2)
    rows = []
    for name in factors:
        f, p = float(table.loc[f"C({name})", "F"]), float(table.loc[f"C({name})", "PR(>F)"])
        rows.append({"factor": name, "f": _finite(f), "p": _finite(p), "significant": p < SIGNIFICANT})
    return rows


def best_values(runs: pl.DataFrame, response: str, factor: str, factors: list[str]) -> dict[str, Any]:
    """The factor's means, and the values that neither test separates from the best.

    The effects of the other factors are subtracted first, as in the analysis of variance.
    """
    overall = pl.col(response).mean()
    others = [pl.col(response).mean().over(name) - overall for name in factors if name != factor]
    adjusted = runs.select(pl.col(response) - sum(others, start=pl.lit(0.0))).to_series().to_numpy()
    means = runs.group_by(factor).agg(overall).sort(factor)
    values, level = means[factor].to_list(), means[response].to_numpy()
    first = int(level.argmin())
    alike = {
        name: [v for v, p in zip(values, test[first], strict=True) if v == values[first] or p >= SIGNIFICANT]
        for name, test in (("tukey", _tukey(adjusted, runs[factor])), ("scheffe", _scheffe(adjusted, runs[factor])))
    }
    return {
        "factor": factor,
        "values": values,
        "means": level.tolist(),
        **alike,
        "best": [v for v in values if v in alike["tukey"] and v in alike["scheffe"]],
    }


def _tukey(response: Any, factor: pl.Series) -> Any:
    """The p-values of all pairs of the factor's values, in ascending order of the values."""
    outcome = _library("statsmodels.stats.multicomp").pairwise_tukeyhsd(response, factor.to_numpy(), SIGNIFICANT)
    size = factor.n_unique()
    p_values = np.ones((size, size))
    p_values[np.triu_indices(size, 1)] = outcome.pvalues
    return np.minimum(p_values, p_values.T)


def _scheffe(response: Any, factor: pl.Series) -> Any:
    """The p-values of all pairs of the factor's values, in ascending order of the values."""
    frame = _frame({"response": response, "factor": factor})
    table = _library("scikit_posthocs").posthoc_scheffe(frame, val_col="response", group_col="factor")
    order = sorted(factor.unique().to_list())
    return table.loc[order, order].to_numpy()


def _frame(columns: dict[str, Any]) -> Any:
    return _library("pandas").DataFrame({name: np.asarray(values) for name, values in columns.items()})


def ranges(values: dict[str, list[float]]) -> dict[str, tuple[float, float]]:
    """The lowest and the highest value of each factor, as in Table V of Solanas et al. 2006."""
    return {name: (min(means), max(means)) for name, means in values.items()}


def surface(runs: pl.DataFrame, response: str) -> dict[str, Any]:
    """The mean response over mutation rate (rows) and crossover rate (columns)."""
    means = runs.group_by("mutation_rate", "crossover_rate").agg(pl.col(response).mean())
    wide = means.pivot("crossover_rate", index="mutation_rate", values=response).sort("mutation_rate")
    crossover = sorted(means["crossover_rate"].unique().to_list())
    return {
        "response": response,
        "mutation_rate": wide["mutation_rate"].to_list(),
        "crossover_rate": crossover,
        "mean": wide.select(str(c) for c in crossover).rows(),
    }


def histogram(runs: pl.DataFrame, bins: int = 40) -> dict[str, Any]:
    """The number of runs per interval of convergence generations."""
    counts, edges = np.histogram(runs["convergence_generation"].to_numpy(), bins=bins)
    return {"edges": edges.tolist(), "runs": counts.tolist()}


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0].replace("_", "-")
        raise UsageError(
            f"The analysis needs {package}, which is not installed. Install it with: pip install {package}"
        ) from error


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
