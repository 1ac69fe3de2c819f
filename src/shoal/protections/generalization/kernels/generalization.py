"""Annealing of a generalization: values move between categories, and only the tuples they touch are counted again.

Every step moves some values of one column from one category to another. A cut is removed, added or shifted, two
categories are joined, or a value changes its category. The tuples of one class that a step touches move together.
Therefore a step is tested without changing anything, and taking it back costs nothing. Records in classes that break
k, l or t, beyond the number that may be suppressed, cost a penalty. Its weight rises while the search stays outside the
allowed region and falls while it stays inside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.hashing import slot_of
from shoal.engine.kernels.randomness import uniform
from shoal.protections.generalization.kernels.classes import NO_RULES, Rules, attribute_loss, breaks_rules

STEP_WORK = 20  # the cost of a step besides the tuples it touches, in tuples
RARE_ABOVE = 0.1  # steps that touch more than this share of all tuples are tested less often
REVIEW = 200  # steps between two changes of the penalty's weight


class Tuples(NamedTuple):
    """The distinct tuples of the table."""

    codes: NDArray[np.int32]  # attribute by tuple
    base: Ints  # the part of the key that no step changes: the tuple's set of quasi-identifiers
    counts: Ints  # records of each tuple
    order: NDArray[np.int32]  # tuples sorted by each attribute's value
    start: Ints  # where each value begins in `order`
    confidential: Ints  # records of each confidential value, by tuple


class Values(NamedTuple):
    """The values of the attributes."""

    sizes: Ints  # number of values of each attribute
    free: Ints  # 1 where any values of an attribute may be joined, 0 where only neighbours may
    positions: Floats  # of each value on its attribute's scale, weight and range included
    rows: Ints  # records of each value
    strides: Ints  # the place of each attribute's label in a key


class Goal(NamedTuple):
    """What a generalization must keep, and how its energy weighs the largest class."""

    k: int
    n: int  # records
    allowed: int  # records that may be suppressed
    bias: float  # the weight of the largest class's share against the loss, (1 - w) / w


class Schedule(NamedTuple):
    """How long the search runs, in touched tuples, and its first and last temperature."""

    work: float
    hot: float
    cold: float


class Classes(NamedTuple):
    """The classes in an open-addressing table."""

    keys: Ints
    used: NDArray[np.uint8]
    rows: Ints  # records of each class
    held: Ints  # records of each confidential value, by class
    broken: Ints  # records of each class if it breaks k, l or t, else 0
    stamp: Ints  # the last step that touched the class
    pair_of: NDArray[np.int32]  # the pair of the class in that step
    slot: NDArray[np.int32]  # the class of each tuple


class Pairs(NamedTuple):
    """The classes that a step touches, each with the class that its tuples would move to."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    rows: Ints  # records that move
    held: Ints  # confidential values that move
    first_tuple: NDArray[np.int32]
    broken_source: Ints  # `Classes.broken` of both after the step
    broken_target: Ints


class Losses(NamedTuple):
    """What the labels cost."""

    attribute: Floats  # loss of each attribute
    penalty: Floats  # loss of a record, by attribute and value
    trial: Floats  # the penalties of one attribute after the step
    lost: Ints  # suppressed records, by attribute and label
    lost_change: Ints  # how the step changes `lost`
    by_label: Floats  # loss of a record, by attribute and label


TUPLES = Tuples(
    np.zeros((1, 1), np.int32),
    np.zeros(1, np.int64),
    np.zeros(1, np.int64),
    np.zeros((1, 1), np.int32),
    np.zeros((1, 1), np.int64),
    np.zeros((1, 1), np.int64),
)
VALUES = Values(
    np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 1)), np.zeros((1, 1), np.int64), np.zeros(1, np.int64)
)
GOAL = Goal(1, 1, 0, 0.0)
SCHEDULE = Schedule(0.0, 1.0, 1.0)


@inner
def propose_ordered(
    labels: Ints, size: int, start: Ints, state: NDArray[np.uint64], moved: Ints
) -> tuple[int, int, int]:
    """Remove, add or shift a cut of an ordered domain; return how many values move, their label and the new one."""
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
    # The side with fewer tuples moves: into the other category, or out of it as a new one.
    before = start[i + 1] - start[first] <= start[last + 1] - start[i + 1]
    source = left if before else right
    target = (right if before else left) if left != right else unused_label(labels, size)
    for v in range(first, i + 1) if before else range(i + 1, last + 1):
        moved[count] = v
        count += 1
    return count, source, target


