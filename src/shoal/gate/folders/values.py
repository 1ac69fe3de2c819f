"""The distinct values of single columns over all files, in ascending order, without holding a column in memory.

The check of a file stages its distinct values, sorted. They are merged in pieces: of neighbouring values that differ in
their last bits only, of the scale of a confidential number, and of confidential numbers that are nearly unique.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Floats
from shoal.gate.cells import is_number, numbers
from shoal.gate.checks.members import FAR, LAST_BITS, gaps
from shoal.gate.context import CheckContext
from shoal.gate.folders.recount import UNIT
from shoal.gate.inside import KEY_RECORDS, KEY_SHARE, scale_of

OLD, NEW, CONFIDENTIAL = "old", "new", "confidential"
VALUE, RECORDS = "value", "records"
Stream = tuple[str, str]  # a column, and which of its values


def single_columns(context: CheckContext, units: Sequence[pl.Series]) -> tuple[pl.DataFrame, list[list[Any]], Any]:
    """Return the sorted distinct values of a file, their streams, and the largest absolute value of each column.

    A stream is [column, which values, number of them]. Protected floats have the original and the released values;
    confidential numbers have a value per distinct unit. Columns whose original values are near each other need none.
    """
    parts, streams, largest = [], [], {}
    for name in context.quasi:
        if not context.after[name].dtype.is_float():
            continue
        new = numbers(context.after[name])
        old = numbers(context.before[name]) if context.before[name].dtype.is_numeric() else np.empty(0)
        both = np.abs(np.concatenate([part[np.isfinite(part)] for part in (old, new)]))
        largest[name] = float(both.max(initial=0.0))
        ascending = np.unique(old[np.isfinite(old)])
        near = [bool(gap.size) and gap.min() <= FAR for gap in gaps(ascending, _unit(largest[name]))]
        if all(near):
            streams.append([name, "near", 0])
            continue
        for which, values in ((OLD, ascending), (NEW, np.unique(new[np.isfinite(new)]))):
            parts.append(pl.DataFrame({VALUE: values, RECORDS: np.ones(values.size, dtype=np.uint32)}))
            streams.append([name, which, values.size])
    for name in context.columns.confidential:
        if not is_number(context.after[name]):
            continue
        frame = pl.DataFrame([pl.Series(VALUE, numbers(context.after[name])), *units])
        frame = frame.filter(pl.col(VALUE).is_finite())
        grouped = frame.group_by(frame.columns).agg(pl.len().cast(pl.UInt32).alias(RECORDS)).sort(VALUE)
        parts.append(grouped)
        streams.append([name, CONFIDENTIAL, grouped.height])
    whole = pl.concat(parts, how="diagonal") if parts else pl.DataFrame({VALUE: [], RECORDS: []})
    return whole, streams, largest


def _unit(largest: float) -> float:
    return float(np.finfo(np.float64).eps) * largest if largest > 0 else 1.0


# -- merging -----------------------------------------------------------------------------------------


class Source:
    """The sorted values of one file, read in pieces. read: returns the rows from one to another."""

    def __init__(self, read: Callable[[int, int], pl.DataFrame], rows: int, step: int) -> None:
        self._read, self._rows, self._step, self._next = read, rows, step, 0
        self.piece = pl.DataFrame()
        self.values: Floats = np.empty(0)
        self.fill()

    @property
    def has_more(self) -> bool:
        """Whether some values have not been read."""
        return self._next < self._rows

    def fill(self) -> None:
        """Read the next piece once the last one has been taken."""
        if not self.values.size and self.has_more:
            stop = min(self._rows, self._next + self._step)
            self.piece = self._read(self._next, stop)
            self.values = self.piece[VALUE].to_numpy()
            self._next = stop

    def take(self, limit: float) -> pl.DataFrame:
        """Take the values up to a limit."""
        count = int(np.searchsorted(self.values, limit, side="right"))
        taken, self.piece = self.piece[:count], self.piece[count:]
        self.values = self.values[count:]
        self.fill()
        return taken


def in_order(sources: Sequence[Source]) -> Iterator[pl.DataFrame]:
    """Yield the values of all files, piece by piece: equal values lie in one piece, and pieces are in order."""
    left = [source for source in sources if source.values.size]
    while left:
        limit = min((float(source.values[-1]) for source in left if source.has_more), default=np.inf)
        parts: list[pl.DataFrame] = []
        for source in left:
            while source.values.size and source.values[0] <= limit:
                parts.append(source.take(limit))
        yield pl.concat(parts)
        left = [source for source in left if source.values.size]


# -- what is measured --------------------------------------------------------------------------------


def near_values(old: Iterable[pl.DataFrame], new: Iterable[pl.DataFrame], largest: float) -> int:
    """Return the neighbouring released values that differ in their last bits only, if original values never do."""
    scale = _unit(largest)
    closest = [np.inf, np.inf]
    for ascending in _with_last(old):
        here = [float(gap.min(initial=np.inf)) for gap in gaps(ascending, scale)]
        closest = [min(pair) for pair in zip(closest, here, strict=True)]
    judged = [gap > FAR for gap in closest]
    number = 0
    for ascending in _with_last(new):
        near = np.zeros(ascending.size - 1, dtype=bool)
        for gap, is_judged in zip(gaps(ascending, scale), judged, strict=True):
            near |= is_judged & (gap <= LAST_BITS)
        number += int(near.sum())
    return number


def _with_last(pieces: Iterable[pl.DataFrame]) -> Iterator[Floats]:
    """Yield the distinct values of each piece, from the second one on with the last value before it."""
    last: Floats = np.empty(0)
    for piece in pieces:
        ascending = np.unique(piece[VALUE].to_numpy())
        joined = np.concatenate([last, ascending])
        last = ascending[-1:]
        if joined.size > 1:
            yield joined


@dataclass(frozen=True)
class NumberOfAll:
    """A confidential number of all files: its scale, and whether it is nearly unique."""

    scale: float
    is_key: bool


def confidential_number(pieces: Iterable[pl.DataFrame], records: int) -> NumberOfAll:
    """Return the scale of a confidential number, and whether it identifies records; equal values of a unit count once.

    records: the records with a value.
    """
    wanted = _quarters(records)
    quarters: dict[int, float] = {}
    distinct, pairs, passed = 0, 0, 0
    count, mean, squares = 0, 0.0, 0.0
    low, high = np.inf, -np.inf
    for piece in pieces:
        keys = [VALUE, *(name for name in piece.columns if name == UNIT)]
        pairs += piece.select(keys).n_unique() if UNIT in keys else int(piece[RECORDS].cast(pl.Int64).sum())
        merged = piece.group_by(VALUE).agg(pl.col(RECORDS).cast(pl.Int64).sum()).sort(VALUE)
        values, sizes = merged[VALUE].to_numpy(), merged[RECORDS].to_numpy()
        distinct += values.size
        ends = passed + np.cumsum(sizes)
        for place in wanted:
            if passed <= place < ends[-1]:
                quarters[place] = float(values[np.searchsorted(ends, place, side="right")])
        passed = int(ends[-1])
        low, high = min(low, float(values[0])), max(high, float(values[-1]))
        here, middle = int(sizes.sum()), float(np.average(values, weights=sizes))
        apart = middle - mean
        squares += float((sizes * (values - middle) ** 2).sum()) + apart**2 * count * here / (count + here)
        mean += apart * here / (count + here)
        count += here
    is_key = distinct / max(pairs, 1) > KEY_SHARE and pairs >= KEY_RECORDS
    if not count or low == high:
        return NumberOfAll(0.0, is_key)
    ends_of_range = [_between(quarters, records, share) for share in (0.25, 0.75)]
    return NumberOfAll(scale_of(float(np.sqrt(squares / count)), ends_of_range[1] - ends_of_range[0]), is_key)


def _quarters(records: int) -> set[int]:
    places = [share * (records - 1) for share in (0.25, 0.75)]
    return {int(rounded) for place in places for rounded in (np.floor(place), np.ceil(place))}


def _between(quarters: dict[int, float], records: int, share: float) -> float:
    """Return a quantile, interpolated between two neighbouring records."""
    place = share * (records - 1)
    below, above = quarters[int(np.floor(place))], quarters[int(np.ceil(place))]
    return below + (above - below) * (place - np.floor(place))
