"""The order of shuffled rows: drawn from the run's secret, or from a typed seed and the original values.

Only the internal recipe holds the secret, 128 random bits. Anyone with the original and a typed seed can restore the
order, so keep both apart from the release. `side_by_side` aligns the rows for code that compares them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, UsageError
from shoal.gate.cells import comparable, differing, is_number, numbers, sorted_rows
from shoal.gate.reading import frame_of
from shoal.notices import notice
from shoal.table.frames import wrap
from shoal.table.table import Table


def shuffled_order(key: int | str, original: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return the original row of each row of the shuffled file; `key` is a secret (hexadecimal) or a seed."""
    if isinstance(key, str):
        return np.random.Generator(np.random.Philox(key=int(key, 16) % 2**128)).permutation(original.height)
    return _seeded_order(key, original, columns)


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
    "To compare the rows, add --recipe FILE with the recipe of the run, or --seed N if a seed was typed. Otherwise add "
    "--shuffled."
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
    """Return the protected table with its rows in the original's order.

    Args:
        before: The original.
        after: The release.
        columns: The protected columns.
        shuffled: Whether the rows of the release were shuffled.
        seed: The seed or secret of the shuffle.
        ways: What the messages advise.

    Returns:
        The aligned table, or None if the rows are shuffled and no seed is known.

    Raises:
        UsageError: The seed or secret does not restore the order.
        InputError: The rows are in a different order, and `shuffled` is not set.
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
                "The seed or secret does not restore the original row order. Use the recipe or the seed of the run "
                "that shuffled the file, and the same quasi-identifiers."
            )
        return Table(wrap(after.frame)[back.tolist()].to_native(), after.roles, after.source)
    difference = _first_difference(old, new, untouched)
    if difference is not None and sorted_rows(old, untouched).equals(sorted_rows(new, untouched)):
        name, row = difference
        raise InputError(
            f"The rows of the release are in a different order than in the original (first difference: {name!r}, row "
            f"{row}). Measures that compare rows would be wrong. {ways}"
        )
    if not untouched and not follows(old, new, columns):
        notice(
            "The rows may be in a different order than in the original. There is no unchanged column to verify this. "
            f"{ways}"
        )
    return after


def _first_difference(before: pl.DataFrame, after: pl.DataFrame, columns: Sequence[str]) -> tuple[str, int] | None:
    """Return the first column that differs in a row, and the row, counted from 1."""
    for name in columns:
        cells = differing(before[name], after[name])
        if cells.any():
            return name, int(cells.argmax()) + 1
    return None


def follows(before: pl.DataFrame, after: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether protected numbers follow the original ones row by row; True if there are no numbers to compare."""
    for name in columns:
        if not (is_number(before[name]) and is_number(after[name])):
            continue
        old, new = numbers(before[name]), numbers(after[name])
        present = ~(np.isnan(old) | np.isnan(new))
        if present.sum() > 2 and old[present].std() > 0 and new[present].std() > 0:
            return bool(np.corrcoef(old[present], new[present])[0, 1] > 0.2)
    return True
