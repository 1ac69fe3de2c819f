"""Probabilistic linkage: weights by Fellegi and Sunter 1969, estimated by EM over agreement patterns.

Two values agree if they differ by at most 0.1 standard deviations of the original column. Every pair of an original
and a protected record has one of 2^d patterns; only their counts are kept. EM (Winkler 1988) splits them into
matches and others, and assumes that columns are independent within each:

    repeat: g(pattern) = p m(pattern) / (p m(pattern) + (1 - p) u(pattern))     the share of matches
            p, m_j, u_j = the weighted means of g and of the agreements of column j

The weight of a pattern is the sum of log2(m/u) over agreeing columns and of log2((1-m)/(1-u)) over the others. Each
record is linked to the protected record with the highest weight; a tie among m records counts 1/m.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.control import current
from shoal.errors import UsageError
from shoal.measures.anonymity import classes
from shoal.measures.kernels.agreement import count_patterns, heaviest_ties
from shoal.measures.linkage import (
    BLOCK,
    Linkage,
    as_linkage,
    first_columns,
    numbers_alone,
    sampled_records,
    scaled,
    tie_credits,
)
from shoal.measures.measure import Estimate, Measure

if TYPE_CHECKING:
    from shoal.measures.evidence import Evidence

MOST_COLUMNS = 20
PAIRS = 1e9  # most pairs of a record and a distinct protected record; above it, records are sampled


@dataclass(frozen=True)
class FellegiSunter:
    """The share of matches among the pairs, and the probability that column j agrees in a match (m) or not (u)."""

    share: float
    m: Floats
    u: Floats
    rounds: int

    def pattern_weights(self) -> Floats:
        """log2 of the likelihood ratio of each of the 2^d patterns."""
        weights = np.zeros(1)
        for m, u in zip(self.m, self.u, strict=True):
            weights = np.concatenate([weights + np.log2((1 - m) / (1 - u)), weights + np.log2(m / u)])
        return weights


def probabilistic_linkage(
    original: Floats, protected: Floats, *, tolerance: float = 0.1, threads: int = 1, seed: int = 0
) -> Linkage:
    """The percentage of records that Fellegi-Sunter weights link to their own protected record, 0 to 100."""
    n = len(original)
    pairs = agreement_pairs(original, protected, tolerance, seed)
    model = expectation_maximisation(pairs.pattern_counts(threads), start=1.0 / n)
    ties = pairs.ties(np.round(model.pattern_weights(), 9), threads)
    return as_linkage(tie_credits(ties), n)


def expectation_maximisation(counts: Ints, start: float, *, rounds: int = 500, enough: float = 1e-9) -> FellegiSunter:
    """Fit the model to the pattern counts, starting with m = 0.9, u = 0.1 and a first share of matches."""
    d = int(counts.size).bit_length() - 1
    used = np.flatnonzero(counts)
    agree = ((used[:, None] >> np.arange(d)) & 1).astype(np.float64)
    weight = counts[used].astype(np.float64)
    share, m, u = start, np.full(d, 0.9), np.full(d, 0.1)
    done = 0
    while done < rounds:
        done += 1
        log_match = np.log(share) + agree @ np.log(m) + (1 - agree) @ np.log1p(-m)
        log_other = np.log1p(-share) + agree @ np.log(u) + (1 - agree) @ np.log1p(-u)
        match = weight / (1.0 + np.exp(np.clip(log_other - log_match, -700, 700)))
        other = weight - match
        before = np.concatenate([[share], m, u])
        share = float(_inside(match.sum() / weight.sum()))
        m = _inside(match @ agree / max(match.sum(), 1e-300))
        u = _inside(other @ agree / max(other.sum(), 1e-300))
        if np.abs(np.concatenate([[share], m, u]) - before).max() < enough:
            break
    return FellegiSunter(share, m, u, done)


def agreement_pairs(original: Floats, protected: Floats, tolerance: float = 0.1, seed: int = 0) -> AgreementPairs:
    """All pairs of original and distinct protected records; if there are too many, the originals are sampled."""
    n, d = original.shape
    if d > MOST_COLUMNS:
        raise UsageError(
            f"Probabilistic linkage supports at most {MOST_COLUMNS} columns, not {d}. Name fewer quasi-identifiers."
        )
    class_of = classes([np.ascontiguousarray(protected[:, j]) for j in range(d)])
    first = np.full(int(class_of.max()) + 1, n, dtype=np.int64)
    np.minimum.at(first, class_of, np.arange(n))
    most = int(PAIRS / first.size)
    chosen = sampled_records(n, seed, above=most, sample=min(most, n))
    deviations = np.std(original - original[0], axis=0)
    return AgreementPairs(
        np.ascontiguousarray(original[chosen]),
        class_of[chosen],
        np.ascontiguousarray(protected[first].T),
        np.bincount(class_of).astype(np.int64),
        tolerance * deviations,
    )


@dataclass(frozen=True)
class AgreementPairs:
    """Original records and distinct protected records with their counts; `columns` has one row per column."""

    records: Floats
    own_class: Ints
    columns: Floats
    counts: Ints
    tolerance: Floats

    def pattern_counts(self, threads: int = 1) -> Ints:
        """The number of pairs with each pattern."""

        def in_block(first: int, last: int) -> Ints:
            counts: Ints = count_patterns(self.records[first:last], self.columns, self.counts, self.tolerance)
            return counts

        return np.asarray(np.sum(self._in_blocks(in_block, threads), axis=0, dtype=np.int64))

    def ties(self, weights: Floats, threads: int = 1) -> Ints:
        """For each record, the number of pairs with the highest weight if the right pair is among them, otherwise 0."""

        def in_block(first: int, last: int) -> Ints:
            own_class = self.own_class[first:last]
            ties: Ints = heaviest_ties(
                self.records[first:last], own_class, self.columns, self.counts, self.tolerance, weights
            )
            return ties

        return np.concatenate(self._in_blocks(in_block, threads))

    def _in_blocks(self, work: Callable[[int, int], Ints], threads: int) -> list[Ints]:
        """Do the work on small blocks of records with threads, so that it can be stopped between two blocks."""
        control = current().part(threads=threads)

        def piece(first: int, last: int) -> Ints:
            control.check()
            return work(first, last)

        blocks = max(threads, -(-len(self.records) // BLOCK))
        ends = np.linspace(0, len(self.records), blocks + 1).astype(int)
        return control.run([partial(piece, int(a), int(b)) for a, b in itertools.pairwise(ends) if b > a])


def _inside(chance: Floats | float) -> Floats:
    """A probability slightly inside 0 to 1, so that logarithms are finite."""
    return np.clip(np.asarray(chance, dtype=np.float64), 1e-12, 1 - 1e-12)


def _of_release(evidence: Evidence) -> Estimate:
    original, release = scaled(evidence)
    columns = original.shape[1]
    chosen = first_columns(columns, evidence.seed)[min(columns, MOST_COLUMNS) - 1]
    linkage = probabilistic_linkage(
        original[:, chosen], release[:, chosen], threads=evidence.threads, seed=evidence.seed
    )
    estimate = linkage.estimate(numbers_alone(evidence))
    of_columns = [f"{len(chosen)} of the columns"] if len(chosen) < columns else []
    return Estimate(estimate.value, "; ".join([*of_columns, *([estimate.note] if estimate.note else [])]))


MEASURES = (
    Measure(
        name="probabilistic_linkage",
        kind="risk",
        needs=("original", "release"),
        range="0 to 100",
        unit="%",
        better="lower",
        meaning="records linked to the right record by Fellegi-Sunter weights",
        formula="percentage of records whose release record of the highest weight is their own",
        compute=_of_release,
        costly=True,
    ),
)
