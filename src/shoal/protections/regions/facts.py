"""What a masking measures: signals, outliers, distortion, and what an intruder still finds."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Ints
from shoal.attacks.membership import attack_regions
from shoal.protections.regions.by_evolution import MemeticSettings, fitness
from shoal.protections.regions.columns import column_codes
from shoal.protections.regions.flow import Network
from shoal.protections.regions.hiding import (
    Concealment,
    limited_regions,
)
from shoal.protections.regions.protection import MeasuredProtection
from shoal.protections.regions.signal_search import compatible_bounds
from shoal.protections.regions.task import COMPATIBILITY, Answer, Solution, Task
from shoal.table.table import Table


def facts_of(
    task: Task,
    labels: list[Any],
    method: str,
    network: Network | None,
    answer: Answer,
    solution: Solution,
    pick: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Return the measures of the run, with regions in the order of their labels.

    network: None if every solution has the lowest distortion for its signal.
    """
    optimum: float | None = solution.distortion
    if network is not None:
        flow = network.reach(solution.counts)
        optimum = None if flow is None else flow.distortion
    bound, bound_kind = answer.bound, answer.bound_kind
    if bound is None and network is not None:
        flow = network.solve(*compatible_bounds(task))
        bound, bound_kind = 0.0 if flow is None else flow.distortion, COMPATIBILITY
    settings = MemeticSettings(centre=options.get("centre"))
    cells = task.matching.column_count * task.region.size
    return {
        "n": int(task.region.size),
        "districts": [labels[d] for d in _by_label(labels)],
        "method": method,
        "vital_records": int(task.signal.counts.sum()),
        "signal": _numbers(task, labels, task.signal.counts),
        "modified_signal": _numbers(task, labels, solution.counts),
        "outliers": region_names(labels, task.outlying),
        "modified_outliers": region_names(labels, solution.verdict.outliers),
        "thresholds": task.restrictions.threshold.tolist(),
        "metric": solution.distortion,
        "compatibility": solution.verdict.compatibility,
        "feasible": solution.feasible,
        "swaps": len(solution.swaps),
        "lower_bound": float(bound or 0.0),
        "lower_bound_kind": bound_kind,
        "flow_optimum": optimum,
        "distortion": solution.distortion / cells,
        "worst": task.worst,
        "picked": pick,
        "candidates": answer.candidates,
        **({"stopped": True} if answer.stopped else {}),
        "feasible_solutions": [
            {
                "number": i + 1,
                "fitness": fitness(task, settings, s),
                "metric": s.distortion,
                "compatibility": s.verdict.compatibility,
                "swaps": len(s.swaps),
                **({"candidate_regions": int(s.facts["candidates"])} if "candidates" in s.facts else {}),
                "outliers": region_names(labels, s.verdict.outliers),
                "signal": _numbers(task, labels, s.counts),
            }
            for i, s in enumerate(answer.solutions[:100])
        ],
    }


def measured_facts(
    task: Task, conditions: Concealment, labels: list[Any], solution: Solution, measured: MeasuredProtection
) -> dict[str, Any]:
    """Return what the new signal still shows, where target records went, and which regions could receive only few."""
    receiving = task.region[solution.swaps[:, 1]]
    arrivals = np.bincount(receiving, minlength=task.region_count)
    return {
        "headline": _headline(task, conditions, labels, measured),
        "hidden": measured.hidden_but_for(solution.decoys),
        "alphas": list(conditions.alphas),
        "outliers_left": region_names(labels, measured.left),
        "new_outliers": region_names(labels, measured.new),
        "still_largest": region_names(labels, measured.largest),
        "decoys": region_names(labels, solution.decoys),
        "ranks": {
            kind: {str(labels[d]): int(rank) for d, rank in zip(task.outlying, ranks, strict=True)}
            for kind, ranks in measured.ranks.items()
        },
        "candidate_regions": int(solution.facts["candidates"]) if "candidates" in solution.facts else None,
        "limited_regions": region_names(labels, limited_regions(task, conditions, solution)),
        "arrivals": arrivals[_by_label(labels)].tolist(),
        "tests": [
            {
                "signal": view.signal,
                "alpha": view.alpha,
                "outliers_before": region_names(labels, np.flatnonzero(view.before)),
                "outliers_after": region_names(labels, np.flatnonzero(view.after)),
            }
            for view in measured.views
        ],
    }


def _headline(task: Task, conditions: Concealment, labels: list[Any], measured: MeasuredProtection) -> str:
    """Return what was measured, in one or two sentences."""
    kinds = " and ".join(signal.kind for signal in conditions.signals)
    lowest, highest = conditions.alphas[0], conditions.alphas[-1]
    alphas = f"alpha {lowest:g}" if lowest == highest else f"alpha {lowest:g} to {highest:g}"
    every = task.outlying.size
    left, largest, new = (region_names(labels, part) for part in (measured.left, measured.largest, measured.new))
    parts = []
    if left:
        parts.append(f"{', '.join(map(str, left))} still outliers ({len(left)} of {every} original ones)")
    if largest:
        parts.append(f"{', '.join(map(str, largest))} still the largest or smallest")
    if not (left or largest):
        one = "the original outlier is neither an outlier nor the largest region"
        parts.append(
            one if every == 1 else f"none of the {every} original outliers is an outlier or the largest region"
        )
    parts.append(f"new outliers: {', '.join(map(str, new))}" if new else "no new outlier")
    rank = f"Best rank of an original outlier: {measured.first_rank} of {task.region_count}."
    return f"Measured in {kinds} at {alphas}: {'; '.join(parts)}. {rank}"


def attack_facts(
    table: Table, parameter: str, along: tuple[str, ...], vital: str, task: Task, solution: Solution, labels: list[Any]
) -> dict[str, Any] | None:
    """Return how well an intruder guesses the original regions of moved records from the other released columns."""
    left_out = {parameter, vital, *along, *table.roles.removed}
    columns = [column_codes(table, name) for name in table.columns if name not in left_out]
    if not columns:
        return None
    one, two = solution.swaps[:, 0], solution.swaps[:, 1]
    released = task.region.copy()
    released[one], released[two] = task.region[two], task.region[one]
    attack = attack_regions(columns, released, task.region, task.is_target, task.outlying, regions=task.region_count)
    return {
        "moved_guessed": attack.guessed,
        "moved_guessed_base": attack.guessed_base,
        "others_guessed": attack.learnt,
        "others_guessed_base": attack.learnt_base,
        "ranks": {str(labels[d]): rank for d, rank in zip(task.outlying, attack.ranks, strict=True)},
        "finds_outliers": attack.finds,
    }


def _by_label(labels: list[Any]) -> Ints:
    """Return the numbers of the regions in the order of their labels."""
    return np.asarray(sorted(range(len(labels)), key=lambda d: labels[d]), dtype=np.int64)


def region_names(labels: list[Any], regions: Ints) -> list[Any]:
    return sorted(labels[d] for d in regions)


def _numbers(task: Task, labels: list[Any], counts: Ints) -> list[Any]:
    values = counts if task.signal.kind == "quantity" else task.signal.of(counts)
    numbers: list[Any] = values[_by_label(labels)].tolist()
    return numbers
