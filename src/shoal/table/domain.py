"""Ordered domains of quasi-identifiers, and the codes of their values (Dewri et al. 2009).

Numbers and dates are cut into intervals of a granularity or at cut points, or each value is used. Names have the order
of the user, of the alphabet, of their frequency or of the leaves of a taxonomy. With the order auto they have none: any
values may form a category, and the search finds the order. With a taxonomy, only its nodes are categories, unless
`free_cuts` is on.

A missing value is a value of its own. In an ordered domain it may be at any position (`at`), so that it can join any
category. If it is `alone`, it joins none, and its code is the number of the other values.

A category costs (last - first position) / (extent of the domain). The position of a value is its number in the domain.
For exact numbers it is the number itself, so a category of ages costs its width divided by the range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.errors import InputError, UsageError, check_choice
from shoal.table.choices import ORDERS, UNITS
from shoal.table.dates import days_of_texts, unit_edges
from shoal.table.taxonomy import Splits, Taxonomy, splits_of

MOST_EXACT = 400  # largest number of distinct numbers without a granularity
MOST_VALUES = 5000  # largest number of values of a domain
MOST_DAYS = 40_000  # largest number of values of a domain of dates


@dataclass(frozen=True, eq=False)
class Domain:
    """The values of one quasi-identifier, in order.

    values: the exact values; empty if edges cut numbers into intervals [edge, next edge). unit: that of dates, "" for
    other values. missing: whether the domain has missing values. missing_at: their position in the order. alone: they
    are a category of their own. free: any values may form a category. splits: only these nodes may be categories.
    is_open: labels do not show the smallest and the largest value.
    """

    name: str
    numeric: bool
    values: tuple[Any, ...]
    edges: tuple[float, ...]
    positions: Floats
    free: bool = False
    missing: bool = False
    whole: bool = False
    taxonomy: Taxonomy | None = None
    unit: str = ""
    is_open: bool = False
    missing_at: int = -1
    alone: bool = False
    splits: Splits | None = None

    @cached_property
    def size(self) -> int:
        return int(self.positions.size)

    @cached_property
    def present(self) -> int:
        """The number of values without the missing one."""
        return self.size - (self.missing and not self.alone)

    @property
    def missing_code(self) -> int:
        """The code of missing values; -1 if there are none."""
        if not self.missing:
            return -1
        return self.size if self.alone else self.missing_at if self.missing_at >= 0 else self.size - 1

    def numbers_of(self, codes: Sequence[int]) -> list[int]:
        """Return the numbers of the values of these codes, without missing ones."""
        gap = self.missing_code
        return [code - (0 <= gap < code) for code in codes if code != gap]

    def code_of(self, number: int) -> int:
        """Return the code of the value with this number."""
        return number + (0 <= self.missing_code <= number)

    def at(self, place: int) -> Domain:
        """Return the same domain with missing values before the value of this number, or after all values."""
        if place == self.missing_code:
            return self
        plain = np.delete(self.positions, self.missing_code)
        splits = None if self.splits is None else self.splits.without(self.missing_code).with_leaf(place)
        return replace(self, positions=_with_missing(plain, place), missing_at=place, splits=splits)

    def apart(self) -> Domain:
        """Return the same domain with missing values as a category of their own."""
        if not self.missing:
            return self
        splits = None if self.splits is None else self.splits.without(self.missing_code)
        return replace(self, positions=np.delete(self.positions, self.missing_code), alone=True, splits=splits)

    def encode(self, values: Sequence[Any]) -> Ints:
        """Return the code of each value; None stands for a missing value.

        Raises:
            InputError: A value is not in the domain.
        """
        codes = np.empty(len(values), dtype=np.int64)
        place = {value: i for i, value in enumerate(self.values)}
        for i, value in enumerate(values):
            if value is None:
                if not self.missing:
                    raise InputError(f"The column {self.name!r} has a missing value, but its domain does not have one.")
                codes[i] = self.missing_code
                continue
            if self.edges:
                number = int(np.searchsorted(self.edges, float(value), side="right")) - 1
                if not 0 <= number < self.present:
                    raise InputError(
                        f"The column {self.name!r} has the value {value:g}, which is outside of its intervals "
                        f"({self.edges[0]:g} up to, not including, {self.edges[-1]:g}). Widen the range."
                    )
            elif value in place:
                number = place[value]
            else:
                raise InputError(f"The column {self.name!r} has the value {value!r}, which is not in its domain.")
            codes[i] = self.code_of(number)
        return codes


def numeric_domain(
    name: str,
    values: Sequence[float],
    missing: bool,
    granularity: float | Sequence[float] | None = None,
    cuts: Sequence[float] | None = None,
    *,
    show_extremes: bool = True,
) -> Domain:
    """Return a domain of numbers: intervals of a granularity, intervals between cut points, or exact values.

    Args:
        name: The column, for messages.
        values: The numbers that occur.
        missing: Whether the column has missing values.
        granularity: The width of an interval, or the width, the lowest and the highest bound.
        cuts: The cut points.
        show_extremes: Whether labels show the smallest and the largest value.

    Raises:
        UsageError: The granularity or the cut points are not valid, or there are too many values.

     numeric_domain("age", [17, 38, 90], False, granularity=(5, 1, 101)).size
    20
    """
    numbers = sorted({float(v) for v in values})
    whole = all(v == math.floor(v) for v in numbers)
    if granularity is not None and cuts is not None:
        raise UsageError(f"The column {name!r} has a granularity and cut points. Remove one of them.")
    if not numbers:
        return Domain(name, True, (), (), np.zeros(int(missing)), missing=missing)
    edges: tuple[float, ...] = ()
    is_open = not show_extremes
    if granularity is not None:
        edges = _granular_edges(name, numbers, granularity)
        # Wider intervals are rounded outward, and the bounds of the user come from no record: both may be shown.
        is_open = is_open and not isinstance(granularity, Sequence) and whole and float(granularity) <= 1
    elif cuts is not None:
        edges = _cut_edges(name, numbers, cuts)
    if edges:
        whole = whole and all(e == math.floor(e) for e in edges)
        check_size(name, len(edges) - 1)
        positions = _with_missing(np.arange(len(edges) - 1.0), len(edges) - 1 if missing else None)
        return Domain(name, True, (), edges, positions, missing=missing, whole=whole, is_open=is_open)
    if len(numbers) > MOST_EXACT:
        are_dates = whole and days_of_texts([f"{value:.0f}" for value in numbers]) is not None
        step = _round_step((numbers[-1] - numbers[0]) / 50)
        shown, in_python = ("month", "'month'") if are_dates else (f"{step:g}", f"{step:g}")
        raise UsageError(
            f"The column {name!r} has {len(numbers):,} distinct numbers, which is too many to use each of them. Add a "
            f"granularity, for example --granularity {name}={shown} (granularity={{{name!r}: {in_python}}} in Python), "
            f"or cut points.{' They look like dates.' if are_dates else ''}"
        )
    positions = _with_missing(np.array(numbers), len(numbers) if missing else None)
    return Domain(name, True, tuple(numbers), (), positions, missing=missing, whole=whole, is_open=is_open)


def date_domain(
    name: str, days: Sequence[float], missing: bool, unit: str | None = None, *, show_extremes: bool = False
) -> Domain:
    """Return a domain of dates, as days since 1970: intervals of a unit, or the days that occur.

    Args:
        name: The column, for messages.
        days: The days that occur.
        missing: Whether the column has missing values.
        unit: "day", "month", "quarter" or "year"; None for days.
        show_extremes: Whether labels show the first and the last date.

    Raises:
        UsageError: The unit is unknown, or there are too many days.

     date_domain("born", [0.0, 1.0, 400.0], False, "quarter").positions.tolist()
    [0.0, 4.0]
    """
    numbers = sorted({math.floor(day) for day in days})
    if not numbers:
        return Domain(name, True, (), (), np.zeros(int(missing)), missing=missing, unit="day")
    is_open = not show_extremes
    if unit in (None, "day"):
        _check_days(name, len(numbers))
        values = tuple(float(day) for day in numbers)
        positions = _with_missing(np.array(values), len(numbers) if missing else None)
        return Domain(name, True, values, (), positions, missing=missing, whole=True, unit="day", is_open=is_open)
    check_choice("unit of dates", unit, UNITS)
    edges = np.array(unit_edges(numbers[0], numbers[-1], str(unit)))
    held = np.unique(np.searchsorted(edges, numbers, side="right") - 1)  # the units that have a date
    _check_days(name, held.size)
    positions = _with_missing(held.astype(np.float64), held.size if missing else None)
    starts = (*edges[held].tolist(), float(edges[-1]))
    return Domain(name, True, (), starts, positions, missing=missing, whole=True, unit=str(unit), is_open=is_open)


def nominal_domain(
    name: str,
    values: Sequence[str],
    counts: Sequence[int],
    missing: bool,
    order: str | Sequence[Any] = "auto",
    taxonomy: Taxonomy | None = None,
    *,
    free_cuts: bool = False,
) -> Domain:
    """Return a domain of names.

    Args:
        name: The column, for messages.
        values: The names that occur.
        counts: The number of records of each name.
        missing: Whether the column has missing values.
        order: One of ORDERS, or all names in order. "taxonomy" is the order of the leaves.
        taxonomy: The taxonomy whose nodes are the categories.
        free_cuts: Whether neighbouring leaves may form a category that is not a node.

    Raises:
        UsageError: The order is unknown or names a value twice, or there are too many values.
        InputError: A name is not in the order or the taxonomy.
    """
    splits = None
    if not isinstance(order, str):
        ordered = tuple(str(v) for v in order)
        _check_known(name, values, ordered, "the order")
        if len(set(ordered)) < len(ordered):
            raise UsageError(f"The order of {name!r} names a value twice. Name each value once.")
    else:
        check_choice("order", order, ORDERS)
        if order == "taxonomy":
            if taxonomy is None:
                raise UsageError(
                    f"The column {name!r} has the order taxonomy, but no taxonomy. Add --taxonomy {name}=FILE."
                )
            ordered = taxonomy.leaves
            splits = None if free_cuts else splits_of(taxonomy)
        else:
            ordered = tuple(sorted(values))
        if order in ("auto", "frequency"):  # with auto, the search starts from this order
            frequency = dict(zip(values, counts, strict=True))
            ordered = tuple(sorted(ordered, key=lambda v: (-frequency[v], v)))
    if taxonomy is not None:
        _check_known(name, values, taxonomy.leaves, "the taxonomy")
    check_size(name, len(ordered))
    end = len(ordered) if missing else None
    positions = _with_missing(np.arange(float(len(ordered))), end)
    if splits is not None and end is not None:
        splits = splits.with_leaf(end)
    domain = Domain(
        name, False, ordered, (), positions, free=order == "auto", missing=missing, taxonomy=taxonomy, splits=splits
    )
    if splits is None or not missing or not values:
        return domain
    # At the end, missing values would be children of the root, so a few of them could force one category of all names.
    most_frequent = max(zip(counts, values, strict=True))[1]
    return domain.at(ordered.index(most_frequent) + 1)


def _with_missing(positions: Floats, place: int | None) -> Floats:
    """Return the positions with one for missing values, before the value of this number and one mean step apart."""
    if place is None:
        return positions
    if not positions.size:
        return np.zeros(1)
    step = float(positions[-1] - positions[0]) / max(positions.size - 1, 1) + (positions.size == 1)
    before = positions[place - 1] + step if place > 0 else positions[0]
    return np.concatenate([positions[:place], [before], positions[place:] + step])


def _granular_edges(name: str, numbers: Sequence[float], granularity: float | Sequence[float]) -> tuple[float, ...]:
    parts = [float(g) for g in granularity] if isinstance(granularity, Sequence) else [float(granularity)]
    if len(parts) not in (1, 3) or not parts[0] > 0 or not all(map(math.isfinite, parts)):
        raise UsageError(
            f"The granularity of {name!r} must be a width above 0, or width, low, high, not {granularity!r}."
        )
    step = parts[0]
    if len(parts) == 3:
        low, high = parts[1:]
        if not low <= numbers[0] or not numbers[-1] < high:
            raise UsageError(
                f"The range of {name!r} ({low:g} up to, not including, {high:g}) does not contain all of its values "
                f"({numbers[0]:g} to {numbers[-1]:g}). Widen the range."
            )
    else:
        if not all(math.isfinite(end / step) for end in (numbers[0], numbers[-1])):
            raise UsageError(f"The granularity {step:g} is too small for {name!r}. Use a wider one.")
        low = math.floor(numbers[0] / step) * step
        high = math.floor(numbers[-1] / step) * step + step
    if not math.isfinite((high - low) / step):
        raise UsageError(f"The granularity {step:g} is too small for {name!r}. Use a wider one.")
    intervals = math.ceil((high - low) / step - 1e-9)
    check_size(name, intervals)
    edges = [low + i * step for i in range(intervals + 1)]
    edges[-1] = max(edges[-1], math.nextafter(numbers[-1], math.inf))
    return tuple(edges)


def _cut_edges(name: str, numbers: Sequence[float], cuts: Sequence[float]) -> tuple[float, ...]:
    inside = sorted({float(c) for c in cuts})
    if not inside or not all(map(math.isfinite, inside)):
        raise UsageError(f"The cut points of {name!r} must be finite numbers, not {list(cuts)!r}.")
    low = min(numbers[0], inside[0])
    beyond = numbers[-1] + 1 if numbers[-1] == math.floor(numbers[-1]) else math.nextafter(numbers[-1], math.inf)
    return tuple([low] * (low < inside[0]) + inside + [beyond] * (beyond > inside[-1]))


def _check_known(name: str, values: Sequence[str], ordered: Sequence[str], where: str) -> None:
    unknown = [v for v in values if v not in set(ordered)]
    if unknown:
        raise InputError(f"The column {name!r} has the value {unknown[0]!r}, which is not in {where}. Add it there.")


def _check_days(name: str, size: int) -> None:
    if size > MOST_DAYS:
        raise UsageError(
            f"The column {name!r} has {size:,} days or intervals of dates, more than {MOST_DAYS:,}. Take a coarser "
            f"unit: --granularity {name}=month."
        )


def check_size(name: str, size: int) -> None:
    """Raise an error for a domain with too many values."""
    if size > MOST_VALUES:
        raise UsageError(
            f"The column {name!r} has {size:,} values or intervals; at most {MOST_VALUES:,} are possible. Use a "
            f"coarser granularity, or remove the column with --drop {name}."
        )


def _round_step(step: float) -> float:
    """Return the next larger step of the form 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))
