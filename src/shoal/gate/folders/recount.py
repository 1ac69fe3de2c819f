"""k and unique records over all files, bucket by bucket, by whole tuples; and the tuples near drawn people.

An intruder picks the released record that is closest to what is known of a person (see `shoal.gate.figures`). The first
pass finds the distance of the closest tuple in each bucket, the second counts the records at that distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.gate.cells import numbers
from shoal.gate.figures import CELLS, NEAR, TREE_DIMENSIONS
from shoal.gate.folders.labels import Labelled, Ranked, codes, coordinates

SETS = ("protected", "known", "released", "not_confidential")
GONE = "gone"  # a bit for each set of columns: whether a record is suppressed in it
UNIT = "unit"  # the person or household of a record, if there is a unit column


PEOPLE = 500  # people whose units are looked at together


def key_name(place: int) -> str:
    """Return the staged name of a released column."""
    return f"c{place}"


def earlier_name(name: str) -> str:
    """Return the staged name of a column of an earlier release."""
    return f"p:{name}"


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
    ranked: tuple[int, ...] = ()
    labelled: tuple[int, ...] = ()

    @property
    def keys(self) -> list[str]:
        return [key_name(place) for place in sorted((*self.changed, *self.exact, *self.ranked, *self.labelled))]

    @property
    def agrees_exactly(self) -> bool:
        """Whether every column must agree."""
        return not (self.changed or self.ranked or self.labelled)


@dataclass(frozen=True, eq=False)
class People:
    """Drawn people: their canonical cells, and their original values of the changed columns, scaled, by place.

    Attributes:
        scales: The standard deviation of the original of each changed column.
        compared: How columns of ranks and labels are compared, by place.
        labels: The original of these, as a rank or a code.
        units: Their persons or households, if there is a unit column.
    """

    cells: pl.DataFrame
    originals: dict[int, Floats]
    scales: dict[int, float]
    compared: dict[int, Ranked | Labelled] = field(default_factory=dict)
    labels: dict[int, NDArray[Any]] = field(default_factory=dict)
    units: pl.Series | None = None


def count_classes(tuples: pl.DataFrame, sets: Sequence[ColumnSet]) -> dict[str, tuple[int, int, int]]:
    """Return for each set of columns the smallest class, the unique records, and the number of classes.

    Classes are counted in units, if there are any; all records of a class with one unit are unique.
    """
    return {columns.name: classes_over(tuples, columns.keys, columns.name) for columns in sets}


def classes_over(tuples: pl.DataFrame, keys: Sequence[str], suppressed_in: str) -> tuple[int, int, int]:
    """Return the smallest class over some keys, the unique records, and the number of classes."""
    kept = tuples.filter(pl.col(GONE) & pl.lit(1 << SETS.index(suppressed_in), dtype=pl.UInt64) == 0)
    counted = pl.col(UNIT).n_unique() if UNIT in tuples.columns else pl.len()
    classes = kept.group_by(keys).agg(counted.cast(pl.Int64).alias("size"), pl.len().alias("records"))
    sizes = classes["size"].to_numpy()
    smallest = int(sizes.min()) if sizes.size else int(np.iinfo(np.int32).max)
    return smallest, int(classes.filter(pl.col("size") == 1)["records"].sum()), int(sizes.size)


def closest(tuples: pl.DataFrame, columns: ColumnSet, people: People) -> Floats:
    """Return the distance of each person to the closest tuple of the bucket; infinite if no tuple agrees."""
    space = _Near(tuples, columns, people)
    best = np.full(people.cells.height, np.inf)
    if space.points.shape[0]:
        best[space.known] = 0.0 if columns.agrees_exactly else space.closest()
    return best


def records_within(tuples: pl.DataFrame, columns: ColumnSet, people: People, limits: Floats) -> Ints:
    """Return for each person the number of records of the bucket at no more than this distance."""
    space = _Near(tuples, columns, people)
    total = np.zeros(people.cells.height, dtype=np.int64)
    if not space.points.shape[0]:
        return total
    if columns.agrees_exactly:
        records = np.bincount(space.block, weights=space.sizes, minlength=space.blocks)
        total[space.known] = records[space.person_block].astype(np.int64)
        return total
    total[space.known] = space.within(limits[space.known])
    return total


def records_of_unit(tuples: pl.DataFrame, columns: ColumnSet, people: People, limits: Floats) -> Ints:
    """Return for each person the number of records of their unit at no more than this distance."""
    total = np.zeros(people.cells.height, dtype=np.int64)
    units = pl.DataFrame({"person": np.arange(people.cells.height), UNIT: people.units})
    for start in range(0, units.height, PEOPLE):
        pairs = tuples.join(units[start : start + PEOPLE], on=UNIT)
        person = pairs["person"].to_numpy()
        same = np.ones(pairs.height, dtype=bool)
        for place in columns.exact:
            one, two = pairs[key_name(place)], people.cells[key_name(place)].gather(person)
            if one.dtype != two.dtype:
                one, two = one.cast(pl.String), two.cast(pl.String)
            same &= one.eq_missing(two).to_numpy()
        near = distances(columns, people, pairs, person) <= limits[person]
        total += np.bincount(person[same & near], minlength=total.size)
    return total


def own_distance(columns: ColumnSet, people: People) -> Floats:
    """Return the distance of each person to the own released record."""
    return distances(columns, people, people.cells, np.arange(people.cells.height))


def distances(columns: ColumnSet, people: People, cells: pl.DataFrame, person: Ints) -> Floats:
    """Return the distance of each released record in `cells` to a person, in the columns that need not agree."""
    squares = np.zeros(cells.height)
    for place in columns.changed:
        released = released_numbers(cells[key_name(place)]) / people.scales[place]
        squares += (people.originals[place][person] - released) ** 2
    for place in (*columns.ranked, *columns.labelled):
        how, of_place = people.compared[place], cells[key_name(place)]
        if isinstance(how, Ranked):
            squares += (people.labels[place][person] - coordinates(of_place, how.of_key)) ** 2
        else:
            squares += (people.labels[place][person] != codes(of_place, how.of_key)) * how.cost
    return np.asarray(np.sqrt(squares))


def limits_of(best: Floats) -> Floats:
    """Return the distances up to which tuples count as closest."""
    return np.asarray(best * (1 + NEAR) + 1e-12)


class _Near:
    """The distinct tuples of a bucket that agree with somebody in the exact columns, and those people.

    Labels are scaled indicators, and a further dimension separates tuples that differ in the exact columns. With too
    many dimensions for a tree, all pairs are compared.
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
        wanted_points = [people.originals[place][self.known] for place in columns.changed]
        for place in columns.ranked:
            how = people.compared[place]
            points.append(coordinates(distinct[key_name(place)], how.of_key))
            wanted_points.append(people.labels[place][self.known])
        self.labels: list[tuple[Ints, Ints, Labelled]] = []  # of the tuples, of the people
        for place in columns.labelled:
            how = people.compared[place]
            assert isinstance(how, Labelled)
            labels = codes(distinct[key_name(place)], how.of_key), people.labels[place][self.known]
            self.labels.append((*labels, how))
        self.tree: Any = None
        by_tree = len(points) + sum(how.count for _, _, how in self.labels) <= TREE_DIMENSIONS
        for here_, there, how in self.labels if by_tree else ():
            unit = np.eye(how.count) * np.sqrt(how.cost / 2.0)
            points += list(unit[:, here_])
            wanted_points += list(unit[:, there])
        self.points = np.column_stack([*points, self.block.astype(np.float64)])
        self.wanted = np.column_stack([*wanted_points, self.person_block.astype(np.float64)])
        if self.points.shape[0] and self.wanted.shape[0] and by_tree:
            both = np.vstack([self.points[:, :-1], self.wanted[:, :-1]])
            apart = 2.0 * float(np.sqrt((np.ptp(both, axis=0) ** 2).sum())) + 1.0
            self.points[:, -1] *= apart
            self.wanted[:, -1] *= apart
            from scipy.spatial import cKDTree

            self.tree = cKDTree(self.points)

    def closest(self) -> Floats:
        """Return the distance of each known person to the closest tuple."""
        if self.tree is not None:
            return np.asarray(self.tree.query(self.wanted)[0], dtype=np.float64)
        return np.concatenate([distances.min(axis=1) for distances in self._distances()] or [np.empty(0)])

    def within(self, limits: Floats) -> Ints:
        """Return the number of records at no more than this distance of each known person."""
        if self.tree is not None:
            near = self.tree.query_ball_point(self.wanted, limits)
            return np.array([int(self.sizes[places].sum()) for places in near], dtype=np.int64)
        start, totals = 0, [np.empty(0, dtype=np.int64)]
        for distances in self._distances():
            stop = start + len(distances)
            totals.append((distances <= limits[start:stop, None]) @ self.sizes)
            start = stop
        return np.concatenate(totals)

    def _distances(self) -> Iterator[Floats]:
        """Yield the distances of some people to all tuples; infinite if the exact columns differ."""
        step = max(1, CELLS // max(self.sizes.size, 1))
        for start in range(0, self.known.size, step):
            rows = slice(start, start + step)
            squares = np.zeros((self.wanted[rows].shape[0], self.sizes.size))
            for a, b in zip(self.wanted[rows, :-1].T, self.points[:, :-1].T, strict=True):
                squares += (a[:, None] - b[None, :]) ** 2
            for here, there, how in self.labels:
                squares += (there[rows, None] != here[None, :]) * how.cost
            squares[self.person_block[rows, None] != self.block[None, :]] = np.inf
            yield np.sqrt(squares)
