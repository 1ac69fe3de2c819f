"""`shoal.assess`: what a protected file lost against its original, and what risk is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import cores
from shoal.errors import InputError, unknown
from shoal.gate.row_order import side_by_side
from shoal.measures.anonymity import classes
from shoal.measures.assessment import Assessment, Figure
from shoal.measures.diversity import distinct_l, t_closeness
from shoal.measures.full import Measures, measure_all
from shoal.measures.linkage import Linkage
from shoal.measures.loss import information_loss
from shoal.sources.reading import as_table
from shoal.table.table import Table

UNSHUFFLED = "assess the table before its rows are shuffled, or let `shoal report … --seed N` put them back"


def assess(
    original: Any,
    protected: Any,
    *,
    quasi: Sequence[str] = (),
    confidential: Sequence[str] = (),
    convention: str = "sound",
    threads: int | None = None,
    seed: int = 0,
) -> Assessment:
    """Loss and risk of `protected` against `original`: same rows, in the same order.

    confidential: the columns whose l and t are measured, where the original does not name them.
    convention: sound, or thesis (as the GOMM thesis measures); seed: of the order in which an intruder learns columns.
    """
    before = as_table(original, quasi=quasi)
    after = as_table(protected)
    if before.rows != after.rows:
        raise InputError(
            f"the original has {before.rows} rows and the protected file {after.rows}: they must be the same records, "
            "in the same order"
        )
    columns, hidden = before.quasi_columns(), tuple(confidential) or before.roles.confidential
    for name in (*columns, *hidden):
        if name not in after.columns:
            raise unknown("column", name, after.columns, InputError)
    side_by_side(before, after, columns, ways=UNSHUFFLED)
    numeric = [name for name in columns if before.kinds[name] == after.kinds[name] == "number"]
    full: list[Figure] = []
    if numeric:
        numbers, changed = (table.numbers(numeric, allow_constant=True) for table in (before, after))
        measured = measure_all(
            numbers, changed, convention, weights=before.weights(), threads=threads or cores(), seed=seed
        )
        full = _full_figures(measured)
    labels = [name for name in columns if name not in numeric]
    alike = classes([after.raw(name) for name in columns])
    return Assessment(
        [*full, *_label_figures(before, after, labels), *_anonymity(alike), *_diversity(after, alike, hidden)]
    )


def _label_figures(before: Table, after: Table, labels: Sequence[str]) -> list[Figure]:
    """For each column of labels the share of cells that changed."""
    found = []
    for name in labels:
        old, new = (table.raw(name).astype(str) for table in (before, after))
        share = 100.0 * float((old != new).mean())
        found.append(Figure(f"changed_{name}", share, "0 to 100 %", f"share of cells of {name} that changed"))
    return found


def _anonymity(alike: NDArray[np.int64]) -> list[Figure]:
    sizes, n = np.bincount(alike), alike.size
    return [
        Figure("k", int(sizes.min()), f"1 to {n}", "the smallest equivalence class of the protected columns"),
        Figure("uniques", int((sizes == 1).sum()), f"0 to {n}", "unique records in the protected columns"),
    ]


def _diversity(after: Table, alike: NDArray[np.int64], hidden: Sequence[str]) -> list[Figure]:
    """l and t of the worst confidential column; None where no column is confidential."""
    least: int | None = None
    farthest: float | None = None
    for name in hidden:
        cells = after.raw(name)
        ordered = cells.dtype != object
        codes = np.unique(cells if ordered else cells.astype(str), return_inverse=True)[1].reshape(-1)
        found, distance = distinct_l(alike, codes), t_closeness(alike, codes, "ordered" if ordered else "equal")
        least = found if least is None else min(least, found)
        farthest = distance if farthest is None else max(farthest, distance)
    return [
        Figure("l", least, "1 and more", "fewest different confidential values in a class"),
        Figure("t", farthest, "0 to 1", "farthest that a class's confidential values lie from those of all"),
    ]


def _full_figures(found: Measures) -> list[Figure]:
    """The parts of the full score, each with its range and its meaning."""
    parts = found.parts
    meanings = {
        "il1": "mean change of a value, relative to it",
        "il2": "mean change of a column's mean, relative to it",
        "il3": "mean change of a covariance, relative to it",
        "il4": "mean change of a variance, relative to it",
        "il5": "mean change of a correlation",
    }
    relative = [
        Figure(
            name,
            getattr(parts, name),
            "0 to 2" if name == "il5" else "0 and more",
            meaning + (f"; {parts.left_out[name]} without a base left out" if name in parts.left_out else ""),
        )
        for name, meaning in meanings.items()
    ]
    of_columns = "" if found.columns_linked == found.columns else f" ({found.columns_linked} of the columns)"
    return [
        Figure(
            "information_loss",
            found.information_loss,
            "0 to about 100 %",
            "share of the columns' variance that was lost",
        ),
        *relative,
        Figure("il", parts.il, "0 to 100 %", "mean of il1 to il5, each capped at 1"),
        Figure("interval_disclosure", found.interval, "0 to 100 %", "values told to within a few percent"),
        Figure("distance_linkage", found.distance.percent, "0 to 100 %", _linked("nearest record", found.distance)),
        Figure(
            "probabilistic_linkage",
            found.probabilistic.percent,
            "0 to 100 %",
            _linked("Fellegi-Sunter weights" + of_columns, found.probabilistic),
        ),
        Figure("disclosure_risk", found.risk, "0 to 100 %", "half intervals, a quarter each linkage"),
        Figure("score", found.score, "0 to 100 %", "mean of il and disclosure_risk: lower is better"),
    ]


def _linked(how: str, linkage: Linkage) -> str:
    error = f"; standard error {linkage.error:.2g} on {linkage.records:,} records" if linkage.error else ""
    return f"records linked rightly by {how}{error}"


def assess_columns(before: Table, after: Table, columns: Sequence[str]) -> Assessment:
    """The figures for the given columns of two tables with the same rows."""
    original, changed = (table.numbers(columns, allow_constant=True) for table in (before, after))
    loss = information_loss(original, changed, before.weights())
    alike = classes([np.ascontiguousarray(changed[:, j]) for j in range(len(columns))])
    return Assessment(
        [
            Figure(
                "information_loss",
                loss.information_loss,
                "0 to about 100 %",
                "the share of the columns' variance that was lost",
            ),
            *_anonymity(alike),
        ]
    )
