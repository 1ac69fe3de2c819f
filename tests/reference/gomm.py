"""GOMM and its monitor, slowly: every life is written down, and the table is counted from the lives at the end.

The operators and the cost are handed in; the loop, the survivors, the patience of D-GOMM and every number of the
monitor are written here once more, in the plainest way.
"""

from __future__ import annotations

import random


def lives(first, price, mutations, crossover, times, *, size, generations, patience, seed, still=False):
    """All chromosomes ever born, the last population, the last generation and the operators that were dropped."""
    rng = random.Random(seed)
    everyone = [life("first", 0, first(rng), [], price) for _ in range(size)]
    alive = sorted(everyone, key=lambda one: one["cost"])
    snapshots = [snapshot(alive)]
    in_vain = {name: 0 for name, count in times.items() if count > 0}
    dropped = {}
    generation = 0
    while generation < generations and in_vain:
        generation += 1
        children = []
        for name in [*mutations, "crossover"]:
            if name not in in_vain:
                continue
            for _ in range(times[name]):
                mother = alive[rng.randrange(len(alive))]
                if name == "crossover":
                    father = alive[rng.randrange(len(alive))]
                    both = [mother, father]
                    made = crossover(mother["grouping"], father["grouping"], rng)
                else:
                    both = [mother]
                    made = [mutations[name](mother["grouping"], rng)]
                for parent in both:
                    parent["was a parent"] = True
                children += [life(name, generation, grouping, both, price) for grouping in made]
        everyone += children
        before = mean(one["cost"] for one in alive)
        ranked = sorted(alive + children, key=lambda one: one["cost"])  # stable: a parent stays before its equal child
        alive = ranked[:size]
        for one in ranked[size:]:
            one["died"] = generation
        snapshots.append(snapshot(alive))
        for name in list(in_vain):
            survived = any(one["died"] is None for one in children if one["operator"] == name)
            in_vain[name] = 0 if survived else in_vain[name] + 1
            if patience is not None and in_vain[name] == patience:
                dropped[name] = generation
                del in_vain[name]
        if still and mean(one["cost"] for one in alive) == before:
            break
    return everyone, alive, generation, dropped, snapshots


def life(operator, born, grouping, parents, price):
    return {
        "operator": operator,
        "born": born,
        "grouping": grouping,
        "cost": price(grouping),
        "parents' cost": mean(parent["cost"] for parent in parents) if parents else None,
        "clone": any(parent["grouping"] == grouping for parent in parents),
        "was a parent": False,
        "died": None,
    }


def snapshot(alive):
    return {
        "best_cost": min(one["cost"] for one in alive),
        "mean_cost": mean(one["cost"] for one in alive),
        "mean_groups": mean(len(one["grouping"]) for one in alive),
    }


def table(everyone, last, snapshots):
    """One row for each operator and generation in which it had children."""
    rows = {}
    for one in everyone:
        rows.setdefault((one["operator"], one["born"]), []).append(one)
    return {key: row(key, born, last, snapshots[key[1]]) for key, born in rows.items()}


def row(key, born, last, population):
    operator, generation = key
    gains = []
    clones = 0
    if operator != "first":
        for one in born:
            if one["clone"] or one["cost"] == one["parents' cost"]:
                clones += 1
            else:
                ratio = one["cost"] / one["parents' cost"]
                gains.append((1 - ratio) * 100 if ratio <= 1 else (1 / ratio - 1) * 100)
    better = [gain for gain in gains if gain > 0]
    worse = [gain for gain in gains if gain < 0]
    return {
        "operator": operator,
        "generation": generation,
        "children": len(born),
        "discarded_unused": len([one for one in born if not one["was a parent"]]),
        "lifetime": mean((last if one["died"] is None else one["died"]) - generation for one in born),
        "better": len(better),
        "worse": len(worse),
        "clones": clones,
        "improvement_mean": mean(better),
        "improvement_min": min(better, default=None),
        "improvement_max": max(better, default=None),
        "worsening_mean": mean(worse),
        "worsening_min": max(worse, default=None),
        "worsening_max": min(worse, default=None),
        **population,
    }


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None
