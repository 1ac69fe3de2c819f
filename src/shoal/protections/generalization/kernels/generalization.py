"""Annealing of a generalization: values move between groups, and only the tuples they touch are counted again.

Every step moves some values V of one attribute from group g to group h: a cut that goes, comes or
shifts, two groups that join, a value that changes its group. The classes of the touched tuples move
together, so a step is tested without changing anything and undone at no cost. Rows in classes that
break k, l or t beyond the allowed number cost a penalty whose weight follows the search: it rises
while the search stays outside the allowed region and falls while it stays inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.randomness import uniform
from shoal.protections.generalization.kernels.classes import attribute_loss, breaks_rules, slot_of

STEP_WORK = 20  # what a step costs besides the tuples it touches, in tuples
OFTEN = 0.1  # of all tuples: steps that touch more are tested less often
REVIEW = 200  # steps between two looks at the penalty's weight


@inner
def propose_ordered(
    labels: NDArray[np.int64], size: int, weight: NDArray[np.int64], state: NDArray[np.uint64], moved: NDArray[np.int64]
) -> tuple[int, int, int]:
    """A cut of an ordered domain goes, comes or shifts: the number of values that move, from, to."""
    i: Any = np.int64(uniform(state) * (size - 1))
    left, right, count = labels[i], labels[i + 1], 0
    if left != right and uniform(state) < 0.5:  # the cut shifts by one value or a few
        step = -1 if uniform(state) < 0.5 else 1
        source, target = (left, right) if step < 0 else (right, left)
        v = i if step < 0 else i + 1
        while True:
            moved[count] = v
            count += 1
            v += step
            if v < 0 or v >= size or labels[v] != source or uniform(state) < 0.6:
                return count, source, target
    first, last = i, i + 1
    while first > 0 and labels[first - 1] == left:
        first -= 1
    while last + 1 < size and labels[last + 1] == right:
        last += 1
    # The side with fewer tuples moves: into the other group, or out of it as a new one.
    before = weight[i + 1] - weight[first] <= weight[last + 1] - weight[i + 1]
    source = left if before else right
    target = (right if before else left) if left != right else unused_label(labels, size)
    for v in range(first, i + 1) if before else range(i + 1, last + 1):
        moved[count] = v
        count += 1
    return count, source, target


@inner
def propose_free(
    labels: NDArray[np.int64], size: int, state: NDArray[np.uint64], moved: NDArray[np.int64]
) -> tuple[int, int, int]:
    """A value changes its group or leaves it, or a group joins another or is split; 0 values if that is nothing."""
    v = np.int64(uniform(state) * size)
    source, choice, count = labels[v], uniform(state), 0
    members = np.zeros(size, np.int64)
    groups = 0
    for u in range(size):
        if members[labels[u]] == 0:
            groups += 1
        members[labels[u]] += 1
    if choice < 0.65:  # into an existing group: the value (0.5), or its whole group
        if groups < 2:
            return 0, source, source
        skip: Any = np.int64(uniform(state) * (groups - 1))
        target: Any = np.int64(-1)
        for g in range(size):
            if members[g] > 0 and g != source:
                if skip == 0:
                    target = g
                    break
                skip -= 1
        for u in range(size):
            if u == v or (choice >= 0.5 and labels[u] == source):
                moved[count] = u
                count += 1
        return count, source, target
    if members[source] < 2:
        return 0, source, source
    for u in range(size):
        if u == v or (choice >= 0.8 and labels[u] == source and uniform(state) < 0.5):
            moved[count] = u
            count += 1
    if count == members[source]:
        return 0, source, source
    return count, source, unused_label(labels, size)


@inner
def unused_label(labels: NDArray[np.int64], size: int) -> int:
    taken = np.zeros(size + 1, np.uint8)
    for v in range(size):
        taken[labels[v]] = 1
    label = 0
    while taken[label] == 1:
        label += 1
    return label


@inner
def count_classes(
    codes: NDArray[np.int32],
    base: NDArray[np.int64],
    counts: NDArray[np.int64],
    confidential: NDArray[np.int64],
    labels: NDArray[np.int64],
    strides: NDArray[np.int64],
    keys: NDArray[np.int64],
    used: NDArray[np.uint8],
    rows: NDArray[np.int64],
    held: NDArray[np.int64],
    slot: NDArray[np.int32],
) -> int:
    """Fill the table of classes anew; the number of its places that are taken."""
    used[:] = 0
    rows[:] = 0
    held[:] = 0
    filled = 0
    for t in range(counts.size):
        key = base[t]
        for j in range(codes.shape[0]):
            key += strides[j] * labels[j, codes[j, t]]
        place = slot_of(keys, used, key)
        if used[place] == 0:
            used[place], keys[place] = 1, key
            filled += 1
        rows[place] += counts[t]
        slot[t] = place
        for s in range(confidential.shape[1]):
            held[place, s] += confidential[t, s]
    return filled


@inner
def broken_rows(
    rows: int,
    held: NDArray[np.int64],
    k: int,
    rule_int: NDArray[np.int64],
    rule_float: NDArray[np.float64],
    overall: NDArray[np.float64],
) -> int:
    """The rows of a class if it breaks k, l or t, else none."""
    if rows < k:
        return rows
    if rule_int.shape[0] > 0 and breaks_rules(held, rows, rule_int, rule_float, overall):
        return rows
    return 0


@inner
def copy_labels(labels: Any, target: Any) -> None:
    """Keep the labels of all columns."""
    for j in range(labels.shape[0]):
        copy_first(labels.shape[1], labels[j], target[j])


@kernel(
    "Tuple((float64, int64[:, ::1], int64))(int32[:, ::1], int64[::1], int64[::1], int32[:, ::1], int64[:, ::1],"
    " int64[::1], int64[::1], float64[:, ::1], int64[:, ::1], int64[::1], int64[:, ::1], int64, int64, int64,"
    " float64, int64[:, ::1], int64[:, ::1], float64[:, ::1], float64[::1], float64, float64, float64, uint64,"
    " uint8[::1])"
)
def anneal(
    codes: NDArray[np.int32],  # attribute by tuple
    base: NDArray[np.int64],  # part of the key that no step changes: the tuple's set of quasi-identifiers
    counts: NDArray[np.int64],
    order: NDArray[np.int32],  # tuples sorted by each attribute's value
    start: NDArray[np.int64],  # where each value begins in `order`
    sizes: NDArray[np.int64],
    free: NDArray[np.int64],
    positions: NDArray[np.float64],  # weight and range included
    value_rows: NDArray[np.int64],
    strides: NDArray[np.int64],
    labels: NDArray[np.int64],  # where to start; changed
    k: int,
    n: int,
    allowed: int,  # rows that may be suppressed
    bias: float,  # the weight of the largest class's share against the loss, (1 - w) / w
    confidential: NDArray[np.int64],
    rule_int: NDArray[np.int64],
    rule_float: NDArray[np.float64],
    overall: NDArray[np.float64],
    work: float,
    hot: float,
    cold: float,
    seed: Any,
    flag: NDArray[np.uint8],  # ends early once it is up
) -> Any:
    """The best allowed generalization met, its energy (the achievement divided by w), and the number of tests.

    temperature falls from hot to cold while touched tuples are counted up to `work`:
        propose values V of an attribute that go from group g to group h
        give up if their loss alone is more than the temperature lets pass
        collect the classes of V's tuples, each with its twin under h
        accept by the change of energy + penalty of the rows in broken classes
    """
    d, tuples = codes.shape
    state = np.array([seed], np.uint64)
    capacity = 64
    while capacity < 4 * tuples:
        capacity *= 2
    width = confidential.shape[1]
    keys, used, rows = np.empty(capacity, np.int64), np.zeros(capacity, np.uint8), np.zeros(capacity, np.int64)
    held = np.zeros((capacity if width > 0 else 1, width), np.int64)
    broken, stamp, pair_of = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64), np.zeros(capacity, np.int32)
    slot = np.empty(tuples, np.int32)
    pair_from, pair_to, pair_rows = np.empty(tuples, np.int32), np.empty(tuples, np.int32), np.empty(tuples, np.int64)
    first_tuple = np.empty(tuples, np.int32)
    pair_held = np.zeros((tuples if width > 0 else 1, width), np.int64)
    broken_from, broken_to = np.empty(tuples, np.int64), np.empty(tuples, np.int64)
    most = sizes.max()
    moved, trial = np.empty(most, np.int64), np.empty(most, np.int64)
    penalty, trial_penalty = np.zeros((d, most + 1)), np.zeros(most + 1)
    lost = np.zeros((d, most + 1), np.int64)  # suppressed rows of each label
    lost_change = np.zeros((d, most + 1), np.int64)
    by_label = np.zeros((d, most + 1))  # what a row of each label loses
    attribute = np.empty(d)
    cumulated = np.zeros(d + 1, np.int64)
    for j in range(d):
        cumulated[j + 1] = cumulated[j] + sizes[j] - 1
        attribute[j] = attribute_loss(labels[j], sizes[j], positions[j], free[j] == 1, value_rows[j], penalty[j])
    suppress = allowed > 0
    none = held[0]
    best, best_labels = np.inf, labels.copy()
    weight, outside, steps = 1.0, 0, 0
    done, filled, recount = 0.0, 0, True
    total_broken: Any = np.int64(0)
    top: Any = np.int64(0)
    energy = np.inf
    bits = cumulated[d]
    often = tuples * OFTEN
    while done < work and bits > 0 and flag[0] == 0:
        if recount:
            filled = count_classes(codes, base, counts, confidential, labels, strides, keys, used, rows, held, slot)
            total_broken, top, recount = np.int64(0), np.int64(0), False
            lost[:] = 0
            for q in range(capacity):
                broken[q] = 0
                if used[q] == 1:
                    broken[q] = broken_rows(rows[q], held[q] if width > 0 else none, k, rule_int, rule_float, overall)
                    total_broken += broken[q]
                    top = max(top, rows[q])
            loss = attribute.sum()
            if suppress:
                for j in range(d):
                    for v in range(sizes[j]):
                        by_label[j, labels[j, v]] = penalty[j, v]
                for t in range(tuples):
                    if broken[slot[t]] > 0:
                        for j in range(d):
                            lost[j, labels[j, codes[j, t]]] += counts[t]
                for j in range(d):
                    for g in range(sizes[j]):
                        loss -= lost[j, g] * by_label[j, g]
                loss += total_broken
            energy = float(loss / n)
            energy = max(energy, bias * (top - k) / n) + 0.001 * energy
            if best == np.inf and total_broken <= allowed:
                best = energy
                copy_labels(labels, best_labels)
            done += tuples
        temperature = hot * (cold / hot) ** (done / work)
        pick, j = np.int64(uniform(state) * bits), 0
        while cumulated[j + 1] <= pick:
            j += 1
        size, own = sizes[j], labels[j]
        if free[j] == 1:
            count, source, target = propose_free(own, size, state, moved)
        else:
            count, source, target = propose_ordered(own, size, start[j], state, moved)
        done += STEP_WORK
        if count == 0:
            continue
        touched = 0
        for q in range(count):
            touched += start[j, moved[q] + 1] - start[j, moved[q]]
        # A step that touches much of the table is tested less often: several small ones cost the same.
        if touched > often and uniform(state) * touched > often:
            continue
        copy_first(size, own, trial)
        for q in range(count):
            trial[moved[q]] = target
        new_attribute = attribute_loss(trial, size, positions[j], free[j] == 1, value_rows[j], trial_penalty)
        patience = -temperature * np.log(1.0 - uniform(state))
        price = weight * np.sqrt(max(0, total_broken - allowed) / n)
        # No step can gain more than the whole penalty: most bad ones end here, untested.
        if not suppress:
            nwp = (attribute.sum() - attribute[j] + new_attribute) / n
            if 1.001 * nwp - energy - price > patience:
                continue
        steps += 1
        pairs = 0
        shift = (target - source) * strides[j]
        for q in range(count):
            for z in range(start[j, moved[q]], start[j, moved[q] + 1]):
                t = order[j, z]
                place = slot[t]
                if stamp[place] != steps:
                    stamp[place] = steps
                    key = keys[place] + shift
                    twin = slot_of(keys, used, key)
                    if used[twin] == 0:
                        used[twin], keys[twin], broken[twin] = 1, key, 0
                        filled += 1
                    pair_of[place] = pairs
                    pair_from[pairs], pair_to[pairs], pair_rows[pairs] = place, twin, 0
                    first_tuple[pairs] = t
                    for s in range(width):
                        pair_held[pairs, s] = 0
                    pairs += 1
                p = pair_of[place]
                pair_rows[p] += counts[t]
                for s in range(width):
                    pair_held[p, s] += confidential[t, s]
        done += touched
        new_broken, highest = total_broken, top
        for p in range(pairs):
            place, twin = pair_from[p], pair_to[p]
            for s in range(width):
                held[place, s] -= pair_held[p, s]
                held[twin, s] += pair_held[p, s]
            broken_from[p] = broken_rows(
                rows[place] - pair_rows[p], held[place] if width > 0 else none, k, rule_int, rule_float, overall
            )
            broken_to[p] = broken_rows(
                rows[twin] + pair_rows[p], held[twin] if width > 0 else none, k, rule_int, rule_float, overall
            )
            new_broken += broken_from[p] - broken[place] + broken_to[p] - broken[twin]
            highest = max(highest, rows[twin] + pair_rows[p])
        new_loss = attribute.sum() - attribute[j] + new_attribute
        if suppress:
            lost_change[:] = 0
            for p in range(pairs):
                change_from = broken_from[p] - broken[pair_from[p]]
                change_to = broken_to[p] - broken[pair_to[p]]
                if change_from != 0 or change_to != 0:
                    for i in range(d):
                        label = labels[i, codes[i, first_tuple[p]]]
                        lost_change[i, label] += change_from
                        lost_change[i, target if i == j else label] += change_to
            by_label[j, :] = 0.0
            for v in range(size):
                by_label[j, trial[v]] = trial_penalty[v]
            for i in range(d):
                for g in range(sizes[i]):
                    new_loss -= (lost[i, g] + lost_change[i, g]) * by_label[i, g]
            new_loss += new_broken
        nwp = new_loss / n
        if bias * (highest - k) / n > nwp:  # the largest class matters: find it exactly
            for p in range(pairs):
                rows[pair_from[p]] -= pair_rows[p]
                rows[pair_to[p]] += pair_rows[p]
            highest = rows.max()
            for p in range(pairs):
                rows[pair_from[p]] += pair_rows[p]
                rows[pair_to[p]] -= pair_rows[p]
        new_energy = max(nwp, bias * (highest - k) / n) + 0.001 * nwp
        new_price = weight * np.sqrt(max(0, new_broken - allowed) / n)
        if new_energy + new_price - energy - price <= patience:
            for p in range(pairs):
                rows[pair_from[p]] -= pair_rows[p]
                rows[pair_to[p]] += pair_rows[p]
                broken[pair_from[p]], broken[pair_to[p]] = broken_from[p], broken_to[p]
            for q in range(count):
                for z in range(start[j, moved[q]], start[j, moved[q] + 1]):
                    t = order[j, z]
                    slot[t] = pair_to[pair_of[slot[t]]]
                own[moved[q]] = target
            attribute[j], energy, total_broken, top = new_attribute, new_energy, new_broken, highest
            penalty[j] = trial_penalty
            if suppress:
                lost += lost_change
            if total_broken <= allowed and energy < best - 1e-12:
                best = energy
                copy_labels(labels, best_labels)
        else:
            for p in range(pairs if width > 0 else 0):
                for s in range(width):
                    held[pair_from[p], s] += pair_held[p, s]
                    held[pair_to[p], s] -= pair_held[p, s]
            if suppress:
                by_label[j, :] = 0.0
                for v in range(size):
                    by_label[j, own[v]] = penalty[j, v]
        if total_broken > allowed:
            outside += 1
        if steps % REVIEW == 0:
            weight = weight * 1.1 if outside > REVIEW // 2 else weight / 1.1
            outside = 0
        recount = filled > 0.6 * capacity
    return best, best_labels, steps
