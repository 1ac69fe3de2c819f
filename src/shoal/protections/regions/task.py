"""The task of group anonymity (Chertov and Tavrov 2017): the data, the conditions, and what a solution is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import InputError, PromiseError, UsageError, counted
from shoal.protections.regions.outliers import tau_test
from shoal.protections.regions.restriction import AutomaticThreshold, Restrictions
from shoal.protections.regions.signal import Signal, goal_signal
from shoal.protections.regions.similarity import MatchingValues

# What a lower bound of the distortion takes into account (see `bound.py`).
COMPATIBILITY, TAU_TEST = "compatibility", "tau test"


@dataclass(frozen=True)
class MaskingLimits:
    """The conditions of a feasible solution.

    compatibility: the smallest allowed one. sensitivity: the share of the original outliers that may stay outliers.
    distortion: the largest allowed share of the worst distortion. alpha, side: of the tau test.
    """

    compatibility: float = 0.5
    sensitivity: float = 0.0
    distortion: float = 0.3
    alpha: float = 0.01
    side: str = "both"

    def __post_init__(self) -> None:
        for name in ("compatibility", "sensitivity", "distortion"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise UsageError(f"{name} must be between 0 and 1, not {value!r}.")


@dataclass(frozen=True)
class Task:
    """A file as arrays: the region of each record, its role in swaps, the signal and the outlier regions.

    is_target: whether a record belongs to the target group. is_partner: whether it may be swapped with a target record.
    """

    region: Ints
    is_target: Bools
    is_partner: Bools
    signal: Signal
    matching: MatchingValues
    restrictions: Restrictions
    limits: MaskingLimits

    @property
    def outlying(self) -> Ints:
        return self.restrictions.outlying

    @property
    def upper(self) -> Bools:
        """Which of the outlier regions are outliers from above."""
        return np.asarray(self.restrictions.threshold < self.restrictions.original)

    @property
    def region_count(self) -> int:
        return int(self.signal.counts.size)

    @cached_property
    def targets(self) -> Ints:
        """The target records, by region."""
        rows = np.flatnonzero(self.is_target)
        return np.asarray(rows[np.argsort(self.region[rows], kind="stable")], dtype=np.int64)

    @cached_property
    def partners(self) -> Ints:
        """The records that may be swapped with target records, by region."""
        rows = np.flatnonzero(self.is_partner)
        return np.asarray(rows[np.argsort(self.region[rows], kind="stable")], dtype=np.int64)

    @cached_property
    def room(self) -> Ints:
        """The largest possible number of target records per region: those it has, and one per partner."""
        return self.signal.counts + np.bincount(self.region[self.partners], minlength=self.region_count)

    @cached_property
    def movable(self) -> int:
        """The number of target records to move: all of outliers from above, and what outliers from below lack."""
        counts, out = self.signal.counts[self.outlying], self.restrictions
        lack = np.ceil(out.threshold * self.signal.scale[self.outlying] + self.signal.offset[self.outlying]) - counts
        return int(np.where(out.threshold < out.original, counts, np.maximum(lack, 0)).sum())

    @property
    def worst(self) -> float:
        """The worst total distortion (C_max in the publication)."""
        return self.matching.worst * self.movable

    @property
    def unmasked_allowed(self) -> int:
        """The number of original outliers that may stay outliers."""
        return int(np.floor(self.limits.sensitivity * self.outlying.size + 1e-9))

    def in_order(self, rows: Ints) -> Task:
        """Return the same task with its records in another order; it decides between equally good swaps."""
        moved = replace(
            self.matching,
            ordinal=np.ascontiguousarray(self.matching.ordinal[:, rows]),
            nominal=np.ascontiguousarray(self.matching.nominal[:, rows]),
        )
        return replace(
            self,
            region=self.region[rows],
            is_target=self.is_target[rows],
            is_partner=self.is_partner[rows],
            matching=moved,
        )

    def renumbered(self, number: Ints) -> Task:
        """Return the same task with region d called number[d]: no choice may depend on the numbers of the regions."""
        where = number[self.outlying]
        order = np.argsort(where)
        restrictions = replace(
            self.restrictions,
            outlying=where[order],
            threshold=self.restrictions.threshold[order],
            original=self.restrictions.original[order],
        )
        signal = self.signal.renumbered(number)
        return replace(self, region=number[self.region], signal=signal, restrictions=restrictions)

    def judge(self, counts: Ints, distortion: float) -> Verdict:
        """Return compatibility, outliers and feasibility of a modified signal with this total distortion."""
        values = self.signal.of(counts)
        test = tau_test(values, self.limits.alpha, self.limits.side)
        compatibility = self.restrictions.compatibility(values)
        unmasked = int((~test.hides(values, self.outlying)).sum())
        feasible = (
            compatibility >= self.limits.compatibility
            and unmasked <= self.unmasked_allowed
            and distortion <= self.limits.distortion * self.worst + 1e-9
        )
        return Verdict(compatibility, test.positions, unmasked, feasible)

    def check(self, swaps: Ints) -> Ints:
        """Return the counts after swaps of (target record, partner).

        Raise an error if a record is swapped twice or in the wrong role.
        """
        target, partner = swaps[:, 0], swaps[:, 1]
        if np.unique(swaps).size != swaps.size:
            raise PromiseError("A record is in more than one swap.")
        if not (self.is_target[target].all() and self.is_partner[partner].all()):
            raise PromiseError("A swap does not exchange a target record and a record outside the target group.")
        if (self.region[target] == self.region[partner]).any():
            raise PromiseError("A swap is within one region.")
        arrived = np.bincount(self.region[partner], minlength=self.region_count)
        return np.asarray(self.signal.counts + arrived - np.bincount(self.region[target], minlength=self.region_count))


@dataclass(frozen=True)
class Verdict:
    """The judgement of a modified signal. unmasked: the number of original outliers that are still outliers."""

    compatibility: float
    outliers: Ints
    unmasked: int
    feasible: bool


@dataclass(frozen=True, eq=False)
class Solution:
    """Swaps of a target record and its partner (record numbers), the resulting counts, and their total distortion."""

    swaps: Ints
    counts: Ints
    distortion: float
    verdict: Verdict
    facts: dict[str, float] = field(default_factory=dict)
    decoys: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def feasible(self) -> bool:
        return self.verdict.feasible


@dataclass(frozen=True, eq=False)
class Answer:
    """The result of a search: the feasible solutions, the lowest distortion first.

    candidates: the number of judged solutions. fittest: the best by fitness, feasible or not (memetic). bound: a lower
    bound of the distortion (flow); bound_kind says of which solutions, see `bound.py`. traces: best, mean and standard
    deviation of the fitness per generation, one array per run. stopped: whether the search was stopped before its end.
    drawn_solutions: all solutions, feasible or not (hiding).
    """

    solutions: list[Solution]
    candidates: int
    fittest: Solution | None = None
    bound: float | None = None
    bound_kind: str = COMPATIBILITY
    traces: list[Floats] = field(default_factory=list)
    stopped: bool = False
    drawn_solutions: list[Solution] = field(default_factory=list)


@dataclass(frozen=True)
class TaskNames:
    """The names that messages use: the column of the regions, the column of the target group, and the regions."""

    parameter: str = ""
    group: str = ""
    regions: Sequence[object] = ()

    @property
    def of_parameter(self) -> str:
        return f" (column {self.parameter!r})" if self.parameter else ""

    @property
    def of_group(self) -> str:
        return f" (column {self.group!r})" if self.group else ""

    def region(self, number: int) -> str:
        """Return the name of a region, or its number from 0 if there are no names."""
        return repr(str(self.regions[number])) if self.regions else f"number {number}"


def masking_task(
    region: Ints,
    is_target: Bools,
    matching: MatchingValues,
    *,
    kind: str = "quantity",
    second: Bools | None = None,
    limits: MaskingLimits | None = None,
    outlying: Ints | None = None,
    threshold: Floats | AutomaticThreshold | None = None,
    shape: str = "zmf",
    root: bool = False,
    names: TaskNames | None = None,
) -> Task:
    """Return the task: the signal, its outliers (or the named ones) and a restriction per outlier.

    names: of the columns and regions, for messages.
    """
    limits, names = limits or MaskingLimits(), names or TaskNames()
    threshold = AutomaticThreshold() if threshold is None else threshold
    _check_groups(region, is_target, second, names)
    signal = goal_signal(region, is_target, kind, second)
    values = signal.values
    if outlying is None:
        test = tau_test(values, limits.alpha, limits.side)
        # Of equal values the test may remove only some. They are masked together.
        outlying = np.flatnonzero(np.isin(values, values[test.positions]))
        if outlying.size == 0:
            raise InputError(_no_outliers(limits.alpha, test.blind))
    outlying = np.unique(np.asarray(outlying, dtype=np.int64))
    if outlying.size >= values.size:
        raise UsageError(
            f"--outliers names all {counted(values.size, 'region')}, so no region is left that target records could "
            "move to. Name fewer regions."
        )
    if isinstance(threshold, AutomaticThreshold):
        threshold = threshold.of(values, outlying)
    original = values[outlying]
    same = np.flatnonzero(threshold == original)
    if same.size:
        number = int(outlying[same[0]])
        raise UsageError(
            f"The signal of region {names.region(number)} is {original[same[0]]:g}, and so is its threshold. Use "
            "another value in --thresholds, or leave the region out of --outliers."
        )
    second_flags = np.zeros(is_target.size, dtype=bool) if second is None else second
    restrictions = Restrictions(outlying, np.asarray(threshold, dtype=np.float64), original, shape, root)
    return Task(region, is_target, ~is_target & ~second_flags, signal, matching, restrictions, limits)


def _no_outliers(alpha: float, blind: bool) -> str:
    """Return the message for a signal without outliers."""
    if blind:
        return (
            "The tau test cannot find outliers: the quartiles of the signal are equal, so its pseudo-standard "
            "deviation is 0. Name the regions to mask with --outliers, or use another --signal."
        )
    return (
        f"The tau test finds no outlier region at alpha {alpha:g}, so there is nothing to mask. Raise --alpha, use "
        "another --signal, or name the regions with --outliers."
    )


def _check_groups(region: Ints, is_target: Bools, second: Bools | None, names: TaskNames) -> None:
    if region.size == 0 or region.shape != is_target.shape:
        raise UsageError("The file has no records. Choose another file.")
    m = int(region.max()) + 1
    if m < 2:
        raise InputError(
            f"All records are in one region{names.of_parameter}. Swaps need at least two regions. Name another "
            "column with --parameter."
        )
    if not is_target.any():
        raise InputError(f"No record belongs to the target group{names.of_group}. Check the values of --vital.")
    if is_target.all():
        raise InputError(
            f"All records belong to the target group{names.of_group}, so there is no record to swap them with. Name "
            "fewer values in --vital."
        )
    if second is not None and (second & is_target).any():
        raise UsageError(
            f"{counted(int((second & is_target).sum()), 'record')} of the target group (--vital) are also in the "
            "second group (--second). The two groups must not overlap."
        )
    if second is not None and (second | is_target).all():
        raise InputError(
            "All records are in one of the two groups, so there is no record to swap them with. Name fewer values."
        )
