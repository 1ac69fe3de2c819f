"""An earlier release of the same records, joined to the release under check.

Sweeney (2002) describes two ways in which an intruder joins releases: by the order of the rows (unsorted matching) and
by columns that both hold (complementary releases). Ganta, Kasiviswanathan and Smith (2008) show that the intersection
of the two then protects less than either. To tell agreement from chance, records that are alone in their class estimate
how often another record would fit no class at all (Good 1953).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from scipy.special import gammaln

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import UsageError
from shoal.gate.cells import (
    TEXT,
    classes,
    codes,
    comparable,
    differing,
    is_number,
    numbers,
    text_of,
)
from shoal.gate.reading import typed
from shoal.gate.row_order import follows

ORDER, SHARED = "order", "shared columns"
CHANCE = -np.log(1e-6)  # agreement with a probability below 1e-6 is not chance
WRONG_PAIRS = 0.1  # the largest expected share of chance pairs among the pairs by shared columns
PAIRS_TO_JUDGE = 30  # with fewer pairs, a correlation near 0 does not show that the pairs are wrong
ROWS_TO_JUDGE = 100  # with fewer rows, files of different length are not compared by values that are only close
BINS = 20
WINDOW = 10


@dataclass(frozen=True, eq=False)
class Joined:
    """Two releases side by side, as far as an intruder who has both can join them.

    frame: the rows of the current release. Each column stands in its finest version; what the earlier release adds
    stands beside it, null where nothing is certain. rows: for each row of the current release, the row of the earlier
    one, or one that equals it in every column; -1: none, or ambiguous. how: "order", "shared columns", or "" if the
    releases could not be aligned; `why` then holds the reason. columns: the columns of `frame` that stem from the
    earlier release. shared_exact: the columns that aligned the releases; all joined rows agree in them.
    origins: the original column of each name in `columns`. earlier: the earlier release's columns beside `frame`.
    """

    frame: pl.DataFrame | None
    rows: Ints | None
    how: str
    why: str
    columns: tuple[str, ...]
    shared_exact: tuple[str, ...]
    origins: Mapping[str, str] = field(default_factory=dict)
    earlier: pl.DataFrame | None = None

    @property
    def records(self) -> int:
        """The number of records that are joined."""
        return 0 if self.rows is None else int((self.rows >= 0).sum())

    def versions(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of `frame` that hold a version of the named original columns."""
        held = () if self.frame is None else self.frame.columns
        return tuple(column for column in held if self.origins.get(column, column) in names)


def join_earlier(
    before: pl.DataFrame,
    after: pl.DataFrame,
    earlier: pl.DataFrame,
    protected: Sequence[str],
    *,
    truth: Ints | None = None,
    keeps_order: bool = True,
) -> Joined:
    """Join the earlier release to the current one (`after`), by the order of the rows or by shared columns.

    before: the original, its rows beside those of `after`. truth: for each row of `after`, the row of the earlier
    release with the same record (-1: none), if it is known; wrong pairs are then left out. keeps_order: False if the
    released file has its rows in a random order, so that an intruder cannot use the order of `after`.
    """
    _check_shapes(before, after, truth)
    earlier = _without_row_numbers(before, earlier)
    common = [name for name in after.columns if name in earlier.columns]
    why = _nothing_to_join(after, earlier, truth)
    if why:
        return _unaligned(why)
    rows = _rows_in_order(before, after, earlier, protected, truth) if keeps_order else None
    if rows is not None:
        return _joined(before, after, earlier, _Match(rows, ORDER, tuple(_equal_columns(after, earlier))))
    found = _by_shared_columns(before, after, earlier, common, truth)
    if isinstance(found, str):
        return _unaligned(f"{_order_reason(after, earlier, truth, keeps_order)}, and {found}")
    return _joined(before, after, earlier, found)