@inner
def propose_free(labels: Ints, size: int, state: NDArray[np.uint64], moved: Ints) -> tuple[int, int, int]:
    """Move a value to another or a new category, or join or split categories; 0 values if the move changes nothing."""
    v = np.int64(uniform(state) * size)
    source, choice, count = labels[v], uniform(state), 0
    members = np.zeros(size, np.int64)
    groups = 0
    for u in range(size):
        if members[labels[u]] == 0:
            groups += 1
        members[labels[u]] += 1
    if choice < 0.65:  # into an existing category: the value (0.5), or its whole category
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
def unused_label(labels: Ints, size: int) -> int:
    """Return the lowest label that no value has."""
    taken = np.zeros(size + 1, np.uint8)
    for v in range(size):
        taken[labels[v]] = 1
    label = 0
    while taken[label] == 1:
        label += 1
    return label


@inner
def propose(
    j: int, tuples: Tuples, values: Values, labels: Ints, state: NDArray[np.uint64], moved: Ints
) -> tuple[int, int, int]:
    """Choose values of attribute j that move; return their number, their label and the new label."""
    if values.free[j] == 1:
        return propose_free(labels[j], values.sizes[j], state, moved)
    return propose_ordered(labels[j], values.sizes[j], tuples.start[j], state, moved)


@inner
def empty_classes(tuples: Tuples) -> Classes:
    """Return a table with room for the classes of all tuples."""
    count, width = tuples.counts.size, tuples.confidential.shape[1]
    capacity = 64
    while capacity < 4 * count:
        capacity *= 2
    return Classes(
        np.empty(capacity, np.int64),
        np.zeros(capacity, np.uint8),
        np.zeros(capacity, np.int64),
        np.zeros((capacity if width > 0 else 1, width), np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int32),
        np.empty(count, np.int32),
    )


@inner
def empty_pairs(tuples: Tuples) -> Pairs:
    """Return room for the classes that a step may touch."""
    count, width = tuples.counts.size, tuples.confidential.shape[1]
    return Pairs(
        np.empty(count, np.int32),
        np.empty(count, np.int32),
        np.empty(count, np.int64),
        np.zeros((count if width > 0 else 1, width), np.int64),
        np.empty(count, np.int32),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
    )


@inner
def first_losses(values: Values, labels: Ints) -> Losses:
    """Return what the labels cost, attribute by attribute."""
    d, most = values.sizes.size, values.sizes.max() + 1
    attribute, penalty = np.empty(d), np.zeros((d, most))
    for j in range(d):
        attribute[j] = attribute_loss(
            labels[j], values.sizes[j], values.positions[j], values.free[j] == 1, values.rows[j], penalty[j]
        )
    lost, lost_change = np.zeros((d, most), np.int64), np.zeros((d, most), np.int64)
    return Losses(attribute, penalty, np.zeros(most), lost, lost_change, np.zeros((d, most)))


@inner
def count_classes(tuples: Tuples, values: Values, labels: Ints, classes: Classes) -> int:
    """Fill the table of classes again; return the number of its slots that are in use."""
    classes.used[:] = 0
    classes.rows[:] = 0
    classes.held[:] = 0
    filled = 0
    for t in range(tuples.counts.size):
        key = tuples.base[t]
        for j in range(tuples.codes.shape[0]):
            key += values.strides[j] * labels[j, tuples.codes[j, t]]
        place = slot_of(classes.keys, classes.used, key)
        if classes.used[place] == 0:
            classes.used[place], classes.keys[place] = 1, key
            filled += 1
        classes.rows[place] += tuples.counts[t]
        classes.slot[t] = place
        for s in range(tuples.confidential.shape[1]):
            classes.held[place, s] += tuples.confidential[t, s]
    return filled


@inner
def broken_rows(rows: int, held: Ints, k: int, rules: Rules) -> int:
    """Return the records of a class if it breaks k, l or t, else 0."""
    if rows < k:
        return rows
    if rules.integers.shape[0] > 0 and breaks_rules(held, rows, rules):
        return rows
    return 0


