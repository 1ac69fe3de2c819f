"""The order of shuffled rows: drawn from the run's secret, or from a seed that was typed and the original values.

The secret is 128 random bits that stand in the internal recipe alone. A typed seed makes the order repeatable for
whoever has the seed and the original, so both are kept apart from the release. What compares rows asks here first
whether they stand side by side.
"""

from __future__ import annotations

import hashlib
import secrets
import warnings
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, ShoalWarning, UsageError
from shoal.gate.cells import comparable, differing, is_number, numbers, sorted_rows
from shoal.gate.reading import frame_of
from shoal.table.frames import wrap
from shoal.table.table import Table


def shuffled_order(key: int | str, original: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Which row of the original stands in each row of the shuffled file; key: a secret (hexadecimal) or a seed."""
    if isinstance(key, str):
        return np.random.Generator(np.random.Philox(key=int(key, 16) % 2**128)).permutation(original.height)
    return _seeded_order(key, original, columns)


def new_secret() -> str:
    """128 random bits, hexadecimal."""
    return secrets.token_hex(16)


def _seeded_order(seed: int, original: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
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


WAYS = (
    "give the recipe of the run to have them compared (--recipe), or the seed if one was typed (--seed), or say only "
    "that they are shuffled (--shuffled)"
)


def side_by_side(
    before: Table,
    after: Table,
    columns: Sequence[str],
    *,
    shuffled: bool = False,
    seed: int | str | None = None,
    ways: str = WAYS,
) -> Table | None:
    """The protected table with its rows beside the original's; None for a shuffled one whose seed is not given.

    columns: those that were protected. Rows in another order that nobody spoke of are an error, as is a wrong seed;
    ways: what a message proposes.
    """
    if shuffled and seed is None:
        return None
    old, new = frame_of(before.frame), frame_of(after.frame)
    left_out = {*columns, *before.roles.removed}
    untouched = [
        name
        for name in old.columns
        if name not in left_out and name in new.columns and sorted_rows(old, [name]).equals(sorted_rows(new, [name]))
    ]
    if seed is not None:
        back = np.argsort(shuffled_order(seed, old, columns))
        new = new[back]
        if _first_difference(old, new, untouched) is not None:
            raise UsageError(
                "the seed or secret does not bring the rows of the release beside those of the original: give the "
                "recipe or the seed of the run that shuffled them, and the columns that it protected"
            )
        return Table(wrap(after.frame)[back.tolist()].to_native(), after.roles, after.source)
    found = _first_difference(old, new, untouched)
    if found is not None and sorted_rows(old, untouched).equals(sorted_rows(new, untouched)):
        name, row = found
        raise InputError(
            f"the rows of the release are those of the original in another order (first in {name!r}, row {row}), and "
            f"figures that compare rows would be wrong: {ways}"
        )
    if not untouched and not follows(old, new, columns):
        warnings.warn(
            f"the rows of the release do not seem to be in the original's order, and no column tells: if so, {ways}",
            ShoalWarning,
            stacklevel=3,
        )
    return after


def _first_difference(before: pl.DataFrame, after: pl.DataFrame, columns: Sequence[str]) -> tuple[str, int] | None:
    """The first column that differs in a row, and the row, counted from 1."""
    for name in columns:
        cells = differing(before[name], after[name])
        if cells.any():
            return name, int(cells.argmax()) + 1
    return None


def follows(before: pl.DataFrame, after: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether protected numbers go with the original ones row by row; true where there are none to tell."""
    for name in columns:
        if not (is_number(before[name]) and is_number(after[name])):
            continue
        old, new = numbers(before[name]), numbers(after[name])
        present = ~(np.isnan(old) | np.isnan(new))
        if present.sum() > 2 and old[present].std() > 0 and new[present].std() > 0:
            return bool(np.corrcoef(old[present], new[present])[0, 1] > 0.2)
    return True
