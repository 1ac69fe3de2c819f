"""The known-column figures of a release: k, unique records and people found, over three sets of columns.

The first set has the protected columns. The second adds the columns without a role, which an intruder may know; it
decides. The third has every released column, for an intruder who also knows the confidential values.

People found: the intruder knows a person's original values in all columns of the set and picks the closest released
record. Unchanged columns must agree exactly, and so must categories, which the intruder derives from the value. Changed
numbers and ranks cost their squared difference over the original's variance. A changed label costs 2/G, the squared
distance of two labels in mixed microaggregation, where G is the Gini impurity of the original column. Equally close
records share the chance (Pagliuca and Seri 1999). In files above 20,000 records, 5,000 drawn people are looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import Classes, codes, comparable, differing, is_number, mixed_hashes, numbers

if TYPE_CHECKING:
    from shoal.gate.context import CheckContext

ALL = 20_000  # up to so many records, everybody is looked for
SAMPLE = 5_000
TREE_DIMENSIONS = 40  # with more, a search tree visits nearly every point, and comparing all pairs is faster
FEW_PAIRS = 1_000_000  # up to so many, comparing all pairs is faster than building a tree
CELLS = 4_000_000  # distances in memory at once
NEAR = 1e-9  # relative difference of two distances that count as equal


@dataclass(frozen=True)
class Figure:
    """k, unique records and people found over a set of columns.

    Attributes:
        columns: The columns of the set.
        k: The smallest class, in records or units.
        uniques: The number of records in classes of one.
        linked: The share of people found; None if rows cannot be compared.
        linked_se: The standard error of `linked`, if it was measured on a sample.
    """

    columns: tuple[str, ...]
    k: int
    uniques: int
    linked: float | None
    linked_se: float | None = None

    def facts(self) -> dict[str, Any]:
        values = {"k": self.k, "uniques": self.uniques, "linked": self.linked, "columns": list(self.columns)}
        return values if self.linked_se is None else {**values, "linked_se": self.linked_se}


@dataclass(frozen=True)
class Figures:
    """The known-column figures of a release.

    Attributes:
        protected: Over the protected columns.
        known: Over the protected columns and those without a role.
        released: Over every released column.
        not_confidential: Over all columns but the confidential ones, for a policy's limit on linkage.
        added_uniques: The number of unique records that each column without a role adds, if k is too small.
        records: The number of records.
        unit: Whether there is a unit column, so that k counts units.
    """

    protected: Figure
    known: Figure
    released: Figure
    not_confidential: Figure
    added_uniques: dict[str, int] = field(default_factory=dict)
    records: int = 0
    unit: bool = False

    def facts(self) -> dict[str, Any]:
        """Return the figures as plain values, as `--json` prints them."""
        sets = {name: getattr(self, name).facts() for name in ("protected", "known", "released")}
        return {**sets, "added_uniques": self.added_uniques} if self.added_uniques else sets


def measure_figures(context: CheckContext) -> Figures:
    """Measure the figures of a release; equal sets of columns are measured once."""
    columns = context.columns
    sets = (columns.protected, columns.known, columns.released, columns.not_confidential)
    made: dict[frozenset[str], Figure] = {}
    for chosen in sets:
        if frozenset(chosen) not in made:
            made[frozenset(chosen)] = _figure(context, chosen)
    protected, known, released, rest = (made[frozenset(chosen)] for chosen in sets)
    added = (
        added_uniques(context.after, columns.known, columns.unassigned) if known.k < max(context.required_k, 2) else {}
    )
    return Figures(protected, known, released, rest, added, context.rows, context.units is not None)


def _figure(context: CheckContext, columns: tuple[str, ...]) -> Figure:
    groups = context.over(columns)
    counts = context.unit_counts(groups)
    smallest = int(counts.min()) if counts.size else 0
    alone = int(groups.sizes[counts == 1].sum())
    linked, error = linked_share(context, columns) if context.aligned else (None, None)
    return Figure(columns, smallest, alone, linked, error)


def added_uniques(frame: pl.DataFrame, columns: Sequence[str], chosen: Sequence[str]) -> dict[str, int]:
    """Return how many records each of the chosen columns makes unique in addition to all others, in descending order.

    Sums of 64-bit hashes represent tuples, so that leaving out a column is a subtraction: 200 columns cost 200 sorts.
    """
    hashes = {name: mixed_hashes(frame[name], j) for j, name in enumerate(columns)}
    if not hashes:
        return {}
    whole = np.add.reduce(list(hashes.values()))
    unique = _uniques(whole)
    added = {name: unique - _uniques(whole - hashes[name]) for name in chosen}
    return dict(sorted(added.items(), key=lambda part: (-part[1], part[0])))


def _uniques(hashes: NDArray[np.uint64]) -> int:
    ordered = np.sort(hashes)
    new = np.concatenate(([True], ordered[1:] != ordered[:-1], [True]))
    return int((new[1:] & new[:-1]).sum())


# -- people found ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Space:
    """Released tuples and the people looked for, in the same coordinates.

    Attributes:
        points: The standardized numbers and ranks of the released tuples.
        people: The standardized numbers and ranks of the people.
        labels: The codes of changed labels of the released tuples.
        wanted: The codes of changed labels of the people.
        costs: The cost of a mismatch, for each label column.
        point_block: What must agree exactly, for each released tuple.
        person_block: What must agree exactly, for each person.
        own_point: The tuple of each person's record.
        counts: The number of records of each tuple.
    """

    points: Floats
    people: Floats
    labels: Ints
    wanted: Ints
    costs: Floats
    point_block: Ints
    person_block: Ints
    own_point: Ints
    counts: Ints


def linked_share(context: CheckContext, columns: tuple[str, ...]) -> tuple[float, float | None]:
    """Return the share of people whom the intruder finds, and its standard error if it was measured on a sample."""
    n = context.rows
    if not n:
        return 0.0, None
    drawn = np.arange(n)
    if n > ALL:
        drawn = np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))
    if not columns:
        return round(1.0 / n, 6), None
    groups = context.over(columns, with_suppressed=True)
    space = _space(context, groups, drawn)
    chance = _chances(context, space, groups, drawn)
    share = float(chance.mean())
    if drawn.size == n:
        return round(share, 6), None
    error = float(chance.std()) / np.sqrt(drawn.size) * np.sqrt(1 - drawn.size / n)
    return round(share, 6), round(float(error), 6)


def own_among_nearest(context: CheckContext, groups: Classes, drawn: Ints) -> Bools:
    """Return for each drawn record whether its class is among the closest ones."""
    return _pick(_space(context, groups, drawn))[0]


def _space(context: CheckContext, groups: Classes, drawn: Ints) -> _Space:
    """Return the columns in coordinates, sorted by how the intruder compares them."""
    exact: list[Ints] = []
    numeric: list[tuple[Floats, Floats]] = []  # of the people before, and of the tuples after
    labels: list[tuple[Ints, Ints, float]] = []
    first = groups.first
    for name in groups.columns:
        if name not in context.before.columns:
            exact.append(codes(context.after[name]))  # a new column is known as it is released
            continue
        before, after = context.before[name], context.after[name]
        if not differing(before, after, blanks=context.written.blanks, tolerance=context.written.tolerance).any():
            exact.append(codes(after))
            continue
        ranks = _ranks(context, name)
        codes_only = name in context.guarantees.roles.nominal
        if ranks is not None or (is_number(before) and is_number(after) and not codes_only):
            old, new = ranks if ranks is not None else (numbers(before), numbers(after))
            gaps = np.isnan(old) | np.isnan(new)
            if gaps.any():
                exact.append(gaps.astype(np.int64))  # the intruder sees whether a cell is missing
            old, new = _standardized(old, new)
            numeric.append((old[drawn], new[first]))
            continue
        one, two = _shared_codes(before, after)
        starred = context.starred(name)
        if not np.isin(two[~starred], one).all() or _is_function(one[~starred], two[~starred]):
            exact.append(two)  # the intruder can derive the category of a value
        else:
            labels.append((one[drawn], two[first], 2.0 / max(_gini(one), 1e-12)))
    block = _combined(exact, context.rows)
    return _Space(
        points=_columns([new for _, new in numeric], first.size, np.float64),
        people=_columns([old for old, _ in numeric], drawn.size, np.float64),
        labels=_columns([new for _, new, _ in labels], first.size, np.int64),
        wanted=_columns([old for old, _, _ in labels], drawn.size, np.int64),
        costs=np.array([cost for _, _, cost in labels]),
        point_block=block[first],
        person_block=block[drawn],
        own_point=groups.labels[drawn],
        counts=groups.sizes,
    )


def _columns(columns: Sequence[NDArray[Any]], rows: int, dtype: Any) -> NDArray[Any]:
    return np.column_stack(columns) if columns else np.empty((rows, 0), dtype=dtype)


def _chances(context: CheckContext, space: _Space, groups: Classes, drawn: Ints) -> Floats:
    """Return for each person the chance that the intruder picks their record."""
    right, total, candidates = _pick(space)
    if context.units is None:
        return np.where(right, 1.0 / np.maximum(total, 1), 0.0)
    unit_records = _records_of_unit(context.units, groups, drawn, right, candidates)
    return np.where(right, unit_records / np.maximum(total, 1), 0.0)


# For each person: whether their tuple is among the closest, the number of records of these, and these tuples.
Pick = tuple[Bools, Ints, list[Ints]]


def _pick(space: _Space) -> Pick:
    """Return the closest tuples of each person."""
    if not space.points.shape[1] and not space.labels.shape[1]:  # everything agrees exactly
        return _by_block(space)
    many = space.own_point.size * space.counts.size > FEW_PAIRS
    if many and space.points.shape[1] + _indicator_count(space) <= TREE_DIMENSIONS:
        return _by_tree(space)
    return _by_comparison(space)


def _by_block(space: _Space) -> Pick:
    records = np.bincount(space.point_block, weights=space.counts).astype(np.int64)
    by_block = np.argsort(space.point_block, kind="stable")
    starts = np.searchsorted(space.point_block[by_block], np.arange(records.size + 1))
    candidates = [by_block[starts[b] : starts[b + 1]] for b in space.person_block]
    return np.ones(space.own_point.size, dtype=bool), records[space.person_block], candidates


def _indicator_count(space: _Space) -> int:
    return sum(
        int(max(c.max(initial=0), w.max(initial=0))) + 1 for c, w in zip(space.labels.T, space.wanted.T, strict=True)
    )


def _by_tree(space: _Space) -> Pick:
    """Find the closest tuples by a search tree. Labels are scaled indicators; a further dimension separates blocks."""
    from scipy.spatial import cKDTree

    points, people = [space.points], [space.people]
    for j, cost in enumerate(space.costs):
        size = int(max(space.labels[:, j].max(initial=0), space.wanted[:, j].max(initial=0))) + 1
        unit = np.eye(size) * np.sqrt(cost / 2.0)
        points.append(unit[space.labels[:, j]])
        people.append(unit[space.wanted[:, j]])
    one, two = np.column_stack(points), np.column_stack(people)
    width = float(np.sqrt(((np.maximum(one.max(0), two.max(0)) - np.minimum(one.min(0), two.min(0))) ** 2).sum()))
    apart = 2.0 * width + 1.0
    one = np.column_stack([one, space.point_block * apart])
    two = np.column_stack([two, space.person_block * apart])
    tree = cKDTree(one)
    best = tree.query(two)[0]
    own_distance = np.sqrt(((two - one[space.own_point]) ** 2).sum(axis=1))
    limit = best * (1 + NEAR) + 1e-12
    right = own_distance <= limit
    candidates: list[Ints] = [np.empty(0, dtype=np.int64)] * right.size
    total = np.ones(right.size, dtype=np.int64)
    chosen = np.flatnonzero(right)
    for i, near in zip(chosen, tree.query_ball_point(two[chosen], limit[chosen]), strict=True):
        candidates[i] = np.asarray(near, dtype=np.int64)
        total[i] = space.counts[candidates[i]].sum()
    return right, total, candidates


def _by_comparison(space: _Space) -> Pick:
    """Find the closest tuples by comparing all pairs, for small tables and labels with many values."""
    right = np.zeros(space.own_point.size, dtype=bool)
    total = np.ones(space.own_point.size, dtype=np.int64)
    candidates: list[Ints] = [np.empty(0, dtype=np.int64)] * space.own_point.size
    step = max(1, CELLS // max(space.counts.size, 1))
    for start in range(0, space.own_point.size, step):
        rows = slice(start, start + step)
        distance = np.zeros((space.own_point[rows].size, space.counts.size))
        for a, b in zip(space.people[rows].T, space.points.T, strict=True):
            distance += (a[:, None] - b[None, :]) ** 2
        for a, b, cost in zip(space.wanted[rows].T, space.labels.T, space.costs, strict=True):
            distance += (a[:, None] != b[None, :]) * cost
        distance[space.person_block[rows][:, None] != space.point_block[None, :]] = np.inf
        limit = distance.min(axis=1) * (1 + NEAR) + 1e-12
        own_distance = distance[np.arange(limit.size), space.own_point[rows]]
        right[rows] = own_distance <= limit
        for i in np.flatnonzero(own_distance <= limit):
            near = np.flatnonzero(distance[i] <= limit[i])
            candidates[start + i], total[start + i] = near, space.counts[near].sum()
    return right, total, candidates


def _records_of_unit(units: Ints, groups: Classes, drawn: Ints, right: Bools, candidates: list[Ints]) -> Floats:
    """Return for each person how many records of their unit are among the closest ones."""
    width = int(units.max()) + 1
    inside = groups.labels >= 0
    pairs, count = np.unique(groups.labels[inside] * width + units[inside], return_counts=True)
    records = np.zeros(drawn.size)
    for i in np.flatnonzero(right):
        keys = candidates[i] * width + units[drawn[i]]
        place = np.minimum(np.searchsorted(pairs, keys), pairs.size - 1)
        records[i] = count[place][pairs[place] == keys].sum()
    return records


def _standardized(old: Floats, new: Floats) -> tuple[Floats, Floats]:
    largest = max(np.nanmax(np.abs(old), initial=0.0), np.nanmax(np.abs(new), initial=0.0))
    if largest > 1e100:  # squares of such numbers would overflow
        old, new = old / largest, new / largest
    present = old[~np.isnan(old)]
    centre = float(present.mean()) if present.size else 0.0
    deviation = float((present - centre).std()) if present.size else 0.0
    scale = deviation if deviation > 0 and np.isfinite(deviation) else 1.0
    return np.nan_to_num((old - centre) / scale), np.nan_to_num((new - centre) / scale)


def _ranks(context: CheckContext, name: str) -> tuple[Floats, Floats] | None:
    """Return both versions of an ordinal column as ranks, if its order is known and contains every value."""
    order = context.guarantees.roles.order.get(name)
    dtype = context.before[name].dtype
    if order is None and isinstance(dtype, pl.Enum):
        order = tuple(dtype.categories)
    if order is None:
        return None
    rank_of = {value: float(i) for i, value in enumerate(order)}
    versions = []
    for column in (context.before[name], context.after[name]):
        text = column.cast(pl.String)
        ranks = text.replace_strict(list(rank_of), list(rank_of.values()), default=None, return_dtype=pl.Float64)
        if ranks.null_count() != column.null_count():
            return None
        versions.append(numbers(ranks))
    return versions[0], versions[1]


def _shared_codes(before: pl.Series, after: pl.Series) -> tuple[Ints, Ints]:
    """Return common codes for two columns; numbers and labels are compared as text."""
    both = [
        comparable(c) if c.dtype == pl.String else comparable(c).cast(pl.String, strict=False) for c in (before, after)
    ]
    if is_number(before) and not is_number(after):
        both[0] = before.cast(pl.String, strict=False)
    joined = codes(pl.concat([both[0].alias("x"), both[1].alias("x")])) - 1
    return joined[: before.len()], joined[before.len() :]


def _is_function(before: Ints, after: Ints) -> bool:
    """Whether each original value has only one released value, which the intruder can derive."""
    order = np.argsort(before, kind="stable")
    old, new = before[order], after[order]
    same = old[1:] == old[:-1]
    return bool((new[1:][same] == new[:-1][same]).all())


def _gini(values: Ints) -> float:
    share = np.bincount(values) / max(values.size, 1)
    return float((share * (1 - share)).sum())


def _combined(parts: Sequence[Ints], rows: int) -> Ints:
    """Return one code per row for the tuples of several codes."""
    block = np.zeros(rows, dtype=np.int64)
    for part in parts:
        block = np.unique(block * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1].reshape(-1)
    return block