@inner
def energy_of(nwp: float, largest: int, goal: Goal) -> float:
    """Return the achievement divided by w: the loss or the largest class, whichever is worse, then the loss."""
    return max(nwp, goal.bias * (largest - goal.k) / goal.n) + 0.001 * nwp


@inner
def price_of(broken: int, weight: float, goal: Goal) -> float:
    """Return the penalty of the records in broken classes beyond those that may be suppressed."""
    return float(weight * np.sqrt(max(0, broken - goal.allowed) / goal.n))


@inner
def count_again(
    tuples: Tuples, values: Values, rules: Rules, goal: Goal, labels: Ints, classes: Classes, losses: Losses
) -> tuple[int, Any, Any, float]:
    """Count all classes; return the slots in use, the records in broken classes, the largest class and the energy."""
    filled = count_classes(tuples, values, labels, classes)
    width = tuples.confidential.shape[1]
    broken: Any = np.int64(0)
    largest: Any = np.int64(0)
    losses.lost[:] = 0
    for q in range(classes.used.size):
        classes.broken[q] = 0
        if classes.used[q] == 1:
            classes.broken[q] = broken_rows(classes.rows[q], classes.held[q if width > 0 else 0], goal.k, rules)
            broken += classes.broken[q]
            largest = max(largest, classes.rows[q])
    loss = losses.attribute.sum()
    if goal.allowed > 0:
        for j in range(values.sizes.size):
            for v in range(values.sizes[j]):
                losses.by_label[j, labels[j, v]] = losses.penalty[j, v]
        for t in range(tuples.counts.size):
            if classes.broken[classes.slot[t]] > 0:
                for j in range(values.sizes.size):
                    losses.lost[j, labels[j, tuples.codes[j, t]]] += tuples.counts[t]
        for j in range(values.sizes.size):
            for g in range(values.sizes[j]):
                loss -= losses.lost[j, g] * losses.by_label[j, g]
        loss += broken
    return filled, broken, largest, energy_of(float(loss / goal.n), largest, goal)


@inner
def collect(
    j: int, moved: Ints, shift: int, step: int, tuples: Tuples, classes: Classes, pairs: Pairs
) -> tuple[int, int]:
    """Pair every class of the moved values' tuples with the class they would move to.

    Returns the number of pairs, and the number of slots that were taken for classes without records.
    """
    width = tuples.confidential.shape[1]
    count, taken = 0, 0
    for v in moved:
        for z in range(tuples.start[j, v], tuples.start[j, v + 1]):
            t = tuples.order[j, z]
            place = classes.slot[t]
            if classes.stamp[place] != step:
                classes.stamp[place] = step
                key = classes.keys[place] + shift
                twin = slot_of(classes.keys, classes.used, key)
                if classes.used[twin] == 0:
                    classes.used[twin], classes.keys[twin], classes.broken[twin] = 1, key, 0
                    taken += 1
                classes.pair_of[place] = count
                pairs.source[count], pairs.target[count], pairs.rows[count] = place, twin, 0
                pairs.first_tuple[count] = t
                for s in range(width):
                    pairs.held[count, s] = 0
                count += 1
            p = classes.pair_of[place]
            pairs.rows[p] += tuples.counts[t]
            for s in range(width):
                pairs.held[p, s] += tuples.confidential[t, s]
    return count, taken


@inner
def count_broken(
    count: int, pairs: Pairs, classes: Classes, rules: Rules, k: int, broken: int, largest: int
) -> tuple[int, int]:
    """Return the records in broken classes and the largest touched class after the step; move confidential values."""
    width = pairs.held.shape[1]
    for p in range(count):
        source, target = pairs.source[p], pairs.target[p]
        for s in range(width):
            classes.held[source, s] -= pairs.held[p, s]
            classes.held[target, s] += pairs.held[p, s]
        left, joined = classes.rows[source] - pairs.rows[p], classes.rows[target] + pairs.rows[p]
        pairs.broken_source[p] = broken_rows(left, classes.held[source if width > 0 else 0], k, rules)
        pairs.broken_target[p] = broken_rows(joined, classes.held[target if width > 0 else 0], k, rules)
        broken += pairs.broken_source[p] - classes.broken[source] + pairs.broken_target[p] - classes.broken[target]
        largest = max(largest, joined)
    return broken, largest


