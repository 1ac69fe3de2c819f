"""The three figures of every release: k, unique records and people found, over three sets of columns.

Over the protected columns: what the method promised. Over those plus the columns without a role: what an intruder may
know; this one decides. Over every released column: what if somebody knew the confidential values too.

People found: the intruder knows somebody's original values in all columns of the set and takes the released record
that fits best. Unchanged columns must agree exactly, and so must categories (the original value tells its category).
Changed numbers and ranks cost their squared difference over the original's variance; a changed label costs 2/G, with G
the Gini impurity of the original column, which is the squared distance of two labels in mixed microaggregation. Records
that fit equally well share the chance (Pagliuca and Seri 1999). Beyond 20,000 records 5,000 drawn ones are looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import Classes, codes, comparable, differing, is_number, numbers

if TYPE_CHECKING:
    from shoal.gate.context import CheckContext

ALL = 20_000  # up to so many records each one is looked for
SAMPLE = 5_000
TREE_DIMENSIONS = 40  # beyond that a search tree visits nearly every point, and comparing codes is faster
FEW_PAIRS = 1_000_000  # up to so many, comparing all is faster than to load and grow a tree
CELLS = 4_000_000  # distances held at once
NEAR = 1e-9  # relative difference of two distances that count as equal


@dataclass(frozen=True)
class Figure:
    """k, unique records and people found over a set of columns; linked is None where rows cannot be compared."""

    columns: tuple[str, ...]
    k: int
    uniques: int
    linked: float | None
    linked_se: float | None = None

    def facts(self) -> dict[str, Any]:
        found = {"k": self.k, "uniques": self.uniques, "linked": self.linked, "columns": list(self.columns)}
        return found if self.linked_se is None else {**found, "linked_se": self.linked_se}


@dataclass(frozen=True)
class Figures:
    """The figures over the protected, the known and all released columns, and what each column without a role adds.

    not_confidential: over everything but the confidential columns, for a policy's limit on linkage.
    """

    protected: Figure
    known: Figure
    released: Figure
    not_confidential: Figure
    added_uniques: dict[str, int] = field(default_factory=dict)
    records: int = 0
    unit: bool = False

    def facts(self) -> dict[str, Any]:
        """As the command line prints them."""
        sets = {name: getattr(self, name).facts() for name in ("protected", "known", "released")}
        return {**sets, "added_uniques": self.added_uniques} if self.added_uniques else sets


def measure_figures(context: CheckContext) -> Figures:
    """The figures of a release; equal sets of columns are measured once."""
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
    found = context.over(columns)
    counts = context.unit_counts(found)
    smallest = int(counts.min()) if counts.size else 0
    alone = int(found.sizes[counts == 1].sum())
    linked, error = linked_share(context, columns) if context.aligned else (None, None)
    return Figure(columns, smallest, alone, linked, error)


def added_uniques(frame: pl.DataFrame, columns: Sequence[str], chosen: Sequence[str]) -> dict[str, int]:
    """How many records each of the chosen columns makes unique beside all others, the most first.

    Sums of 64-bit hashes stand for tuples, so that leaving a column out is a subtraction: 200 columns cost 200 sorts.
    """
    hashes = {name: _hashes(frame[name], j) for j, name in enumerate(columns)}
    if not hashes:
        return {}
    whole = np.add.reduce(list(hashes.values()))
    unique = _uniques(whole)
    found = {name: unique - _uniques(whole - hashes[name]) for name in chosen}
    return dict(sorted(found.items(), key=lambda part: (-part[1], part[0])))


def _hashes(column: pl.Series, place: int) -> NDArray[np.uint64]:
    mixed = comparable(column).hash(seed=place + 1).to_numpy().astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finalizer of SplitMix64
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _uniques(hashes: NDArray[np.uint64]) -> int:
    ordered = np.sort(hashes)
    new = np.concatenate(([True], ordered[1:] != ordered[:-1], [True]))
    return int((new[1:] & new[:-1]).sum())


# -- people found ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Space:
    """Released tuples and the people looked for, in the same coordinates.

    points, people: numbers and ranks, standardized. labels, wanted: codes of changed labels; costs: of a mismatch.
    point_block, person_block: what must agree exactly. own: each person's own tuple. counts: records per tuple.
    """

    points: Floats
    people: Floats
    labels: Ints
    wanted: Ints
    costs: Floats
    point_block: Ints
    person_block: Ints
    own: Ints
    counts: Ints


def linked_share(context: CheckContext, columns: tuple[str, ...]) -> tuple[float, float | None]:
    """The share of people whom the intruder finds, and its standard error where it was measured on a sample."""
    n = context.rows
    if not n:
        return 0.0, None
    drawn = np.arange(n)
    if n > ALL:
        drawn = np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))
    if not columns:
        return round(1.0 / n, 6), None
    found = context.over(columns, with_suppressed=True)
    space = _space(context, found, drawn)
    chance = _chances(context, space, found, drawn)
    share = float(chance.mean())
    if drawn.size == n:
        return round(share, 6), None
    error = float(chance.std()) / np.sqrt(drawn.size) * np.sqrt(1 - drawn.size / n)
    return round(share, 6), round(float(error), 6)


def own_among_nearest(context: CheckContext, found: Classes, drawn: Ints) -> Bools:
    """For each drawn record, whether its own class is among those that fit best."""
    return _pick(_space(context, found, drawn))[0]


def _space(context: CheckContext, found: Classes, drawn: Ints) -> _Space:
    """Sort the columns by how the intruder compares them."""
    exact: list[Ints] = []
    numeric: list[tuple[Floats, Floats]] = []  # of all records, before and after
    labels: list[tuple[Ints, Ints, float]] = []
    for name in found.columns:
        if name not in context.before.columns:
            exact.append(codes(context.after[name]))  # a new column: whoever knows it knows it as released
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
                exact.append(gaps.astype(np.int64))  # whether a cell is missing is seen
            numeric.append(_standardized(old, new))
            continue
        one, two = _shared_codes(before, after)
        starred = context.starred(name)
        if not np.isin(two[~starred], one).all() or _is_function(one[~starred], two[~starred]):
            exact.append(two)  # categories and stars: the intruder can derive which one a value is in
        else:
            labels.append((one, two, 2.0 / max(_gini(one), 1e-12)))
    block = _combined(exact, context.rows)
    first = found.first
    n_points, empty = found.sizes.size, np.empty((context.rows, 0))
    old_numbers = np.column_stack([old for old, _ in numeric]) if numeric else empty
    new_numbers = np.column_stack([new for _, new in numeric]) if numeric else empty
    old_labels = np.column_stack([old for old, _, _ in labels]) if labels else empty.astype(np.int64)
    new_labels = np.column_stack([new for _, new, _ in labels]) if labels else empty.astype(np.int64)
    assert first.size == n_points
    return _Space(
        points=new_numbers[first],
        people=old_numbers[drawn],
        labels=new_labels[first],
        wanted=old_labels[drawn],
        costs=np.array([cost for _, _, cost in labels]),
        point_block=block[first],
        person_block=block[drawn],
        own=found.labels[drawn],
        counts=found.sizes,
    )


def _chances(context: CheckContext, space: _Space, found: Classes, drawn: Ints) -> Floats:
    """For each person the chance that the record the intruder takes is their own."""
    right, total, candidates = _pick(space)
    if context.units is None:
        return np.where(right, 1.0 / np.maximum(total, 1), 0.0)
    own_records = _records_of_unit(context.units, found, drawn, right, candidates)
    return np.where(right, own_records / np.maximum(total, 1), 0.0)


Pick = tuple[Bools, Ints, list[Ints]]  # own among the best; records of the best; the best tuples of each person


def _pick(space: _Space) -> Pick:
    """The tuples that fit each person best."""
    if not space.points.shape[1] and not space.labels.shape[1]:  # everything agrees exactly
        return _by_block(space)
    many = space.own.size * space.counts.size > FEW_PAIRS
    if many and space.points.shape[1] + _indicator_count(space) <= TREE_DIMENSIONS:
        return _by_tree(space)
    return _by_comparison(space)


def _by_block(space: _Space) -> Pick:
    records = np.bincount(space.point_block, weights=space.counts).astype(np.int64)
    by_block = np.argsort(space.point_block, kind="stable")
    starts = np.searchsorted(space.point_block[by_block], np.arange(records.size + 1))
    candidates = [by_block[starts[b] : starts[b + 1]] for b in space.person_block]
    return np.ones(space.own.size, dtype=bool), records[space.person_block], candidates


def _indicator_count(space: _Space) -> int:
    return sum(
        int(max(c.max(initial=0), w.max(initial=0))) + 1 for c, w in zip(space.labels.T, space.wanted.T, strict=True)
    )


def _by_tree(space: _Space) -> Pick:
    """Nearest tuples by a search tree: labels as scaled indicators, blocks far apart in a dimension of their own."""
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
    own = np.sqrt(((two - one[space.own]) ** 2).sum(axis=1))
    limit = best * (1 + NEAR) + 1e-12
    right = own <= limit
    candidates: list[Ints] = [np.empty(0, dtype=np.int64)] * right.size
    total = np.ones(right.size, dtype=np.int64)
    chosen = np.flatnonzero(right)
    for i, near in zip(chosen, tree.query_ball_point(two[chosen], limit[chosen]), strict=True):
        candidates[i] = np.asarray(near, dtype=np.int64)
        total[i] = space.counts[candidates[i]].sum()
    return right, total, candidates


def _by_comparison(space: _Space) -> Pick:
    """Nearest tuples by comparing each person with every tuple: for small tables and labels with large domains."""
    right = np.zeros(space.own.size, dtype=bool)
    total = np.ones(space.own.size, dtype=np.int64)
    candidates: list[Ints] = [np.empty(0, dtype=np.int64)] * space.own.size
    step = max(1, CELLS // max(space.counts.size, 1))
    for start in range(0, space.own.size, step):
        rows = slice(start, start + step)
        distance = np.zeros((space.own[rows].size, space.counts.size))
        for a, b in zip(space.people[rows].T, space.points.T, strict=True):
            distance += (a[:, None] - b[None, :]) ** 2
        for a, b, cost in zip(space.wanted[rows].T, space.labels.T, space.costs, strict=True):
            distance += (a[:, None] != b[None, :]) * cost
        distance[space.person_block[rows][:, None] != space.point_block[None, :]] = np.inf
        limit = distance.min(axis=1) * (1 + NEAR) + 1e-12
        own = distance[np.arange(limit.size), space.own[rows]]
        right[rows] = own <= limit
        for i in np.flatnonzero(own <= limit):
            near = np.flatnonzero(distance[i] <= limit[i])
            candidates[start + i], total[start + i] = near, space.counts[near].sum()
    return right, total, candidates


def _records_of_unit(units: Ints, found: Classes, drawn: Ints, right: Bools, candidates: list[Ints]) -> Floats:
    """For each person, how many records of their own unit are among the best ones."""
    width = int(units.max()) + 1
    inside = found.labels >= 0
    pairs, count = np.unique(found.labels[inside] * width + units[inside], return_counts=True)
    own = np.zeros(drawn.size)
    for i in np.flatnonzero(right):
        keys = candidates[i] * width + units[drawn[i]]
        place = np.minimum(np.searchsorted(pairs, keys), pairs.size - 1)
        own[i] = count[place][pairs[place] == keys].sum()
    return own


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
    """Both versions of an ordinal column as ranks, where its order is known and holds every value."""
    order = context.guarantees.roles.order.get(name)
    dtype = context.before[name].dtype
    if order is None and isinstance(dtype, pl.Enum):
        order = tuple(dtype.categories)
    if order is None:
        return None
    place = {value: float(i) for i, value in enumerate(order)}
    found = []
    for column in (context.before[name], context.after[name]):
        text = column.cast(pl.String)
        ranks = text.replace_strict(list(place), list(place.values()), default=None, return_dtype=pl.Float64)
        if ranks.null_count() != column.null_count():
            return None
        found.append(numbers(ranks))
    return found[0], found[1]


def _shared_codes(before: pl.Series, after: pl.Series) -> tuple[Ints, Ints]:
    """Codes of two columns in one numbering; numbers and labels are compared as text."""
    both = [
        comparable(c) if c.dtype == pl.String else comparable(c).cast(pl.String, strict=False) for c in (before, after)
    ]
    if is_number(before) and not is_number(after):
        both[0] = before.cast(pl.String, strict=False)
    joined = codes(pl.concat([both[0].alias("x"), both[1].alias("x")])) - 1
    return joined[: before.len()], joined[before.len() :]


def _is_function(before: Ints, after: Ints) -> bool:
    """Whether each original value has one released value: a category that the intruder can derive."""
    order = np.argsort(before, kind="stable")
    old, new = before[order], after[order]
    same = old[1:] == old[:-1]
    return bool((new[1:][same] == new[:-1][same]).all())


def _gini(values: Ints) -> float:
    share = np.bincount(values) / max(values.size, 1)
    return float((share * (1 - share)).sum())


def _combined(parts: Sequence[Ints], rows: int) -> Ints:
    """One number per row for the tuples of several codes."""
    block = np.zeros(rows, dtype=np.int64)
    for part in parts:
        block = np.unique(block * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1].reshape(-1)
    return block
