"""What a class discloses about its members: the largest share of a label, the spread of a number, and similar facts.

Labels are judged by the largest share of one value (Wong, Li, Fu and Wang 2006; homogeneity after Machanavajjhala et
al. 2007). Numbers are judged by their range in the class (Zhang, Koudas, Srivastava and Yu 2007), because many distinct
values that lie close together give the value away. With units, shares and counts are over distinct persons or
households instead of records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import Classes, codes, is_number, numbers

NARROW = 0.05  # a class is narrow if its range is below this share of the column's scale
KEY_SHARE = 0.9  # a column with a larger share of distinct values is a key
KEY_RECORDS = 20  # with fewer records, a column is not judged to be a key
MAX_FEW = 3  # a column with more distinct values is not few-valued


@dataclass(frozen=True, eq=False)
class ClassShares:
    """For each class the most frequent value, as a code of `gate.cells.codes`; with units, counts are of units."""

    value: Ints
    count: Ints
    size: Ints
    share: Floats


@dataclass(frozen=True)
class LargestShare:
    """The class that discloses most about a label, and the homogeneous classes, in which all have the same value.

    The value is None for a missing cell. With units, count and size are of units; records are always records.
    """

    worst: int  # the number of the class
    value: str | None
    count: int
    size: int
    share: float
    homogeneous_classes: int
    homogeneous_records: int
    homogeneous_units: int  # equal to the records without units
    frequent_value: str | None  # the value of most records in homogeneous classes
    frequent_records: int
    frequent_classes: int


@dataclass(frozen=True)
class Spread:
    """Classes in which a number has a range so narrow that the class discloses it.

    scale is the standard deviation, or the interquartile range if that is smaller and not 0. worst is the class
    with the smallest range; spread is its range over the scale, distinct its number of distinct values.
    """

    scale: float
    narrow_classes: int
    narrow_records: int
    narrow_units: int
    worst: int
    size: int
    distinct: int
    low: float
    high: float
    spread: float


class Distinctness(NamedTuple):
    """How many of the non-missing values are distinct, and whether the column identifies records (a key)."""

    distinct: int
    records: int
    share: float
    is_key: bool


class FewValued(NamedTuple):
    """The rarer extreme of a few-valued column that was averaged; with units, counts are of units.

    An average that equals an extreme discloses that every member of the group has this value.
    """

    value: float
    records: int  # records with the value in the original
    given_away: int  # those of them that have exactly this value in the release
    released: int  # all records that have exactly this value in the release


def largest_share(classes: Classes, column: pl.Series, units: Ints | None = None) -> LargestShare | None:
    """Return the class with the largest share of one value; None if there is no class.

    Among equal shares, the value that is rarest in the column comes first (missing comes last), then the largest class.
    """
    if not classes.sizes.size:
        return None
    coded = codes(column)
    shares = class_shares(classes, coded, units)
    worst = int(np.lexsort((-shares.size, _frequency(column, coded)[shares.value], -shares.share))[0])
    alike = shares.count == shares.size
    inside = _members(classes, alike)
    frequent, frequent_records = _most_frequent(shares.value[alike], classes.sizes[alike])
    return LargestShare(
        worst,
        _name(column, coded, int(shares.value[worst])),
        int(shares.count[worst]),
        int(shares.size[worst]),
        float(shares.share[worst]),
        int(alike.sum()),
        int(inside.sum()),
        _counted(inside, units),
        None if frequent is None else _name(column, coded, frequent),
        frequent_records,
        int((alike & (shares.value == frequent)).sum()) if frequent is not None else 0,
    )


def class_shares(classes: Classes, coded: Ints, units: Ints | None = None) -> ClassShares:
    """Return the most frequent value of each class, its count, the size of the class and the share.

    Of equally frequent values, the smallest code is taken. With units, a value counts once per unit that has it, and
    the size is the number of distinct units.
    """
    kept = classes.labels >= 0
    label, value = classes.labels[kept], coded[kept]
    sizes = classes.sizes
    width = int(value.max(initial=0)) + 1
    pair = label * width + value
    if units is not None:
        unit = np.unique(units[kept], return_inverse=True)[1].reshape(-1).astype(np.int64)
        many = int(unit.max(initial=0)) + 1
        sizes = np.bincount(np.unique(label * many + unit) // many, minlength=sizes.size).astype(np.int64)
        pairs, rank = np.unique(pair, return_inverse=True)  # ranks, so that the product with the units fits 64 bits
        pair = pairs[np.unique(rank.reshape(-1).astype(np.int64) * many + unit) // many]
    pairs, count = np.unique(pair, return_counts=True)
    group = pairs // width
    best = np.lexsort((pairs, -count, group))[np.flatnonzero(np.diff(group, prepend=-1))]
    counts = count[best].astype(np.int64)
    return ClassShares(pairs[best] % width, counts, sizes, counts / sizes)


def spread(
    classes: Classes,
    values: Floats,
    reference: Floats | None = None,
    units: Ints | None = None,
    narrow: float = NARROW,
    scale: float | None = None,
) -> Spread | None:
    """Return the classes whose range is below `narrow` times the column's scale; None if no class has a value.

    Without a `scale` it is that of `reference`, or of all values. A class in which at least half of the values are
    missing is never narrow, because nobody knows who has the value.
    """
    present = np.isfinite(values)
    known = np.where(present, values, np.nan)
    low, high = classes.reduced(np.fmin, known), classes.reduced(np.fmax, known)
    filled = classes.reduced(np.add, present.astype(np.int64))
    judged = 2 * filled > classes.sizes
    if not judged.any():
        return None
    if scale is None:
        scale = _scale(known if reference is None else reference)
    width = np.where(judged, high - low, np.inf)
    relative = width / scale if scale > 0 else np.where(width > 0, np.inf, 0.0)
    tight = judged & (relative < narrow)
    worst = int(np.lexsort((-classes.sizes, relative, ~judged))[0])
    inside = _members(classes, tight) & present
    members = known[(classes.labels == worst) & present]
    return Spread(
        scale, int(tight.sum()), int(inside.sum()), _counted(inside, units),
        worst, int(classes.sizes[worst]), int(np.unique(members).size),
        float(low[worst]), float(high[worst]), float(relative[worst]),
    )  # fmt: skip


def nearly_unique(values: Floats, units: Ints | None = None) -> Distinctness:
    """Return whether a number is nearly unique, so that it identifies records; equal values of a unit count once."""
    present = np.isfinite(values)
    distinct, rank = np.unique(values[present], return_inverse=True)
    records = int(present.sum())
    if units is not None:
        unit = np.unique(units[present], return_inverse=True)[1].reshape(-1).astype(np.int64)
        records = int(np.unique(unit * max(distinct.size, 1) + rank.reshape(-1)).size)
    share = distinct.size / max(records, 1)
    return Distinctness(int(distinct.size), records, share, share > KEY_SHARE and records >= KEY_RECORDS)


def few_valued_averaged(before: pl.Series, after: pl.Series, units: Ints | None = None) -> FewValued | None:
    """Return the rarer of a column's two extremes, and how many of its records the averages disclose.

    The result is None if the column is not few-valued (two or three whole numbers), or if the release changed no cell.
    Of two equally rare extremes, the larger one is judged.
    """
    if not (_is_numeric(before) and _is_numeric(after)):
        return None
    old, new = numbers(before), numbers(after)
    domain = few_values(old)
    if domain is None or domain.size < 2:
        return None
    both = np.isfinite(old) & np.isfinite(new)
    slack = 1e-9 * (domain[-1] - domain[0])  # a mean of ones may be 0.9999999999999999
    if not (np.abs(old - new)[both] > slack).any():
        return None
    extremes = [float(domain[-1]), float(domain[0])]
    value = min(extremes, key=lambda extreme: _counted(old == extreme, units))
    shown = both & (np.abs(new - value) <= slack)
    return FewValued(
        value, _counted(old == value, units), _counted(shown & (old == value), units), _counted(shown, units)
    )


def few_values(values: Floats) -> Floats | None:
    """Return the distinct values of a column with few whole numbers; None for other columns."""
    domain = np.unique(values[np.isfinite(values)])
    return None if domain.size > MAX_FEW or (domain != np.round(domain)).any() else domain


def _is_numeric(column: pl.Series) -> bool:
    return is_number(column) or column.dtype == pl.Boolean


def _members(classes: Classes, chosen: Bools) -> Bools:
    """Return the records of the chosen classes. A suppressed record has the label -1, which selects the last False."""
    return np.append(chosen, False)[classes.labels]


def _counted(records: Bools, units: Ints | None) -> int:
    """Return the number of records, or of their distinct units."""
    return int(records.sum()) if units is None else int(np.unique(units[records]).size)


def _frequency(column: pl.Series, coded: Ints) -> Ints:
    """Return how often each code occurs. Missing counts as the most frequent code, because it discloses least."""
    records = np.bincount(coded).astype(np.int64)
    missing = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    records[coded[missing.to_numpy()]] = coded.size + 1
    return records


def _most_frequent(values: Ints, sizes: Ints) -> tuple[int | None, int]:
    """Return the value with the largest sum of sizes, and this sum."""
    if not values.size:
        return None, 0
    distinct, rank = np.unique(values, return_inverse=True)
    records = np.bincount(rank.reshape(-1), weights=sizes)
    best = int(np.argmax(records))
    return int(distinct[best]), int(records[best])


def _name(column: pl.Series, coded: Ints, code: int) -> str | None:
    """Return the value of a code as text; None if it is missing."""
    value: Any = column[int(np.argmax(coded == code))]
    if isinstance(value, pl.Series):  # a cell that holds a list
        return str(value.to_list())
    if value is None or value != value:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _scale(values: Floats) -> float:
    """Return the standard deviation, or the interquartile range if that is smaller and not 0."""
    finite = values[np.isfinite(values)]
    if not finite.size or finite.min() == finite.max():
        return 0.0
    quarter, three_quarters = np.quantile(finite, (0.25, 0.75))
    return scale_of(float(np.std(finite)), float(three_quarters - quarter))


def scale_of(deviation: float, width: float) -> float:
    """Return the scale of a column with this standard deviation and this interquartile range."""
    return min(deviation, width) if width > 0 else deviation
