"""The optimum over all cuts of small ordered domains, by branch and bound on monotone constraints.

Joining classes never breaks k, l or t. So if some cuts break a guarantee, more cuts break it too.

    node: the cuts that are made, and the cuts that are still open
    close every open cut that breaks a guarantee when it is added alone: no descendant can have it
    bound: the loss with all open cuts made, and the bias of the classes then; skip the node if the best is as good
    branch on the open cut whose absence costs most: first made, then not made

The answer is optimal only if the whole tree was searched within the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.engine.control import Control, current
from shoal.errors import UsageError
from shoal.protections.generalization.bits import Bits
from shoal.protections.generalization.evaluate import Problem, without_empty
from shoal.protections.generalization.front import Front, front_of, points_of
from shoal.protections.generalization.search import search


def exact(problem: Problem, *, seed: int = 0, limit: int = 300_000, control: Control | None = None) -> Front:
    """Return the best generalization; it is proved if the search ends within `limit` evaluations."""
    control = control or current()
    if problem.allowed > 0:
        raise UsageError("The method exact does not suppress records. Remove --suppress, or use --method search.")
    if any(problem.free):
        raise UsageError(
            "The method exact needs an order of the names. Use --order alphabetical, frequency or taxonomy, or "
            "--method search."
        )
    first = search(problem, seed=seed, effort="quick", control=control)
    small, whole = without_empty(problem)
    tree = _Tree(small, first.best.achievement, limit, control)
    proved = not control.stopped and tree.explore()
    points = list(first.points)
    if tree.best is not None:
        points += points_of(problem, whole(small.labels_of(tree.best))[None])
    return front_of(points, first.evaluations + tree.evaluations, optimal=proved, **control.facts)


@dataclass
class _Tree:
    """A depth-first search and its best solution so far."""

    problem: Problem
    achievement: float
    limit: int
    control: Control
    best: Bits | None = None
    evaluations: int = 0

    def explore(self) -> bool:
        """Search the tree; return whether the whole tree was searched."""
        none = np.zeros(self.problem.bits, dtype=np.uint8)
        stack = [(none, np.arange(self.problem.bits))]
        while stack:
            if self.evaluations > self.limit:
                return False
            cuts, open_cuts = stack.pop()
            open_cuts = self._possible(cuts, open_cuts)
            full = cuts.copy()
            full[open_cuts] = 1
            if open_cuts.size == 0 or not self._can_improve(cuts, full):
                continue
            branch = open_cuts[self._gain(full, open_cuts).argmax()]
            rest = open_cuts[open_cuts != branch]
            stack.append((cuts, rest))
            with_it = cuts.copy()
            with_it[branch] = 1
            stack.append((with_it, rest))
            done = min(self.evaluations, self.limit)
            if not self.control.show(done, self.limit, self.achievement, "branch and bound"):
                return False
        return True

    def _possible(self, cuts: Bits, open_cuts: Ints) -> Ints:
        """Return the open cuts that keep every guarantee when added alone; keep the best of these solutions."""
        if open_cuts.size == 0:
            return open_cuts
        trial = np.repeat(cuts[None], open_cuts.size, axis=0)
        trial[np.arange(open_cuts.size), open_cuts] = 1
        costs = self.problem.evaluate(self.problem.labels_of(trial))
        self.evaluations += open_cuts.size
        kept = costs.suppressed == 0
        for i in np.flatnonzero(kept):
            if costs.achievement[i] < self.achievement - 1e-12:
                better, least = trial[i].copy(), float(costs.achievement[i])
                self.best, self.achievement = better, least
        return np.asarray(open_cuts[kept])

    def _can_improve(self, cuts: Bits, full: Bits) -> bool:
        """Return whether a descendant of this node could be better than the best solution."""
        both = self.problem.labels_of(np.array([cuts, full]))
        costs = self.problem.evaluate(both)
        self.evaluations += 2
        largest = float(costs.necd[1] * (self.problem.n - 1) + costs.effective_k[1]) if costs.effective_k[1] else 0.0
        bias = max(largest - float(costs.least[0]), 0.0) / max(self.problem.n - 1, 1)
        plain = self._loss(full)
        bound = self.problem.preference.achievement(np.array([plain]), np.array([bias]))
        return bool(bound[0] < self.achievement - 1e-12)

    def _loss(self, bits: Bits) -> float:
        """Return the NWP without suppressed records."""
        return loss_of(self.problem, self.problem.labels_of(bits))

    def _gain(self, full: Bits, open_cuts: Ints) -> NDArray[np.float64]:
        """Return the loss without each of the open cuts."""
        trial = np.repeat(full[None], open_cuts.size, axis=0)
        trial[np.arange(open_cuts.size), open_cuts] = 0
        return np.array([self._loss(bits) for bits in trial])


def loss_of(problem: Problem, labels: Ints) -> float:
    """Return the NWP of ordered categories without suppression: their widths, weighted by their records."""
    total = 0.0
    for j, size in enumerate(problem.sizes):
        attribute = labels[j, :size]
        first = np.flatnonzero(np.concatenate([[True], attribute[1:] != attribute[:-1]]))
        last = np.append(first[1:], size) - 1
        width = problem.positions[j, last] - problem.positions[j, first]
        total += float(np.add.reduceat(problem.rows[j, :size], first) @ width)
    return total / problem.n
