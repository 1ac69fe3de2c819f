"""Equivalence classes of generalized tuples: their sizes, whether they keep k, l and t, and what they cost.

A generalization gives every value of every attribute the label of a category. Tuples whose labels agree in
every attribute form a class. Distinct tuples are counted once, so that a table of ten million rows
costs what its distinct tuples cost. Attributes are packed into a few blocks whose labels are looked
up in one table each. Class counts are addressed directly where that is small, and hashed otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.hashing import slot_of
from shoal.engine.kernels.randomness import draw

TOLERANCE = 1e-12  # of l and t, which are sums of rounded shares


class Rules(NamedTuple):
    """The l and t rules of the confidential columns, one row per column."""

    integers: Ints  # first column of its counts, width, kind of l (none, distinct, entropy, recursive), is t ordered
    floats: Floats  # l, c, t; t at 2 or above demands nothing
    overall: Floats  # the share of each confidential value in the whole table


NO_RULES = Rules(np.zeros((1, 4), np.int64), np.zeros((1, 3)), np.zeros(1))


@kernel("Tuple((int64[::1], int64[::1], int64[::1]))(int64[::1])")
def count_keys(keys: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    """Return the distinct keys in the order of their first row, the count of each, and the number of each row's key."""
    size = 1024
    table, used, number = np.empty(size, np.int64), np.zeros(size, np.uint8), np.empty(size, np.int64)
    distinct, counts = np.empty(size, np.int64), np.zeros(size, np.int64)
    of_row = np.empty(keys.size, np.int64)
    count = 0
    for i in range(keys.size):
        if 2 * count >= size:
            size *= 4
            table, used, number = np.empty(size, np.int64), np.zeros(size, np.uint8), np.empty(size, np.int64)
            wider, more = np.empty(size, np.int64), np.zeros(size, np.int64)
            copy_first(count, distinct, wider)
            copy_first(count, counts, more)
            distinct, counts = wider, more
            for u in range(count):
                place = slot_of(table, used, distinct[u])
                used[place], table[place], number[place] = 1, distinct[u], u
        place = slot_of(table, used, keys[i])
        if used[place] == 0:
            used[place], table[place], number[place] = 1, keys[i], count
            distinct[count] = keys[i]
            count += 1
        of_row[i] = number[place]
        counts[number[place]] += 1
    return distinct[:count].copy(), counts[:count].copy(), of_row


@inner
def breaks_rules(counts: Ints, total: int, rules: Rules) -> bool:
    """Return whether a class with these counts of confidential values breaks an l or t rule."""
    for r in range(rules.integers.shape[0]):
        first, width, kind = rules.integers[r, 0], rules.integers[r, 1], rules.integers[r, 2]
        wanted, c, t = rules.floats[r, 0], rules.floats[r, 1], rules.floats[r, 2]
        class_counts = counts[first : first + width]
        if kind > 0 and diversity(class_counts, total, kind, c) < wanted - TOLERANCE:
            return True
        overall = rules.overall[first : first + width]
        if t < 2.0 and closeness(class_counts, total, overall, rules.integers[r, 3] == 1) > t + TOLERANCE:
            return True
    return False


@inner
def diversity(counts: NDArray[np.int64], total: int, kind: int, c: float) -> Any:
    """Return the largest l that a class keeps: distinct values, the exponential of the entropy, or recursive (c, l)."""
    if kind == 1:
        distinct = 0
        for s in range(counts.size):
            if counts[s] > 0:
                distinct += 1
        return float(distinct)
    if kind == 2:
        entropy = 0.0
        for s in range(counts.size):
            if counts[s] > 0:
                share = counts[s] / total
                entropy -= share * np.log(share)
        return np.exp(entropy)
    # Recursive: the largest l with r_1 < c * (r_l + ... + r_m), counts sorted from the largest.
    descending = np.sort(counts)[::-1]
    tail, best = 0.0, 0.0
    for place in range(counts.size - 1, -1, -1):
        tail += descending[place]
        if descending[0] < c * tail:
            best = place + 1.0
            break
    return best


