"""The release of a masking: the list of swaps, the swapped table and its guarantees."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import Ints
from shoal.gate.promises import Masked, Promise, SameValues
from shoal.measures.assessment import Figure
from shoal.protections.regions.facts import region_names
from shoal.protections.regions.hiding import (
    Concealment,
)
from shoal.protections.regions.task import Task
from shoal.release import Release
from shoal.sources.files import atomically
from shoal.table.frames import wrap
from shoal.table.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupRelease(Release):
    """A release in which swapped records have exchanged their regions, and nothing else changed."""

    task: Task
    parameter: str
    vital: tuple[str, Sequence[Any]]
    labels: tuple[Any, ...] = ()
    conditions: Concealment | None = None

    @property
    def step_figures(self) -> list[Figure]:
        """The distortion and the compatibility. Swaps hide no record, so there are no equivalence classes."""
        meaning = "distortion: how much the swaps change the matching columns"
        cost = Figure("metric", self.facts["metric"], "0 and more", meaning)
        return [
            cost,
            Figure(
                "compatibility",
                self.facts["compatibility"],
                "0 to 1",
                "how far the outlier regions came down to their thresholds",
            ),
        ]

    def save_swaps(self, path: str | os.PathLike[str]) -> None:
        """Write the list of swaps as CSV; an error leaves no partial file."""
        with atomically(Path(path)) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["vital_row", "from", "partner_row", "to", "metric"])
            writer.writeheader()
            writer.writerows(self.swap_list())

    def swap_list(self) -> list[dict[str, Any]]:
        """Return the swaps: rows of target record and partner, counted from 1, their regions, and the distortion."""
        swaps, region = self.solution.swaps, self.task.region
        distortion = self.task.matching.between(swaps[:, 0], swaps[:, 1])
        return [
            {
                "vital_row": int(v) + 1,
                "from": self.labels[region[v]],
                "partner_row": int(u) + 1,
                "to": self.labels[region[u]],
                "metric": float(c),
            }
            for (v, u), c in zip(swaps, distortion, strict=True)
        ]


def masking_promises(
    task: Task,
    same_values: SameValues,
    vital: tuple[str, Sequence[Any]],
    second: tuple[str, Sequence[Any]] | None,
    conditions: Concealment | None,
    labels: list[Any],
) -> tuple[Promise, ...]:
    """Return the guarantees: values only change places, and the signal shows no more than the settings allow.

    conditions: those of the settings hiding, else None.
    """
    outliers = tuple(region_names(labels, task.outlying))
    second_group = None if second is None else (second[0], tuple(second[1]))
    masked = Masked(same_values.columns[:1], vital[0], tuple(vital[1]), second_group, outliers)
    if conditions is not None:
        signals = tuple(signal.kind for signal in conditions.signals)
        upper, decoys = conditions.side == "upper", conditions.decoys
        hidden = replace(masked, signals=signals, alphas=conditions.alphas, upper=upper, decoys=decoys)
        return same_values, hidden
    limits = task.limits
    published = replace(
        masked, signals=(task.signal.kind,), alphas=(limits.alpha,), upper=limits.side == "upper",
        allowed=task.unmasked_allowed, outliers_only=True,
    )  # fmt: skip
    return same_values, replace(masked, promised=False), published  # the rest is measured only


def swapped_rows(table: Table, swaps: Ints) -> tuple[tuple[int, int], ...]:
    """Return the pairs of swapped rows, as row numbers of the input counted from 1."""
    return tuple((int(one), int(two)) for one, two in table.numbering[swaps])


def swapped_frame(table: Table, columns: Sequence[str], swaps: Ints) -> Any:
    """Return the frame without removed columns, with the values of swapped records exchanged in these columns."""
    order = np.arange(table.rows)
    order[swaps[:, 0]], order[swaps[:, 1]] = swaps[:, 1], swaps[:, 0]
    frame = wrap(table.protected({}))
    return frame.with_columns(*(frame[name][order.tolist()].alias(name) for name in columns)).to_native()
