"""k and unique records over all files, bucket by bucket, by whole tuples; and the tuples near drawn people.

An intruder picks the released record that is closest to what is known of a person (see `shoal.gate.figures`). The first
pass finds the distance of the closest tuple in each bucket, the second counts the records at that distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import Floats, Ints
from shoal.gate.cells import numbers
from shoal.gate.figures import NEAR

SETS = ("protected", "known", "released", "not_confidential")
GONE = "gone"  # a bit for each set of columns: whether a record is suppressed in it


def key_name(place: int) -> str:
    """Return the staged name of a released column."""
    return f"c{place}"


def released_numbers(cells: pl.Series) -> Floats:
    """Return the numbers that canonical cells stand for."""
    if cells.dtype == pl.String:
        return numbers(cells.cast(pl.Float64))
    return np.ascontiguousarray(cells.to_numpy()).view(np.float64)


@dataclass(frozen=True)
class ColumnSet:
    """A set of columns by their places: `changed` are protected numbers, `exact` must agree exactly."""

    name: str
    changed: tuple[int, ...]
    exact: tuple[int, ...]

    @property
    def keys(self) -> list[str]:
        return [key_name(place) for place in (*self.changed, *self.exact)]


@dataclass(frozen=True, eq=False)
class People:
    """Drawn people: their canonical cells, and their original values of the changed columns, scaled, by place.

    Attributes:
        scales: The standard deviation of the original of each changed column.
    """

    cells: pl.DataFrame
    originals: dict[int, Floats]
    scales: dict[int, float]


def count_classes(tuples: pl.DataFrame, sets: Sequence[ColumnSet]) -> dict[str, tuple[int, int, int]]:
    """Return for each set of columns the smallest class, the unique records, and the number of classes below 2^31."""
    counts = {}
    for columns in sets:
        kept = tuples.filter(pl.col(GONE) & (1 << SETS.index(columns.name)) == 0)
        sizes = kept.group_by(columns.keys).len()["len"].to_numpy()
        smallest = int(sizes.min()) if sizes.size else np.iinfo(np.int32).max
        counts[columns.name] = (smallest, int((sizes == 1).sum()), int(sizes.size))
    return counts


def closest(tuples: pl.DataFrame, columns: ColumnSet, people: People) -> Floats:
    """Return the distance of each person to the closest tuple of the bucket; infinite if no tuple agrees."""
    space = _Near(tuples, columns, people)
    best = np.full(people.cells.height, np.inf)
    if space.points.shape[0]:
        best[space.known] = space.tree.query(space.wanted)[0] if columns.changed else 0.0
    return best


def records_within(tuples: pl.DataFrame, columns: ColumnSet, people: People, limits: Floats) -> Ints:
    """Return for each person the number of records of the bucket at no more than this distance."""
    space = _Near(tuples, columns, people)
    total = np.zeros(people.cells.height, dtype=np.int64)
    if not space.points.shape[0]:
        return total
    if not columns.changed:
        records = np.bincount(space.block, weights=space.sizes, minlength=space.blocks)
        total[space.known] = records[space.person_block].astype(np.int64)
        return total
    near = space.tree.query_ball_point(space.wanted, limits[space.known])
    total[space.known] = [int(space.sizes[places].sum()) for places in near]
    return total


def own_distance(columns: ColumnSet, people: People) -> Floats:
    """Return the distance of each person to the own released record."""
    squares = np.zeros(people.cells.height)
    for place in columns.changed:
        released = released_numbers(people.cells[key_name(place)]) / people.scales[place]
        squares += (people.originals[place] - released) ** 2
    return np.asarray(np.sqrt(squares))


def limits_of(best: Floats) -> Floats:
    """Return the distances up to which tuples count as closest."""
    return np.asarray(best * (1 + NEAR) + 1e-12)


class _Near:
    """The distinct tuples of a bucket that agree with somebody in the exact columns, and those people.

    A further dimension separates tuples that differ in the exact columns.
    """

    def __init__(self, tuples: pl.DataFrame, columns: ColumnSet, people: People) -> None:
        exact = [key_name(place) for place in columns.exact]
        distinct = tuples.group_by(columns.keys).len()
        wanted = people.cells
        mixed = [name for name in exact if distinct[name].dtype != wanted[name].dtype]
        if mixed:  # text in some files and numbers in others
            distinct, wanted = (frame.cast(dict.fromkeys(mixed, pl.String)) for frame in (distinct, wanted))
        if exact:
            blocks = wanted.select(exact).unique(maintain_order=True).with_row_index("block")
            distinct = distinct.join(blocks, on=exact, how="inner", nulls_equal=True)
            person_block = (
                wanted.with_row_index("person").join(blocks, on=exact, how="left", nulls_equal=True).sort("person")
            )["block"].to_numpy()
            self.blocks = blocks.height
        else:
            distinct = distinct.with_columns(block=pl.lit(0))
            person_block = np.zeros(wanted.height, dtype=np.int64)
            self.blocks = 1
        self.block = distinct["block"].to_numpy().astype(np.int64)
        self.sizes = distinct["len"].to_numpy().astype(np.int64)
        here = np.zeros(self.blocks, dtype=bool)
        here[self.block] = True
        self.known = np.flatnonzero(here[person_block])
        self.person_block = person_block[self.known].astype(np.int64)
        points = [released_numbers(distinct[key_name(place)]) / people.scales[place] for place in columns.changed]
        people_points = [people.originals[place][self.known] for place in columns.changed]
        self.points = np.column_stack([*points, self.block.astype(np.float64)])
        self.wanted = np.column_stack([*people_points, self.person_block.astype(np.float64)])
        if self.points.shape[0] and self.wanted.shape[0]:
            both = np.vstack([self.points[:, :-1], self.wanted[:, :-1]])
            apart = 2.0 * float(np.sqrt((np.ptp(both, axis=0) ** 2).sum())) + 1.0
            self.points[:, -1] *= apart
            self.wanted[:, -1] *= apart
            from scipy.spatial import cKDTree

            self.tree = cKDTree(self.points)
