"""Cell suppression if a star matches every value: which records are compatible, and a search for few stars.

An entity is a tuple with its records that have no star, or a single record with stars. Two entities are compatible if
no key has different values in them, where a star differs from nothing. A star never makes records incompatible, so
starring records one by one always ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Indices, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.randomness import below, uniform

STAR = np.int32(-1)
ENTITIES = 0  # the place of `Cover.numbers` with the number of entities
TAKEN = 4  # records whose stars a move takes, at most
WIDE = 12  # with more keys, not every set of keys is tried
NEAR = 48  # entities that it may become equal to then


class Cover(NamedTuple):
    """The entities: their cells, their records, and how many records each is compatible with."""

    cells: Indices  # [entity, key], a star is -1; the last column is the stratum
    records: Ints
    compatible: Ints
    tuple_of: Indices  # of each entity
    numbers: Ints


COVER = Cover(
    np.zeros((1, 1), np.int32),
    np.zeros(1, np.int64),
    np.zeros(1, np.int64),
    np.zeros(1, np.int32),
    np.zeros(1, np.int64),
)


@inner
def differences(cells: Indices, one: int, two: int) -> Any:
    """Return the keys in which two entities have different values, as bits; -1 if their strata differ."""
    last = cells.shape[1] - 1
    if cells[one, last] != cells[two, last]:
        return np.int64(-1)
    bits = np.int64(0)
    for key in range(last):
        a, b = cells[one, key], cells[two, key]
        if a != b and a >= 0 and b >= 0:
            bits |= np.int64(1) << key
    return bits


@kernel("int64[::1](int32[:, ::1], int64[::1])")
def count_compatible(cells: Indices, records: Ints) -> Any:
    """Return how many records each entity is compatible with, itself included."""
    n = cells.shape[0]
    counts = records.copy()
    for one in range(n):
        for two in range(one + 1, n):
            if differences(cells, one, two) == 0:
                counts[one] += records[two]
                counts[two] += records[one]
    return counts


@inner
def star_of(cover: Cover, e: int) -> Any:
    """Return the starred keys of an entity, as bits."""
    bits = np.int64(0)
    for key in range(cover.cells.shape[1] - 1):
        if cover.cells[e, key] < 0:
            bits |= np.int64(1) << key
    return bits


@inner
def price(cost: Floats, bits: Any) -> float:
    """Return the cost of stars in these keys."""
    total = 0.0
    for key in range(cost.size):
        if (bits >> key) & 1:
            total += cost[key]
    return total


@inner
def add_stars(cover: Cover, e: int, bits: Any) -> int:
    """Star keys of an entity, of one record if it is a tuple; return the entity of this record."""
    target = e
    if cover.tuple_of[e] == e:  # a tuple: one of its records leaves it
        target = int(cover.numbers[ENTITIES])
        cover.numbers[ENTITIES] += 1
        cover.records[e] -= 1
        cover.records[target] = 1
        cover.tuple_of[target] = e
        cover.compatible[target] = cover.compatible[e]
        for key in range(cover.cells.shape[1]):
            cover.cells[target, key] = cover.cells[e, key]
    for other in range(int(cover.numbers[ENTITIES])):
        if other != target:
            apart = differences(cover.cells, target, other)
            if apart > 0 and (apart & ~bits) == 0:
                cover.compatible[other] += 1
                cover.compatible[target] += cover.records[other]
    for key in range(cover.cells.shape[1] - 1):
        if (bits >> key) & 1:
            cover.cells[target, key] = STAR
    return target


@inner
def lost_by(cover: Cover, e: int, key: int, k: int) -> Any:
    """Return how many records an entity loses without the star of a key; -1 if some record then has fewer than k."""
    home = cover.tuple_of[e]
    value, lost = cover.cells[home, key], 0
    for other in range(int(cover.numbers[ENTITIES])):
        if other == e or cover.records[other] == 0 or cover.cells[other, key] == value or cover.cells[other, key] < 0:
            continue
        if differences(cover.cells, e, other) == 0:
            if cover.compatible[other] <= k:
                return -1
            lost += cover.records[other]
    return lost if cover.compatible[e] - lost >= k else -1


@inner
def take_back(cover: Cover, e: int, key: int) -> None:
    """Replace the star of a key by the value of the record."""
    value = cover.cells[cover.tuple_of[e], key]
    for other in range(int(cover.numbers[ENTITIES])):
        if other == e or cover.cells[other, key] == value or cover.cells[other, key] < 0:
            continue
        if differences(cover.cells, e, other) == 0:
            cover.compatible[other] -= 1
            cover.compatible[e] -= cover.records[other]
    cover.cells[e, key] = value


@inner
def forget(cover: Cover, e: int) -> None:
    """Give a record without stars back to its tuple; the last entity takes its place."""
    home = cover.tuple_of[e]
    cover.records[home] += 1
    last = int(cover.numbers[ENTITIES]) - 1
    cover.numbers[ENTITIES] = last
    if last != e:
        for key in range(cover.cells.shape[1]):
            cover.cells[e, key] = cover.cells[last, key]
        cover.records[e], cover.compatible[e] = cover.records[last], cover.compatible[last]
        cover.tuple_of[e] = cover.tuple_of[last]


@inner
def cheapest_stars(cover: Cover, e: int, k: int, cost: Floats, sums: Ints, near: Any) -> Any:
    """Return the keys, as bits, whose stars make an entity compatible with k records at the lowest cost.

    With many keys, only keys that make it equal to one, two or all of the nearest entities are tried, and all keys.
    """
    keys = cost.size
    free = (np.int64(1) << keys) - 1
    if keys <= WIDE:
        sums[: free + 1] = 0
        for other in range(int(cover.numbers[ENTITIES])):
            if other != e and cover.records[other] > 0:
                apart = differences(cover.cells, e, other)
                if apart >= 0:
                    sums[apart] += cover.records[other]
        own_records = cover.records[e]
        for key in range(keys):
            for bits in range(free + 1):
                if (bits >> key) & 1:
                    sums[bits] += sums[bits ^ (np.int64(1) << key)]
        best, lowest, most = free, np.inf, np.int64(0)
        for bits in range(1, free + 1):
            if sums[bits] + own_records >= k:
                paid = price(cost, bits)
                if paid < lowest or (paid == lowest and sums[bits] > most):
                    best, lowest, most = np.int64(bits), paid, sums[bits]
        return best
    bits_of, paid_of, records_of = near
    count_near = 0
    for other in range(int(cover.numbers[ENTITIES])):
        if other == e or cover.records[other] == 0:
            continue
        apart = differences(cover.cells, e, other)
        if apart <= 0:
            continue
        paid = price(cost, apart)
        if count_near == NEAR and paid >= paid_of[NEAR - 1]:
            continue
        place = min(count_near, NEAR - 1)  # the nearest entities, in ascending order of the cost
        count_near = min(count_near + 1, NEAR)
        while place > 0 and paid_of[place - 1] > paid:
            bits_of[place], paid_of[place] = bits_of[place - 1], paid_of[place - 1]
            records_of[place] = records_of[place - 1]
            place -= 1
        bits_of[place], paid_of[place], records_of[place] = apart, paid, cover.records[other]
    best, lowest, together = free, price(cost, free), np.int64(0)
    for i in range(count_near):
        together |= bits_of[i]
        for j in range(-1, i + 1):
            bits = together if j < 0 else bits_of[i] | bits_of[j]
            paid = price(cost, bits)
            if paid >= lowest:
                continue
            count = cover.compatible[e]
            for other in range(count_near):
                if bits_of[other] & ~bits == 0:
                    count += records_of[other]
            if count >= k:
                best, lowest = bits, paid
    return best


@inner
def repair(cover: Cover, k: int, cost: Floats, random: NDArray[np.uint64], sums: Ints, near: Any, flag: Bytes) -> float:
    """Star records until each is compatible with k records, those with the fewest first; return the cost.

    It ends early, at an infinite cost, once the flag is set.
    """
    paid = 0.0
    while True:
        if flag[0] != 0:
            return np.inf
        worst, ties = -1, 0
        for e in range(int(cover.numbers[ENTITIES])):
            if cover.records[e] == 0 or cover.compatible[e] >= k:
                continue
            if worst < 0 or cover.compatible[e] < cover.compatible[worst]:
                worst, ties = e, 1
            elif cover.compatible[e] == cover.compatible[worst]:
                ties += 1
                if below(random, ties) == 0:
                    worst = e
        if worst < 0:
            return paid
        bits = cheapest_stars(cover, worst, k, cost, sums, near)
        before = star_of(cover, worst)
        add_stars(cover, worst, bits)
        paid += price(cost, bits & ~before)


@inner
def prune(cover: Cover, e: int, k: int, cost: Floats, random: NDArray[np.uint64]) -> float:
    """Take back the stars of a record that nobody needs, in random order; return the change of the cost."""
    keys, change = cost.size, 0.0
    first = below(random, keys)
    for i in range(keys):
        key = (first + i) % keys
        if cover.cells[e, key] < 0 and cover.cells[cover.tuple_of[e], key] >= 0 and lost_by(cover, e, key, k) >= 0:
            take_back(cover, e, key)
            change -= cost[key]
    return change


@kernel(lambda: ("float64", COVER, "int64", "int64", "float64[::1]", "uint64[::1]", "uint8[::1]"))
def first_cover(cover: Cover, tuples: int, k: int, cost: Floats, random: NDArray[np.uint64], flag: Bytes) -> float:
    """Star records until each is compatible with k records, take back what is not needed, and return the cost.

    The cost is infinite if the flag was set before all records were.
    """
    sums = np.zeros(1 << min(cost.size, WIDE), np.int64)
    near = (np.zeros(NEAR, np.int64), np.zeros(NEAR), np.zeros(NEAR, np.int64))
    paid = repair(cover, k, cost, random, sums, near, flag)
    for e in range(int(cover.numbers[ENTITIES]) - 1, tuples - 1, -1):
        if flag[0] != 0:
            break
        paid += prune(cover, e, k, cost, random)
        if star_of(cover, e) == star_of(cover, int(cover.tuple_of[e])):
            forget(cover, e)
    return paid


@kernel(lambda: ("float64", COVER, "int64", "int64", "float64[::1]", "int64", "float64", "uint64[::1]", "uint8[::1]"))
def improve_cover(
    cover: Cover,
    tuples: int,
    k: int,
    cost: Floats,
    moves: int,
    temperature: float,
    random: NDArray[np.uint64],
    flag: Bytes,
) -> float:
    """Take all stars from a few records, star records anew, and keep what annealing accepts; return the change.

    The few records are a random one with stars, and others that are compatible with it or random ones.
    """
    sums = np.zeros(1 << min(cost.size, WIDE), np.int64)
    near = (np.zeros(NEAR, np.int64), np.zeros(NEAR), np.zeros(NEAR, np.int64))
    keys = cost.size
    cells, records = cover.cells.copy(), cover.records.copy()
    compatible, tuple_of = cover.compatible.copy(), cover.tuple_of.copy()
    total = 0.0
    for _ in range(moves):
        count = int(cover.numbers[ENTITIES])
        if flag[0] != 0 or count == tuples:
            break
        cells[:count], records[:count] = cover.cells[:count], cover.records[:count]
        compatible[:count], tuple_of[:count] = cover.compatible[:count], cover.tuple_of[:count]
        change = 0.0
        for _ in range(1 + below(random, TAKEN)):
            starred = int(cover.numbers[ENTITIES]) - tuples
            if starred == 0:
                break
            e = tuples + below(random, starred)
            for key in range(keys):
                if cover.cells[e, key] < 0 and cover.cells[cover.tuple_of[e], key] >= 0:
                    take_back(cover, e, key)
                    change -= cost[key]
            forget(cover, e)
        change += repair(cover, k, cost, random, sums, near, flag)
        for turn in range(2 * TAKEN):  # the last records with stars are the new ones; others may gain too
            starred = int(cover.numbers[ENTITIES]) - tuples
            if starred == 0:
                break
            e = tuples + (max(starred - 1 - turn, 0) if turn < TAKEN else below(random, starred))
            change += prune(cover, e, k, cost, random)
            if star_of(cover, e) == star_of(cover, int(cover.tuple_of[e])):
                forget(cover, e)
        if change <= 0.0 or uniform(random) < np.exp(-change / temperature):
            total += change
            continue
        cover.numbers[ENTITIES] = count
        cover.cells[:count], cover.records[:count] = cells[:count], records[:count]
        cover.compatible[:count], cover.tuple_of[:count] = compatible[:count], tuple_of[:count]
    return total
