"""Records that break careless code: ties, duplicates, constant columns, huge offsets, denormals, few records."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
from hypothesis import strategies as st

from shoal.table.scaling import scale

KINDS = ("grid", "duplicates", "constant column", "offset", "scaled offset", "normal", "denormal", "all equal")


@st.composite
def records(draw, columns=None, least_k=2, most_k=5, most_times=6, most_n=None):
    """(values, k): n from k to about most_times * k records of one of the odd kinds."""
    k = draw(st.integers(least_k, most_k))
    n = draw(st.integers(k, most_times * k))
    if most_n is not None:
        n = max(k, min(n, most_n))
    d = draw(st.integers(1, 4)) if columns is None else columns
    kind = draw(st.sampled_from(KINDS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return make(kind, n, d, rng), k


def make(kind, n, d, rng):
    if kind == "grid":
        return rng.integers(0, 4, size=(n, d)).astype(float)
    if kind == "duplicates":
        return rng.normal(size=(n, d))[rng.integers(0, max(1, n // 3), size=n)]
    if kind == "constant column":
        values = rng.normal(size=(n, d))
        values[:, rng.integers(0, d)] = 7.25
        return values
    if kind == "offset":
        return 1e9 + rng.normal(size=(n, d))
    if kind == "scaled offset":
        return scale(1e9 + rng.normal(size=(n, d)))
    if kind == "denormal":
        return rng.normal(size=(n, d)) * 1e-162
    if kind == "all equal":
        return np.full((n, d), 0.1)
    return rng.normal(size=(n, d))


def some_weights(n, seed):
    """Weights from a small set, so that ties stay possible."""
    return np.random.default_rng(seed).integers(1, 5, size=n) / 2.0


def odd_columns(rng, n):
    """A frame of one to three odd columns of labels, numbers or dates, for protections that take all kinds."""
    kinds = {
        "constant": lambda: [7] * n,
        "missing": lambda: pl.Series([None] * n, dtype=pl.Float64),
        "many": lambda: [f"v{value}" for value in rng.integers(0, 5000, n)],
        "ties": lambda: rng.integers(0, 2, n),
        "offset": lambda: 1e9 + rng.random(n),
        "small": lambda: rng.choice([0.0, -0.0, 5e-324, 0.1, 0.3, 0.7], n),
        "dates": lambda: [dt.date(1900, 1, 1) + dt.timedelta(days=int(x)) for x in rng.integers(0, 60000, n)],
        "gaps": lambda: [None if x < 0.3 else float(x) for x in rng.random(n)],
        "bytes": lambda: pl.Series(rng.integers(-128, 128, n), dtype=pl.Int8),
    }
    names = rng.choice(sorted(kinds), rng.integers(1, 4), replace=False).tolist()
    return pl.DataFrame({name: kinds[name]() for name in names})
