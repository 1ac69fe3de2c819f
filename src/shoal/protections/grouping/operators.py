"""The crossover and the five mutations of GOMM (GOMM thesis, after Falkenauer's grouping genetic algorithm).

The operators work on whole column groups rather than on columns, so that good groups stay together. Their results are
canonical. A child that equals its parent is a clone.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from shoal.protections.grouping.grouping import Grouping, canonical, columns_of, group_of

Mutation = Callable[[Grouping, random.Random], Grouping]


def crossover(one: Grouping, other: Grouping, rng: random.Random) -> tuple[Grouping, Grouping]:
    """Two children: each has a section of one parent's column groups, and groups the other columns as the other parent.

    Child 1 = section of parent 1 + (groups of parent 2 without the section's columns); child 2 with the roles swapped.
    """
    return _inject(one, other, rng), _inject(other, one, rng)


def _inject(giver: Grouping, taker: Grouping, rng: random.Random) -> Grouping:
    """A section of the giver's groups, and the taker's groups without the columns of the section."""
    ends = sorted((rng.randrange(len(giver) + 1), rng.randrange(len(giver) + 1)))
    if ends[0] == ends[1]:  # an empty section would copy the taker
        ends = [ends[0], ends[0] + 1] if ends[0] < len(giver) else [ends[0] - 1, ends[0]]
    return placed_over(taker, giver[ends[0] : ends[1]])


def placed_over(grouping: Grouping, groups: Grouping) -> Grouping:
    """The column groups `groups` unchanged, and all other columns grouped as in `grouping`."""
    taken = 0
    for group in groups:
        taken |= group
    return canonical([*groups, *(group & ~taken for group in grouping)])


def group_create(parent: Grouping, rng: random.Random) -> Grouping:
    """Make a new column group of random columns; the other columns keep their groups."""
    d = sum(group.bit_count() for group in parent)
    return placed_over(parent, (group_of(rng.sample(range(d), rng.randint(1, d))),))


def group_eliminate(parent: Grouping, rng: random.Random) -> Grouping:
    """Distribute the columns of a random group over the other groups; a single group gives a clone."""
    if len(parent) == 1:
        return parent
    eliminated = rng.randrange(len(parent))
    rest = [group for i, group in enumerate(parent) if i != eliminated]
    for column in columns_of(parent[eliminated]):
        rest[rng.randrange(len(rest))] |= 1 << column
    return canonical(rest)


def group_split(parent: Grouping, rng: random.Random) -> Grouping:
    """Split a random group into two halves; a group of one column gives a clone."""
    chosen = parent[rng.randrange(len(parent))]
    columns = columns_of(chosen)
    half = group_of(rng.sample(columns, len(columns) // 2))
    return canonical([*(group for group in parent if group != chosen), half, chosen & ~half])


def element_swap(parent: Grouping, rng: random.Random) -> Grouping:
    """Let two random columns exchange their groups."""
    d = sum(group.bit_count() for group in parent)
    if d < 2:
        return parent
    a, b = (1 << column for column in rng.sample(range(d), 2))
    pair = a | b
    return canonical(group ^ pair if (group & pair) in (a, b) else group for group in parent)


def element_move(parent: Grouping, rng: random.Random) -> Grouping:
    """Move a random column to another group; a single group gives a clone."""
    if len(parent) == 1:
        return parent
    bit = 1 << rng.randrange(sum(group.bit_count() for group in parent))
    home = next(i for i, group in enumerate(parent) if group & bit)
    target = rng.randrange(len(parent) - 1)
    target += target >= home
    return canonical(group | bit if i == target else group & ~bit for i, group in enumerate(parent))


MUTATIONS: dict[str, Mutation] = {
    "group create": group_create,
    "group eliminate": group_eliminate,
    "group split": group_split,
    "element swap": element_swap,
    "element move": element_move,
}
CROSSOVER = "crossover"
OPERATORS = (*MUTATIONS, CROSSOVER)
