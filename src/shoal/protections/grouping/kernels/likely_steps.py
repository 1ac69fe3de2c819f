"""Random steps from one grouping of columns to another, drawn with an estimate of what they cost.

Most random steps are far too dear, and costing one takes MDAV on two new column groups. What was costed teaches what
to expect: the price of a group is estimated as a sum over its pairs of columns, divided by the root of its size, and a
number for its size. A step is handed out only if its estimate exceeds what it may cost by no more than a doubt, drawn
anew for every step from an exponential with the estimate's mean miss; so no step is ruled out for good.

A grouping is an array here: the number of each column's group.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.randomness import below, uniform

SWAP, SPLIT, MERGE, ALONE = 0.4, 0.03, 0.03, 0.06  # shares of the steps; the others move a column
TRIES = 2000  # the step after so many that looked too dear is handed out whatever it looks like


@inner
def estimated_price(groups: Ints, pairs: Floats, sizes: Floats) -> float:
    """What a grouping costs by the estimate: `pairs` below the diagonal, and `sizes` from 0 columns on."""
    d = groups.size
    count = np.zeros(d, np.int64)
    total = np.zeros(d)
    for i in range(d):
        count[groups[i]] += 1
        for j in range(i):
            if groups[j] == groups[i]:
                total[groups[i]] += pairs[i, j]
    price = 0.0
    for g in range(d):
        if count[g] > 0:
            price += total[g] / math.sqrt(count[g]) + sizes[count[g]]
    return price


@inner
def _other(count: Ints, home: int, place: int) -> int:
    """The group at a place in the row of those that are not empty, `home` left out."""
    for g in range(count.size):
        if count[g] > 0 and g != home:
            if place == 0:
                return g
            place -= 1
    return home


@inner
def _random_step(here: Ints, count: Ints, there: Ints, state: NDArray[np.uint64]) -> None:
    """Write a random neighbour of `here` into `there`; where there is none of the kind drawn, a copy."""
    d = here.size
    copy_first(d, here, there)
    column = below(state, d)
    home = here[column]
    free, others = 0, -1
    for g in range(d):
        others += count[g] > 0
    while free < d - 1 and count[free] > 0:
        free += 1
    chance = uniform(state)
    if others == 0 or chance < SPLIT:  # half of a group, drawn one by one, becomes a group of its own
        leave, left = count[home] // 2, count[home]
        for i in range(d):
            if here[i] == home:
                if below(state, left) < leave:
                    there[i] = free
                    leave -= 1
                left -= 1
        return
    chance -= SPLIT
    target = _other(count, home, below(state, others))
    if chance < MERGE:
        for i in range(d):
            if here[i] == home:
                there[i] = target
    elif chance < MERGE + ALONE:
        if count[home] > 1:
            there[column] = free
    elif chance < MERGE + ALONE + SWAP:
        place = below(state, d - count[home])
        for i in range(d):
            if here[i] != home:
                if place == 0:
                    there[column], there[i] = here[i], home
                    break
                place -= 1
    else:
        there[column] = target


@kernel(
    "Tuple((float64, float64))(int64[::1], int64[::1], float64[:,::1], float64[::1], float64, float64, uint64[::1])"
)
def likely_step(
    here: Ints, there: Ints, pairs: Floats, sizes: Floats, temperature: float, doubt: float, state: NDArray[np.uint64]
) -> tuple[float, float]:
    """Write a step that looks worth costing into `there`; gives what it may cost, and what it does by the estimate."""
    d = here.size
    count = np.zeros(d, np.int64)
    for i in range(d):
        count[here[i]] += 1
    now = estimated_price(here, pairs, sizes)
    allowed, change = 0.0, 0.0
    for _ in range(TRIES):
        _random_step(here, count, there, state)
        allowed = -temperature * math.log(1.0 - uniform(state))
        change = estimated_price(there, pairs, sizes) - now
        if (here != there).any() and change - allowed <= -doubt * math.log(1.0 - uniform(state)):
            break
    return allowed, change


@kernel("void(int64[::1], int64[::1], float64[:,::1], float64[::1], float64)")
def learn_step(here: Ints, there: Ints, pairs: Floats, sizes: Floats, correction: float) -> None:
    """Change the estimate of a step by `correction`, spread over its pairs and sizes (normalised least squares)."""
    d = here.size
    before, after = np.zeros(d, np.int64), np.zeros(d, np.int64)
    for i in range(d):
        before[here[i]] += 1
        after[there[i]] += 1
    weights = np.zeros((d, d))
    by_size = np.zeros(d + 1)
    square = 0.0
    for i in range(d):
        by_size[before[i]] -= before[i] > 0
        by_size[after[i]] += after[i] > 0
        for j in range(i):
            if there[i] == there[j]:
                weights[i, j] += 1.0 / math.sqrt(after[there[i]])
            if here[i] == here[j]:
                weights[i, j] -= 1.0 / math.sqrt(before[here[i]])
            square += weights[i, j] ** 2
    for size in range(1, d + 1):
        square += by_size[size] ** 2
    if square == 0.0:
        return
    rate = correction / square
    for i in range(d):
        for j in range(i):
            pairs[i, j] += rate * weights[i, j]
    for size in range(1, d + 1):
        sizes[size] += rate * by_size[size]
