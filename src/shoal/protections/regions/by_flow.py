"""Masking by minimum-cost flow: the lowest distortion of a masked signal, and a lower bound of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from shoal.engine.control import Control, current
from shoal.engine.progress import silent
from shoal.errors import Stopped
from shoal.protections.regions.bound import Bound, masked_bound
from shoal.protections.regions.flow import Flow, Network
from shoal.protections.regions.signal_search import search_signals
from shoal.protections.regions.task import COMPATIBILITY, Answer, Solution, Task


def mask_by_flow(
    task: Task,
    *,
    budget: int = 400,
    steps: int = 20_000,
    network: Network | None = None,
    control: Control | None = None,
) -> Answer:
    """Return the feasible solutions, the lowest distortion first, and a lower bound.

    Each solution has the swaps with the lowest distortion for its signal. budget: the number of flows in the search
    over signals. steps: the work on the lower bound, which also improves the best solution.
    """
    control = control or current()
    network = network or Network(task)
    search = search_signals(network, budget, control)
    bound: Bound | None = None
    with suppress(Stopped):
        control.check()
        search.control = control.part(progress=silent)  # from here on the progress is that of the bound
        bound = masked_bound(search, steps, control)
    flows = sorted(search.flows.values(), key=lambda flow: (flow.distortion, flow.counts.tolist()))
    solutions = [network.solution(flow) for flow in flows]
    feasible = [s for s in solutions if s.feasible]
    return Answer(
        feasible,
        candidates=len(search.cuts.base),
        bound=None if bound is None else bound.value,
        bound_kind=COMPATIBILITY if bound is None else bound.kind,
        stopped=control.stopped,
    )


def flow_seeds(task: Task, network: Network, budget: int = 100) -> list[Solution]:
    """Return masked solutions of flow with low distortion or high compatibility, to start the memetic algorithm."""
    flows: dict[bytes, Flow] = {}
    for wanted in sorted({task.limits.compatibility, 0.9, 0.99}):
        stricter = replace(task, limits=replace(task.limits, compatibility=max(wanted, task.limits.compatibility)))
        search = search_signals(network.for_task(stricter), budget, current().part(progress=silent))
        current().check()
        best = sorted(search.flows.values(), key=lambda flow: (flow.distortion, flow.counts.tolist()))[:10]
        flows |= {flow.counts.tobytes(): flow for flow in best}
    return [network.solution(flow) for flow in flows.values()]