@inner
def closeness(counts: NDArray[np.int64], total: int, overall: NDArray[np.float64], ordered: bool) -> float:
    """Return the earth mover's distance of a class's confidential values from the whole table's."""
    distance, running = 0.0, 0.0
    for s in range(counts.size):
        difference = counts[s] / total - overall[s]
        if ordered:
            running += difference
            distance += abs(running)
        else:
            distance += abs(difference)
    if not ordered:
        return distance / 2.0
    return distance / (counts.size - 1) if counts.size > 1 else 0.0


@inner
def attribute_loss(
    labels: NDArray[np.int64],
    size: int,
    positions: NDArray[np.float64],
    free: bool,
    rows: NDArray[np.int64],
    penalty: NDArray[np.float64],
) -> float:
    """Return the loss of all records in one attribute: a category costs its width, or if it is free, its size - 1."""
    loss = 0.0
    if free:
        step = positions[1] - positions[0] if size > 1 else 0.0
        members = np.zeros(size, np.int64)
        for v in range(size):
            members[labels[v]] += 1
        for v in range(size):
            penalty[v] = (members[labels[v]] - 1) * step
            loss += rows[v] * penalty[v]
        return loss
    first = 0
    while first < size:
        last = first
        while last + 1 < size and labels[last + 1] == labels[first]:
            last += 1
        for v in range(first, last + 1):
            penalty[v] = positions[last] - positions[first]
            loss += rows[v] * penalty[v]
        first = last + 1
    return loss


@inner
def penalties(
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    positions: NDArray[np.float64],
    free: NDArray[np.int64],
    rows: NDArray[np.int64],
    penalty: NDArray[np.float64],
) -> float:
    """Write what each value loses by the width of its category; return the sum over all records."""
    loss = 0.0
    for j in range(sizes.size):
        for v in range(sizes[j]):
            penalty[j, v] = 0.0
        loss += attribute_loss(labels[j], sizes[j], positions[j], free[j] == 1, rows[j], penalty[j])
    return loss


@inner
def key_strides(
    labels: NDArray[np.int64], sizes: NDArray[np.int64], absent: NDArray[np.int64], strides: NDArray[np.int64]
) -> Any:
    """Write the mixed-radix place of each attribute's label; return their product, or 0 if 63 bits cannot hold it.

    Beyond 63 bits the strides are odd multipliers modulo 2^64. Such a hash could join two classes
    about once in 10^10 tables. The release check would refuse such a table.
    """
    product, exact = np.int64(1), True
    for j in range(sizes.size):
        radix = np.int64(1 + absent[j])
        for v in range(sizes[j]):
            radix = max(radix, labels[j, v] + 1 + absent[j])
        strides[j] = product
        if exact and product > (np.int64(1) << 56) // radix:
            exact = False
        if exact:
            product *= radix
    if not exact:
        random_state = np.zeros(1, np.uint64)
        for j in range(sizes.size):
            strides[j] = np.int64(draw(random_state) | np.uint64(1))
        return np.int64(0)
    return product


@inner
def fill_tables(
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    absent: NDArray[np.int64],
    members: NDArray[np.int64],
    block_sizes: NDArray[np.int64],
    strides: NDArray[np.int64],
    table: NDArray[np.int64],
) -> None:
    """Write, for each block and packed code, its part of the key."""
    for b in range(members.shape[0]):
        for code in range(block_sizes[b]):
            rest, key = code, np.int64(0)
            for place in range(members.shape[1]):
                j = members[b, place]
                if j < 0:
                    break
                radix = sizes[j] + absent[j]
                value = rest % radix
                rest //= radix
                if value < sizes[j]:
                    key += strides[j] * labels[j, value]
                else:  # the attribute is in no quasi-identifier of this tuple's set
                    top = np.int64(0)
                    for v in range(sizes[j]):
                        top = max(top, labels[j, v])
                    key += strides[j] * (top + 1)
            table[b, code] = key


