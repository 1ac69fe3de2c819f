"""Ordered domains of quasi-identifiers, which map values to codes (Dewri et al. 2009).

A domain of numbers has intervals of equal width, intervals between cut points, or the exact numbers. A domain of
nominal values has the order of a list, the alphabet, the frequencies or the leaves of a taxonomy. With the order auto,
any values may form a category, and the search chooses the order. A missing value is the last value of its domain. It is
a category of its own and never a wildcard.

The cost of a category is (last - first position) / (extent of the domain). The position of a value is its number in
the domain, or the number itself in a domain of exact numbers. A category of ages then costs its width over the range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.errors import InputError, UsageError, check_choice
from shoal.table.taxonomy import Taxonomy

ORDERS = ("auto", "alphabetical", "frequency", "taxonomy")
MOST_EXACT = 400  # most distinct numbers of a domain of exact numbers
MOST_VALUES = 5000  # most values of any domain


@dataclass(frozen=True, eq=False)
class Domain:
    """The values of one quasi-identifier, in order.

    Attributes:
        values: The exact values; empty if `edges` cut numbers into intervals [edge, next edge).
        missing: Whether the last position stands for missing values.
        free: Whether any values may form a category.
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

    @property
    def size(self) -> int:
        return int(self.positions.size)

    @property
    def present(self) -> int:
        """The number of values, without the missing one."""
        return self.size - self.missing

    def encode(self, values: Sequence[Any]) -> Ints:
        """The code of each value; None is a missing value."""
        codes = np.empty(len(values), dtype=np.int64)
        place = {value: i for i, value in enumerate(self.values)}
        for i, value in enumerate(values):
            if value is None:
                if not self.missing:
                    raise InputError(f"The column {self.name!r} has a missing value, but its domain does not have one.")
                codes[i] = self.size - 1
            elif self.edges:
                codes[i] = np.searchsorted(self.edges, float(value), side="right") - 1
                if not 0 <= codes[i] < self.present:
                    raise InputError(
                        f"The column {self.name!r} has the value {value:g}, which is outside of its intervals "
                        f"({self.edges[0]:g} up to, not including, {self.edges[-1]:g}). Widen the range."
                    )
            elif value in place:
                codes[i] = place[value]
            else:
                raise InputError(f"The column {self.name!r} has the value {value!r}, which is not in its domain.")
        return codes


def numeric_domain(
    name: str,
    values: Sequence[float],
    missing: bool,
    granularity: float | Sequence[float] | None = None,
    cuts: Sequence[float] | None = None,
) -> Domain:
    """A domain of numbers: intervals of equal width, intervals between cut points, or the exact numbers.

    Args:
        name: The name of the column.
        values: The numbers of the column.
        missing: Whether the column has missing values.
        granularity: The width of the intervals, or (width, low, high).
        cuts: The cut points.

    >>> numeric_domain("age", [17, 38, 90], False, granularity=(5, 1, 101)).size
    20
    """
    numbers = sorted({float(v) for v in values})
    whole = all(v == math.floor(v) for v in numbers)
    if granularity is not None and cuts is not None:
        raise UsageError(f"The column {name!r} has a granularity and cut points. Remove one of them.")
    if not numbers:
        return Domain(name, True, (), (), np.zeros(int(missing)), missing=missing)
    edges: tuple[float, ...] = ()
    if granularity is not None:
        edges = _granular_edges(name, numbers, granularity)
    elif cuts is not None:
        edges = _cut_edges(name, numbers, cuts)
    if edges:
        whole = whole and all(e == math.floor(e) for e in edges)
        _check_size(name, len(edges) - 1)
        return Domain(name, True, (), edges, np.arange(len(edges) - 1.0 + missing), missing=missing, whole=whole)
    if len(numbers) > MOST_EXACT:
        step = _round_step((numbers[-1] - numbers[0]) / 50)
        raise UsageError(
            f"The column {name!r} has {len(numbers):,} distinct numbers, which is too many to use each of them. Add a "
            f"granularity, for example --granularity {name}={step:g} (granularity={{{name!r}: {step:g}}} in Python), "
            "or cut points."
        )
    positions = np.array(numbers)
    if missing:  # the missing value lies one mean step above the largest number
        positions = np.append(
            positions, numbers[-1] + (numbers[-1] - numbers[0]) / max(len(numbers) - 1, 1) + (len(numbers) == 1)
        )
    return Domain(name, True, tuple(numbers), (), positions, missing=missing, whole=whole)


def nominal_domain(
    name: str,
    values: Sequence[str],
    counts: Sequence[int],
    missing: bool,
    order: str | Sequence[Any] = "auto",
    taxonomy: Taxonomy | None = None,
) -> Domain:
    """A domain of nominal values; `order` is a list of all values, or the name of an order."""
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
        else:
            ordered = tuple(sorted(values))
        if order in ("auto", "frequency"):  # with auto, the search starts from this order
            frequency = dict(zip(values, counts, strict=True))
            ordered = tuple(sorted(ordered, key=lambda v: (-frequency[v], v)))
    if taxonomy is not None:
        _check_known(name, values, taxonomy.leaves, "the taxonomy")
    _check_size(name, len(ordered))
    positions = np.arange(float(len(ordered) + missing))
    return Domain(name, False, ordered, (), positions, free=order == "auto", missing=missing, taxonomy=taxonomy)


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
    _check_size(name, intervals)
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


def _check_size(name: str, size: int) -> None:
    if size > MOST_VALUES:
        raise UsageError(
            f"The column {name!r} has {size:,} values or intervals; at most {MOST_VALUES:,} are possible. Use a "
            f"coarser granularity, or remove the column with --identifiers {name}."
        )


def _round_step(step: float) -> float:
    """The next larger number of the form 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))
