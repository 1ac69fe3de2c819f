"""The task of providing group anonymity (Chertov and Tavrov 2017): what is masked, and what a solution is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import InputError, PromiseError, UsageError
from shoal.protections.regions.outliers import tau_test
from shoal.protections.regions.restriction import AutomaticThreshold, Restrictions
from shoal.protections.regions.signal import Signal, goal_signal
from shoal.protections.regions.similarity import Influential


@dataclass(frozen=True)
class Limits:
    """When a solution is feasible: the compatibility, sensitivity and distortion thresholds, and alpha of the test."""

    compatibility: float = 0.5
    sensitivity: float = 0.0
    distortion: float = 0.3
    alpha: float = 0.01
    side: str = "both"

    def __post_init__(self) -> None:
        for name in ("compatibility", "sensitivity", "distortion"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise UsageError(f"the {name} threshold must be between 0 and 1, not {value!r}")


@dataclass(frozen=True)
class Task:
    """A file as arrays: each record's district and whether it is vital, with the signal and its outlying districts."""

    district: Ints
    vital: Bools
    partner: Bools
    signal: Signal
    influential: Influential
    restrictions: Restrictions
    limits: Limits

    @property
    def outlying(self) -> Ints:
        return self.restrictions.outlying

    @property
    def upper(self) -> Bools:
        """Which of the outlying districts are so from above."""
        return np.asarray(self.restrictions.threshold < self.restrictions.original)

    @property
    def districts(self) -> int:
        return int(self.signal.counts.size)

    @cached_property
    def vitals(self) -> Ints:
        """The vital records, by district."""
        rows = np.flatnonzero(self.vital)
        return np.asarray(rows[np.argsort(self.district[rows], kind="stable")], dtype=np.int64)

    @cached_property
    def partners(self) -> Ints:
        """The records that may be swapped with vital ones, by district."""
        rows = np.flatnonzero(self.partner)
        return np.asarray(rows[np.argsort(self.district[rows], kind="stable")], dtype=np.int64)

    @cached_property
    def room(self) -> Ints:
        """The largest number of vital records in a district: those it has and one for each partner."""
        return self.signal.counts + np.bincount(self.district[self.partners], minlength=self.districts)

    @cached_property
    def movable(self) -> int:
        """Vital records that masking is about: those of districts outlying from above, the lack of those from below."""
        counts, out = self.signal.counts[self.outlying], self.restrictions
        lack = np.ceil(out.threshold * self.signal.scale[self.outlying] + self.signal.offset[self.outlying]) - counts
        return int(np.where(out.threshold < out.original, counts, np.maximum(lack, 0)).sum())

    @property
    def worst(self) -> float:
        """C_max: the worst total of the metric."""
        return self.influential.worst * self.movable

    @property
    def unmasked_allowed(self) -> int:
        """How many of the original outliers may stay outliers."""
        return int(np.floor(self.limits.sensitivity * self.outlying.size + 1e-9))

    def in_order(self, rows: Ints) -> Task:
        """The same task with its records in another order: which of equally good swaps is chosen depends on it."""
        moved = replace(
            self.influential,
            ordinal=np.ascontiguousarray(self.influential.ordinal[:, rows]),
            nominal=np.ascontiguousarray(self.influential.nominal[:, rows]),
        )
        return replace(
            self, district=self.district[rows], vital=self.vital[rows], partner=self.partner[rows], influential=moved
        )

    def renumbered(self, number: Ints) -> Task:
        """The same task with district d called number[d]: no choice may depend on how the districts are numbered."""
        where = number[self.outlying]
        order = np.argsort(where)
        restrictions = replace(
            self.restrictions,
            outlying=where[order],
            threshold=self.restrictions.threshold[order],
            original=self.restrictions.original[order],
        )
        signal = self.signal.renumbered(number)
        return replace(self, district=number[self.district], signal=signal, restrictions=restrictions)

    def judge(self, counts: Ints, metric: float) -> Verdict:
        """Compatibility, outliers and feasibility of a modified signal reached at a total metric."""
        values = self.signal.of(counts)
        test = tau_test(values, self.limits.alpha, self.limits.side)
        compatibility = self.restrictions.compatibility(values)
        unmasked = int((~test.hides(values, self.outlying)).sum())
        feasible = (
            compatibility >= self.limits.compatibility
            and unmasked <= self.unmasked_allowed
            and metric <= self.limits.distortion * self.worst + 1e-9
        )
        return Verdict(compatibility, test.positions, unmasked, feasible)

    def check(self, swaps: Ints) -> Ints:
        """The counts that swaps of (vital, partner) give; an error if a record is used twice or in the wrong role."""
        vital, partner = swaps[:, 0], swaps[:, 1]
        if np.unique(swaps).size != swaps.size:
            raise PromiseError("a record is in more than one swap")
        if not (self.vital[vital].all() and self.partner[partner].all()):
            raise PromiseError("a swap must exchange a vital record and one that is not")
        if (self.district[vital] == self.district[partner]).any():
            raise PromiseError("a swap must be between two districts")
        moved = np.bincount(self.district[partner], minlength=self.districts)
        return np.asarray(self.signal.counts + moved - np.bincount(self.district[vital], minlength=self.districts))


