"""The trees of the loss of nodes: from a taxonomy, from intervals of rising width, or one root above all values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats
from shoal.errors import InputError, UsageError
from shoal.table.coded_values import ColumnValues
from shoal.table.dates import date_text
from shoal.table.labels import ANY, SUPPRESSED, number
from shoal.table.taxonomy import Taxonomy

FINEST = 64  # intervals of the lowest level, if no steps are named
MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Tree:
    """The node above each value of a column, on each level from the root to the values.

    ids: the number of the node, by level and value; equal numbers on a level are the same node. names: its name.
    losses: the share of the leaves that are lost there. leaves: the number of leaves. ends: those of intervals by name.
    """

    ids: NDArray[np.int32]
    names: list[list[str]]
    losses: Floats
    leaves: int
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def taxonomy_tree(column: str, values: Sequence[Any], taxonomy: Taxonomy) -> Tree:
    """Return the tree of a taxonomy; a missing value is a leaf below the root."""
    known = set(taxonomy.leaves)
    for value in values:
        if value is not None and str(value) not in known:
            raise InputError(
                f"The column {column!r} has the value {str(value)!r}, which its taxonomy does not list. Add it there, "
                "or correct the file."
            )
    everything = frozenset(taxonomy.leaves)
    roots = [name for name, under in taxonomy.nodes if under == everything]
    root = roots[0] if roots else ANY
    inner = sorted((node for node in taxonomy.nodes if node[1] != everything), key=lambda node: -len(node[1]))
    paths = []
    for value in values:
        if value is None:
            paths.append([(root, 0), (MISSING, 1)])
            continue
        above = [(name, len(under)) for name, under in inner if str(value) in under]
        paths.append([(root, 0), *above, (str(value), 1)])
    return _tree(paths, len(taxonomy.leaves) + (None in values))


def interval_tree(column: str, values: ColumnValues, steps: Sequence[float] | None) -> Tree:
    """Return intervals of rising width above numbers, months to decades above dates, or a root above names."""
    present = values.codes.values
    nodes: list[list[str]] = []
    ends: dict[str, tuple[float, float]] = {}
    for value in present:
        if value is None or not values.codes.numeric:
            nodes.append([])
        elif values.is_date:
            year = date_text(value, "year")
            nodes.append([f"{year[:3]}0s", *(date_text(value, unit) for unit in ("year", "quarter", "month"))])
    if values.codes.numeric and not values.is_date:
        numbers = np.array([value for value in present if value is not None], dtype=np.float64)
        widths = _widths(column, numbers, steps)
        whole = bool((numbers == np.floor(numbers)).all()) and all(width == int(width) for width in widths)
        above = [[(value, width) for width in reversed(widths)] for value in numbers.tolist()]
        nodes = [*([_interval(*place, whole) for place in path] for path in above), *nodes]
        ends = {_interval(*place, whole): _ends(*place, whole) for path in above for place in path}
    names = [MISSING if v is None else _value_text(v, values) for v in present]
    below: Counter[tuple[str, ...]] = Counter(tuple(path[: i + 1]) for path in nodes for i in range(len(path)))
    paths = []
    for path, name in zip(nodes, names, strict=True):
        counted = [(node, below[tuple(path[: i + 1])]) for i, node in enumerate(path)]
        paths.append([(ANY, 0), *((node, size) for node, size in counted if 1 < size < len(present)), (name, 1)])
    return replace(_tree(paths, len(present)), ends=ends)


def _value_text(value: Any, values: ColumnValues) -> str:
    if values.is_date:
        return date_text(value, "day")
    return number(value) if values.codes.numeric else str(value)


def _interval(value: float, width: float, whole: bool) -> str:
    low, high = _ends(value, width, whole)
    if whole and width == 1:
        return number(low)
    return f"[{number(low)}{' to ' if low < 0 else '-'}{number(high)}{']' if whole else ')'}"


def _ends(value: float, width: float, whole: bool) -> tuple[float, float]:
    """Return the lower and the upper end of the interval of this width that holds the value."""
    low = math.floor(value / width) * width
    return low, low + width - whole


def _widths(column: str, numbers: Floats, steps: Sequence[float] | None) -> list[float]:
    """Return the widths of the intervals from the lowest level on, each a multiple of the one before."""
    if steps is not None:
        widths = [float(step) for step in steps]
        for before, width in zip([0.0, *widths], widths, strict=False):
            multiple = width / before if before else 1.0
            if not 0 < width < math.inf or width <= before or abs(multiple - round(multiple)) > 1e-9:
                raise UsageError(
                    f"The steps of {column!r} must rise, each a multiple of the one before, as in 5,10,20; not "
                    f"{', '.join(map(number, widths))}."
                )
        return widths
    extent = float(numbers.max() - numbers.min()) if numbers.size else 0.0
    if not 0 < extent / FINEST < math.inf:
        return []
    power = math.floor(math.log10(extent / FINEST))
    rising = [factor * 10.0**exponent for exponent in range(power, power + 4) for factor in (1.0, 5.0)]
    widths = [width for width in rising if extent / FINEST <= width < 2 * extent]
    return [width for width in widths if not (width <= 1 and _whole(numbers))]


def _whole(numbers: Floats) -> bool:
    return bool((numbers == np.floor(numbers)).all())


def _tree(paths: list[list[tuple[str, int]]], leaves: int) -> Tree:
    """Return the tree of the nodes above each value, as (name, number of leaves) from the root on; the root has 0."""
    depth = max(len(path) for path in paths)
    names: list[list[str]] = [[] for _ in range(depth)]
    ids, losses = np.zeros((depth, len(paths)), dtype=np.int32), np.zeros((depth, len(paths)))
    for level in range(depth):
        number_of: dict[tuple[str, ...], int] = {}
        for i, path in enumerate(paths):
            key = tuple(name for name, _ in path[: level + 1]) + ("",) * (level >= len(path))
            ids[level, i] = number_of.setdefault(key, len(number_of))
            name, size = path[min(level, len(path) - 1)]
            names[level].append(name)
            losses[level, i] = 1.0 if level == 0 else (size - 1) / max(1, leaves - 1)
    if leaves < 2:
        losses[:] = 0.0
    return Tree(ids, _unique(names, ids, paths), losses, leaves)


def _unique(names: list[list[str]], ids: NDArray[np.int32], paths: list[list[tuple[str, int]]]) -> list[list[str]]:
    """Return names of which no two nodes share one: a name that occurs again is put in brackets."""
    taken: dict[str, tuple[str, ...]] = {}
    for path in paths:  # values keep their names
        taken.setdefault(path[-1][0], tuple(name for name, _ in path))
    result = []
    for level, row in enumerate(names):
        new = []
        for i, name in enumerate(row):
            key = tuple(step for step, _ in paths[i][: level + 1])
            while name == SUPPRESSED or taken.setdefault(name, key) != key:
                name = f"({name})"
            new.append(name)
        result.append(new)
    return result
