"""Whether every combination of up to m columns is absent or occurs in at least k records (all-m).

A combination of a record is present if none of its cells is starred or missing.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from shoal.errors import counted
from shoal.gate.cells import classes, missing_cells
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding
from shoal.gate.promises import EverySubset

PROMISE = EverySubset


def check(context: CheckContext) -> tuple[Finding, ...]:
    """One finding per guarantee."""
    return tuple(_finding(context, promise) for promise in context.guarantees.of(EverySubset, every_step=True))


def _finding(context: CheckContext, promise: EverySubset) -> Finding:
    columns = [name for name in promise.columns if name in context.after.columns]
    within = tuple(name for name in promise.within if name in context.after.columns)
    absent = {name: context.starred(name) | missing_cells(context.after[name]) for name in columns}
    rare, smallest, worst = 0, context.rows, ""
    for size in range(1, min(promise.m, len(columns)) + 1):
        for chosen in combinations(columns, size):
            present = ~np.logical_or.reduce([absent[name] for name in chosen])
            if not present.any():
                continue
            counts = context.unit_counts(classes(context.seen, (*chosen, *within), present))
            below = int((counts < promise.k).sum())
            rare += below
            if below and int(counts.min()) < smallest:
                smallest, worst = int(counts.min()), ", ".join(chosen)
    number = counted(rare, "combination")
    text = f"every combination of up to {promise.m} columns that occurs has at least {promise.k} records"
    if rare:
        text = (
            f"{number} of up to {promise.m} columns {'has' if rare == 1 else 'have'} fewer than {promise.k} records; "
            f"the rarest has {smallest}, in {worst}"
        )
    return context.make_finding(
        "every-subset", rare > 0, text, rare, 0, "protect the file again with shoal suppress --subsets",
        promised=promise.promised,
    )  # fmt: skip
