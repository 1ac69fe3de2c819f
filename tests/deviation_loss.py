"""A second loss for the search over partitions: absolute deviations from medians, and records that must stay apart."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reference import search as naive
from shoal.engine.partition.kernels import losses
from shoal.engine.partition.kernels.losses import implement, replacing
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition


class Deviations(NamedTuple):
    """Marks the weighted sum of absolute deviations from the medians of a group's columns.

    A group may have one record at most that is 1 in `apart`.
    """

    apart: NDArray[np.int8]


@numba.njit
def cost_of(loss, x, w, member, size, a, out, into):
    """The cost of group a without one record and with another (-1: none); a median is one of the members' values."""
    a, out, into = np.int64(a), np.int64(out), np.int64(into)  # some moves count in unsigned numbers
    last = size[a] + (into >= 0)
    marked = loss.apart[into] if into >= 0 else 0
    for s in range(size[a]):
        marked += loss.apart[member[a, s]] if member[a, s] != out else 0
    if marked > 1:
        return np.inf
    total = 0.0
    for c in range(x.shape[1]):
        least = np.inf
        for s in range(last):
            middle = member[a, s] if s < size[a] else into
            if middle == out:
                continue
            cost = 0.0
            for t in range(last):
                i = member[a, t] if t < size[a] else into
                if i != out:
                    cost += w[i] * abs(x[i, c] - x[middle, c])
            least = min(least, cost)
        total += least if least < np.inf else 0.0
    return total


@implement(losses.apart, Deviations)
def _apart(loss, x, i, j):
    total = 0.0
    for c in range(x.shape[1]):
        total += abs(x[i, c] - x[j, c])
    return total


@implement(losses.leaving, Deviations)
def _leaving(loss, x, w, summary, mass, member, size, a, i):
    return cost_of(loss, x, w, member, size, a, i, -1) - summary[a, 0]


@implement(losses.entering, Deviations)
def _entering(loss, x, w, summary, mass, member, size, b, i):
    return cost_of(loss, x, w, member, size, b, -1, i) - summary[b, 0]


@implement(losses.replacing, Deviations)
def _replacing(loss, x, w, summary, mass, member, size, a, i, j):
    return cost_of(loss, x, w, member, size, a, i, j) - summary[a, 0]


@implement(losses.swapping, Deviations)
def _swapping(loss, x, w, summary, mass, member, size, a, i, b, j):
    return replacing(loss, x, w, summary, mass, member, size, a, i, j) + replacing(
        loss, x, w, summary, mass, member, size, b, j, i
    )


@implement(losses.rule_room, Deviations)
def _rule_room(loss):
    return 0


@implement(losses.is_allowed, Deviations)
def _is_allowed(loss, x, w, summary, mass, member, size, a, counts):
    return True


@implement(losses.summarize, Deviations)
def _summarize(loss, x, w, summary, mass, member, size, a):
    summary[a, 0] = cost_of(loss, x, w, member, size, a, -1, -1)
    return summary[a, 0]


@implement(losses.note_leaving, Deviations)
def _note_leaving(loss, x, w, summary, mass, member, size, a, i):
    summary[a, 0] = cost_of(loss, x, w, member, size, a, i, -1)


@implement(losses.note_entering, Deviations)
def _note_entering(loss, x, w, summary, mass, member, size, b, i):
    summary[b, 0] = cost_of(loss, x, w, member, size, b, -1, i)


class AbsoluteDeviation(GroupLoss):
    """Records of 32-bit floats, to show that the engine takes them too."""

    first_name = "dealt by the first column"
    looks_around = True
    width = 1

    def __init__(self, values, k, most=None, weights=None, apart=None):
        self.records = np.ascontiguousarray(values, dtype=np.float32)
        self.k, self.most = k, most or 2 * k - 1
        self.weights = np.ones(len(values)) if weights is None else weights
        self.apart = np.zeros(len(values), dtype=np.int8) if apart is None else apart
        self.marker = Deviations(self.apart)

    total = property(lambda self: naive.deviation(self.records, self.weights))
    rounding = property(lambda self: 1e-12 * self.total / self.n)
    identity = property(lambda self: (self.records, self.weights, self.apart))

    def of(self, partition):
        return float(self.costs(partition.labels).sum())

    def costs(self, labels):
        groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
        return self.costs_of(groups)

    def costs_of(self, groups):
        allowed = [self.apart[rows].sum() <= 1 for rows in groups]
        costs = [naive.deviation(self.records[rows], self.weights[rows]) if rows.size else 0.0 for rows in groups]
        return np.where(allowed, costs, np.inf)

    def first(self):
        """Records that must stay apart to groups of their own, and the others by the first column."""
        groups = max(1, self.n // self.k)
        marked = np.flatnonzero(self.apart)
        labels = np.full(self.n, -1)
        labels[marked] = np.arange(marked.size) % groups
        room = np.bincount(np.arange(self.n) % groups, minlength=groups) - np.bincount(labels[marked], minlength=groups)
        others = np.flatnonzero(self.apart == 0)
        labels[others[np.argsort(self.records[others, 0], kind="stable")]] = np.repeat(np.arange(groups), room)
        return KPartition(labels)

    def neighbours(self, count, *, seed, threads):
        far = np.abs(self.records[:, None] - self.records[None]).sum(axis=2).astype(np.float64)
        np.fill_diagonal(far, np.inf)
        near = np.argsort(far, axis=1, kind="stable")[:, : min(count, self.n - 1)].astype(np.int32)
        scale = self.weights * far[np.arange(self.n), near[:, min(self.k, near.shape[1]) - 1]]
        return np.ascontiguousarray(near), scale

    def leaves(self, most, random_state):
        order = np.argsort(self.records[:, 0], kind="stable").astype(np.int32)
        return order, np.append(np.arange(0, self.n, most), self.n).astype(np.int32)

    def points(self, g):
        points = np.zeros((g.size.size, -(-self.records.shape[1] // 4) * 4))
        for a in np.unique(g.label):
            points[a, : self.records.shape[1]] = np.median(self.records[g.label == a], axis=0)
        return points

    def distances(self, record, others):
        return np.abs(self.records[others] - self.records[record]).sum(axis=1)

    def part(self, rows):
        return AbsoluteDeviation(self.records[rows], self.k, self.most, self.weights[rows], self.apart[rows])

    def proposals(self, effort):
        return {"quick": 40, "standard": 80, "thorough": 160}[effort] * self.n

    def large_proposals(self, effort):
        return self.proposals(effort)

    def variants(self, groups, near, duals, limit, count):
        """One record out, one in, or one for another."""
        found = []
        for rows in groups:
            around = np.setdiff1d(near[rows][near[rows] >= 0], rows)
            outs = [rows, *(np.delete(rows, s) for s in range(rows.size))]
            like = [*outs[1:], *(np.append(out, j) for out in outs for j in around)]
            like = [group for group in like if self.k <= group.size <= self.most]
            reduced = self.costs_of(like) - [duals[group].sum() for group in like] if like else np.empty(0)
            order = np.argsort(reduced, kind="stable")[:count]
            found += [like[i].astype(np.int32) for i in order if reduced[i] < limit]
        return found
