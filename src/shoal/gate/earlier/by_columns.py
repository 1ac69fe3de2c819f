"""Join rows of an earlier release by columns that both releases hold (complementary releases, Sweeney 2002)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shoal.arrays import Bools, Ints
from shoal.errors import counted
from shoal.gate.cells import (
    differing,
    is_number,
)
from shoal.gate.earlier.alike import (
    CHANCE,
    SHARED,
    Key,
    Match,
    combined_key,
    common_codes,
    equal_cells,
    holds_original,
    is_swapped,
)
from shoal.gate.row_order import follows

WRONG_PAIRS = 0.1  # the largest expected share of chance pairs among the pairs by shared columns
PAIRS_TO_JUDGE = 30  # with fewer pairs, a correlation near 0 does not prove that the pairs are wrong


def by_shared_columns(
    before: pl.DataFrame, after: pl.DataFrame, earlier: pl.DataFrame, common: Sequence[str], truth: Ints | None
) -> Match | str:
    """Join rows by the columns that both releases hold, or return the reason why this is not possible.

    First, the columns whose values in the smaller file all occur in the larger one, at least as often: the larger file
    then holds all records of the smaller one. If these join nothing, the columns that seem unchanged in two files that
    share only some records.
    """
    if not common:
        return "they have no column in common"
    keys = {name: common_codes(after[name], earlier[name]) for name in common}
    exact = _exact_columns(before, after, keys, truth)
    why = "no column in common holds the same values in both"
    if exact:
        match = _paired(before, earlier, combined_key([keys[name] for name in exact]), truth)
        if isinstance(match, Match):
            return match
        why = match
    if truth is not None:
        return why
    partly = [name for name in common if name in exact or _seems_unchanged(before, after, keys[name])]
    if len(partly) > len(exact):
        match = _paired(before, earlier, combined_key([keys[name] for name in partly]), truth)
        if isinstance(match, Match) or not exact:
            return match
    return why


def _exact_columns(before: pl.DataFrame, after: pl.DataFrame, keys: Mapping[str, Key], truth: Ints | None) -> list[str]:
    """Return the columns that hold the same values for the same records in both releases."""
    if truth is not None:
        both = truth >= 0
        return [name for name, key in keys.items() if (key.current[both] == key.past[truth[both]]).all()]
    whole = [name for name, key in keys.items() if key.overlap == 1]
    everywhere = np.ones(after.height, dtype=bool)
    exact = [name for name in whole if name not in before.columns or holds_original(before, after[name], everywhere)]
    # The current release changed the others. If the earlier one holds the same version, it fits the other columns too.
    for name in (name for name in whole if name not in exact):
        fits = combined_key([keys[other] for other in [*exact, name]]).overlap == 1
        if fits if exact else not is_swapped(before[name], after[name]):
            exact.append(name)
    return exact


def _seems_unchanged(before: pl.DataFrame, after: pl.DataFrame, key: Key) -> bool:
    """Whether a column is unchanged in the current release and the earlier one seems to hold original values too.

    A column with few values has most of them in both files. One with nearly unique values shares those of the records
    that are in both files.
    """
    name = key.names[0]
    if name in before.columns and equal_cells(before[name], after[name]).mean() < 0.95:
        return False
    distinct = min(float((count > 0).sum()) / float(count.sum()) for count in key.counts)
    return key.overlap >= 0.5 or (distinct >= 0.9 and key.overlap >= 0.02)


def _paired(before: pl.DataFrame, earlier: pl.DataFrame, key: Key, truth: Ints | None) -> Match | str:
    """Join the rows whose key occurs once in both files, or return the reason why this is not possible.

    If several records share a key, an intruder knows only that their earlier values are among those of the block. They
    get no earlier values, except in columns in which the whole block agrees. This understates what small blocks
    disclose, so show the number of joined records with every measure of the joined file.
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
                f"{quoted(key.names)} would join {counted(pairs, 'record')}, but about "
                f"{chance:,.0f} pairs of different records are expected to agree there by chance"
            )
    if not (rows >= 0).any() and not cells:
        return _no_unique_key(key, truth)
    if truth is None and _is_contradicted(before, earlier, rows, key.names):
        return f"the other numbers of the records that {quoted(key.names)} would join are not correlated"
    return Match(rows, SHARED, key.names, cells)


def _no_unique_key(key: Key, truth: Ints | None) -> str:
    names = quoted(key.names)
    if truth is not None:
        return f"no record of both releases is the only one with its values in {names}"
    if bool(key.missing.any()) and not _holds_same_records(key):
        return f"no combination of the values in {names} occurs exactly once in both releases and is complete"
    return f"no combination of the values in {names} occurs exactly once in both releases"


def _holds_same_records(key: Key) -> bool:
    """Whether all records of the smaller file are in the larger one, beyond chance."""
    if key.overlap < 1:
        return False
    if key.current.size == key.past.size:
        return True
    small, large = sorted(key.counts, key=lambda count: int(count.sum()))
    unseen = float((large == 1).sum()) / float(large.sum())  # the chance that one more record has no equal
    return float(small.sum()) * unseen >= CHANCE


def _chance_pairs(key: Key) -> float:
    """Return how many pairs of different records agree across the files, if they agree as often as within a file."""
    rates = [0.0]
    for count in key.counts:
        size = float(count.sum())
        rates.append(float((count * (count - 1.0)).sum()) / max(size * (size - 1), 1.0))
    return max(rates) * key.current.size * key.past.size


def _with_agreeing_blocks(
    earlier: pl.DataFrame, key: Key, rows: Ints, position: Ints, present: Bools
) -> tuple[Ints, dict[str, Ints]]:
    """Return the joined rows, and for some columns further rows that are certain because the whole block agrees.

    A block counts if it has the same number of records in both files. Blocks that agree in every column are joined
    row by row, because the order within them makes no difference. `present` marks records that the earlier file has.
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
    """Whether no other number of the joined rows is correlated with the original: the key then joined wrong pairs."""
    both = [name for name in before.columns if name in earlier.columns and name not in key]
    both = [name for name in both if is_number(before[name]) and is_number(earlier[name])]
    joined = np.flatnonzero(rows >= 0)
    if not both or joined.size < PAIRS_TO_JUDGE:
        return False
    old, past = before.select(both)[joined], earlier.select(both)[rows[joined]]
    with np.errstate(invalid="ignore"):  # infinite numbers have no correlation
        return not any(follows(old, past, [name]) for name in both)


def quoted(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
