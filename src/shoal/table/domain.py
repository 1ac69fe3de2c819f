"""Ordered domains of quasi-identifiers, and the way from values to codes (Dewri et al. 2009).

Numbers are cut into intervals of a granularity, at given points, or taken as they are; nominal values
stand in a given order, by alphabet, by frequency, along a taxonomy's leaves, or (auto) in no order:
then any values may form a group, and the order is the search's. A missing value is the last value of
its domain, a category of its own and never a wildcard.

A value's position tells what a group costs: (last - first position) / (the domain's whole extent).
It is the value's number in the domain, or for exact numbers the number itself, so that a group of
ages costs its width over the range.
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
MOST_EXACT = 400  # distinct numbers that are taken one by one
MOST_VALUES = 5000  # of a domain
MOST_DAYS = 40_000  # of a domain of dates


@dataclass(frozen=True, eq=False)
class Domain:
    """The values of one quasi-identifier, in order.

    values: exact values; empty where edges cut numbers into intervals [edge, next edge).
    missing: whether the last position is that of missing values. free: any values may form a group.
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
        """The number of values, the missing one apart."""
        return self.size - self.missing

    def encode(self, values: Sequence[Any]) -> Ints:
        """The code of each value; None is a missing one."""
        codes = np.empty(len(values), dtype=np.int64)
        place = {value: i for i, value in enumerate(self.values)}
        for i, value in enumerate(values):
            if value is None:
                if not self.missing:
                    raise InputError(f"the column {self.name!r} has a missing value, and its domain has none")
                codes[i] = self.size - 1
            elif self.edges:
                codes[i] = np.searchsorted(self.edges, float(value), side="right") - 1
                if not 0 <= codes[i] < self.present:
                    raise InputError(
                        f"the column {self.name!r} has the value {value:g}, outside its intervals "
                        f"({self.edges[0]:g} up to, not including, {self.edges[-1]:g}): give a wider range"
                    )
            elif value in place:
                codes[i] = place[value]
            else:
                raise InputError(f"the column {self.name!r} has the value {value!r}, which is not in its domain")
        return codes


def numeric_domain(
    name: str,
    values: Sequence[float],
    missing: bool,
    granularity: float | Sequence[float] | None = None,
    cuts: Sequence[float] | None = None,
) -> Domain:
    """A domain of numbers: intervals of a granularity (step, or step, low, high), at given cuts, or exact values.

    >>> numeric_domain("age", [17, 38, 90], False, granularity=(5, 1, 101)).size
    20
    """
    found = sorted({float(v) for v in values})
    whole = all(v == math.floor(v) for v in found)
    if granularity is not None and cuts is not None:
        raise UsageError(f"the column {name!r} has a granularity and cut points: give one of them")
    if not found:
        return Domain(name, True, (), (), np.zeros(int(missing)), missing=missing)
    edges: tuple[float, ...] = ()
    if granularity is not None:
        edges = _granular_edges(name, found, granularity)
    elif cuts is not None:
        edges = _cut_edges(name, found, cuts)
    if edges:
        whole = whole and all(e == math.floor(e) for e in edges)
        _check_size(name, len(edges) - 1)
        return Domain(name, True, (), edges, np.arange(len(edges) - 1.0 + missing), missing=missing, whole=whole)
    if len(found) > MOST_EXACT:
        step = _round_step((found[-1] - found[0]) / 50)
        raise UsageError(
            f"the column {name!r} has {len(found):,} distinct numbers: give it a granularity, for example "
            f"--granularity {name}={step:g} (granularity={{{name!r}: {step:g}}} in Python), or cut points"
        )
    positions = np.array(found)
    if missing:  # one mean step beyond the largest
        positions = np.append(
            positions, found[-1] + (found[-1] - found[0]) / max(len(found) - 1, 1) + (len(found) == 1)
        )
    return Domain(name, True, tuple(found), (), positions, missing=missing, whole=whole)


