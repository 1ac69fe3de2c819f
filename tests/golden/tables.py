"""The tables of the golden cases: synthetic ones, and slices of the benchmark sets.

The synthetic ones need whole numbers and uniform numbers of `RandomState` alone, whose stream NumPy never changes,
and sums and products of them: no mathematics library takes part, so that every machine makes the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

NUMBERS = (
    "income", "expenses", "wealth", "hours", "rent", "savings", "debt", "taxes", "age", "rooms", "travel", "food",
    "energy", "pension", "gifts", "sport", "books", "repairs", "phone", "water",
)  # fmt: skip
REGIONS = ("north", "south", "east", "west", "coast", "hills", "islands")
JOBS = ("baker", "clerk", "nurse", "smith", "tailor")
ILLNESSES = ("none", "flu", "gout", "asthma", "ulcer")


class Made(NamedTuple):
    """A synthetic table: the function that makes it, and its arguments."""

    make: Callable[..., pl.DataFrame]
    arguments: tuple[Any, ...]

    def frame(self, folder: Path | None) -> pl.DataFrame:
        return self.make(*self.arguments)


class Slice(NamedTuple):
    """Some columns of a benchmark set, and so many rows from the first one on."""

    file: str
    columns: tuple[str, ...]
    rows: int
    first: int = 0

    def frame(self, folder: Path | None) -> pl.DataFrame:
        if folder is None:
            raise ValueError(f"{self.file} is a benchmark set: name the folder that holds it in SHOAL_DATA")
        return pl.read_csv(folder / self.file).select(self.columns).slice(self.first, self.rows)


def clusters(n: int, d: int, seed: int = 0) -> pl.DataFrame:
    """Five clusters, some dense and some wide; no two records are equal."""
    rng = np.random.RandomState(seed)
    centre = rng.randint(0, 40, (5, d))[rng.randint(0, 5, n)]
    values = centre + 20.0 * rng.random_sample((n, 1)) * rng.random_sample((n, d))
    return pl.DataFrame({name: values[:, j] for j, name in enumerate(NUMBERS[:d])})


def ties(n: int, d: int, seed: int = 0) -> pl.DataFrame:
    """Whole numbers: many equal values and distances, and a tenth of the records are copies of others."""
    rng = np.random.RandomState(seed)
    values = rng.randint(0, 16, (n, d))
    values[rng.permutation(n)[: n // 10]] = values[0]
    return pl.DataFrame({name: values[:, j] for j, name in enumerate(NUMBERS[:d])})


def weighted(n: int, d: int, seed: int = 0) -> pl.DataFrame:
    """Clusters with a sampling weight per record."""
    weight = np.random.RandomState(seed + 1000).randint(1, 9, n) / 2.0
    return clusters(n, d, seed).with_columns(pl.Series("weight", weight))


def gaps(n: int, d: int, seed: int = 0) -> pl.DataFrame:
    """Clusters with a missing value in about a tenth of the cells of the first two columns."""
    rng = np.random.RandomState(seed + 2000)
    frame = clusters(n, d, seed)
    holes = {name: pl.Series(rng.randint(0, 10, n) == 0) for name in NUMBERS[:2]}
    return frame.with_columns(
        pl.when(hole).then(None).otherwise(frame[name]).alias(name) for name, hole in holes.items()
    )


def constant(n: int, d: int, seed: int = 0) -> pl.DataFrame:
    """Clusters far from the origin, the last column with one value only."""
    frame = clusters(n, d, seed)
    return frame.with_columns(pl.all() + 1e9).with_columns(pl.lit(7.0).alias(NUMBERS[d - 1]))


def people(n: int, seed: int = 0) -> pl.DataFrame:
    """A name, four quasi-identifiers of all kinds, and an illness."""
    rng = np.random.RandomState(seed)
    region = rng.randint(0, len(REGIONS), n)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": 18 + rng.randint(0, 30, n) + rng.randint(0, 30, n),
            "hours": 4 * rng.randint(0, 14, n) / 8.0,
            "region": [REGIONS[r] for r in region],
            "job": [JOBS[j] for j in (region + rng.randint(0, 3, n)) % len(JOBS)],
            "illness": [ILLNESSES[i] for i in np.minimum(rng.randint(0, 5, n), rng.randint(0, 7, n))],
        }
    )


def people_with_gaps(n: int, seed: int = 0) -> pl.DataFrame:
    """People, some without an age or a region."""
    rng = np.random.RandomState(seed + 3000)
    holes = {name: pl.Series(rng.randint(0, 12, n) == 0) for name in ("age", "region")}
    frame = people(n, seed)
    return frame.with_columns(
        pl.when(hole).then(None).otherwise(frame[name]).alias(name) for name, hole in holes.items()
    )


def guards(n: int, districts: int, seed: int = 0) -> pl.DataFrame:
    """People in districts, with four columns in which they can be alike; most guards live in D03 and D07."""
    rng = np.random.RandomState(seed)
    district = rng.randint(0, districts, n)
    job = np.array(["cook", "clerk", "nurse"], dtype=object)[rng.randint(0, 3, n)]
    for d in range(districts):
        rows = np.flatnonzero(district == d)
        job[rows[: {3: 22, 7: 16}.get(d, rng.randint(1, 5))]] = "guard"
    return pl.DataFrame(
        {
            "district": [f"D{d:02d}" for d in district],
            "age": rng.randint(18, 80, n),
            "sex": [("f", "m")[s] for s in rng.randint(0, 2, n)],
            "town": [REGIONS[r] for r in rng.randint(0, len(REGIONS), n)],
            "hours": rng.randint(1, 60, n),
            "job": job.tolist(),
        }
    )