def exact_again(before: pl.DataFrame, joined: Joined, protected: Sequence[str]) -> dict[str, float]:
    """For each protected column, the share of records whose original value the earlier release holds exactly.

    The result is empty if the releases could not be aligned.
    """
    if joined.earlier is None or joined.rows is None:
        return {}
    shares = dict.fromkeys(protected, 0.0)
    for name in (name for name in protected if name in joined.earlier.columns and name in before.columns):
        version = joined.earlier[name]
        # A null also stands for "not joined": only in a joined row does it equal a missing original value.
        known = (joined.rows >= 0) | ~version.is_null().to_numpy()
        shares[name] = float((_equal_cells(before[name], version) & known).sum()) / before.height
    return shares


def smallest_intersection(
    after: pl.DataFrame, joined: Joined, names: Sequence[str], kept: Bools | None = None
) -> int | None:
    """The smallest number of records that an intruder with both releases cannot tell apart in the named columns.

    A record that is not joined may have any earlier values: it counts as a candidate for every record of its class, so
    that a file of which a part is joined does not seem to consist of unique records. None if nothing is joined.
    kept: the records that are not suppressed.
    """
    if joined.earlier is None or joined.rows is None:
        return None
    shown = np.ones(after.height, dtype=bool) if kept is None else kept
    here, past = _class_labels(after, names, shown), _class_labels(joined.earlier, names, joined.rows >= 0)
    here, past = here[shown], past[shown]
    both = _merged([here, past + 1]) if here.size else here
    unknown = np.bincount(here, weights=past < 0)[here]
    alike = np.where(past < 0, unknown, np.bincount(both)[both] + unknown)
    return int(alike.min()) if alike.size else 0


