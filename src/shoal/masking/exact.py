"""Masking by minimum-cost flow: the least distortion of a masked signal, and how far that is proven (spec/4)."""

from __future__ import annotations

from shoal.errors import PromiseError
from shoal.evolve.progress import Progress, silent
from shoal.masking.bound import masked_bound
from shoal.masking.flow import Network
from shoal.masking.targets import search_targets
from shoal.masking.task import Answer, Task


def mask_by_flow(
    task: Task,
    *,
    budget: int = 400,
    steps: int = 20_000,
    network: Network | None = None,
    progress: Progress = silent,
) -> Answer:
    """Feasible solutions, each with the swaps of least distortion for its signal, the best first; and a lower bound.

    budget: flows that the search over targets may solve. steps: work on the lower bound, which also improves the best.
    """
    network = network or Network(task)
    search = search_targets(network, budget, progress)
    bound = masked_bound(search, steps, progress)
    found = sorted(search.found.values(), key=lambda flow: (flow.metric, flow.counts.tolist()))
    solutions = [network.solution(flow) for flow in found]
    return Answer([s for s in solutions if s.feasible], candidates=len(search.cuts.base), bound=bound)


def least_distortion(task: Task, counts: object, network: Network | None = None) -> float:
    """The least distortion with which swaps can give exactly these counts of vital records in the districts."""
    import numpy as np

    flow = (network or Network(task)).target(np.asarray(counts, dtype=np.int64))
    if flow is None:
        raise PromiseError("no swaps give these counts: their total or a district's size forbids it")
    return flow.metric