def nominal_domain(
    name: str,
    values: Sequence[str],
    counts: Sequence[int],
    missing: bool,
    order: str | Sequence[Any] = "auto",
    taxonomy: Taxonomy | None = None,
) -> Domain:
    """A domain of names, in the given order; with a taxonomy, in the order of its leaves unless told otherwise."""
    if not isinstance(order, str):
        ordered = tuple(str(v) for v in order)
        _check_known(name, values, ordered, "the given order")
        if len(set(ordered)) < len(ordered):
            raise UsageError(f"the order of {name!r} names a value twice")
    else:
        check_choice("order", order, ORDERS)
        if order == "taxonomy":
            if taxonomy is None:
                raise UsageError(f"the column {name!r} is to be ordered by a taxonomy, but has none: give one")
            ordered = taxonomy.leaves
        else:
            ordered = tuple(sorted(values))
        if order in ("auto", "frequency"):  # where any order will do, this is a good one to start from
            often = dict(zip(values, counts, strict=True))
            ordered = tuple(sorted(ordered, key=lambda v: (-often[v], v)))
    if taxonomy is not None:
        _check_known(name, values, taxonomy.leaves, "the taxonomy")
    _check_size(name, len(ordered))
    positions = np.arange(float(len(ordered) + missing))
    return Domain(name, False, ordered, (), positions, free=order == "auto", missing=missing, taxonomy=taxonomy)


def _granular_edges(name: str, found: Sequence[float], granularity: float | Sequence[float]) -> tuple[float, ...]:
    parts = [float(g) for g in granularity] if isinstance(granularity, Sequence) else [float(granularity)]
    if len(parts) not in (1, 3) or not parts[0] > 0 or not all(map(math.isfinite, parts)):
        raise UsageError(f"the granularity of {name!r} must be a step above 0, or step, low, high, not {granularity!r}")
    step = parts[0]
    if len(parts) == 3:
        low, high = parts[1:]
        if not low <= found[0] or not found[-1] < high:
            raise UsageError(
                f"the range of {name!r} ({low:g} up to, not including, {high:g}) does not hold all of its values "
                f"({found[0]:g} to {found[-1]:g})"
            )
    else:
        if not all(math.isfinite(end / step) for end in (found[0], found[-1])):
            raise UsageError(f"the granularity {step:g} is too small for {name!r}: take a wider step")
        low = math.floor(found[0] / step) * step
        high = math.floor(found[-1] / step) * step + step
    if not math.isfinite((high - low) / step):
        raise UsageError(f"the granularity {step:g} is too small for {name!r}: take a wider step")
    intervals = math.ceil((high - low) / step - 1e-9)
    _check_size(name, intervals)
    edges = [low + i * step for i in range(intervals + 1)]
    edges[-1] = max(edges[-1], math.nextafter(found[-1], math.inf))
    return tuple(edges)


def _cut_edges(name: str, found: Sequence[float], cuts: Sequence[float]) -> tuple[float, ...]:
    inside = sorted({float(c) for c in cuts})
    if not inside or not all(map(math.isfinite, inside)):
        raise UsageError(f"the cut points of {name!r} must be finite numbers, not {list(cuts)!r}")
    low = min(found[0], inside[0])
    beyond = found[-1] + 1 if found[-1] == math.floor(found[-1]) else math.nextafter(found[-1], math.inf)
    return tuple([low] * (low < inside[0]) + inside + [beyond] * (beyond > inside[-1]))


def _check_known(name: str, values: Sequence[str], ordered: Sequence[str], where: str) -> None:
    unknown = [v for v in values if v not in set(ordered)]
    if unknown:
        raise InputError(f"the column {name!r} has the value {unknown[0]!r}, which is not in {where}: add it there")


def _check_size(name: str, size: int) -> None:
    if size > MOST_VALUES:
        raise UsageError(
            f"the column {name!r} has {size:,} values or intervals, more than {MOST_VALUES:,}: take a coarser "
            "granularity, or treat it as an identifier"
        )


def _round_step(step: float) -> float:
    """The next step of the form 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))
