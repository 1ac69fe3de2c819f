"""The genetic algorithm: chromosomes per CPU second, compared with NumPy, and the effect of its options.

    python benchmarks/genetic.py [--quick] [throughput] [operators] [small]

throughput: the kernel, and NumPy for the whole population at once and for one chromosome at a time, in one run.
operators: mean SSE of each operator on random sets. small: the optimum of 11 records, MDAV against 20 to 100.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from shoal.protections.microaggregation.methods.genetic import genetic
from shoal.protections.microaggregation.sums_of_squares import sse_of
from shoal.studies.sensitivity import random_set

K, POPULATION, CROSSOVER, MUTATION = 3, 100, 0.3, 0.1


def main(quick: bool, parts: list[str]) -> None:
    for name, part in PARTS.items():
        if not parts or name in parts:
            part(quick)


def throughput(quick: bool) -> None:
    """Print chromosomes (population x generations) per CPU second."""
    print(
        f"{'set':<8}{'kernel':>12}{'vectorised':>12}{'one by one':>12}{'kernel / vectorised':>22}{'/ one by one':>14}"
    )
    for n, d in ((11, 4), (20, 2), (35, 2)):
        values = random_set(n, d, 0)
        forms = (
            (lambda g, v=values: genetic(v, K, generations=g), 1_000 if quick else 5_000),
            (lambda g, v=values: numpy_form(v, g, vectorised), 200 if quick else 1_000),
            (lambda g, v=values: numpy_form(v, g, one_by_one), 20 if quick else 60),
        )
        speeds = []
        for run, generations in forms:
            run(2)
            started = time.process_time()
            run(generations)
            speeds.append(POPULATION * generations / (time.process_time() - started))
        kernel, wide, single = speeds
        print(f"{f'{n}x{d}':<8}{kernel:>12,.0f}{wide:>12,.0f}{single:>12,.0f}", end="")
        print(f"{kernel / wide:>20.1f} x{kernel / single:>12.0f} x")
    print("at least 8 x and 50 x\n")


def numpy_form(values: np.ndarray, generations: int, next_generation) -> float:
    """The published algorithm in NumPy; returns the lowest SSE."""
    random = np.random.default_rng(0)
    n, symbols = len(values), len(values) // K
    people = np.array([random.permutation(np.arange(n) % symbols) for _ in range(POPULATION)])
    cost = sse(people, values, symbols)
    best, least = people[cost.argmin()].copy(), cost.min()
    for _ in range(generations):
        wheel = np.cumsum(np.where(np.isinf(cost), 1e-6, 1 / (cost + 1)))
        people, cost = next_generation(people, wheel, values, symbols, random)
        people[0], cost[0] = best, least
        if cost.min() < least:
            best, least = people[cost.argmin()].copy(), cost.min()
    return float(least)


def vectorised(people, wheel, values, symbols, random):
    """Every step on the whole population at once."""
    n = people.shape[1]
    children = people[np.searchsorted(wheel, random.random(POPULATION) * wheel[-1], side="right")]
    cut = random.integers(1, n, POPULATION // 2)
    swap = (random.random(POPULATION // 2) < CROSSOVER)[:, None] & (np.arange(n) >= cut[:, None])
    one, other = children[0::2].copy(), children[1::2].copy()
    children[0::2], children[1::2] = np.where(swap, other, one), np.where(swap, one, other)
    mutates = random.random(children.shape) < MUTATION
    children[mutates] = random.integers(0, symbols, int(mutates.sum()))
    return children, sse(children, values, symbols)


def one_by_one(people, wheel, values, symbols, random):
    """Every step on one chromosome at a time."""
    n = people.shape[1]
    children, cost = np.empty_like(people), np.empty(POPULATION)
    for c in range(0, POPULATION, 2):
        a, b = (people[np.searchsorted(wheel, random.random() * wheel[-1], side="right")].copy() for _ in range(2))
        if random.random() < CROSSOVER:
            cut = random.integers(1, n)
            a[cut:], b[cut:] = b[cut:].copy(), a[cut:].copy()
        for i, genes in ((c, a), (c + 1, b)):
            mutates = random.random(n) < MUTATION
            genes[mutates] = random.integers(0, symbols, int(mutates.sum()))
            children[i], cost[i] = genes, sse(genes[None], values, symbols)[0]
    return children, cost


def sse(people, values, symbols):
    """SSE of chromosomes by group sums; infinite, and not computed, if a group is outside k..2k-1."""
    place = people + symbols * np.arange(len(people))[:, None]
    sizes = np.bincount(place.ravel(), minlength=len(people) * symbols).reshape(-1, symbols)
    good = ((sizes == 0) | ((sizes >= K) & (sizes < 2 * K))).all(axis=1)
    cost = np.full(len(people), np.inf)
    if not good.any():
        return cost
    place = (people[good] + symbols * np.arange(good.sum())[:, None]).ravel()
    held = np.maximum(sizes[good], 1)
    cost[good] = (values**2).sum()
    for column in values.T:
        sums = np.bincount(place, weights=np.tile(column, good.sum()), minlength=held.size).reshape(held.shape)
        cost[good] -= (sums**2 / held).sum(axis=1)
    return cost


VARIANTS = {
    "as published": {},
    "two-point crossover": {"crossover": "two-point"},
    "uniform crossover": {"crossover": "uniform"},
    "inversion 0.1": {"inversion": 0.1},
    "inversion 0.3": {"inversion": 0.3},
    "tournament": {"selection": "tournament"},
    "rank": {"selection": "rank"},
}


def operators(quick: bool) -> None:
    """Mean SSE of each variant over runs on random sets, relative to the published operators (below 1 is better)."""
    sizes = ((12, 2), (20, 2), (35, 2))
    seeds, runs = range(2 if quick else 4), range(2 if quick else 5)
    generations = 1_000 if quick else 5_000
    print(f"mean SSE / that of the published operators, mean convergence generation; {generations} generations")
    print(f"{'':<22}" + "".join(f"{f'{n}x{d}':>18}" for n, d in sizes))
    plain: dict[tuple[int, int], float] = {}
    for name, options in VARIANTS.items():
        cells = ""
        for n, d in sizes:
            ratios, converged = [], []
            for seed in seeds:
                values = random_set(n, d, seed)
                partitions = [genetic(values, K, seed=100 * seed + r, generations=generations, **options) for r in runs]
                mean = np.mean([sse_of(f, values) for f in partitions])
                ratios.append(mean / plain.setdefault((n, seed), mean))
                converged.extend(f.facts["convergence_generation"] for f in partitions)
            cells += f"{np.mean(ratios):>10.3f}{np.mean(converged):>8.0f}"
        print(f"{name:<22}{cells}", flush=True)
    print()


def small(quick: bool) -> None:
    """How often the optimum of 11 records is reached; MDAV compared on 20 to 100 records."""
    from shoal.protections.microaggregation.methods.exact import exact
    from shoal.protections.microaggregation.methods.mdav import mdav

    runs = 5 if quick else 20
    for d in (2, 3, 5, 7, 10):
        values = random_set(11, d, 0)
        least = sse_of(exact(values, K), values)
        hits = sum(sse_of(genetic(values, K, seed=s), values) <= least * (1 + 1e-9) for s in range(runs))
        print(f"11x{d}: optimum in {hits} of {runs} runs")
    for n in (20, 35, 50, 100)[: 2 if quick else 4]:
        for seed in range(1 if quick or n == 100 else 3):
            values = random_set(n, 2, seed)
            best = min(sse_of(genetic(values, K, seed=s), values) for s in range(1 if n == 100 else 3))
            print(f"{n}x2, seed {seed}: MDAV {sse_of(mdav(values, K), values):.3f}, genetic {best:.3f}", flush=True)


PARTS = {"throughput": throughput, "operators": operators, "small": small}

if __name__ == "__main__":
    main("--quick" in sys.argv, [a for a in sys.argv[1:] if not a.startswith("-")])
