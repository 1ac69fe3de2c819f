"""Masking by minimum-cost flow: the least distortion of a masked signal, and how far that is proven."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from shoal.engine.control import Control, current
from shoal.engine.progress import silent
from shoal.errors import PromiseError, Stopped
from shoal.protections.regions.bound import masked_bound
from shoal.protections.regions.flow import Flow, Network
from shoal.protections.regions.targets import search_targets
from shoal.protections.regions.task import Answer, Solution, Task


def mask_by_flow(
    task: Task,
    *,
    budget: int = 400,
    steps: int = 20_000,
    network: Network | None = None,
    control: Control | None = None,
) -> Answer:
    """Feasible solutions, each with the swaps of least distortion for its signal, the best first; and a lower bound.

    budget: flows that the search over targets may solve. steps: work on the lower bound, which also improves the best.
    """
    control = control or current()
    network = network or Network(task)
    search = search_targets(network, budget, control)
    bound = None
    with suppress(Stopped):
        control.check()
        search.control = control.part(progress=silent)  # from here on progress shows the bound
        bound = masked_bound(search, steps, control)
    flows = sorted(search.flows.values(), key=lambda flow: (flow.metric, flow.counts.tolist()))
    solutions = [network.solution(flow) for flow in flows]
    feasible = [s for s in solutions if s.feasible]
    return Answer(feasible, candidates=len(search.cuts.base), bound=bound, stopped=control.stopped)


def flow_seeds(task: Task, network: Network, budget: int = 100) -> list[Solution]:
    """Masked flow solutions of low distortion and of high compatibility, for the memetic algorithm to start with."""
    flows: dict[bytes, Flow] = {}
    for wanted in sorted({task.limits.compatibility, 0.9, 0.99}):
        stricter = replace(task, limits=replace(task.limits, compatibility=max(wanted, task.limits.compatibility)))
        search = search_targets(network.for_task(stricter), budget, current().part(progress=silent))
        current().check()
        best = sorted(search.flows.values(), key=lambda flow: (flow.metric, flow.counts.tolist()))[:10]
        flows |= {flow.counts.tobytes(): flow for flow in best}
    return [network.solution(flow) for flow in flows.values()]


def least_distortion(task: Task, counts: ArrayLike, network: Network | None = None) -> float:
    """The least distortion with which swaps can give exactly these counts of vital records in the districts."""
    flow = (network or Network(task)).target(np.asarray(counts, dtype=np.int64))
    if flow is None:
        raise PromiseError("no swaps give these counts: their total or a district's size forbids it")
    return flow.metric
