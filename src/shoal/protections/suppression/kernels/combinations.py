"""Cell suppression for combinations of a few keys: which occur too rarely, and stars that make them disappear.

A combination with a star or a missing cell is absent. A star therefore lowers the counts of all combinations that the
cell is part of, and others may become too rare. Cells only disappear, so starring always ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Indices, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.randomness import below, uniform

DRAWN = 6  # records whose stars a move takes, at most
NODES = 4_000  # of the search for the cheapest stars of one record, at most


class Combinations(NamedTuple):
    """The combinations of the file.

    sets: the keys of each set, as bits. of_key: [key, i], the sets that a key is part of, then -1.
    number: [record, set], the combination. absent: the missing cells of each record, as bits. The records that have
    combination c, stars or not, are members[start[c]:start[c + 1]].
    """

    sets: Ints
    of_key: Indices
    number: Indices
    absent: Ints
    start: Ints
    members: Indices


class Starring(NamedTuple):
    """The stars of each record as bits, the present records of each combination, and the changes since a decision.

    A combination that became too rare is pending until its records have been looked at.
    """

    stars: Ints
    counts: Ints
    rows: Indices  # the log
    keys: Indices  # the log: the key, or ~key if its star was taken back
    pending: Indices
    is_pending: Bytes
    numbers: Ints  # the lengths of the log and of the pending combinations


COMBINATIONS = Combinations(
    np.zeros(1, np.int64), np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int32), np.zeros(1, np.int64),
    np.zeros(1, np.int64), np.zeros(1, np.int32),
)  # fmt: skip
STARRING = Starring(
    np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32),
    np.zeros(1, np.uint8), np.zeros(1, np.int64),
)  # fmt: skip
LOG, PENDING = 0, 1  # the places of `Starring.numbers`


@inner
def change_star(listed: Combinations, state: Starring, k: int, row: int, key: int, is_star: bool) -> None:
    """Star a cell or take its star back, and count its combinations anew."""
    bit = np.int64(1) << key
    if is_star:
        gone = state.stars[row] | listed.absent[row]
        state.stars[row] |= bit
    else:
        state.stars[row] &= ~bit
        gone = state.stars[row] | listed.absent[row]
    change = -1 if is_star else 1
    for i in range(listed.of_key.shape[1]):
        s = listed.of_key[key, i]
        if s < 0:
            break
        if listed.sets[s] & gone == 0:
            c = listed.number[row, s]
            state.counts[c] += change
            if is_star and 0 < state.counts[c] < k and state.is_pending[c] == 0:
                state.is_pending[c] = 1
                state.pending[state.numbers[PENDING]] = c
                state.numbers[PENDING] += 1


@inner
def log_change(listed: Combinations, state: Starring, k: int, row: int, key: int, is_star: bool) -> None:
    """Change a star and write it into the log."""
    log = state.numbers[LOG]
    state.rows[log], state.keys[log] = row, key if is_star else ~key
    state.numbers[LOG] = log + 1
    change_star(listed, state, k, row, key, is_star)


@inner
def unsafe_sets(listed: Combinations, state: Starring, row: int, k: int, unsafe: Ints) -> int:
    """Write the sets in which the combination of a record is too rare; return their number."""
    gone, count = state.stars[row] | listed.absent[row], 0
    for s in range(listed.sets.size):
        if listed.sets[s] & gone == 0 and state.counts[listed.number[row, s]] < k:
            unsafe[count] = listed.sets[s]
            count += 1
    return count


@inner
def cheapest_hits(unsafe: Ints, count: int, cost: Floats, first: int, stack: Ints, paid: Floats) -> Any:
    """Return keys, as bits, of which every unsafe set has one, at the lowest cost: by branch and bound.

    `first` is the key that a branch tries first; it decides between equal costs.
    """
    best, lowest = np.int64(0), np.inf
    top, nodes = 1, 0
    stack[0], paid[0] = 0, 0.0
    while top > 0:
        top -= 1
        chosen, price = stack[top], paid[top]
        if price >= lowest:
            continue
        nodes += 1
        if nodes > NODES and lowest < np.inf:
            break
        missed = np.int64(0)
        for i in range(count):
            if unsafe[i] & chosen == 0:
                missed = unsafe[i]
                break
        if missed == 0:
            best, lowest = chosen, price
            continue
        for j in range(cost.size):
            key = (first + j) % cost.size
            if (missed >> key) & 1 and price + cost[key] < lowest:
                stack[top], paid[top] = chosen | (np.int64(1) << key), price + cost[key]
                top += 1
    return best


@kernel(lambda: ("float64", COMBINATIONS, STARRING, "int64", "float64[::1]"))
def cheapest_bound(listed: Combinations, state: Starring, k: int, cost: Floats) -> float:
    """Return the sum of each record's cheapest stars, if the others had none: no solution costs less."""
    unsafe = np.empty(listed.sets.size, np.int64)
    stack, paid = np.empty(64 * 64, np.int64), np.empty(64 * 64)
    total = 0.0
    for row in range(state.stars.size):
        count = unsafe_sets(listed, state, row, k, unsafe)
        if count > 0:
            bits = cheapest_hits(unsafe, count, cost, 0, stack, paid)
            for key in range(cost.size):
                if (bits >> key) & 1:
                    total += cost[key]
    return total


