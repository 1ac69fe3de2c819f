"""Rows of an earlier release joined by their order (unsorted matching, Sweeney 2002): the evidence for one order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import (
    codes,
    comparable,
    is_number,
    numbers,
)
from shoal.gate.earlier.alike import CHANCE, as_same_type, equal_cells, is_swapped, merged_codes

ROWS_TO_JUDGE = 100  # with fewer rows, files of different length are not compared by values that are only close
BINS = 20
WINDOW = 10


def order_reason(after: pl.DataFrame, earlier: pl.DataFrame, truth: Ints | None, keeps_order: bool) -> str:
    if not keeps_order:
        return "the rows of this release are in a random order"
    if earlier.height != after.height:
        return f"the earlier release has {earlier.height:,} rows and this one {after.height:,}"
    if truth is not None:
        return "the rows of the two releases are not in the same order"
    return "no column shows that the rows of the two releases are in the same order"


def rows_in_order(
    before: pl.DataFrame, after: pl.DataFrame, earlier: pl.DataFrame, protected: Sequence[str], truth: Ints | None
) -> Ints | None:
    """The row of the earlier release for each row of the current one, if both are in the same order.

    The order is compared from the first row to the end of the shorter file. The original is a witness too: an earlier
    column that equals it row by row shows the order as well as one that equals the release. An intruder needs no
    witness, only the idea to try the order.
    """
    rows = min(after.height, earlier.height)
    if truth is not None:
        is_same = bool((truth[:rows] == np.arange(rows)).all() and (truth[rows:] < 0).all())
        return truth.astype(np.int64) if is_same else None
    stays = _in_place(
        before.head(rows), after.head(rows), earlier.head(rows), protected, after.height == earlier.height
    )
    if stays is None:
        return None
    found = np.full(after.height, -1, dtype=np.int64)
    found[:rows] = np.where(stays, np.arange(rows), -1)
    return found


def _in_place(
    old: pl.DataFrame, new: pl.DataFrame, past: pl.DataFrame, protected: Sequence[str], same_rows: bool
) -> Bools | None:
    """Which rows of three files of one length are the same records; None if the order is another one or not known.

    same_rows: no file was cut to this length.
    """
    equal = list(dict.fromkeys([*equal_columns(new, past), *equal_columns(old, past)]))
    others = [name for name in dict.fromkeys([*protected, *past.columns]) if name in past.columns and name not in equal]
    versions = [(witness[name], past[name]) for name in others for witness in (old, new) if name in witness.columns]
    moved = [~equal_cells(*version) for version in versions if is_swapped(*version)]
    labels = {name: codes(past[name]) for name in equal}
    if equal and _is_no_chance(merged_codes(list(labels.values()))):
        # Values that changed places belong to a swap, or these rows did. Either way these rows are not certain.
        stays = ~np.logical_or.reduce([np.zeros(past.height, dtype=bool), *moved])
        return stays if stays.mean() > 0.5 else None
    if moved:
        return None
    labels |= {name: codes(past[name]) for name in past.columns if name not in equal}
    placed = [*equal, *(name for name in past.columns if name not in equal and _is_sorted_alike(old, past, name))]
    blocks = merged_codes([np.zeros(past.height, dtype=np.int64), *(labels[name] for name in placed)])
    everywhere = np.ones(past.height, dtype=bool)
    if same_rows and blocks.max() == merged_codes(list(labels.values())).max():
        return everywhere  # rows of one block are equal in every column: their order makes no difference
    if not same_rows and past.height < ROWS_TO_JUDGE:
        return None
    windows = _windows(blocks)
    finest = {witness.name: (witness, other) for witness, other in reversed(versions) if witness.name not in placed}
    verdicts = [_goes_with(*version, windows) for version in finest.values()]
    # Most columns must go together: one alone may be a column by which both files are nearly sorted.
    known = [verdict for verdict in verdicts if verdict is not None]
    return everywhere if sum(known) * 2 > len(known) else None


def equal_columns(left: pl.DataFrame, right: pl.DataFrame) -> list[str]:
    """The columns that are equal row by row, as far as the shorter frame goes, and not constant."""
    rows = min(left.height, right.height)
    found = []
    for name in (name for name in right.columns if name in left.columns):
        one, two = left[name].head(rows), right[name].head(rows)
        if (rows == 1 or comparable(two).n_unique() > 1) and bool(equal_cells(one, two).all()):
            found.append(name)
    return found


def _is_sorted_alike(old: pl.DataFrame, past: pl.DataFrame, name: str) -> bool:
    """Whether both files are sorted by a number, and each earlier value is one of the range of its original values.

    This holds for means, medians and rounded values of neighbours in the order of this number. A file that was sorted
    again after its protection has values outside.
    """
    if name not in old.columns or not (is_number(old[name]) and is_number(past[name])):
        return False
    ranks = codes(past[name])
    if not (_is_sorted(codes(old[name])) and _is_sorted(ranks)):
        return False
    starts = np.concatenate([[0], np.flatnonzero(np.diff(ranks)) + 1])
    values, value = numbers(old[name]), numbers(past[name])[starts]
    least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    room = 1e-9 * np.maximum(np.abs(least), np.abs(most))
    inside = (value >= least - room) & (value <= most + room)
    return starts.size >= BINS and float(inside.mean()) > 0.99


def _is_no_chance(blocks: Ints) -> bool:
    """Whether blocks of equal records can stand in the same rows of both files only if the order is the same."""
    sizes = np.bincount(blocks)
    changes = int((np.diff(blocks) != 0).sum())
    expected = blocks.size - float((sizes / blocks.size * sizes).sum())
    if (changes + 1 == sizes.size and sizes.max() > 1) or changes < 0.5 * expected:
        return False  # both files may be sorted by these columns and shuffled within their values
    from scipy.special import gammaln

    orders = float(gammaln(blocks.size + 1) - gammaln(sizes + 1).sum())  # logarithm of the number of orders
    return orders >= CHANCE


def _windows(blocks: Ints) -> Ints:
    """The blocks, cut into runs of few records: in two sorted files, columns go together over the whole file."""
    order = np.argsort(blocks, kind="stable")
    sizes = np.bincount(blocks)
    place = np.empty(blocks.size, dtype=np.int64)
    place[order] = np.arange(blocks.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return merged_codes([blocks, place // WINDOW])


def _goes_with(witness: pl.Series, other: pl.Series, blocks: Ints) -> bool | None:
    """Whether two versions of a column go together row by row within the blocks; None if they cannot show it.

    As in `follows`, the correlation must be above 0.2; it must also lie three standard errors above 0. It is that of
    ranks, since few large incomes would decide that of values.
    """
    witness, other = as_same_type(witness, other)
    ranks = codes(witness), codes(other)
    if _is_sorted(ranks[0]) or _is_sorted(ranks[1]):
        return None  # two sorted columns go together in any case, and neighbours in one are too close to tell
    if is_number(witness) and is_number(other):
        strength = _correlation(*ranks, blocks)
    else:
        strength = _association(_labels(witness, ranks[0]), _labels(other, ranks[1]), blocks)
    if strength is None:
        return None
    return strength > 0.2 and strength * float(np.sqrt(blocks.size - np.unique(blocks).size)) >= 3


def _is_sorted(ranks: Ints) -> bool:
    steps = np.diff(ranks)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _correlation(left: Ints, right: Ints, blocks: Ints) -> float | None:
    """The correlation of two columns around their means in each block."""
    sizes = np.bincount(blocks)
    one, two = (side - (np.bincount(blocks, weights=side) / sizes)[blocks] for side in (left, right))
    spread = float(np.sqrt((one**2).sum() * (two**2).sum()))
    return float((one * two).sum()) / spread if min(np.abs(one).max(), np.abs(two).max()) > 1e-6 else None


def _association(left: Ints, right: Ints, blocks: Ints) -> float | None:
    """How labels go together within the blocks, on the scale of a correlation: 0 by chance, 1 if one sets the other.

    It counts the pairs of records of a block that agree in both columns. In a random order the counts of a block's
    table are hypergeometric, which gives the expected number.
    """
    size = np.bincount(blocks).astype(np.float64)
    both, one, two = (
        _squares(merged_codes([blocks, *columns]), blocks) for columns in ((left, right), (left,), (right,))
    )  # fmt: skip
    several = size > 1
    size, both, one, two = (values[several] for values in (size, both, one, two))
    chance = (one * two / size**2 + (size**2 - one) * (size**2 - two) / (size**2 * (size - 1))).sum()
    most = np.minimum(one, two).sum()
    if most <= chance * (1 + 1e-9):
        return None
    return float(np.sqrt(max(0.0, float((both.sum() - chance) / (most - chance)))))


def _squares(cells: Ints, blocks: Ints) -> Floats:
    """For each block, the sum of the squared numbers of records in its cells."""
    return np.asarray(np.bincount(blocks, weights=np.bincount(cells)[cells]), dtype=np.float64)


def _labels(column: pl.Series, ranks: Ints) -> Ints:
    """A column as whole numbers; numbers and dates with many values in bins of about equal size."""
    if not (is_number(column) or column.dtype.is_temporal()) or ranks.max() <= BINS:
        return ranks
    places = np.empty(ranks.size, dtype=np.int64)
    places[np.argsort(ranks, kind="stable")] = np.arange(ranks.size)
    return places * BINS // ranks.size
