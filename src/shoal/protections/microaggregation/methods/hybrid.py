"""The two-step hybrid: a fixed-size heuristic splits the file, the genetic algorithm works on each piece.

From Solanas 2008, section 4, and, for the direct split, Solanas et al. 2006, section V.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from threading import Event
from typing import Any

import numpy as np

from shoal.arrays import Floats, Ints, cores
from shoal.engine.partition.inputs import as_rows
from shoal.engine.partition.partition import KPartition, total_squares
from shoal.engine.progress import Progress, silent
from shoal.errors import UsageError, check_choice, check_k
from shoal.protections.microaggregation.methods.genetic import genetic, usual_generations
from shoal.protections.microaggregation.register import method

HEURISTICS = ("mdav", "md")
SPLITS = ("two-step", "direct")


def hybrid(
    values: Floats,
    k: int,
    *,
    seed: int = 0,
    macro_size: int | None = None,
    macro_split: str = "two-step",
    heuristic: str = "mdav",
    runs: int | None = None,
    population: int = 100,
    crossover_rate: float = 0.3,
    mutation_rate: float = 0.1,
    generations: int | None = None,
    crossover: str = "one-point",
    selection: str = "roulette",
    inversion: float = 0.0,
    threads: int | None = None,
    progress: Progress = silent,
) -> KPartition:
    """The heuristic's groups, improved by the genetic algorithm within macro-groups of about macro_size records.

    groups = heuristic(records, k)
    two-step: macro-groups = heuristic(centroids of the groups, macro_size / k)
    direct:   macro-groups = heuristic(records, macro_size), groups = heuristic(each macro-group, k)
    for each macro-group: the genetic algorithm, with its groups as one of the first chromosomes

    In two steps the SSE is never above the heuristic's (the papers' Lemma 1). macro_size: a multiple of k,
    4k unless given. runs: the generations are shared out among so many populations, of which only the first
    knows the heuristic's groups: in a small macro-group it often stays close to them, and the others do better.
    5 up to 20 records and 1, as published, above, unless given.
    The other options are those of `genetic`, for each macro-group.
    Ctrl-C ends the run with the best so far.
    """
    values = as_rows(values)
    k = check_k(k, len(values))
    macro_size = _check_macro_size(4 * k if macro_size is None else macro_size, k)
    if runs is not None and runs < 1:
        raise UsageError(f"runs must be at least 1, not {runs}")
    split = _SPLIT[check_choice("macro_split", macro_split, SPLITS)]
    check_choice("heuristic", heuristic, HEURISTICS)
    options: dict[str, Any] = {
        "population": population,
        "crossover_rate": crossover_rate,
        "mutation_rate": mutation_rate,
        "crossover": crossover,
        "selection": selection,
        "inversion": inversion,
    }
    macro, start = split(values, k, macro_size, lambda v, k: method(heuristic)(v, k, threads=threads))
    pieces = macro.members()
    stop = Event()

    def heed(done: float, total: float, best: float | None = None, what: str = "") -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    def improve(piece: int) -> KPartition:
        rows = np.ascontiguousarray(values[pieces[piece]])
        first = best = KPartition(start[pieces[piece]])
        evaluations = 0
        total = usual_generations(len(rows)) if generations is None else generations
        shares = runs or (5 if len(rows) <= 20 else 1)
        for run in range(shares if len(rows) >= 2 * k else 0):
            if stop.is_set():
                break
            found = genetic(
                rows,
                k,
                seed=int(np.random.SeedSequence([seed, piece, run]).generate_state(1)[0]),
                generations=total // shares + (run < total % shares),
                start=first if run == 0 else None,
                progress=heed,
                **options,
            )
            evaluations += found.facts["evaluations"]
            # The search counts in rounded sums of its own; the lemma is to hold in ours.
            best = found if found.sse(rows) < best.sse(rows) else best
        return KPartition(best.labels, {"evaluations": evaluations})

    with ThreadPoolExecutor(threads or cores()) as pool:
        jobs = [pool.submit(improve, piece) for piece in range(len(pieces))]
        try:
            _tell(jobs, values, pieces, start, progress)
        except KeyboardInterrupt:
            stop.set()
        found = [job.result() for job in jobs]
    labels = np.empty(len(values), dtype=np.int64)
    first = 0
    for rows, part in zip(pieces, found, strict=True):
        labels[rows] = first + part.labels
        first += part.groups
    facts = {
        "macro_groups": len(pieces),
        "heuristic_sse": KPartition(start).sse(values),
        "evaluations": sum(part.facts["evaluations"] for part in found),
        **({"stopped": True} if stop.is_set() else {}),
    }
    return KPartition(labels, facts)


Heuristic = Callable[[Floats, int], KPartition]


def _check_macro_size(macro_size: int, k: int) -> int:
    if macro_size % k or macro_size < 2 * k:
        near = max(2, round(macro_size / k)) * k
        raise UsageError(
            f"macro_size must be a multiple of k = {k} and at least {2 * k}, not {macro_size}: take {near}"
        )
    return macro_size


def _in_two_steps(values: Floats, k: int, macro_size: int, heuristic: Heuristic) -> tuple[KPartition, Ints]:
    """Groups of records, then groups of their centroids."""
    groups = heuristic(values, k)
    a_macro_group = macro_size // k
    if groups.groups < 2 * a_macro_group:
        return _everything(values), groups.labels
    return KPartition(heuristic(groups.centroids(values), a_macro_group).labels[groups.labels]), groups.labels


def _directly(values: Floats, k: int, macro_size: int, heuristic: Heuristic) -> tuple[KPartition, Ints]:
    """Macro-groups of records, and groups within each."""
    macro = heuristic(values, macro_size) if len(values) >= 2 * macro_size else _everything(values)
    labels = np.empty(len(values), dtype=np.int64)
    first = 0
    for rows in macro.members():
        within = heuristic(np.ascontiguousarray(values[rows]), k)
        labels[rows] = first + within.labels
        first += within.groups
    return macro, labels


def _everything(values: Floats) -> KPartition:
    return KPartition(np.zeros(len(values), dtype=np.int64))


_SPLIT = {"two-step": _in_two_steps, "direct": _directly}


def _tell(jobs: list[Future[KPartition]], values: Floats, pieces: list[Ints], start: Ints, progress: Progress) -> None:
    """Report each finished macro-group, with the information loss so far."""
    piece_of = {job: piece for piece, job in enumerate(jobs)}
    total = total_squares(values) or 1.0
    sse = KPartition(start).sse(values)
    for done, job in enumerate(as_completed(jobs), start=1):
        rows = pieces[piece_of[job]]
        sse += job.result().sse(values[rows]) - KPartition(start[rows]).sse(values[rows])
        progress(done, len(jobs), 100 * sse / total, "macro-groups")