@inner
def star_row(
    listed: Combinations, state: Starring, k: int, cost: Floats, row: int, scratch: Any, random: NDArray[np.uint64]
) -> float:
    """Star the cheapest cells of a record that remove its rare combinations; return the cost."""
    unsafe, stack, paid = scratch
    count = unsafe_sets(listed, state, row, k, unsafe)
    if count == 0:
        return 0.0
    change = 0.0
    bits = cheapest_hits(unsafe, count, cost, below(random, cost.size), stack, paid)
    for key in range(cost.size):
        if (bits >> key) & 1:
            log_change(listed, state, k, row, key, True)
            change += cost[key]
    return change


@inner
def star_pending(
    listed: Combinations, state: Starring, k: int, cost: Floats, scratch: Any, random: NDArray[np.uint64]
) -> float:
    """Star the records of the pending combinations until none is pending; return the cost."""
    change = 0.0
    while state.numbers[PENDING] > 0:
        state.numbers[PENDING] -= 1
        c = state.pending[state.numbers[PENDING]]
        state.is_pending[c] = 0
        if 0 < state.counts[c] < k:
            for i in range(listed.start[c], listed.start[c + 1]):
                change += star_row(listed, state, k, cost, listed.members[i], scratch, random)
    return change


@inner
def release(listed: Combinations, state: Starring, row: int, k: int, cost: Floats, first: int) -> float:
    """Take back the stars of a record that no combination needs; return the change of the cost."""
    change = 0.0
    for j in range(cost.size):
        key = (first + j) % cost.size
        bit = np.int64(1) << key
        if state.stars[row] & bit == 0:
            continue
        gone = (state.stars[row] & ~bit) | listed.absent[row]
        is_free = True
        for i in range(listed.of_key.shape[1]):
            s = listed.of_key[key, i]
            if s < 0:
                break
            if listed.sets[s] & gone == 0 and state.counts[listed.number[row, s]] + 1 < k:
                is_free = False
                break
        if is_free:
            log_change(listed, state, k, row, key, False)
            change -= cost[key]
    return change


@kernel(lambda: ("float64", COMBINATIONS, STARRING, "int64", "float64[::1]", "uint64[::1]", "uint8[::1]"))
def first_stars(
    listed: Combinations, state: Starring, k: int, cost: Floats, random: NDArray[np.uint64], flag: Bytes
) -> float:
    """Star records until no combination is too rare, take back what is not needed, and return the cost.

    It ends early, with combinations that are too rare, once the flag is set.
    """
    scratch = (np.empty(listed.sets.size, np.int64), np.empty(64 * 64, np.int64), np.empty(64 * 64))
    n, total = state.stars.size, 0.0
    first = below(random, n)
    for i in range(n):
        if flag[0] != 0:
            return np.inf
        state.numbers[LOG] = 0
        total += star_row(listed, state, k, cost, (first + i) % n, scratch, random)
    state.numbers[LOG] = 0
    total += star_pending(listed, state, k, cost, scratch, random)
    for row in range(n):
        if flag[0] != 0:
            break
        state.numbers[LOG] = 0
        total += release(listed, state, row, k, cost, below(random, cost.size))
    return total


@kernel(
    lambda: (
        *("float64", COMBINATIONS, STARRING, "int64", "float64[::1]", "int64", "float64"),
        *("uint64[::1]", "uint8[::1]"),
    )
)
def improve_stars(
    listed: Combinations,
    state: Starring,
    k: int,
    cost: Floats,
    moves: int,
    temperature: float,
    random: NDArray[np.uint64],
    flag: Bytes,
) -> float:
    """Take all stars from a few records, star records anew, and keep what annealing accepts; return the change."""
    scratch = (np.empty(listed.sets.size, np.int64), np.empty(64 * 64, np.int64), np.empty(64 * 64))
    n, total = state.stars.size, 0.0
    drawn = np.empty(DRAWN, np.int32)
    for _ in range(moves):
        if flag[0] != 0:
            break
        state.numbers[LOG] = 0
        change = 0.0
        place = below(random, n)
        taken = 2 + below(random, drawn.size - 1)
        for i in range(taken):
            tries = 0
            while state.stars[place] == 0 and tries < n:
                place = place + 1 if place + 1 < n else 0
                tries += 1
            drawn[i] = place
            for key in range(cost.size):
                if (state.stars[place] >> key) & 1:
                    log_change(listed, state, k, place, key, False)
                    change -= cost[key]
            place = below(random, n)
        for i in range(taken):
            change += star_row(listed, state, k, cost, drawn[i], scratch, random)
        change += star_pending(listed, state, k, cost, scratch, random)
        for i in range(state.numbers[LOG]):
            change += release(listed, state, state.rows[i], k, cost, below(random, cost.size))
        if change <= 0.0 or uniform(random) < np.exp(-change / temperature):
            total += change
            continue
        for i in range(state.numbers[LOG] - 1, -1, -1):
            key = state.keys[i]
            change_star(listed, state, k, state.rows[i], key if key >= 0 else ~key, key < 0)
        while state.numbers[PENDING] > 0:  # undoing may pass rare counts on its way
            state.numbers[PENDING] -= 1
            state.is_pending[state.pending[state.numbers[PENDING]]] = 0
    return total
