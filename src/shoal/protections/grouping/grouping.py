"""A column grouping in canonical form: two equal groupings are equal values (GOMM thesis).

A column group is an integer whose bits are its columns. A grouping is the tuple of its groups, ordered by their lowest
columns. It holds both the object part and the group part of a chromosome of a grouping genetic algorithm, and the
same grouping never has two forms.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, UsageError, unknown

Grouping = tuple[int, ...]


def canonical(groups: Iterable[int]) -> Grouping:
    """The groups that are not empty, ordered by their lowest columns.

    >>> canonical([0b100, 0, 0b011])
    (3, 4)
    """
    return tuple(sorted((g for g in groups if g), key=lowest))


def lowest(group: int) -> int:
    """The lowest column of a group, as a bit."""
    return group & -group


def columns_of(group: int) -> list[int]:
    """The columns of a group, counted from 0.

    >>> columns_of(0b1101)
    [0, 2, 3]
    """
    columns = []
    while group:
        bit = group & -group
        columns.append(bit.bit_length() - 1)
        group ^= bit
    return columns


def group_of(columns: Iterable[int]) -> int:
    """The group that holds these columns.

    >>> group_of([0, 2, 3])
    13
    """
    group = 0
    for column in columns:
        group |= 1 << column
    return group


def numbered(grouping: Grouping) -> NDArray[np.int64]:
    """The number of each column's group, as the kernels use it.

    >>> numbered((0b101, 0b010)).tolist()
    [0, 1, 0]
    """
    numbers = np.empty(sum(grouping).bit_length(), np.int64)
    for number, group in enumerate(grouping):
        numbers[columns_of(group)] = number
    return numbers


def of_numbers(numbers: NDArray[np.int64]) -> Grouping:
    """The grouping in which each column has the group of this number.

    >>> of_numbers(np.array([3, 1, 3]))
    (5, 2)
    """
    groups: dict[int, int] = {}  # in the order of their lowest columns, because those come first
    for column, number in enumerate(numbers.tolist()):
        groups[number] = groups.get(number, 0) | 1 << column
    return tuple(groups.values())


def as_lists(grouping: Grouping) -> list[list[int]]:
    """The columns of each group, counted from 0."""
    return [columns_of(group) for group in grouping]


def from_lists(lists: Sequence[Sequence[int]], d: int) -> Grouping:
    """The grouping with these columns (counted from 0) in each group; every one of the d columns exactly once."""
    seen: set[int] = set()
    for columns in lists:
        if not columns:
            raise UsageError("A column group is empty. Remove it from the list.")
        for column in columns:
            if not 0 <= column < d:
                raise UsageError(f"Column {column + 1} does not exist: the numbers are 1 to {d}.")
            if column in seen:
                raise UsageError(f"Column {column + 1} is in two column groups. Put each column into exactly one.")
            seen.add(column)
    if len(seen) < d:
        missing = min(set(range(d)) - seen)
        raise UsageError(
            f"Column {missing + 1} is missing in the column groups. Put each of the {d} columns into exactly one."
        )
    return canonical(group_of(columns) for columns in lists)


def together(d: int) -> Grouping:
    """All d columns in one group."""
    return ((1 << d) - 1,)


def apart(d: int) -> Grouping:
    """Each of the d columns in a group of its own: univariate microaggregation."""
    return tuple(1 << column for column in range(d))


def at_random(d: int, rng: random.Random) -> Grouping:
    """Each column in a random one of d possible groups, as in the first population of GOMM."""
    groups = [0] * d
    for column in range(d):
        groups[rng.randrange(d)] |= 1 << column
    return canonical(groups)


def bell(d: int) -> int:
    """The number of groupings of d columns.

    >>> [bell(d) for d in range(1, 6)]
    [1, 2, 5, 15, 52]
    """
    row = [1]
    for _ in range(d - 1):
        following = [row[-1]]
        for value in row:
            following.append(following[-1] + value)
        row = following
    return row[-1]


def read_groups(groups: Any) -> Any:
    """The lists of column groups. A path is that of a JSON file; a # and a name select an entry of the file."""
    if not isinstance(groups, str | os.PathLike):
        return groups
    address = os.fspath(groups)
    name, _, entry = address.partition("#")
    try:
        lists = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read the column groups in {name}: {error.strerror}.") from None
    except ValueError as error:
        raise InputError(f"{name} is not valid JSON: {error}. Write the column groups as lists of names.") from None
    for key in entry.split(".") if entry else ():
        if not isinstance(lists, dict) or key not in lists:
            raise unknown("entry", key, lists if isinstance(lists, dict) else (), InputError)
        lists = lists[key]
    if not isinstance(lists, list) or not lists:
        is_table = isinstance(lists, dict) and lists
        hint = f" Select an entry of the file: {name}#{next(iter(lists))}." if is_table else ""
        raise InputError(f"{address} is not a list of column groups, each a list of columns.{hint}")
    return lists
