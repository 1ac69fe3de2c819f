"""CPU seconds, without compilation, and information loss of the classical methods on normal data with k = 5."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from shoal.engine.partition.partition import KPartition
from shoal.protections.microaggregation.methods.exact import exact
from shoal.protections.microaggregation.methods.md import md
from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.protections.microaggregation.methods.mst import mst
from shoal.protections.microaggregation.methods.path import path
from shoal.protections.microaggregation.methods.univariate import univariate
from shoal.protections.microaggregation.methods.vmdav import vmdav
from shoal.protections.microaggregation.sums_of_squares import sse_of, total_squares

K = 5
RUNS: list[tuple[str, Callable[..., KPartition], dict[str, object], list[tuple[int, int]]]] = [
    ("mdav", mdav, {}, [(5_000, 10), (20_000, 10)]),
    ("md", md, {}, [(5_000, 10), (20_000, 10)]),
    ("vmdav gamma 0.2", vmdav, {"gamma": 0.2}, [(5_000, 10), (20_000, 10)]),
    ("vmdav auto", vmdav, {}, [(5_000, 10), (20_000, 10)]),
    ("mst", mst, {}, [(5_000, 10), (20_000, 10)]),
    ("mst unsplit", mst, {"split": False}, [(5_000, 10), (20_000, 10)]),
    ("path nearest", path, {"order": "nearest"}, [(5_000, 10), (20_000, 10)]),
    ("path mdav", path, {"order": "mdav"}, [(5_000, 10), (20_000, 10)]),
    ("path tour", path, {}, [(5_000, 10), (20_000, 10), (20_000, 2)]),
    ("univariate", univariate, {}, [(100_000, 1), (1_000_000, 1)]),
    ("exact", exact, {}, [(16, 3), (18, 3), (20, 3)]),
]


def main() -> None:
    print(f"{'method':<16} {'n':>9} {'d':>3} {'CPU s':>8} {'loss %':>9} {'largest':>8}")
    for name, method, options, sizes in RUNS:
        for n, d in sizes:
            values = np.random.default_rng(0).normal(size=(n, d))
            started = time.process_time()
            partition = method(values, K, **options)
            seconds = time.process_time() - started
            loss = 100 * sse_of(partition, values) / total_squares(values)
            print(f"{name:<16} {n:>9,} {d:>3} {seconds:>8.3f} {loss:>9.4f} {partition.sizes.max():>8}", flush=True)


if __name__ == "__main__":
    main()
