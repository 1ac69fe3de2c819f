"""Distance-based linkage: how often the nearest protected record of a person is the right one (Pagliuca and Seri 1999).

An intruder who knows some columns of the original links every record to the nearest protected record. A tree of boxes
holds the distinct protected records with their counts, so that the result is exact for 100,000 records. In larger
files, a random sample is linked against all records, and the result has a standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.control import current
from shoal.errors import counted
from shoal.measures.anonymity import classes
from shoal.measures.kernels.linkage import grow_boxes, nearest_ties
from shoal.measures.measure import Estimate, Measure

if TYPE_CHECKING:
    from shoal.measures.evidence import Evidence

SAMPLED_ABOVE = 200_000
SAMPLE = 20_000
BLOCK = 4_096  # records that are linked before the next check whether to stop


@dataclass(frozen=True)
class Linkage:
    """The percentage of correct links.

    Attributes:
        error: The standard error if the records are a sample, otherwise 0.
        sets: The number of sets of columns over which the percentage is the mean.
        deviation: The standard deviation of the percentage over these sets.
    """

    percent: float
    error: float = 0.0
    records: int = 0
    sets: int = 1
    deviation: float = 0.0

    def estimate(self, numbers: int = 0) -> Estimate:
        """The percentage, with its spread over the sets and its standard error if there are any.

        `numbers` is the number of linked columns if there are labels or dates too, which this linkage does not use.
        """
        notes = [f"only the {counted(numbers, 'column')} of numbers"] if numbers else []
        notes += [f"standard deviation {self.deviation:.3g} over {self.sets} sets of columns"] if self.sets > 1 else []
        notes += [f"standard error {self.error:.2g} on {self.records:,} records"] if self.error else []
        return Estimate(self.percent, ", ".join(notes))


def distance_linkage(
    original: Floats,
    protected: Floats,
    *,
    strict: bool = False,
    sets: Sequence[Sequence[int]] | None = None,
    threads: int = 1,
    seed: int = 0,
) -> Linkage:
    """The percentage of records whose nearest protected record is their own, 0 to 100.

    Args:
        original: The original values.
        protected: The protected values, on the same scale.
        strict: Whether a tie does not count; otherwise a tie among m records counts 1/m.
        sets: The sets of columns that an intruder may know, over which the percentage is averaged; by default one set
            of all columns.
        threads: The number of threads.
        seed: The seed of random samples.
    """
    n, d = original.shape
    chosen = sampled_records(n, seed)
    every = sets if sets is not None else [range(d)]
    return mean_linkage(
        [link_credits(original, protected, list(columns), chosen, strict, threads) for columns in every], n
    )


def mean_linkage(of_sets: Sequence[Floats], n: int) -> Linkage:
    """The mean over sets of columns, from the credits of the same records by each of them."""
    credits = np.zeros(of_sets[0].size)
    for of_set in of_sets:
        credits += of_set
    percents = [100.0 * float(of_set.mean()) for of_set in of_sets]
    deviation = float(np.std(percents, ddof=1)) if len(percents) > 1 else 0.0
    return replace(as_linkage(credits / len(of_sets), n), sets=len(of_sets), deviation=deviation)


def first_columns(d: int, seed: int = 0, order: Sequence[int] | None = None) -> list[list[int]]:
    """The first 1, 2, ..., d columns of an order, as sets that an intruder may know; the order is random by default.

    >>> first_columns(3, order=[2, 0, 1])
    [[2], [2, 0], [2, 0, 1]]
    """
    chosen = list(np.random.default_rng(seed).permutation(d)) if order is None else list(order)
    return [[int(column) for column in chosen[: size + 1]] for size in range(d)]


def link_credits(
    original: Floats, protected: Floats, columns: list[int], chosen: Ints, strict: bool, threads: int = 1
) -> Floats:
    """The credit of each chosen record: 1 if an intruder with these columns finds it, 1/m for a tie, otherwise 0."""
    after = np.ascontiguousarray(protected[:, columns])
    class_of = classes([np.ascontiguousarray(after[:, j]) for j in range(len(columns))])
    first = np.full(int(class_of.max()) + 1, len(class_of), dtype=np.int64)
    np.minimum.at(first, class_of, np.arange(len(class_of)))
    points, counts = np.ascontiguousarray(after[first]), np.bincount(class_of).astype(np.int64)
    tree = grow_boxes(points)
    records = np.ascontiguousarray(original[chosen][:, columns])
    own_class = class_of[chosen]
    blocks = [(a, min(a + BLOCK, len(records))) for a in range(0, len(records), BLOCK)]
    control = current().part(threads=threads)

    def ties_of(first: int, last: int) -> Ints:
        control.check()
        ties: Ints = nearest_ties(records[first:last], own_class[first:last], points, counts, *tree)
        return ties

    ties = np.concatenate(control.run([partial(ties_of, *block) for block in blocks]))
    if strict:
        return np.asarray(ties == 1, dtype=np.float64)
    return tie_credits(ties)


OWN = 1 << 40  # stands for the own record in counts, so that it is not taken for a record of the file


def file_ties(records: Floats, owned: Floats, protected: Floats, columns: list[int]) -> Ints:
    """Return for each record 0 if a record of a file is nearer than its own, else 1 and those of the file as near.

    Args:
        records: The original values of the records.
        owned: Their protected values.
        protected: The protected values of the file.
        columns: The columns that the intruder knows.
    """
    after = np.ascontiguousarray(np.vstack([owned, protected])[:, columns])
    class_of = classes([np.ascontiguousarray(after[:, j]) for j in range(len(columns))])
    first = np.full(int(class_of.max()) + 1, len(class_of), dtype=np.int64)
    np.minimum.at(first, class_of, np.arange(len(class_of)))
    points, own_class = np.ascontiguousarray(after[first]), class_of[: len(owned)]
    counts = np.bincount(class_of[len(owned) :], minlength=len(first)).astype(np.int64)
    counts[own_class] += OWN
    ties = nearest_ties(np.ascontiguousarray(records[:, columns]), own_class, points, counts, *grow_boxes(points))
    return np.asarray(np.where(ties > 0, 1 + ties % OWN, 0))


def tie_credits(ties: Ints) -> Floats:
    """The credit 1/m for a tie among m records, 0 if the record is not among the nearest."""
    credits = np.zeros(ties.size)
    np.divide(1.0, ties, out=credits, where=ties > 0)
    return credits


def sampled_records(n: int, seed: int, above: int = SAMPLED_ABOVE, sample: int = SAMPLE) -> Ints:
    """All records, or a sorted random sample of the records of a large file."""
    if n <= above:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, sample, replace=False))


def as_linkage(credits: Floats, n: int) -> Linkage:
    """The mean of the credits in percent, with the standard error of a sample without replacement."""
    count = credits.size
    error = 0.0
    if count < n:
        error = 100.0 * float(credits.std(ddof=1)) * float(np.sqrt((1 - count / n) / count))
    return Linkage(100.0 * float(credits.mean()), error, count)


def same_scale(original: Floats, protected: Floats, standard: bool) -> tuple[Floats, Floats]:
    """Both arrays in units of the original columns' standard deviations, or of their ranges.

    A constant column stays unchanged. The scale does not use weights, because an intruder does not have them.
    """
    origin = original.min(axis=0)
    width = np.std(original - origin, axis=0) if standard else np.ptp(original, axis=0)
    width = np.where((np.ptp(original, axis=0) > 0) & (width > 0), width, 1.0)
    return (original - origin) / width, (protected - origin) / width


def scaled(evidence: Evidence) -> tuple[Floats, Floats]:
    """The numbers before and after on the scale of the convention, computed once."""
    standard = evidence.convention.scaling == "standard"
    arrays: tuple[Floats, Floats] = evidence.once("scaled", lambda: same_scale(*evidence.numbers(), standard))
    return arrays


def linkage_with(evidence: Evidence, sets: Sequence[Sequence[int]]) -> Linkage:
    """The linkage by an intruder who holds these columns, by number; of several sets the mean."""
    return distance_linkage(
        *scaled(evidence),
        strict=evidence.convention.strict,
        sets=sets,
        threads=evidence.threads,
        seed=evidence.seed,
    )


def linkage_over_sets(evidence: Evidence) -> Linkage:
    """The linkage averaged over sets of columns; the GOMM thesis assumes an intruder who knows all columns."""
    if evidence.convention.strict:
        return linkage_on_all(evidence)
    return linkage_with(evidence, first_columns(evidence.numbers()[0].shape[1], evidence.seed))


def linkage_on_all(evidence: Evidence) -> Linkage:
    """The linkage by an intruder who knows all columns; it is computed once."""
    every = [range(evidence.numbers()[0].shape[1])]
    linkage: Linkage = evidence.once("linked on all columns", lambda: linkage_with(evidence, every))
    return linkage


def numbers_alone(evidence: Evidence) -> int:
    """The number of columns of numbers if the release has changed columns of another kind, otherwise 0."""
    return evidence.numbers()[0].shape[1] if evidence.changed else 0


MEASURES = (
    Measure(
        name="distance_linkage",
        kind="risk",
        needs=("original", "release"),
        range="0 to 100",
        unit="%",
        better="lower",
        meaning="records linked by the nearest record, mean over intruders who know 1, 2, … all columns",
        formula="percentage of records whose nearest release record is their own, mean over sets of columns",
        compute=lambda evidence: linkage_over_sets(evidence).estimate(numbers_alone(evidence)),
        costly=True,
        short="linkage %",
    ),
    Measure(
        name="distance_linkage_all_columns",
        kind="risk",
        needs=("original", "release"),
        range="0 to 100",
        unit="%",
        better="lower",
        meaning="records linked by the nearest record, by an intruder who knows all columns",
        formula="percentage of records whose nearest release record over all columns is their own",
        compute=lambda evidence: linkage_on_all(evidence).estimate(numbers_alone(evidence)),
        costly=True,
    ),
)