@inner
def loss_with_suppression(
    j: int,
    target: int,
    trial: Ints,
    count: int,
    tuples: Tuples,
    values: Values,
    labels: Ints,
    classes: Classes,
    pairs: Pairs,
    losses: Losses,
    loss: float,
) -> float:
    """Return the loss after the step without what suppressed records lose anyway; note how the step changes `lost`."""
    d = values.sizes.size
    losses.lost_change[:] = 0
    for p in range(count):
        change_source = pairs.broken_source[p] - classes.broken[pairs.source[p]]
        change_target = pairs.broken_target[p] - classes.broken[pairs.target[p]]
        if change_source != 0 or change_target != 0:
            for i in range(d):
                label = labels[i, tuples.codes[i, pairs.first_tuple[p]]]
                losses.lost_change[i, label] += change_source
                losses.lost_change[i, target if i == j else label] += change_target
    label_penalties(j, values.sizes[j], trial, losses.trial, losses.by_label)
    for i in range(d):
        for g in range(values.sizes[i]):
            loss -= (losses.lost[i, g] + losses.lost_change[i, g]) * losses.by_label[i, g]
    return loss


@inner
def label_penalties(j: int, size: int, labels: Ints, penalty: Floats, by_label: Floats) -> None:
    """Write what a record of each label of attribute j loses."""
    by_label[j, :] = 0.0
    for v in range(size):
        by_label[j, labels[v]] = penalty[v]


@inner
def move_rows(count: int, pairs: Pairs, rows: Ints, sign: int) -> None:
    """Move the records of every pair to its target (sign 1), or back (sign -1)."""
    for p in range(count):
        rows[pairs.source[p]] -= sign * pairs.rows[p]
        rows[pairs.target[p]] += sign * pairs.rows[p]


@inner
def commit(
    j: int, moved: Ints, target: int, count: int, tuples: Tuples, labels: Ints, classes: Classes, pairs: Pairs
) -> None:
    """Do the step: move the records, the tuples and the values."""
    move_rows(count, pairs, classes.rows, 1)
    for p in range(count):
        classes.broken[pairs.source[p]] = pairs.broken_source[p]
        classes.broken[pairs.target[p]] = pairs.broken_target[p]
    for v in moved:
        for z in range(tuples.start[j, v], tuples.start[j, v + 1]):
            t = tuples.order[j, z]
            classes.slot[t] = pairs.target[classes.pair_of[classes.slot[t]]]
        labels[j, v] = target


@inner
def take_back(count: int, pairs: Pairs, held: Ints) -> None:
    """Move the confidential values of a step that is not done back."""
    for p in range(count if pairs.held.shape[1] > 0 else 0):
        for s in range(pairs.held.shape[1]):
            held[pairs.source[p], s] += pairs.held[p, s]
            held[pairs.target[p], s] -= pairs.held[p, s]


@inner
def copy_labels(labels: Any, target: Any) -> None:
    """Copy the labels of all columns."""
    for j in range(labels.shape[0]):
        copy_first(labels.shape[1], labels[j], target[j])


