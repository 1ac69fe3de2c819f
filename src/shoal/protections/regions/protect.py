"""The work of `shoal.mask_group`: check the columns, search for swaps between regions, and make the release.

Group anonymity after Chertov and Tavrov 2017. By default the target group is hidden at every alpha in every signal, and
every choice is drawn from the secret of the run (`hiding.py`). The settings "published" select solutions as the
publication does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.engine.clock import Clock
from shoal.engine.control import current, shielded
from shoal.errors import PromiseError, UsageError, counted
from shoal.gate.promises import SameValues
from shoal.protections.regions import MASK
from shoal.protections.regions.by_evolution import MemeticSettings, mask_by_evolution
from shoal.protections.regions.by_flow import flow_seeds, mask_by_flow
from shoal.protections.regions.columns import (
    check_columns,
    check_ties,
    check_units,
    marked_records,
    matching_values_of,
    numbered_regions,
    places_of,
    thresholds_in_order,
)
from shoal.protections.regions.facts import attack_facts, facts_of, measured_facts
from shoal.protections.regions.flow import Network
from shoal.protections.regions.hiding import (
    Concealment,
    concealment,
    default_pick,
    hide_by_flow,
    nearest_choices,
)
from shoal.protections.regions.parameters import Aim, Matching, OutlierChoice, Searching, Target
from shoal.protections.regions.release import GroupRelease, masking_promises, swapped_frame, swapped_rows
from shoal.protections.regions.restriction import AutomaticThreshold
from shoal.protections.regions.task import Answer, MaskingLimits, Solution, Task, TaskNames, masking_task
from shoal.sources.reading import as_table


def protect(
    data: Any,
    target: Target,
    matching: Matching,
    outlier_choice: OutlierChoice,
    limits: MaskingLimits,
    aim: Aim,
    searching: Searching,
) -> GroupRelease:
    """Return the release of a table in which the target group is hidden by swaps between regions."""
    vital, parameter, along, settings, pick = target.vital, target.parameter, target.along, aim.settings, aim.pick
    method, options = searching.method, searching.options
    _check_settings(method, aim, limits.sensitivity)
    table = as_table(data)
    clock = Clock()
    check_columns(table, target, matching)
    check_ties(table, parameter, along)
    check_units(table, parameter)
    labels, region = numbered_regions(table, parameter, by_label=settings == "published")
    second_group = None if target.second is None else marked_records(table, target.second, "second")
    outliers, thresholds = outlier_choice.outliers, outlier_choice.thresholds
    task = masking_task(
        region,
        marked_records(table, vital, "vital"),
        matching_values_of(table, matching),
        kind=target.signal,
        second=second_group,
        limits=limits,
        outlying=None if outliers is None else places_of(labels, outliers, parameter),
        threshold=(
            AutomaticThreshold(outlier_choice.nth, outlier_choice.rule)
            if thresholds is None
            else thresholds_in_order(labels, thresholds, outliers)
        ),
        shape=outlier_choice.restriction,
        root=outlier_choice.root,
        names=TaskNames(parameter, vital[0], labels),
    )
    conditions = concealment(task, second_group, aim.alphas, aim.decoys)
    run = _Run(task, conditions, searching.secret, searching.seed)
    if settings == "hiding":
        answer, network = run.hide(options)
        pick = default_pick(answer.solutions) if pick is None and answer.solutions else pick
    else:
        answer, network = run.as_published(method, options)
    solution = _picked(answer, 1 if pick is None else pick, method)
    frame = swapped_frame(table, (parameter, *along), solution.swaps)
    measured = conditions.measure(task, solution.counts)
    about = (task, labels, method, network, answer, solution, 1 if pick is None else pick, options)
    facts = shielded(lambda: facts_of(*about))  # a stopped search has them too
    facts |= {"settings": settings, **measured_facts(task, conditions, labels, solution, measured)}
    facts |= {"attack": attack_facts(table, parameter, along, vital[0], task, solution, labels)}
    release = GroupRelease(
        original=table,
        frame=frame,
        changed=(parameter, *along),
        k=None,
        facts={**facts, **clock.read()},
        solution=solution,
        title=MASK.title,
        labels=tuple(labels),
        task=task,
        parameter=parameter,
        vital=vital,
        conditions=conditions if settings == "hiding" else None,
        promises=masking_promises(
            task,
            SameValues((parameter, *along), swaps=swapped_rows(table, solution.swaps)),
            vital,
            target.second,
            conditions if settings == "hiding" else None,
            labels,
        ),
    )
    release.verify()
    return release


@dataclass(frozen=True, eq=False)
class _Run:
    """One search: the task, the conditions, and the seed or secret of its choices."""

    task: Task
    conditions: Concealment
    secret: str | None
    seed: int

    def hide(self, options: Mapping[str, Any]) -> tuple[Answer, None]:
        """Return solutions that hide the group.

        Records and regions are numbered at random, so that no choice depends on the order of the file or of the labels.
        """
        task = self.task
        rng = self._random()
        order, number = rng.permutation(task.region.size), rng.permutation(task.region_count)
        mixed, conditions = task.renumbered(number).in_order(order), self.conditions.renumbered(number)
        answer = hide_by_flow(mixed, conditions, rng, **options)
        if not answer.solutions:
            current().check()
            raise PromiseError(nearest_choices(mixed, conditions, answer, rng))
        back = np.argsort(number)

        def returned(solution: Solution) -> Solution:
            counts = solution.counts[number]
            verdict, swaps = task.judge(counts, solution.distortion), order[solution.swaps]
            decoys = np.sort(back[solution.decoys])
            return replace(solution, swaps=swaps, counts=counts, verdict=verdict, decoys=decoys)

        return replace(answer, solutions=[returned(s) for s in answer.solutions], drawn_solutions=[]), None

    def as_published(self, method: str, options: dict[str, Any]) -> tuple[Answer, Network]:
        """Return solutions as Chertov and Tavrov 2017 select them; with a secret, the records are in a random order."""
        order, seed = np.arange(self.task.region.size), self.seed
        if self.secret is not None:  # which of equally good records are swapped must not be predictable
            draw = self._random()
            order, seed = draw.permutation(order.size), int(draw.integers(2**31))
        mixed = self.task.in_order(order)
        network = Network(mixed)
        answer = _answer(mixed, method, network, seed, options)
        return replace(answer, solutions=[replace(s, swaps=order[s.swaps]) for s in answer.solutions]), network

    def _random(self) -> np.random.Generator:
        if self.secret is not None:
            return np.random.Generator(np.random.Philox(key=int(self.secret, 16)))
        return np.random.Generator(np.random.Philox(np.random.SeedSequence(self.seed)))


def _check_settings(method: str, aim: Aim, sensitivity: float) -> None:
    """Raise an error for an option that the settings do not use."""
    if aim.settings == "hiding" and method != "flow":
        raise UsageError(
            f"The method {method} searches as published, and does not hide the group at every alpha. To run it, add "
            "--settings published; else use --method flow."
        )
    if aim.settings == "hiding" and sensitivity:
        raise UsageError("--sensitivity lets original outliers stay, so it needs --settings published. Remove it.")
    if aim.settings == "published" and aim.decoys:
        raise UsageError("--decoys needs --settings hiding, the default. Remove --decoys or --settings published.")


def _answer(
    task: Task,
    method: str,
    network: Network,
    seed: int,
    options: dict[str, Any],
) -> Answer:
    if method == "flow":
        return mask_by_flow(task, network=network, **options)
    rest = {name: value for name, value in options.items() if name != "flow_seeds"}
    seeds = flow_seeds(task, network) if options.get("flow_seeds") else ()
    return mask_by_evolution(task, MemeticSettings(**rest), seed=seed, seeds=seeds, network=network)


def _picked(answer: Answer, pick: int, method: str) -> Solution:
    if not answer.solutions:
        current().check()
        hint = "Use --method flow" if method == "memetic" else "Lower --compatibility or --alpha, or raise --distortion"
        raise PromiseError(
            f"None of the {counted(answer.candidates, 'solution')} masks the outlier regions within the limits. {hint}."
        )
    if not 1 <= pick <= len(answer.solutions):
        raise UsageError(
            f"--pick must be between 1 and {len(answer.solutions)} (the number of feasible solutions), not {pick}."
        )
    return answer.solutions[pick - 1]
