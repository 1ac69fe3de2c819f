"""The crossover and the five mutations of GOMM (GOMM thesis, after Falkenauer's grouping genetic algorithm).

All work on groups of columns rather than on columns, so that what a good group has found is not torn apart.
Whatever an operator gives is canonical; a child equal to its parent is a clone.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from shoal.protections.grouping.grouping import Grouping, canonical, columns_of, group_of

Mutation = Callable[[Grouping, random.Random], Grouping]


def crossover(one: Grouping, other: Grouping, rng: random.Random) -> tuple[Grouping, Grouping]:
    """Two children: a section of one parent's groups is kept whole, the rest stays as the other parent has it.

    child 1 = section of parent 1 + (groups of parent 2 without the section's columns); child 2 with the roles swapped.
    """
    return _inject(one, other, rng), _inject(other, one, rng)


def _inject(giver: Grouping, taker: Grouping, rng: random.Random) -> Grouping:
    """The taker's groups, with a section of the giver's groups in place of what they overlap."""
    ends = sorted((rng.randrange(len(giver) + 1), rng.randrange(len(giver) + 1)))
    if ends[0] == ends[1]:  # an empty section would copy the taker
        ends = [ends[0], ends[0] + 1] if ends[0] < len(giver) else [ends[0] - 1, ends[0]]
    return placed_over(taker, giver[ends[0] : ends[1]])


def placed_over(grouping: Grouping, groups: Grouping) -> Grouping:
    """`groups` kept whole, all other columns grouped as in `grouping`."""
    taken = 0
    for group in groups:
        taken |= group
    return canonical([*groups, *(group & ~taken for group in grouping)])


def group_create(parent: Grouping, rng: random.Random) -> Grouping:
    """A new group of columns drawn at random; the others stay."""
    d = sum(group.bit_count() for group in parent)
    return placed_over(parent, (group_of(rng.sample(range(d), rng.randint(1, d))),))


def group_eliminate(parent: Grouping, rng: random.Random) -> Grouping:
    """The columns of one group spread at random over the others; a single group gives a clone."""
    if len(parent) == 1:
        return parent
    gone = rng.randrange(len(parent))
    rest = [group for i, group in enumerate(parent) if i != gone]
    for column in columns_of(parent[gone]):
        rest[rng.randrange(len(rest))] |= 1 << column
    return canonical(rest)


def group_split(parent: Grouping, rng: random.Random) -> Grouping:
    """One group into two halves; a single column gives a clone."""
    chosen = parent[rng.randrange(len(parent))]
    columns = columns_of(chosen)
    half = group_of(rng.sample(columns, len(columns) // 2))
    return canonical([*(group for group in parent if group != chosen), half, chosen & ~half])


def element_swap(parent: Grouping, rng: random.Random) -> Grouping:
    """Two columns exchange their groups."""
    d = sum(group.bit_count() for group in parent)
    if d < 2:
        return parent
    a, b = (1 << column for column in rng.sample(range(d), 2))
    pair = a | b
    return canonical(group ^ pair if (group & pair) in (a, b) else group for group in parent)


def element_move(parent: Grouping, rng: random.Random) -> Grouping:
    """One column to another group that exists; a single group gives a clone."""
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
