"""CPU seconds of the two engines of MDAV, compared with a kernel that only computes the distances.

This kernel computes as many distances as the brute-force engine: two per remaining record and pair of groups.
Compilation is not counted.
The farthest record from the centroid costs almost nothing (kernels/rim.py), so it is not counted.

    python benchmarks/mdav.py [--quick]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from shoal.engine.kernels.compiling import kernel
from shoal.engine.kernels.distance import EUCLIDEAN, block_distances
from shoal.protections.microaggregation.kernels import mdav_by_tree  # noqa: F401  (compiled before the clock runs)
from shoal.protections.microaggregation.kernels.mdav_by_sweep import BRUTE_BLOCK
from shoal.protections.microaggregation.methods.mdav import mdav

K = 5
QUICK = (
    ("normal", 10_000, 10, ("brute", "tree")),
    ("normal", 50_000, 10, ("brute", "tree")),
    ("normal", 50_000, 5, ("brute", "tree")),
)
FULL = (
    ("normal", 1_000, 10, ("brute", "tree")),
    ("normal", 5_000, 2, ("brute", "tree")),
    ("normal", 5_000, 20, ("brute", "tree")),
    ("normal", 20_000, 20, ("brute", "tree")),
    ("normal", 20_000, 50, ("brute", "tree")),
    ("clustered", 20_000, 20, ("brute", "tree")),
    ("clustered", 20_000, 50, ("brute", "tree")),
    ("duplicated", 20_000, 20, ("brute", "tree")),
    ("normal", 100_000, 50, ("brute",)),
    ("normal", 100_000, 10, ("brute", "tree")),
    ("normal", 200_000, 2, ("tree",)),
    ("normal", 1_000_000, 5, ("tree",)),
)
# Data, records, columns, engine: at most so many CPU seconds.
BARS = {("normal", 50_000, 10): 1.2, ("normal", 100_000, 10): 5.0, ("normal", 1_000_000, 5): 20.0}


@kernel("float64(float64[:, :, ::1], float64[::1], int64, int64)")
def sweep_only(cells, point, n, k):
    """The distances that MDAV's brute-force engine computes, and nothing else."""
    capacity = cells.shape[2]
    buffer = np.empty(capacity)
    total = 0.0
    for left in range(n, 3 * k - 1, -k):
        for b in range(left // capacity):
            block_distances(cells, b, capacity, point, EUCLIDEAN, buffer)
        total += buffer[0]
    return total


def main(quick: bool) -> None:
    head = f"{'data':<11}{'n':>9}{'d':>4}{'k':>4}  {'engine':<7}{'CPU s':>9}"
    print(f"{head}{'/ sweep':>9}{'at most':>9}")
    for data, n, d, engines in QUICK if quick else QUICK + FULL:
        values = make(data, n, d)
        sweep = None
        if "brute" in engines:
            cells = np.ones((n // BRUTE_BLOCK + 1, d, BRUTE_BLOCK))
            sweep = measure(lambda cells=cells, n=n, d=d: sweep_only(cells, np.ones(d), n, K))[0]
            print(f"{data:<11}{n:>9}{d:>4}{K:>4}  {'sweep':<7}{sweep:>9.3f}", flush=True)
        labels = []
        for engine in engines:
            cpu, partition = measure(lambda v=values, e=engine: mdav(v, K, engine=e))
            labels.append(partition.labels)
            ratio = f"{cpu / sweep:>9.2f}" if sweep else " " * 9
            bar = f"{BARS[data, n, d]:>9.1f}" if (data, n, d) in BARS else ""
            line = f"{data:<11}{n:>9}{d:>4}{K:>4}  {engine:<7}{cpu:>9.3f}{ratio}{bar}"
            print(line, flush=True)
        if any((other != labels[0]).any() for other in labels[1:]):
            raise SystemExit("the engines' labels differ")


def make(data: str, n: int, d: int):
    """Seeded values: normal, in fifty clusters, or each record about ten times."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(n, d))
    if data == "clustered":
        return values * 0.1 + rng.normal(size=(50, d))[rng.integers(0, 50, size=n)]
    if data == "duplicated":
        return values[rng.integers(0, n // 10, size=n)]
    return values


def measure(run):
    """CPU seconds, and the result."""
    cpu = time.process_time()
    result = run()
    return time.process_time() - cpu, result


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