@kernel(
    lambda: (
        *("Tuple((float64, int64[:, ::1], int64))", TUPLES, VALUES, NO_RULES, GOAL, SCHEDULE),
        *("int64[:, ::1]", "uint64", "uint8[::1]"),
    )
)
def anneal(
    tuples: Tuples, values: Values, rules: Rules, goal: Goal, schedule: Schedule, labels: Ints, seed: Any, flag: Bytes
) -> Any:
    """Return the energy and the labels of the best allowed generalization met, and the number of steps tested.

    The temperature falls from hot to cold while the touched tuples are counted up to `work`:
        propose values of an attribute that move from one category to another
        give up if their loss alone is more than the temperature allows
        collect the classes of their tuples, each with the class they would move to
        judge the change of energy + penalty of the records in broken classes
        commit the step or take it back

    Args:
        labels: Where to start; changed.
        flag: The search ends early once it is set.
    """
    n, allowed, suppress, count = goal.n, goal.allowed, goal.allowed > 0, tuples.counts.size
    state = np.array([seed], np.uint64)
    classes, pairs, losses = empty_classes(tuples), empty_pairs(tuples), first_losses(values, labels)
    attribute = losses.attribute
    moved, trial = np.empty(values.sizes.max(), np.int64), np.empty(values.sizes.max(), np.int64)
    cumulated = np.zeros(values.sizes.size + 1, np.int64)
    for j in range(values.sizes.size):
        cumulated[j + 1] = cumulated[j] + values.sizes[j] - 1
    best, best_labels = np.inf, labels.copy()
    weight, outside, steps = 1.0, 0, 0
    done, filled, recount = 0.0, 0, True
    broken: Any = np.int64(0)
    largest: Any = np.int64(0)
    energy = np.inf
    cuts = cumulated[values.sizes.size]
    many = count * RARE_ABOVE
    while done < schedule.work and cuts > 0 and flag[0] == 0:
        if recount:
            filled, broken, largest, energy = count_again(tuples, values, rules, goal, labels, classes, losses)
            recount = False
            if best == np.inf and broken <= allowed:
                best = energy
                copy_labels(labels, best_labels)
            done += count
        temperature = schedule.hot * (schedule.cold / schedule.hot) ** (done / schedule.work)
        pick, j = np.int64(uniform(state) * cuts), 0
        while cumulated[j + 1] <= pick:
            j += 1
        size = values.sizes[j]
        movers, source, target = propose(j, tuples, values, labels, state, moved)
        done += STEP_WORK
        if movers == 0:
            continue
        touched = 0
        for v in moved[:movers]:
            touched += tuples.start[j, v + 1] - tuples.start[j, v]
        # A step that touches much of the table is tested less often: several small ones cost the same.
        if touched > many and uniform(state) * touched > many:
            continue
        copy_first(size, labels[j], trial)
        for v in moved[:movers]:
            trial[v] = target
        new_attribute = attribute_loss(
            trial, size, values.positions[j], values.free[j] == 1, values.rows[j], losses.trial
        )
        patience = -temperature * np.log(1.0 - uniform(state))
        price = price_of(broken, weight, goal)
        # No step can gain more than the whole penalty: most bad ones end here, untested.
        if not suppress:
            nwp = (attribute.sum() - attribute[j] + new_attribute) / n
            if 1.001 * nwp - energy - price > patience:
                continue
        steps += 1
        touched_classes, taken = collect(
            j, moved[:movers], (target - source) * values.strides[j], steps, tuples, classes, pairs
        )
        filled += taken
        done += touched
        new_broken, new_largest = count_broken(touched_classes, pairs, classes, rules, goal.k, broken, largest)
        loss = attribute.sum() - attribute[j] + new_attribute
        if suppress:
            loss = loss_with_suppression(
                j, target, trial, touched_classes, tuples, values, labels, classes, pairs, losses, loss
            )
            loss += new_broken
        nwp = loss / n
        if goal.bias * (new_largest - goal.k) / n > nwp:  # the largest class matters: find it exactly
            move_rows(touched_classes, pairs, classes.rows, 1)
            new_largest = classes.rows.max()
            move_rows(touched_classes, pairs, classes.rows, -1)
        new_energy = energy_of(nwp, new_largest, goal)
        if new_energy + price_of(new_broken, weight, goal) - energy - price <= patience:
            commit(j, moved[:movers], target, touched_classes, tuples, labels, classes, pairs)
            attribute[j], energy, broken, largest = new_attribute, new_energy, new_broken, new_largest
            copy_first(losses.trial.size, losses.trial, losses.penalty[j])
            if suppress:
                for i in range(losses.lost.shape[0]):
                    for g in range(losses.lost.shape[1]):
                        losses.lost[i, g] += losses.lost_change[i, g]
            if broken <= allowed and energy < best - 1e-12:
                best = energy
                copy_labels(labels, best_labels)
        else:
            take_back(touched_classes, pairs, classes.held)
            if suppress:
                label_penalties(j, size, labels[j], losses.penalty[j], losses.by_label)
        if broken > allowed:
            outside += 1
        if steps % REVIEW == 0:
            weight = weight * 1.1 if outside > REVIEW // 2 else weight / 1.1
            outside = 0
        recount = filled > 0.6 * classes.keys.size
    return best, best_labels, steps