def _class_labels(frame: pl.DataFrame, names: Sequence[str], known: Bools) -> Ints:
    """Each record's class in the named columns that the frame has; -1 for records that are not known."""
    held = tuple(name for name in names if name in frame.columns)
    return classes(frame, held, known).labels if held else np.where(known, 0, -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Match:
    """How the rows were joined. cells: by column, the earlier rows where more than the joined rows is certain."""

    rows: Ints
    how: str
    shared: tuple[str, ...]
    cells: Mapping[str, Ints] = field(default_factory=dict)

    def of(self, name: str) -> Ints:
        return self.cells.get(name, self.rows)


def _unaligned(why: str) -> Joined:
    return Joined(None, None, "", why, (), ())


def _check_shapes(before: pl.DataFrame, after: pl.DataFrame, truth: Ints | None) -> None:
    if before.height != after.height:
        raise UsageError(
            f"the original has {before.height:,} rows and the release has {after.height:,}, so their rows are not side "
            "by side. Leave out the rows of the original that were not released"
        )
    if truth is not None and truth.shape != (after.height,):
        raise UsageError(
            f"truth must have one row number per row of the release ({after.height:,}), not {truth.size:,}"
        )


def _without_row_numbers(before: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """The earlier release without numbers of its rows that the original does not have: they would join any files."""
    added = [name for name in earlier.columns if name not in before.columns and is_number(earlier[name])]
    numbered = [name for name in added if earlier.height > 1 and (np.diff(numbers(earlier[name])) == 1).all()]
    return earlier.drop(numbered) if len(numbered) < earlier.width else earlier


def _nothing_to_join(after: pl.DataFrame, earlier: pl.DataFrame, truth: Ints | None) -> str:
    if not after.height:
        return "this release has no rows"
    if not earlier.height:
        return "the earlier release has no rows"
    return "the two releases have no record in common" if truth is not None and (truth < 0).all() else ""


def _order_reason(after: pl.DataFrame, earlier: pl.DataFrame, truth: Ints | None, keeps_order: bool) -> str:
    if not keeps_order:
        return "the rows of this release are in a random order"
    if earlier.height != after.height:
        return f"the earlier release has {earlier.height:,} rows and this one {after.height:,}"
    if truth is not None:
        return "the rows of the two releases are not in the same order"
    return "no column shows that the rows of the two releases are in the same order"


# -- by the order of the rows --------------------------------------------------------------------


def _rows_in_order(
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
    equal = list(dict.fromkeys([*_equal_columns(new, past), *_equal_columns(old, past)]))
    others = [name for name in dict.fromkeys([*protected, *past.columns]) if name in past.columns and name not in equal]
    versions = [(witness[name], past[name]) for name in others for witness in (old, new) if name in witness.columns]
    moved = [~_equal_cells(*version) for version in versions if _is_swapped(*version)]
    labels = {name: codes(past[name]) for name in equal}
    if equal and _is_no_chance(_merged(list(labels.values()))):
        # Values that changed places belong to a swap, or these rows did. Either way these rows are not certain.
        stays = ~np.logical_or.reduce([np.zeros(past.height, dtype=bool), *moved])
        return stays if stays.mean() > 0.5 else None
    if moved:
        return None
    labels |= {name: codes(past[name]) for name in past.columns if name not in equal}
    placed = [*equal, *(name for name in past.columns if name not in equal and _is_sorted_alike(old, past, name))]
    blocks = _merged([np.zeros(past.height, dtype=np.int64), *(labels[name] for name in placed)])
    everywhere = np.ones(past.height, dtype=bool)
    if same_rows and blocks.max() == _merged(list(labels.values())).max():
        return everywhere  # rows of one block are equal in every column: their order makes no difference
    if not same_rows and past.height < ROWS_TO_JUDGE:
        return None
    windows = _windows(blocks)
    finest = {witness.name: (witness, other) for witness, other in reversed(versions) if witness.name not in placed}
    verdicts = [_goes_with(*version, windows) for version in finest.values()]
    # Most columns must go together: one alone may be a column by which both files are nearly sorted.
    known = [verdict for verdict in verdicts if verdict is not None]
    return everywhere if sum(known) * 2 > len(known) else None


def _equal_columns(left: pl.DataFrame, right: pl.DataFrame) -> list[str]:
    """The columns that are equal row by row, as far as the shorter frame goes, and not constant."""
    rows = min(left.height, right.height)
    found = []
    for name in (name for name in right.columns if name in left.columns):
        one, two = left[name].head(rows), right[name].head(rows)
        if (rows == 1 or comparable(two).n_unique() > 1) and bool(_equal_cells(one, two).all()):
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
    orders = float(gammaln(blocks.size + 1) - gammaln(sizes + 1).sum())  # logarithm of the number of orders
    return orders >= CHANCE


def _windows(blocks: Ints) -> Ints:
    """The blocks, cut into runs of few records: in two sorted files, columns go together over the whole file."""
    order = np.argsort(blocks, kind="stable")
    sizes = np.bincount(blocks)
    place = np.empty(blocks.size, dtype=np.int64)
    place[order] = np.arange(blocks.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return _merged([blocks, place // WINDOW])


def _goes_with(witness: pl.Series, other: pl.Series, blocks: Ints) -> bool | None:
    """Whether two versions of a column go together row by row within the blocks; None if they cannot show it.

    As in `follows`, the correlation must be above 0.2; it must also lie three standard errors above 0. It is that of
    ranks, since few large incomes would decide that of values.
    """
    witness, other = _alike(witness, other)
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
        _squares(_merged([blocks, *columns]), blocks) for columns in ((left, right), (left,), (right,))
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


# -- by shared columns ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Key:
    """The values of columns in both files as whole numbers. rows: the number of rows of the current release.

    values: first those of the current release, then those of the earlier one.
    """

    names: tuple[str, ...]
    values: Ints
    missing: Bools
    rows: int

    @property
    def current(self) -> Ints:
        return self.values[: self.rows]

    @property
    def past(self) -> Ints:
        return self.values[self.rows :]

    @cached_property
    def counts(self) -> tuple[Ints, Ints]:
        """How often each value occurs in the current and in the earlier release."""
        size = int(self.values.max()) + 1
        return np.bincount(self.current, minlength=size), np.bincount(self.past, minlength=size)

    @cached_property
    def overlap(self) -> float:
        """The share of the smaller file's values that the larger file has too, each as often."""
        return int(np.minimum(*self.counts).sum()) / min(self.current.size, self.past.size)

    @property
    def is_constant(self) -> bool:
        return bool((self.values == self.values[0]).all())


def _by_shared_columns(
    before: pl.DataFrame, after: pl.DataFrame, earlier: pl.DataFrame, common: Sequence[str], truth: Ints | None
) -> _Match | str:
    """Join rows by the columns that both releases hold, or say why this is not possible.

    First by the columns whose values in the smaller file are all in the larger one, each as often: one file then holds
    the other's records or some of them. If these join nothing, by the columns that seem unchanged in two files that
    share only a part of their records.
    """
    if not common:
        return "they have no column in common"
    keys = {name: _coded(after[name], earlier[name]) for name in common}
    exact = _exact_columns(before, after, keys, truth)
    why = "no column in common holds the same values in both"
    if exact:
        found = _paired(before, earlier, _combined([keys[name] for name in exact]), truth)
        if isinstance(found, _Match):
            return found
        why = found
    if truth is not None:
        return why
    partly = [name for name in common if name in exact or _seems_unchanged(before, after, keys[name])]
    if len(partly) > len(exact):
        found = _paired(before, earlier, _combined([keys[name] for name in partly]), truth)
        if isinstance(found, _Match) or not exact:
            return found
    return why


def _exact_columns(
    before: pl.DataFrame, after: pl.DataFrame, keys: Mapping[str, _Key], truth: Ints | None
) -> list[str]:
    """The columns that hold the same values for the same records in both releases."""
    if truth is not None:
        both = truth >= 0
        return [name for name, key in keys.items() if (key.current[both] == key.past[truth[both]]).all()]
    whole = [name for name, key in keys.items() if key.overlap == 1]
    everywhere = np.ones(after.height, dtype=bool)
    exact = [name for name in whole if name not in before.columns or _holds_original(before, after[name], everywhere)]
    # The current release changed the others. If the earlier one holds the same version, it fits the other columns too.
    for name in (name for name in whole if name not in exact):
        fits = _combined([keys[other] for other in [*exact, name]]).overlap == 1
        if fits if exact else not _is_swapped(before[name], after[name]):
            exact.append(name)
    return exact


def _is_swapped(before: pl.Series, after: pl.Series) -> bool:
    """Whether a column has the values of the original, but not in the same rows."""
    if is_number(before) and is_number(after):
        one, two = (np.fmax.reduce(numbers(column)) for column in (before, after))
        if not np.isclose(one, two, equal_nan=True):
            return False  # seen without sorting
    return not bool(_equal_cells(before, after).all()) and _coded(before, after).overlap == 1


def _seems_unchanged(before: pl.DataFrame, after: pl.DataFrame, key: _Key) -> bool:
    """Whether a column is unchanged in the current release and the earlier one seems to hold original values too.

    A column with few values has most of them in both files. One with nearly unique values shares those of the records
    that are in both files.
    """
    name = key.names[0]
    if name in before.columns and _equal_cells(before[name], after[name]).mean() < 0.95:
        return False
    distinct = min(float((count > 0).sum()) / float(count.sum()) for count in key.counts)
    return key.overlap >= 0.5 or (distinct >= 0.9 and key.overlap >= 0.02)


def _paired(before: pl.DataFrame, earlier: pl.DataFrame, key: _Key, truth: Ints | None) -> _Match | str:
    """Join the rows whose key occurs once in both files, or say why this is not possible.

    Of records that share a key, an intruder knows only that their earlier values are those of the block. They stay
    without earlier values, except in columns where the whole block agrees. This understates what small blocks
    disclose: show the number of joined records beside every measure of the joined file.
    """
    alone = (key.counts[0] == 1) & (key.counts[1] == 1)
    position = np.full(alone.size, -1, dtype=np.int64)
    position[key.past] = np.arange(key.past.size)
    rows = np.where(alone[key.current], position[key.current], -1)
    cells: dict[str, Ints] = {}
    if truth is not None:
        rows, cells = _with_agreeing_blocks(earlier, key, np.where(rows == truth, rows, -1), position, truth >= 0)
        rows = np.where(rows >= 0, truth, -1)
    elif _holds_same_records(key):
        rows, cells = _with_agreeing_blocks(earlier, key, rows, position, np.ones(rows.size, dtype=bool))
    else:
        rows = np.where(key.missing[: key.rows], -1, rows)  # two missing values may be those of two records
        pairs, chance = int((rows >= 0).sum()), _chance_pairs(key)
        if pairs and chance > WRONG_PAIRS * pairs:
            return (
                f"{_quoted(key.names)} would join {pairs:,} {'record' if pairs == 1 else 'records'}, but about "
                f"{chance:,.0f} pairs of different records are expected to agree there by chance"
            )
    if not (rows >= 0).any() and not cells:
        return _no_unique_key(key, truth)
    if truth is None and _is_contradicted(before, earlier, rows, key.names):
        return f"the other numbers of the records that {_quoted(key.names)} would join do not go together"
    return _Match(rows, SHARED, key.names, cells)


def _no_unique_key(key: _Key, truth: Ints | None) -> str:
    names = _quoted(key.names)
    if truth is not None:
        return f"no record of both releases is the only one with its values in {names}"
    if bool(key.missing.any()) and not _holds_same_records(key):
        return f"no combination of the values in {names} occurs exactly once in both releases and is complete"
    return f"no combination of the values in {names} occurs exactly once in both releases"


def _holds_same_records(key: _Key) -> bool:
    """Whether all records of the smaller file are in the larger one, beyond chance."""
    if key.overlap < 1:
        return False
    if key.current.size == key.past.size:
        return True
    small, large = sorted(key.counts, key=lambda count: int(count.sum()))
    unseen = float((large == 1).sum()) / float(large.sum())  # the chance that one more record has no equal
    return float(small.sum()) * unseen >= CHANCE


def _chance_pairs(key: _Key) -> float:
    """How many pairs of different records agree across the files, if they agree as often as within a file."""
    rates = [0.0]
    for count in key.counts:
        size = float(count.sum())
        rates.append(float((count * (count - 1.0)).sum()) / max(size * (size - 1), 1.0))
    return max(rates) * key.current.size * key.past.size


def _with_agreeing_blocks(
    earlier: pl.DataFrame, key: _Key, rows: Ints, position: Ints, present: Bools
) -> tuple[Ints, dict[str, Ints]]:
    """The joined rows; and by column the rows that are certain because the whole block has one value there.

    A block counts if it has the same number of records in both files. Blocks that agree in every column are joined
    row by row: which record is which then makes no difference. present: the records that are in the earlier file.
    """
    several = (key.counts[0] == key.counts[1]) & (key.counts[0] > 1)
    if not several.any():
        return rows, {}
    equal, certain = several.copy(), {}
    for name in (name for name in earlier.columns if name not in key.names):
        column = earlier[name]
        certain[name] = several.copy()
        certain[name][key.past[differing(column, column.gather(position[key.past]))]] = False
        equal &= certain[name]
    one, two = (np.flatnonzero(equal[side]) for side in (key.current, key.past))
    paired = rows.copy()
    paired[one[np.argsort(key.current[one], kind="stable")]] = two[np.argsort(key.past[two], kind="stable")]
    paired = np.where(present, paired, rows)
    cells = {}
    for name, blocks in certain.items():
        taken = np.where((paired < 0) & blocks[key.current] & present, position[key.current], paired)
        if (taken != paired).any():
            cells[name] = taken
    return paired, cells


def _is_contradicted(before: pl.DataFrame, earlier: pl.DataFrame, rows: Ints, key: Sequence[str]) -> bool:
    """Whether no other number of the joined rows goes with the original: the key then joined different records."""
    both = [name for name in before.columns if name in earlier.columns and name not in key]
    both = [name for name in both if is_number(before[name]) and is_number(earlier[name])]
    joined = np.flatnonzero(rows >= 0)
    if not both or joined.size < PAIRS_TO_JUDGE:
        return False
    old, past = before.select(both)[joined], earlier.select(both)[rows[joined]]
    with np.errstate(invalid="ignore"):  # infinite numbers have no correlation
        return not any(follows(old, past, [name]) for name in both)


def _quoted(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


# -- the joined file -----------------------------------------------------------------------------


def _joined(before: pl.DataFrame, after: pl.DataFrame, earlier: pl.DataFrame, match: _Match) -> Joined:
    """The current release with what the earlier one adds to it."""
    past = pl.DataFrame([_taken(earlier[name], match.of(name)) for name in earlier.columns])
    columns = {name: after[name] for name in after.columns}
    origins: dict[str, str] = {}
    for name in past.columns:
        known = match.of(name) >= 0
        version, added = past[name], name
        if name in after.columns:
            here = after[name]
            if _holds_original(before, here, np.ones_like(known)) or _equal_cells(here, version)[known].all():
                continue
            exact = _completed(version, here, known) if _holds_original(before, version, known) else None
            # Of two protected versions both stay: a record is in the intersection of both classes.
            added = _free_name(name, {*columns, *past.columns}) if exact is None else name
            version = version if exact is None else exact
        columns[added] = version.rename(added)
        origins[added] = name
    frame = pl.DataFrame(list(columns.values()))
    return Joined(frame, match.rows, match.how, "", tuple(origins), match.shared, origins, past)


def _holds_original(before: pl.DataFrame, column: pl.Series, known: Bools) -> bool:
    return column.name in before.columns and bool(_equal_cells(before[column.name], column)[known].all())


def _completed(exact: pl.Series, here: pl.Series, known: Bools) -> pl.Series | None:
    """The exact version, with the current one where the records are not joined; None if one column cannot hold both."""
    if known.all():
        return exact
    if is_number(exact) and is_number(here):
        exact, here = exact.cast(pl.Float64), here.cast(pl.Float64)
    elif exact.dtype in TEXT and here.dtype in TEXT:
        exact, here = exact.cast(pl.String), here.cast(pl.String)
    return exact.zip_with(pl.Series(known), here) if exact.dtype == here.dtype else None


def _taken(column: pl.Series, rows: Ints) -> pl.Series:
    """The cells of a column in other rows; null for -1."""
    if rows.size == column.len() and bool((rows == np.arange(rows.size)).all()):
        return column
    return column.gather(pl.Series(rows).set(pl.Series(rows < 0), None))


def _free_name(name: str, used: set[str]) -> str:
    ways = [f"{name} (earlier)", *(f"{name} (earlier {count})" for count in range(2, len(used) + 3))]
    return next(way for way in ways if way not in used)


# -- columns of two files ------------------------------------------------------------------------


def _combined(keys: Sequence[_Key]) -> _Key:
    """Several columns as one key, without those that are constant."""
    telling = [key for key in keys if not key.is_constant] or list(keys)
    names = tuple(name for key in telling for name in key.names)
    missing = np.logical_or.reduce([key.missing for key in telling])
    return _Key(names, _merged([key.values for key in telling]), missing, telling[0].rows)


def _coded(current: pl.Series, past: pl.Series) -> _Key:
    """The values of a column in two files as whole numbers, equal where the values are."""
    left, right = _alike(current, past)
    if left.dtype.is_float():
        values = np.concatenate([numbers(left), numbers(right)])
        missing = np.isnan(values)
        found = _number_codes(values, _tolerance(current, past))
    else:
        both = pl.concat([comparable(left), comparable(right)])
        missing, found = both.is_null().to_numpy(), codes(both)
    return _Key((current.name,), found, missing, current.len())


def _number_codes(values: Floats, tolerance: float) -> Ints:
    """A whole number for each distinct number; numbers closer than a relative tolerance are the same."""
    order = np.argsort(values, kind="stable")  # NaN last
    ranked = values[order]
    with np.errstate(invalid="ignore", over="ignore"):
        new = ranked[1:] != ranked[:-1]
        if not (ranked[np.isfinite(ranked)] % 1 == 0).all():
            gaps = np.diff(ranked)
            new &= ~(np.isfinite(gaps) & (gaps <= tolerance * np.minimum(np.abs(ranked[1:]), np.abs(ranked[:-1]))))
    new &= ~np.isnan(ranked[:-1])
    found = np.empty(values.size, dtype=np.int64)
    found[order] = np.concatenate([[0], np.cumsum(new)])
    return found


def _merged(columns: Sequence[Ints]) -> Ints:
    """One whole number for each combination of whole numbers, from 0 on without gaps."""
    merged, size = columns[0], int(columns[0].max()) + 1
    for column in columns[1:]:
        width = int(column.max()) + 1
        if size * width >= 2**62:
            merged = np.unique(merged, return_inverse=True)[1]
            size = int(merged.max()) + 1
        merged, size = merged * width + column, size * width
    return np.asarray(np.unique(merged, return_inverse=True)[1], dtype=np.int64)


def _equal_cells(left: pl.Series, right: pl.Series) -> Bools:
    """Which cells of two columns of one length are equal, in whatever types the files hold them."""
    one, two = _alike(left, right)
    return ~differing(one, two, tolerance=_tolerance(left, right) if one.dtype.is_float() else 0.0)


def _tolerance(left: pl.Series, right: pl.Series) -> float:
    """Formats keep different numbers of digits."""
    return 1e-7 if pl.Float32 in (left.dtype, right.dtype) else 1e-12


def _alike(left: pl.Series, right: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Two versions of a column in one type: numbers and dates that one file holds as text, blanks around text."""
    left, right = (column.cast(pl.String) if column.dtype in TEXT else column for column in (left, right))
    if left.dtype == pl.Null:
        left = left.cast(right.dtype)
    if right.dtype == pl.Null:
        right = right.cast(left.dtype)
    if left.dtype == pl.String and right.dtype != pl.String:
        left = _parsed(left, right.dtype)
    elif right.dtype == pl.String and left.dtype != pl.String:
        right = _parsed(right, left.dtype)
    kinds = (left.dtype, right.dtype)
    if kinds[0] == kinds[1]:
        return (_bare(left), _bare(right)) if left.dtype == pl.String else (left, right)
    if all(kind.is_numeric() or kind == pl.Boolean for kind in kinds):
        return _same_numbers(left, right)
    if all(kind == pl.Date or isinstance(kind, pl.Datetime) for kind in kinds):
        return left.cast(pl.Datetime("us")), right.cast(pl.Datetime("us"))
    left, right = (column.to_physical() if column.dtype == pl.Duration else column for column in (left, right))
    left, right = (column.fill_nan(None) if column.dtype.is_float() else column for column in (left, right))
    return _bare(text_of(left)), _bare(text_of(right))


def _parsed(text: pl.Series, kind: pl.DataType) -> pl.Series:
    return typed(text, pl.Float64() if kind.is_numeric() else kind)


def _bare(text: pl.Series) -> pl.Series:
    """Text without blanks around it; empty text is missing."""
    bare = text.str.strip_chars()
    return bare.set(bare == "", None)


def _same_numbers(left: pl.Series, right: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Whole numbers as Int64 if all fit, so that long codes stay apart; others as Float64."""
    if not any(column.dtype.is_float() or column.dtype.is_decimal() for column in (left, right)):
        one, two = left.cast(pl.Int64, strict=False), right.cast(pl.Int64, strict=False)
        if one.null_count() == left.null_count() and two.null_count() == right.null_count():
            return one, two
    return left.cast(pl.Float64), right.cast(pl.Float64)
