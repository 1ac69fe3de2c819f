"""The records that a generalization suppresses: none, or at least k, so that they hide among each other.

Samarati 2001 lets a generalization suppress a limited number of outliers. A suppressed record has a star in every
quasi-identifier, so fewer than k of them are a class that breaks k. If a generalization suppresses fewer than k
records, Shoal also suppresses its smallest class, or takes a generalization without suppression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import UsageError, counted
from shoal.measures.anonymity import classes
from shoal.measures.diversity import broken_classes
from shoal.notices import notice
from shoal.protections.generalization.evaluate import Problem, value_losses
from shoal.protections.generalization.front import Front, FrontPoint
from shoal.table.column import ColumnCodes


def limited(problem: Problem, suppress: float) -> Problem:
    """Return the problem; if fewer than k records may be suppressed, warn and allow none."""
    if suppress == 0 or problem.allowed >= problem.k:
        return problem
    smallest_share = math.ceil(1000 * problem.k / problem.n) / 1000
    notice(
        f"--suppress {suppress:g} allows {problem.allowed:,} of {problem.n:,} records, fewer than k = {problem.k}. "
        "Suppressed records hide among each other only if there are at least k of them, so Shoal suppresses none. "
        f"Use --suppress {smallest_share:g} or more to suppress records."
    )
    return replace(problem, allowed=0)


@dataclass(frozen=True, eq=False)
class Suppression:
    """The problem and the data that decide which records are suppressed. values: codes of the records, by column."""

    problem: Problem
    values: Sequence[Ints]
    confidential: Mapping[str, ColumnCodes]

    def settled(self, front: Front, without: Callable[[Problem], Front]) -> Front:
        """Return the front with an answer that suppresses no record or at least k.

        without: a search that suppresses no record.
        """
        if not _too_few(front.best):
            return front
        # A point of the front, and the same point with enough suppressed records.
        best: tuple[FrontPoint, FrontPoint] | None = None
        for point in sorted(front.points, key=_rank):
            if best is not None and _rank(point) >= _rank(best[1]):
                break  # more suppressed records never cost less
            done = self.completed(point)
            if done is not None and (best is None or _rank(done) < _rank(best[1])):
                best = point, done
        plain_problem = replace(self.problem, allowed=0)
        plain = without(plain_problem) if plain_problem.is_reachable else None
        if plain is not None and (best is None or _rank(plain.best) <= _rank(best[1])):
            return plain
        if best is None:
            raise UsageError(
                f"At most {self.problem.allowed:,} records may be suppressed, and no solution suppresses at least k = "
                f"{self.problem.k} of them. Allow more with --suppress, or use --missing category."
            )
        points = sorted(
            (best[1] if point is best[0] else point for point in front.points), key=lambda point: point.effective_k
        )
        return replace(front, points=tuple(points), answer=next(i for i, p in enumerate(points) if p is best[1]))

    def picked(self, front: Front, pick: int | None) -> Front:
        """Return the front with another point as the answer; if it suppresses records, then at least k."""
        front = front.picked(pick)
        if not _too_few(front.best):
            return front
        done = self.completed(front.best)
        if done is None:
            raise UsageError(
                f"--pick {pick} would suppress {counted(front.best.suppressed, 'record')}, fewer than k = "
                f"{front.best.k}. One class more would be above the {self.problem.allowed:,} records allowed. Pick "
                "another solution, or allow more with --suppress."
            )
        points = (done if i == front.answer else point for i, point in enumerate(front.points))
        return replace(front, points=tuple(points))

    def completed(self, point: FrontPoint) -> FrontPoint | None:
        """Return the point, if needed with its smallest class suppressed too; None if that is more than allowed."""
        if not _too_few(point):
            return point
        if self.problem.cascades:
            return self._completed_in_sets(point)
        label, sizes, bad = self._classes(point)
        smallest = _smallest(sizes, bad)
        rest = np.delete(sizes, smallest)[~np.delete(bad, smallest)]
        suppressed = point.suppressed + int(sizes[smallest])
        if suppressed > self.problem.allowed or not rest.size:
            return None
        rows = np.flatnonzero(label == smallest)
        losses = value_losses(self.problem, point.labels)
        repeats = None if self.problem.repeats is None else self.problem.repeats[rows]
        kept = sum(_total(losses[j, codes[rows]], repeats) for j, codes in enumerate(self.values))
        nwp = point.nwp + (int(sizes[smallest]) - kept) / self.problem.n
        necd = float(rest.max() - rest.min()) / max(self.problem.n - 1, 1)
        preference = self.problem.preference
        return replace(
            point,
            nwp=nwp,
            necd=necd,
            effective_k=int(rest.min()),
            achievement=float(preference.achievement(np.array(nwp), np.array(necd))),
            deviation=nwp + necd - preference.loss - preference.bias,
            suppressed=suppressed,
            completed=True,
        )

    def _completed_in_sets(self, point: FrontPoint) -> FrontPoint | None:
        """Return the point with its smallest class suppressed too, for cascading suppression."""
        suppressed, costs = replace(self.problem, k=point.k).cascade(point.labels, completed=True)
        number = self.problem.records_in(suppressed)
        if not point.k <= number <= min(self.problem.allowed, self.problem.n - 1):
            return None
        return replace(
            point,
            nwp=float(costs.nwp[0]),
            necd=float(costs.necd[0]),
            effective_k=int(costs.effective_k[0]),
            achievement=float(costs.achievement[0]),
            deviation=float(costs.deviation[0]),
            suppressed=number,
            completed=True,
        )

    def rows(self, point: FrontPoint) -> Bools | None:
        """Return which records are suppressed: those of classes that break k, l or t. None: no record is."""
        if not point.suppressed:
            return None
        if self.problem.cascades:
            return replace(self.problem, k=point.k).cascade(point.labels, point.completed)[0]
        label, sizes, bad = self._classes(point)
        if point.completed:
            bad[_smallest(sizes, bad)] = True
        return np.asarray(bad[label], dtype=bool)

    def _classes(self, point: FrontPoint) -> tuple[Ints, Ints, Bools]:
        """Return the class of each record, the sizes of the classes, and which classes break k, l or t."""
        label = classes([point.labels[j][self.values[j]] for j in self.problem.sets[0]])
        sizes = self.problem.sizes_of(label)
        bad = sizes < point.k
        for name, rule in zip(self.confidential, self.problem.rules.rules, strict=True):
            codes: Any = self.confidential[name].codes
            bad |= broken_classes(label, codes, rule.l, rule.kind, rule.c, rule.t, rule.distance, self.problem.repeats)
        return label, sizes, bad


def _total(losses: Floats, repeats: Ints | None) -> float:
    return float(losses.sum() if repeats is None else (losses * repeats).sum())


def _smallest(sizes: Ints, bad: Bools) -> int:
    """Return the number of the smallest class that is kept."""
    return int(np.where(bad, sizes.max() + 1, sizes).argmin())


def _too_few(point: FrontPoint) -> bool:
    return 0 < point.suppressed < point.k


def _rank(point: FrontPoint) -> tuple[float, float]:
    return point.achievement, point.deviation