@dataclass(frozen=True)
class Verdict:
    """What a modified signal is worth."""

    compatibility: float
    outliers: Ints
    unmasked: int
    feasible: bool


@dataclass(frozen=True, eq=False)
class Solution:
    """Swaps of a vital record and its partner (record numbers), the counts they give, and what they cost."""

    swaps: Ints
    counts: Ints
    metric: float
    verdict: Verdict
    facts: dict[str, float] = field(default_factory=dict)
    decoys: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def feasible(self) -> bool:
        return self.verdict.feasible


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method found: feasible solutions, the least distortion first, and how it came by them.

    candidates: how many were judged. fittest: the best by fitness, feasible or not (memetic). bound: no masked
    solution has less distortion (flow). traces: best, mean and deviation of the fitness by generation, a run each.
    stopped: it was not done to its end. beyond: all solutions that were found, feasible or not (hiding).
    """

    solutions: list[Solution]
    candidates: int
    fittest: Solution | None = None
    bound: float | None = None
    traces: list[Floats] = field(default_factory=list)
    stopped: bool = False
    beyond: list[Solution] = field(default_factory=list)


def masking_task(
    district: Ints,
    vital: Bools,
    influential: Influential,
    *,
    kind: str = "quantity",
    second: Bools | None = None,
    limits: Limits | None = None,
    outlying: Ints | None = None,
    threshold: Floats | AutomaticThreshold | None = None,
    shape: str = "zmf",
    root: bool = False,
    labels: Sequence[object] | None = None,
) -> Task:
    """Set up the task: the signal, its outliers (or those named) and a restriction for each; labels: for messages."""
    limits = limits or Limits()
    threshold = AutomaticThreshold() if threshold is None else threshold
    _check_groups(district, vital, second)
    signal = goal_signal(district, vital, kind, second)
    values = signal.values
    if outlying is None:
        test = tau_test(values, limits.alpha, limits.side)
        # Of equal values the test may throw out only some: they are masked together.
        outlying = np.flatnonzero(np.isin(values, values[test.positions]))
        if outlying.size == 0:
            why = "its pseudo-deviation is 0, so none can be found" if test.blind else "all values are ordinary"
            raise InputError(
                f"the tau test finds no outliers in the signal at alpha = {limits.alpha:g} ({why}): there is nothing "
                "to mask. Take a larger --alpha, another --signal, or name the districts with --outliers (in Python: "
                "alpha, signal, outliers)"
            )
    outlying = np.unique(np.asarray(outlying, dtype=np.int64))
    if outlying.size >= values.size:
        raise UsageError("at least one district must be left that is not to be masked: vital records have to go there")
    if isinstance(threshold, AutomaticThreshold):
        threshold = threshold.of(values, outlying)
    original = values[outlying]
    same = np.flatnonzero(threshold == original)
    if same.size:
        number = int(outlying[same[0]])
        name = f"district {number} (counted from 0)" if labels is None else f"region {labels[number]!r}"
        raise UsageError(
            f"{name} has the value {original[same[0]]:g}, which is its threshold too: give another threshold, or do "
            "not mask it"
        )
    second_flags = np.zeros(vital.size, dtype=bool) if second is None else second
    restrictions = Restrictions(outlying, np.asarray(threshold, dtype=np.float64), original, shape, root)
    return Task(district, vital, ~vital & ~second_flags, signal, influential, restrictions, limits)


def _check_groups(district: Ints, vital: Bools, second: Bools | None) -> None:
    if district.size == 0 or district.shape != vital.shape:
        raise UsageError("there must be at least one record, and every record must have a district")
    m = int(district.max()) + 1
    if m < 2:
        raise InputError("all records are in one district: there is no other district to swap with")
    if not vital.any():
        raise InputError("no record is vital: there is no group to hide; look at the vital column and values")
    if vital.all():
        raise InputError("all records are vital: there is none left to swap them with")
    if second is not None and (second & vital).any():
        raise UsageError(f"{int((second & vital).sum())} records are in both groups of the concentration difference")
    if second is not None and (second | vital).all():
        raise InputError("all records are in one of the two groups: there is none left to swap them with")
