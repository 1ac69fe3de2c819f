"""The order of shuffled rows: drawn from the seed and from the original values, so that a known seed is not enough.

The same seed and the same original give the same order. Whoever has both can put the rows back: the seed is kept
secret, as the original is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.gate.cells import comparable


def shuffled_order(seed: int, original: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Which row of the original stands in each row of the shuffled file."""
    digest = hashlib.sha256(f"shoal rows {seed}".encode())
    for name in columns:
        column = comparable(original[name])
        digest.update(name.encode())
        if column.dtype.is_integer():
            digest.update(column.cast(pl.Int64, strict=False).fill_null(0).to_numpy().tobytes())
        else:
            digest.update("\x1f".join(column.cast(pl.String, strict=False).fill_null("").to_list()).encode())
    key = int.from_bytes(digest.digest(), "big")
    return np.random.Generator(np.random.Philox(key=key % 2**128)).permutation(original.height)