@kernel(
    "float64[:, ::1](int32[:, ::1], int64[::1], int64[:, ::1], int64[::1], int64[::1], int64[::1], int64[:, ::1],"
    " float64[:, ::1], int64[:, ::1], int64[::1], int64[::1], int64, int64[:, ::1], int64[:, ::1], float64[:, ::1],"
    " float64[::1], int64[:, :, ::1])"
)
def evaluate_labels(
    blocks: NDArray[np.int32],  # packed codes of each tuple, one row per block
    base: NDArray[np.int64],  # the set of quasi-identifiers a tuple belongs to
    members: NDArray[np.int64],  # the attributes of each block, -1 for none
    block_sizes: NDArray[np.int64],
    sizes: NDArray[np.int64],  # values of each attribute
    counts: NDArray[np.int64],
    codes: NDArray[np.int64],  # attribute by tuple; read where rows are suppressed
    positions: NDArray[np.float64],  # of each value on its attribute's scale, weight and range included
    rows: NDArray[np.int64],  # of each value
    free: NDArray[np.int64],
    absent: NDArray[np.int64],
    k: int,
    confidential: NDArray[np.int64],
    rule_int: NDArray[np.int64],
    rule_float: NDArray[np.float64],
    overall: NDArray[np.float64],
    candidates: NDArray[np.int64],
) -> Any:
    """Return one row per candidate: loss, largest and smallest kept class, suppressed records, smallest class of all.

    Records of classes that break k, l or t count as suppressed: each of their cells is lost.
    """
    tuples, d = counts.size, sizes.size
    rules = Rules(rule_int, rule_float, overall)
    total_rows = 0
    for v in range(sizes[0]):
        total_rows += rows[0, v]
    answer = np.empty((candidates.shape[0], 5))
    capacity = 16
    while capacity < 2 * tuples:
        capacity *= 2
    keys, used = np.empty(capacity, np.int64), np.zeros(capacity, np.uint8)
    class_of, class_at = np.empty(tuples, np.int64), np.full(8 * capacity, -1, np.int64)
    class_rows, bad = np.empty(tuples, np.int64), np.zeros(tuples, np.uint8)
    held = np.empty((tuples if confidential.shape[1] > 0 else 0, confidential.shape[1]), np.int64)
    table = np.empty((blocks.shape[0], block_sizes.max()), np.int64)
    penalty = np.empty(positions.shape)
    strides = np.empty(d, np.int64)
    for c in range(candidates.shape[0]):
        labels = candidates[c]
        loss = penalties(labels, sizes, positions, free, rows, penalty)
        product = key_strides(labels, sizes, absent, strides)
        fill_tables(labels, sizes, absent, members, block_sizes, strides, table)
        direct = 0 < product * (base.max() + 1) <= class_at.size
        spread = product if product > 0 else np.int64(0x5851F42D4C957F2D)
        if not direct:
            used[:] = 0
        classes = 0
        for t in range(tuples):
            key = base[t] * spread
            for b in range(blocks.shape[0]):
                key += table[b, blocks[b, t]]
            if direct:
                number = class_at[key]
                if number < 0:
                    number = classes
                    class_at[key] = number
                    keys[number] = key
                    class_rows[number] = 0
                    classes += 1
            else:
                place = slot_of(keys, used, key)
                if used[place] == 0:
                    used[place], keys[place] = 1, key
                    class_at[place] = classes
                    class_rows[classes] = 0
                    classes += 1
                number = class_at[place]
            class_of[t] = number
            class_rows[number] += counts[t]
        if direct:
            for q in range(classes):
                class_at[keys[q]] = -1
        else:
            class_at[:capacity] = -1
        if confidential.shape[1] > 0:
            held[:classes] = 0
            for t in range(tuples):
                for s in range(confidential.shape[1]):
                    held[class_of[t], s] += confidential[t, s]
        largest, smallest, suppressed, smallest_of_all = 0, total_rows + 1, 0, total_rows + 1
        for q in range(classes):
            smallest_of_all = min(smallest_of_all, class_rows[q])
            bad[q] = class_rows[q] < k or (rule_int.shape[0] > 0 and breaks_rules(held[q], class_rows[q], rules))
            if bad[q]:
                suppressed += class_rows[q]
            else:
                largest = max(largest, class_rows[q])
                smallest = min(smallest, class_rows[q])
        if suppressed > 0 and base.max() == 0:
            for t in range(tuples):
                if bad[class_of[t]]:
                    row_loss = 0.0
                    for j in range(d):
                        row_loss += penalty[j, codes[j, t]]
                    loss += counts[t] * (1.0 - row_loss)
        answer[c, 0] = loss / total_rows
        answer[c, 1] = largest
        answer[c, 2] = smallest if smallest <= total_rows else 0
        answer[c, 3] = suppressed
        answer[c, 4] = smallest_of_all
    return answer
