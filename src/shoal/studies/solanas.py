"""The synthetic data sets of Solanas 2008, section 5.3: scattered records, and records in small clusters."""

from __future__ import annotations

import numpy as np
import polars as pl

RANGE = 10_000.0  # values are uniform between -10,000 and 10,000
SHIFT = 1_000_000.0  # largest move of a cluster in either direction of each column; the paper does not specify it


def scattered(rng: np.random.Generator, rows: int, columns: int) -> pl.DataFrame:
    """Uniform values without clusters. The small published sets (11 x 2, 20 x 2, ...) are generated in the same way."""
    values = rng.uniform(-RANGE, RANGE, (rows, columns))
    return pl.DataFrame({f"x{j + 1}": np.ascontiguousarray(column) for j, column in enumerate(values.T)})


def clustered(rng: np.random.Generator, rows: int, columns: int) -> pl.DataFrame:
    """Uniform values; each cluster of three to five records is moved by one random amount."""
    frame = scattered(rng, rows, columns)
    # Sizes are drawn until they cover all rows; the last cluster ends with the rows.
    group = np.repeat(np.arange(rows), rng.integers(3, 6, rows))[:rows]
    shifts = rng.uniform(-SHIFT, SHIFT, (group[-1] + 1, columns))
    return frame.with_columns(pl.Series(name, frame[name] + shifts[group, j]) for j, name in enumerate(frame.columns))
