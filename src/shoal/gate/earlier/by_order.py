"""Join rows of an earlier release by their order (unsorted matching, Sweeney 2002), if the order is the same."""

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

ROWS_TO_JUDGE = 100  # with fewer rows, correlations do not prove the order of files of different length
BINS = 20  # of numbers with many values
WINDOW = 10  # records that are compared with each other


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
    """Return the row of the earlier release for each row of the current one, if both are in the same order.

    The order is compared from the first row to the end of the shorter file. An earlier column that equals the original
    row by row proves the order, as does one that equals the release. An intruder needs no proof to try the order.
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
    earlier_rows = np.full(after.height, -1, dtype=np.int64)
    earlier_rows[:rows] = np.where(stays, np.arange(rows), -1)
    return earlier_rows


def _in_place(
    old: pl.DataFrame, new: pl.DataFrame, past: pl.DataFrame, protected: Sequence[str], same_rows: bool
) -> Bools | None:
    """Return which rows of three files of the same length are the same records; None if the order is not proved.

    same_rows: no file was cut to this length.
    """
    equal = list(dict.fromkeys([*equal_columns(new, past), *equal_columns(old, past)]))
    others = [name for name in dict.fromkeys([*protected, *past.columns]) if name in past.columns and name not in equal]
    versions = [(witness[name], past[name]) for name in others for witness in (old, new) if name in witness.columns]
    moved = [~equal_cells(*version) for version in versions if is_swapped(*version)]
    labels = {name: codes(past[name]) for name in equal}
    if equal and _is_no_chance(merged_codes(list(labels.values()))):
        # In these rows, values were swapped or the records changed places. Either way the rows are not certain.
        stays = ~np.logical_or.reduce([np.zeros(past.height, dtype=bool), *moved])
        return stays if stays.mean() > 0.5 else None
    if moved:
        return None
    labels |= {name: codes(past[name]) for name in past.columns if name not in equal}
    placed = [*equal, *(name for name in past.columns if name not in equal and _is_sorted_alike(old, past, name))]
    blocks = merged_codes([np.zeros(past.height, dtype=np.int64), *(labels[name] for name in placed)])
    everywhere = np.ones(past.height, dtype=bool)
    if same_rows and blocks.max() == merged_codes(list(labels.values())).max():
        return everywhere  # rows of a block are equal in every column, so their order makes no difference
    if not same_rows and past.height < ROWS_TO_JUDGE:
        return None
    windows = _windows(blocks)
    finest = {witness.name: (witness, other) for witness, other in reversed(versions) if witness.name not in placed}
    verdicts = [_goes_with(*version, windows) for version in finest.values()]
    # Most columns must be correlated: a single one may be a column by which both files are nearly sorted.
    known = [verdict for verdict in verdicts if verdict is not None]
    return everywhere if sum(known) * 2 > len(known) else None


def equal_columns(left: pl.DataFrame, right: pl.DataFrame) -> list[str]:
    """Return the non-constant columns that are equal row by row, up to the end of the shorter frame."""
    rows = min(left.height, right.height)
    equal = []
    for name in (name for name in right.columns if name in left.columns):
        one, two = left[name].head(rows), right[name].head(rows)
        if (rows == 1 or comparable(two).n_unique() > 1) and bool(equal_cells(one, two).all()):
            equal.append(name)
    return equal


def _is_sorted_alike(old: pl.DataFrame, past: pl.DataFrame, name: str) -> bool:
    """Whether both files are sorted by a number, and each earlier value is in the range of its original values.

    This holds for means, medians and rounded values of neighbours in the order of this number. A file that was sorted
    again after its protection has values outside these ranges.
    """
    if name not in old.columns or not (is_number(old[name]) and is_number(past[name])):
        return False
    ranks = codes(past[name])
    if not (_is_sorted(codes(old[name])) and _is_sorted(ranks)):
        return False
    starts = np.concatenate([[0], np.flatnonzero(np.diff(ranks)) + 1])
    values, value = numbers(old[name]), numbers(past[name])[starts]
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    slack = 1e-9 * np.maximum(np.abs(low), np.abs(high))
    inside = (value >= low - slack) & (value <= high + slack)
    return starts.size >= BINS and float(inside.mean()) > 0.99


def _is_no_chance(blocks: Ints) -> bool:
    """Whether chance cannot explain that blocks of equal records are in the same rows of both files."""
    sizes = np.bincount(blocks)
    changes = int((np.diff(blocks) != 0).sum())
    expected = blocks.size - float((sizes / blocks.size * sizes).sum())
    if (changes + 1 == sizes.size and sizes.max() > 1) or changes < 0.5 * expected:
        return False  # both files may be sorted by these columns and shuffled within their values
    from scipy.special import gammaln

    orders = float(gammaln(blocks.size + 1) - gammaln(sizes + 1).sum())  # logarithm of the number of orders
    return orders >= CHANCE


def _windows(blocks: Ints) -> Ints:
    """Split the blocks into runs of few records: in two sorted files, columns are correlated over the whole file."""
    order = np.argsort(blocks, kind="stable")
    sizes = np.bincount(blocks)
    place = np.empty(blocks.size, dtype=np.int64)
    place[order] = np.arange(blocks.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return merged_codes([blocks, place // WINDOW])


def _goes_with(witness: pl.Series, other: pl.Series, blocks: Ints) -> bool | None:
    """Whether two versions of a column are correlated row by row within the blocks; None if this cannot be decided.

    As in `follows`, the correlation must be above 0.2. It must also be three standard errors above 0. Ranks are used,
    because a few large incomes would dominate the correlation of values.
    """
    witness, other = as_same_type(witness, other)
    ranks = codes(witness), codes(other)
    if _is_sorted(ranks[0]) or _is_sorted(ranks[1]):
        return None  # two sorted columns are always correlated, and neighbours in one are too similar
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
    """Return the correlation of two columns around their block means."""
    sizes = np.bincount(blocks)
    one, two = (side - (np.bincount(blocks, weights=side) / sizes)[blocks] for side in (left, right))
    spread = float(np.sqrt((one**2).sum() * (two**2).sum()))
    return float((one * two).sum()) / spread if min(np.abs(one).max(), np.abs(two).max()) > 1e-6 else None


def _association(left: Ints, right: Ints, blocks: Ints) -> float | None:
    """Return the association of labels within the blocks: 0 by chance, 1 if one column determines the other.

    It counts the pairs of records of a block that agree in both columns. In random order, the counts in a block's table
    are hypergeometric, which gives the expected number.
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
    """Return for each block the sum of the squared numbers of records in its cells."""
    return np.asarray(np.bincount(blocks, weights=np.bincount(cells)[cells]), dtype=np.float64)


def _labels(column: pl.Series, ranks: Ints) -> Ints:
    """Return a column as codes; numbers and dates with many values are binned into about equal sizes."""
    if not (is_number(column) or column.dtype.is_temporal()) or ranks.max() <= BINS:
        return ranks
    places = np.empty(ranks.size, dtype=np.int64)
    places[np.argsort(ranks, kind="stable")] = np.arange(ranks.size)
    return places * BINS // ranks.size
