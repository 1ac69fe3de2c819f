"""Low loss for large files: blocks of near records, annealed one by one, then again with other borders.

    cut the file into blocks by a random projection tree; MDAV in each
    each pass: cut the groups (by their centroids) with another tree, so that every group lies within one block
        and old borders lie inside new blocks; anneal each block as a file of its own

Blocks of one pass share no record, so threads take them in any order with the same answer. Time and memory
grow linearly with n.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import check_choice, check_k
from shoal.evolve.control import Control
from shoal.evolve.progress import Progress
from shoal.kernels.groups import padded
from shoal.kernels.trees import cut
from shoal.partition.chains import HOT, STEP, Chain, anneal_chain, random_word
from shoal.partition.effort import EFFORTS, proposals
from shoal.partition.inputs import as_rows, as_weights
from shoal.partition.mdav import mdav
from shoal.partition.partition import KPartition, total_squares
from shoal.partition.space import survey

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]

BLOCK = 1500  # records; large against k, small enough to stay in the processor's cache
# (hot, share of the work) of each pass: the later ones start cooler and mend the borders
PASSES = {
    "quick": ((HOT, 0.6), (0.12, 0.4)),
    "standard": ((HOT, 0.6), (0.15, 0.4)),
    "thorough": ((HOT, 0.5), (0.2, 0.3), (0.15, 0.2)),
}


def blocks(
    values: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    seed: int = 0,
    effort: str = "standard",
    threads: int | None = None,
    progress: Progress | None = None,
    seconds: float | None = None,
) -> KPartition:
    """A partition of a large file by annealing in shifting blocks."""
    clock = time.process_time()
    values = as_rows(values)
    n = len(values)
    check_k(k, n)
    check_choice("effort", effort, EFFORTS)
    work = proposals(n, effort)
    before = total_squares(values, weights)
    unit = 100.0 / before if before > 0 else 1.0
    control = Control(threads=threads, progress=progress, total=work, seconds=seconds, unit=unit)
    run = _Blocks(values, as_weights(weights, n), k, seed, control)
    loss = run.start()
    stages: list[dict[str, Any]] = [_stage("mdav in blocks", before, loss, clock)]
    for number, (hot, share) in enumerate(PASSES[effort]):
        clock, before = time.process_time(), loss
        if not control.stopped:
            loss = run.anneal(number, hot, share * work / n)
            stages.append(_stage(f"annealing in blocks, pass {number + 1}", before, loss, clock))
    facts: dict[str, Any] = {"stages": stages, "effort": effort}
    if control.stopped:
        facts["stopped"] = True
    return KPartition(run.labels.astype(np.int64), facts)


def _stage(name: str, before: float, after: float, clock: float) -> dict[str, Any]:
    return {"name": name, "loss_before": before, "loss_after": after, "cpu_seconds": time.process_time() - clock}


class _Blocks:
    """The labels of the whole file while blocks of it are worked on."""

    def __init__(self, values: Floats, weights: Floats, k: int, seed: int, control: Control) -> None:
        self.values, self.weights, self.k, self.seed, self.control = values, weights, k, seed, control
        self.labels = np.zeros(len(values), dtype=np.int32)
        self.size = max(BLOCK, 20 * k)
        self.loss = 0.0

    def start(self) -> float:
        """MDAV in the blocks of a first tree."""
        order = np.arange(len(self.values), dtype=np.int32)
        rng = np.array([random_word(self.seed, 0)], dtype=np.uint64)
        starts = cut(padded(self.values), order, self.size, rng)
        parts = np.split(order, starts[1:-1])
        found = self.control.run([partial(self._mdav, rows) for rows in parts])
        self._write(parts, found)
        self.loss = float(sum(loss for _, loss in found))
        return self.loss

    def anneal(self, number: int, hot: float, proposals_a_record: float) -> float:
        """One pass over blocks of whole groups."""
        whole = KPartition(self.labels.astype(np.int64))
        centroids = padded(whole.centroids(self.values, self.weights))
        order = np.arange(whole.groups, dtype=np.int32)
        rng = np.array([random_word(self.seed, 1, number)], dtype=np.uint64)
        a_block = max(2, round(self.size * whole.groups / whole.n))
        starts = cut(centroids, order, a_block, rng)
        by_group = np.argsort(whole.labels, kind="stable").astype(np.int32)
        ends = np.cumsum(whole.sizes)
        parts = [
            np.concatenate([by_group[ends[g] - whole.sizes[g] : ends[g]] for g in groups])
            for groups in np.split(order, starts[1:-1])
        ]
        del centroids, by_group
        found = self.control.run(
            [
                partial(self._anneal, rows, random_word(self.seed, 2, number, block), hot, proposals_a_record)
                for block, rows in enumerate(parts)
            ]
        )
        self._write(parts, found)
        return float(sum(loss for _, loss in found))

    def _mdav(self, rows: Indices) -> tuple[Indices, float]:
        part = mdav(self.values[rows], self.k, weights=self.weights[rows])
        return part.labels.astype(np.int32), part.sse(self.values[rows], self.weights[rows])

    def _anneal(self, rows: Indices, word: int, hot: float, proposals_a_record: float) -> tuple[Indices, float]:
        """Anneal a block from its present groups; the present ones stay if the search was stopped."""
        _, labels = np.unique(self.labels[rows], return_inverse=True)
        space = survey(self.values[rows], self.k, self.weights[rows])
        before = space.state(labels)[1]
        chain = Chain(labels.astype(np.int32), word, int(rows.size * proposals_a_record), hot)
        if not self.control.stopped:
            anneal_chain(space, chain, self.control, "annealing in blocks", whole=False)
        if not chain.loss < before:
            return labels.astype(np.int32), before
        with STEP:
            self.loss += chain.loss - before
        self.control.advance(0.0, self.loss, "annealing in blocks")
        return chain.labels, chain.loss

    def _write(self, parts: list[Indices], found: list[tuple[Indices, float]]) -> None:
        count = 0
        for rows, (labels, _) in zip(parts, found, strict=True):
            self.labels[rows] = labels + count
            count += int(labels.max()) + 1
