"""Attacks by all numbers together: least squares on values and on their logarithms.

A trimmed fit ignores records that break the formula (Rousseeuw 1984).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.undone.columns import MIN_SHARE, Source, Truth
from shoal.gate.undone.judging import CHANCE, PURE, QUICK, Attack, GivenAway, judged

RECORDS_PER_TERM = 5  # in least squares
MAX_TERMS = 200
MAX_NAMED = 20  # columns of a formula that are tried for the shortest list
TRIMS = 3  # refits on the half of the records with the smallest residuals


def by_least_squares(sources: Sequence[Source], truths: Sequence[Truth]) -> Iterator[GivenAway]:
    """Yield attacks by linear formulas (a total minus its parts) and by products (a price times a quantity)."""
    columns = [source for source in sources if source.kind == "number"]
    numeric = [truth for truth in truths if truth.is_number]
    level = CHANCE / max(1, 2 * len(numeric))
    for in_logs in (False, True) if numeric else ():
        terms = [c for c in columns if not in_logs or np.nanmin(c.values, initial=np.inf) > 0]
        terms, x = _complete_terms(terms)
        x = np.log(x) if in_logs else x
        if not terms:
            continue
        complete = ~np.isnan(x).any(axis=1)
        for rows, members in _by_rows(numeric, complete, in_logs):
            y = np.stack([truth.values[rows] for truth in members], axis=1)
            formulas = _formulas(_standardized(x[rows]), np.log(y) if in_logs else y, members, rows, in_logs)
            for truth, share, used in formulas:
                attack = Attack(rows, share, share * rows.size, rows.size)
                yield from judged(truth, attack, [terms[j].name for j in used], "least squares", level)


def _complete_terms(sources: Sequence[Source]) -> tuple[list[Source], Floats]:
    """Return the columns with the fewest missing values, as long as half of the records have all of them."""
    ranked = sorted(sources, key=lambda source: int(np.isnan(source.values).sum()))
    terms: list[Source] = []
    complete = np.ones(ranked[0].values.size if ranked else 0, dtype=bool)
    for source in ranked:
        remaining = complete & ~np.isnan(source.values)
        if 2 * int(remaining.sum()) >= remaining.size:
            terms.append(source)
            complete = remaining
    x = np.stack([source.values for source in terms], axis=1) if terms else np.empty((0, 0))
    return terms, x


def _by_rows(truths: Sequence[Truth], complete: Bools, in_logs: bool) -> Iterator[tuple[Ints, list[Truth]]]:
    """Yield the protected columns by the records that can be predicted, so that these share one factorization."""
    members: dict[bytes, list[Truth]] = {}
    for truth in truths:
        usable = complete & truth.known
        if in_logs:
            usable &= np.nan_to_num(truth.values) > 0
        members.setdefault(np.packbits(usable).tobytes(), []).append(truth)
    for key, group in members.items():
        rows = np.flatnonzero(np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=complete.size))
        if rows.size >= 2 * RECORDS_PER_TERM:
            yield rows, group


def _standardized(x: Floats) -> Floats:
    """Return the columns centred and scaled, so that large and small numbers have the same precision."""
    deviation = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def _formulas(
    x: Floats, y: Floats, truths: Sequence[Truth], rows: Ints, in_logs: bool
) -> Iterator[tuple[Truth, float, Ints]]:
    """Yield for each protected column the share that a formula reveals, and the columns of the formula.

    Ordinary least squares come first. A column that they predict roughly gets a trimmed fit, which finds a formula that
    most records follow.
    """
    limit = min(MAX_TERMS, rows.size // RECORDS_PER_TERM)
    together = _cross_fitted(x, y, limit) if x.shape[1] <= limit else None
    for j, truth in enumerate(truths):
        column = y[:, j : j + 1]
        values, margin = truth.values[rows], truth.margin[rows]
        predicted = together[:, j : j + 1] if together is not None else _cross_fitted(x, column, limit)
        share = _share_within(predicted, values, margin, in_logs)
        error, spread = np.median(np.abs(column - predicted)), np.median(np.abs(column - np.median(column)))
        if share < 1 and error < spread / 2:
            share = max(share, _share_within(_cross_fitted(x, column, limit, trimmed=True), values, margin, in_logs))
        if share > MIN_SHARE:
            yield truth, share, _shortest(x[:QUICK], column[:QUICK], values[:QUICK], margin[:QUICK], share, in_logs)


def _cross_fitted(x: Floats, y: Floats, limit: int, *, trimmed: bool = False) -> Floats:
    """Predict each half of the records by the formula of the other half, so that overfitting reveals nothing."""
    half = len(x) // 2
    predicted = np.empty_like(y)
    for fitted, tested in ((slice(None, half), slice(half, None)), (slice(half, None), slice(None, half))):
        terms = np.arange(x.shape[1]) if x.shape[1] <= limit else _pursued(x[fitted], y[fitted, 0], limit)
        factors = _coefficients(x[fitted][:, terms], y[fitted], trimmed)
        predicted[tested] = factors[0] + x[tested][:, terms] @ factors[1:]
    return predicted


def _coefficients(x: Floats, y: Floats, trimmed: bool) -> Floats:
    """Return the intercept and the factors of least squares; if trimmed, of the half with the smallest residuals."""
    design = np.column_stack([np.ones(len(x)), x])
    factors = _least_squares(design, y)
    for _ in range(TRIMS if trimmed else 0):
        residuals = np.abs(y[:, 0] - (design @ factors)[:, 0])
        kept = np.flatnonzero(residuals <= np.median(residuals))[:QUICK]
        factors = _least_squares(design[kept], y[kept])
    return factors


def _least_squares(design: Floats, y: Floats) -> Floats:
    """Return the factors, or zeros if the values are too large to compute them."""
    if np.isfinite(design).all() and np.isfinite(y).all():  # otherwise LAPACK prints to the terminal
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.lstsq(design, y, rcond=None)[0])
    return np.zeros((design.shape[1], y.shape[1]))


def _pursued(x: Floats, y: Floats, limit: int) -> Ints:
    """Return the columns that explain most: each is the one most correlated with the remaining residuals.

    Orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad 1993), for files with few records per column.
    """
    x, y = x - x.mean(axis=0), y - y.mean()
    scale = np.sqrt((x * x).sum(axis=0)).max(initial=0.0)
    chosen: list[int] = []
    for _ in range(min(limit, MAX_NAMED)):
        length = np.sqrt((x * x).sum(axis=0))
        usable = length > 1e-6 * scale
        if not usable.any():
            break
        best = int(np.argmax(np.where(usable, np.abs(y @ x) / np.where(usable, length, 1.0), -1.0)))
        direction = x[:, best] / length[best]
        x, y = x - np.outer(direction, direction @ x), y - direction * (direction @ y)
        chosen.append(best)
    return np.array(chosen, dtype=np.int64)


def _shortest(x: Floats, y: Floats, values: Floats, margin: Floats, share: float, in_logs: bool) -> Ints:
    """Return the columns with the largest factors, as few as reveal nearly the same share."""
    limit = min(MAX_TERMS, len(x) // RECORDS_PER_TERM)
    terms = np.arange(x.shape[1]) if x.shape[1] <= limit else _pursued(x, y[:, 0], limit)
    factors = _coefficients(x[:, terms], y, trimmed=True)[1:, 0]
    ranked = terms[np.argsort(-np.abs(factors), kind="stable")]
    for count in range(1, min(MAX_NAMED, ranked.size) + 1):
        predicted = _cross_fitted(x[:, ranked[:count]], y, limit, trimmed=True)
        if _share_within(predicted, values, margin, in_logs) >= PURE * share:
            return ranked[:count]
    return ranked


def _share_within(predicted: Floats, values: Floats, margin: Floats, in_logs: bool) -> float:
    """Return the share of predictions that reveal the value."""
    predicted = predicted[:, 0]
    with np.errstate(over="ignore"):
        predicted = np.exp(predicted) if in_logs else predicted
    return float((np.abs(predicted - values) <= margin).mean())
