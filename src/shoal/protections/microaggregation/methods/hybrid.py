"""The two-step hybrid: a fixed-size heuristic splits the file, and the genetic algorithm improves each macro-group.

It follows Solanas 2008, section 4, and, for the direct split, Solanas et al. 2006, section V.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import TypedDict, Unpack

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.control import Control, current
from shoal.engine.partition.inputs import as_rows
from shoal.engine.partition.partition import KPartition
from shoal.engine.progress import silent
from shoal.errors import UsageError, check_choice, check_k
from shoal.protections.microaggregation.choices import HEURISTICS, MACRO_SPLITS
from shoal.protections.microaggregation.methods import group_records
from shoal.protections.microaggregation.methods.genetic import genetic, usual_generations
from shoal.protections.microaggregation.sums_of_squares import sse_of, total_squares


class Evolution(TypedDict, total=False):
    """Options that are passed on to the genetic algorithm; its defaults hold for those left out."""

    population: int
    crossover_rate: float
    mutation_rate: float
    crossover: str
    selection: str
    inversion: float


def hybrid(
    values: Floats,
    k: int,
    *,
    seed: int = 0,
    macro_size: int | None = None,
    macro_split: str = "two-step",
    heuristic: str = "mdav",
    runs: int | None = None,
    generations: int | None = None,
    control: Control | None = None,
    **evolution: Unpack[Evolution],
) -> KPartition:
    """Return the heuristic's groups, improved by the genetic algorithm within macro-groups of macro_size records.

    groups = heuristic(records, k)
    two-step: macro-groups = heuristic(centroids of the groups, macro_size / k)
    direct:   macro-groups = heuristic(records, macro_size), groups = heuristic(each macro-group, k)
    for each macro-group: the genetic algorithm, with its groups as one of the first chromosomes

    With the two-step split the SSE is never above the heuristic's (Solanas 2008, Lemma 1). A stopped run returns the
    best partition so far.

    Args:
        macro_size: A multiple of k, by default 4k.
        runs: The number of populations that share the generations. Only the first one starts with the heuristic's
            groups: in a small macro-group it often stays close to them, and the others do better. By default 5 for up
            to 20 records, and 1 above, as published.
        evolution: Other options of `genetic`, for each macro-group.
    """
    control = control or current()
    values = as_rows(values)
    k = check_k(k, len(values))
    macro_size = _check_macro_size(4 * k if macro_size is None else macro_size, k)
    if runs is not None and runs < 1:
        raise UsageError(f"runs must be at least 1, not {runs}.")
    split = _SPLIT[check_choice("macro_split", macro_split, MACRO_SPLITS)]
    check_choice("heuristic", heuristic, HEURISTICS)
    macro, start = split(values, k, macro_size, lambda v, k: group_records(heuristic, v, k))
    pieces = macro.members()
    quiet = control.part(progress=silent)
    finished = _Finished(values, start, len(pieces), control)

    def improve(piece: int) -> KPartition:
        rows = np.ascontiguousarray(values[pieces[piece]])
        first = KPartition(start[pieces[piece]])
        best = _improved(rows, k, first, [seed, piece], runs, generations, quiet, evolution)
        finished.add(pieces[piece], best)
        return best

    improved = control.run([partial(improve, piece) for piece in range(len(pieces))])
    labels = np.empty(len(values), dtype=np.int64)
    first = 0
    for rows, part in zip(pieces, improved, strict=True):
        labels[rows] = first + part.labels
        first += part.groups
    facts = {
        "macro_groups": len(pieces),
        "heuristic_sse": sse_of(KPartition(start), values),
        "evaluations": sum(part.facts["evaluations"] for part in improved),
        **control.facts,
    }
    return KPartition(labels, facts)


def _improved(
    rows: Floats,
    k: int,
    first: KPartition,
    seed: list[int],
    runs: int | None,
    generations: int | None,
    control: Control,
    evolution: Evolution,
) -> KPartition:
    """Return the groups of one macro-group after the genetic algorithm, never worse than the first ones."""
    best, evaluations = first, 0
    total = usual_generations(len(rows)) if generations is None else generations
    shares = runs or (5 if len(rows) <= 20 else 1)
    for run in range(shares if len(rows) >= 2 * k else 0):
        if control.stopped:
            break
        result = genetic(
            rows,
            k,
            seed=int(np.random.SeedSequence([*seed, run]).generate_state(1)[0]),
            generations=total // shares + (run < total % shares),
            start=first if run == 0 else None,
            control=control,
            **evolution,
        )
        evaluations += result.facts["evaluations"]
        # The search computes the SSE from other sums, which round differently. Lemma 1 must hold for these.
        best = result if sse_of(result, rows) < sse_of(best, rows) else best
    return KPartition(best.labels, {"evaluations": evaluations})


Heuristic = Callable[[Floats, int], KPartition]


def _check_macro_size(macro_size: int, k: int) -> int:
    if macro_size % k or macro_size < 2 * k:
        near = max(2, round(macro_size / k)) * k
        raise UsageError(
            f"macro_size must be a multiple of k = {k} and at least {2 * k}, not {macro_size}. Use {near}."
        )
    return macro_size


def _in_two_steps(values: Floats, k: int, macro_size: int, heuristic: Heuristic) -> tuple[KPartition, Ints]:
    """Return macro-groups of the centroids of groups, and these groups."""
    groups = heuristic(values, k)
    groups_per_macro_group = macro_size // k
    if groups.groups < 2 * groups_per_macro_group:
        return _everything(values), groups.labels
    return KPartition(heuristic(groups.centroids(values), groups_per_macro_group).labels[groups.labels]), groups.labels


def _directly(values: Floats, k: int, macro_size: int, heuristic: Heuristic) -> tuple[KPartition, Ints]:
    """Return macro-groups of records, and groups within each."""
    macro = heuristic(values, macro_size) if len(values) >= 2 * macro_size else _everything(values)
    labels = np.empty(len(values), dtype=np.int64)
    first = 0
    for rows in macro.members():
        within = heuristic(np.ascontiguousarray(values[rows]), k)
        labels[rows] = first + within.labels
        first += within.groups
    return macro, labels


def _everything(values: Floats) -> KPartition:
    """Return one group of all records."""
    return KPartition(np.zeros(len(values), dtype=np.int64))


_SPLIT = {"two-step": _in_two_steps, "direct": _directly}


class _Finished:
    """Shows each finished macro-group, with the information loss so far."""

    def __init__(self, values: Floats, start: Ints, pieces: int, control: Control) -> None:
        self._values, self._start, self._pieces, self._control = values, start, pieces, control
        self._total = total_squares(values) or 1.0
        self._sse, self._done = sse_of(KPartition(start), values), 0
        self._lock = Lock()

    def add(self, rows: Ints, best: KPartition) -> None:
        """Count a macro-group and show the progress."""
        values = self._values[rows]
        with self._lock:
            if self._control.stopped:  # the remaining macro-groups keep the heuristic's groups
                return
            self._sse += sse_of(best, values) - sse_of(KPartition(self._start[rows]), values)
            self._done += 1
            self._control.show(self._done, self._pieces, 100 * self._sse / self._total, "macro-groups")
