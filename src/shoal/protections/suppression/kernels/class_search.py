"""The search over classes of cell suppression: which subset of its keys each record keeps.

Every record is in a class of its table (kernels/tables.py), and every class that has a record has at least k. The cost
is that of the starred keys. A move opens a class for a record that would pay less in it, or moves the record into an
open one. The new class takes records that gain from classes above k, then from classes of exactly k, which it breaks,
then records that lose little. The other records of broken classes go to their cheapest open class. The move is undone
if simulated annealing rejects it (Kirkpatrick, Gelatt and Vecchi 1983).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Indices, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.randomness import below, uniform

LOG, STAMP, DISPLACED = 0, 1, 2  # the places of `State.numbers`
LOOKS = 256  # steps between two looks at the flag
SCAN = 3_000  # records of a class that a move looks at, at most
LEVELS = 3  # how many of the cheapest keys a record may lose when a class needs it


class Tables(NamedTuple):
    """The classes of the tuples, and the records of each tuple."""

    table: Indices  # [tuple, place of a subset]: the class, or -1 if it is below k
    cost: Floats  # of each place, in ascending order
    place: Indices  # of each class
    start: Ints  # the tuples of class c are members[start[c]:start[c + 1]]
    members: Indices
    tuple_of: Indices  # of each record
    first_row: Ints  # the records of tuple u are first_row[u] up to first_row[u + 1]
    cheapest: Floats  # the lowest cost of each tuple: that of its first class


class State(NamedTuple):
    """The class of each record, the records of each class as linked lists, and the moves since the last decision."""

    of_row: Indices
    size: Indices
    head: Indices
    after: Indices
    before: Indices
    rows: Indices  # the log: the records that moved; none moves twice
    origins: Indices  # the log: the classes that they came from
    broken: Ints  # the number of the move that broke a class
    displaced: Indices
    numbers: Ints


TABLES = Tables(
    np.zeros((1, 1), np.int32),
    np.zeros(1),
    np.zeros(1, np.int32),
    np.zeros(1, np.int64),
    np.zeros(1, np.int32),
    np.zeros(1, np.int32),
    np.zeros(1, np.int64),
    np.zeros(1),
)
STATE = State(
    np.zeros(1, np.int32),
    np.zeros(1, np.int32),
    np.zeros(1, np.int32),
    np.zeros(1, np.int32),
    np.zeros(1, np.int32),
    np.zeros(1, np.int32),
    np.zeros(1, np.int32),
    np.zeros(1, np.int64),
    np.zeros(1, np.int32),
    np.zeros(1, np.int64),
)


@inner
def put(state: State, row: int, target: int) -> None:
    """Move a record into a class; -1 means none."""
    origin = state.of_row[row]
    if origin >= 0:
        before, after = state.before[row], state.after[row]
        if before >= 0:
            state.after[before] = after
        else:
            state.head[origin] = after
        if after >= 0:
            state.before[after] = before
        state.size[origin] -= 1
    state.of_row[row] = target
    if target >= 0:
        head = state.head[target]
        state.after[row], state.before[row] = head, -1
        if head >= 0:
            state.before[head] = row
        state.head[target] = row
        state.size[target] += 1


@inner
def move(state: State, row: int, target: int) -> None:
    """Move a record into a class, and write it into the log."""
    log = state.numbers[LOG]
    state.rows[log], state.origins[log] = row, state.of_row[row]
    state.numbers[LOG] = log + 1
    put(state, row, target)


@inner
def undo(state: State) -> None:
    """Take back the moves of the log, the last one first."""
    for i in range(state.numbers[LOG] - 1, -1, -1):
        put(state, state.rows[i], state.origins[i])


@inner
def cheapest_open(tables: Tables, state: State, u: int, k: int) -> int:
    """Return the place of the cheapest open class of a tuple, or -1."""
    for p in range(tables.cost.size):
        c = tables.table[u, p]
        if c >= 0 and state.size[c] >= k and state.broken[c] != state.numbers[STAMP]:
            return p
    return -1


@inner
def leave(tables: Tables, state: State, origin: int, target: int) -> float:
    """Break a class: its records go into the target if they may be there, else they are displaced. Return the cost."""
    state.broken[origin] = state.numbers[STAMP]
    paid, change = tables.cost[tables.place[origin]], 0.0
    row = state.head[origin]
    while row >= 0:
        after = state.after[row]
        if target >= 0 and tables.table[tables.tuple_of[row], tables.place[target]] == target:
            move(state, row, target)
            change += tables.cost[tables.place[target]] - paid
        else:
            state.displaced[state.numbers[DISPLACED]] = row
            state.numbers[DISPLACED] += 1
        row = after
    return change


@inner
def settle(tables: Tables, state: State, k: int) -> float:
    """Move the displaced records into their cheapest open classes; return the cost.

    Those that have none open a class of their own, if at least k of them can be in it. The cost is infinite if a
    record has no class then.
    """
    change, left = 0.0, 0
    for i in range(state.numbers[DISPLACED]):
        row = state.displaced[i]
        u = tables.tuple_of[row]
        p = cheapest_open(tables, state, u, k)
        if p < 0:
            state.displaced[left] = row
            left += 1
            continue
        change += tables.cost[p] - tables.cost[tables.place[state.of_row[row]]]
        move(state, row, tables.table[u, p])
    for i in range(left):
        row = state.displaced[i]
        if state.broken[state.of_row[row]] != state.numbers[STAMP]:
            continue  # an earlier one has taken it along
        for p in range(tables.cost.size):
            c = tables.table[tables.tuple_of[row], p]
            count = 0
            for j in range(i, left):
                other = state.displaced[j]
                is_free = state.broken[state.of_row[other]] == state.numbers[STAMP]
                if c >= 0 and is_free and tables.table[tables.tuple_of[other], p] == c:
                    count += 1
            if c < 0 or count < k or state.broken[c] == state.numbers[STAMP]:
                continue
            for j in range(i, left):
                other = state.displaced[j]
                is_free = state.broken[state.of_row[other]] == state.numbers[STAMP]
                if is_free and tables.table[tables.tuple_of[other], p] == c:
                    change += tables.cost[p] - tables.cost[tables.place[state.of_row[other]]]
                    move(state, other, c)
            break
        if state.broken[state.of_row[row]] == state.numbers[STAMP]:
            return np.inf
    return change


@inner
def join(tables: Tables, state: State, row: int, target: int, k: int) -> float:
    """Move a record into an open class, and break its class if that had exactly k records. Return the cost."""
    origin = state.of_row[row]
    change = tables.cost[tables.place[target]] - tables.cost[tables.place[origin]]
    move(state, row, target)
    if 0 < state.size[origin] < k:
        leave(tables, state, origin, -1)
        change += settle(tables, state, k)
    return change


@inner
def open_class(tables: Tables, state: State, target: int, k: int, offset: int, step: float, forced: bool) -> float:
    """Open a class and return the change of the cost; infinite if it cannot get k records.

    Args:
        tables: The classes of the tuples.
        state: The classes of the records.
        target: The class to open.
        k: The smallest number of records in a class.
        offset: The place among its tuples where the search for records begins.
        step: The cost of the cheapest key.
        forced: Whether any records may be taken, whatever they lose.
    """
    price = tables.cost[tables.place[target]]
    low, length = tables.start[target], tables.start[target + 1] - tables.start[target]
    most = state.of_row.size if forced else SCAN
    change, i, looks = 0.0, 0, 0
    while i < length and looks < most:  # records without a class, and those that gain from classes above k
        u = tables.members[low + (offset + i) % length]
        i += 1
        for row in range(tables.first_row[u], min(tables.first_row[u + 1], tables.first_row[u] + most)):
            origin = state.of_row[row]
            looks += 1
            if origin < 0:
                move(state, row, target)
            elif origin != target and state.size[origin] > k and tables.cost[tables.place[origin]] > price:
                change += price - tables.cost[tables.place[origin]]
                move(state, row, target)
    i, looks = 0, 0
    while i < length and looks < most and state.size[target] < k:  # those that gain from classes of exactly k
        u = tables.members[low + (offset + i) % length]
        i += 1
        for row in range(tables.first_row[u], min(tables.first_row[u + 1], tables.first_row[u] + most)):
            origin = state.of_row[row]
            looks += 1
            if origin == target or state.size[target] >= k or state.broken[origin] == state.numbers[STAMP]:
                continue
            if tables.cost[tables.place[origin]] > price:
                change += leave(tables, state, origin, target)
    for turn in range(2 * LEVELS):  # those that lose little: from classes above k, then from classes of exactly k
        is_breaking = turn % 2 == 1
        lowest = price - (turn // 2 + 0.5) * step
        i, looks = 0, 0
        while i < length and looks < most and state.size[target] < k:
            u = tables.members[low + (offset + i) % length]
            i += 1
            for row in range(tables.first_row[u], min(tables.first_row[u + 1], tables.first_row[u] + most)):
                origin = state.of_row[row]
                looks += 1
                if origin == target or state.size[target] >= k or state.broken[origin] == state.numbers[STAMP]:
                    continue
                paid = tables.cost[tables.place[origin]]
                if paid < lowest or (state.size[origin] > k) == is_breaking:
                    continue
                if is_breaking:
                    change += leave(tables, state, origin, target)
                else:
                    change += price - paid
                    move(state, row, target)
    i = 0
    while forced and i < length and state.size[target] < k:
        u = tables.members[low + (offset + i) % length]
        i += 1
        for row in range(tables.first_row[u], tables.first_row[u + 1]):
            origin = state.of_row[row]
            if origin != target and state.size[target] < k and state.broken[origin] != state.numbers[STAMP]:
                change += leave(tables, state, origin, target)
    if state.size[target] < k:
        return np.inf
    return change + settle(tables, state, k)


@inner
def begin(state: State) -> None:
    """Begin a move: empty the log, and count it."""
    state.numbers[LOG] = 0
    state.numbers[DISPLACED] = 0
    state.numbers[STAMP] += 1


@kernel(lambda: ("float64", TABLES, STATE, "int64", "float64", "uint8[::1]"))
def peel(tables: Tables, state: State, k: int, step: float, flag: Bytes) -> float:
    """Put the records into classes, the subsets with the lowest cost first, and return the cost.

    A class gets every record without a class that may be in it, if these are at least k. The rest goes to its cheapest
    open class. A record that has none opens the class of its last subset, which takes records from others.
    It ends early, with records without a class, once the flag is set.
    """
    n = state.of_row.size
    waiting = np.zeros(state.size.size, np.int64)
    for row in range(n):
        state.of_row[row] = -1
    for p in range(tables.cost.size):
        if flag[0] != 0:
            return np.inf
        for row in range(n):
            c = tables.table[tables.tuple_of[row], p]
            if state.of_row[row] < 0 and c >= 0:
                waiting[c] += 1
        for row in range(n):
            c = tables.table[tables.tuple_of[row], p]
            if state.of_row[row] < 0 and c >= 0 and waiting[c] >= k:
                put(state, row, c)
    for row in range(n):
        if state.of_row[row] < 0:
            begin(state)
            u = tables.tuple_of[row]
            p = cheapest_open(tables, state, u, k)
            if p >= 0:
                put(state, row, tables.table[u, p])
    for row in range(n):
        if flag[0] != 0:
            return np.inf
        if state.of_row[row] < 0:
            begin(state)
            last = tables.table[tables.tuple_of[row], tables.cost.size - 1]
            if state.size[last] >= k:
                put(state, row, last)
            else:
                open_class(tables, state, last, k, 0, step, True)
    total = 0.0
    for row in range(n):
        total += tables.cost[tables.place[state.of_row[row]]]
    return total


@inner
def choose(tables: Tables, u: int, paid: float, random: NDArray[np.uint64]) -> int:
    """Return a random class of a tuple that costs less than it pays, each with the same probability; -1: none."""
    chosen, count = -1, 0
    for p in range(tables.cost.size):
        if tables.cost[p] >= paid:
            break
        c = tables.table[u, p]
        if c >= 0:
            count += 1
            if below(random, count) == 0:
                chosen = c
    return chosen


@kernel(lambda: ("float64", TABLES, STATE, "int64", "int64", "float64", "float64", "uint64[::1]", "uint8[::1]"))
def anneal(
    tables: Tables,
    state: State,
    k: int,
    moves: int,
    temperature: float,
    step: float,
    random: NDArray[np.uint64],
    flag: Bytes,
) -> float:
    """Try this number of moves at a temperature and return the change of the cost."""
    change = 0.0
    n = state.of_row.size
    for number in range(moves):
        if number % LOOKS == 0 and flag[0] != 0:
            break
        row = below(random, n)
        u = tables.tuple_of[row]
        paid = tables.cost[tables.place[state.of_row[row]]]
        if tables.cheapest[u] >= paid:
            continue
        target = choose(tables, u, paid, random)
        begin(state)
        if state.size[target] >= k:
            delta = join(tables, state, row, target, k)
        else:
            offset = below(random, int(tables.start[target + 1] - tables.start[target]))
            delta = open_class(tables, state, target, k, offset, step, False)
        if delta <= 0.0 or (delta < np.inf and uniform(random) < np.exp(-delta / temperature)):
            change += delta
        else:
            undo(state)
    return change
