"""The release of a local recoding: its groups, its measures, and the legend of cut labels."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from shoal.measures.assessment import Assessment, Figure
from shoal.protections.class_release import ClassRelease
from shoal.sources.files import atomically, check_place


@dataclass(frozen=True, eq=False)
class RecodedRelease(ClassRelease):
    """A release whose quasi-identifiers are the intervals and sets of values of groups."""

    @cached_property
    def assessment(self) -> Assessment:
        """The measures of loss, of the classes, and of l and t of the confidential columns."""
        lost = Figure("loss", self.facts["loss"], "0 to 1", "mean share of its range or domain that a cell covers")
        kept = Figure("granularity", self.facts["granularity"], "0 to 1", "detail that is left, by ARX's formula")
        return Assessment([lost, kept, *self.class_figures(), *self.rule_figures()])

    def save_legend(self, path: str | os.PathLike[str]) -> Path:
        """Write the values of every cut label as CSV: column, category, values."""
        source, output = self.original.source, None if self.recipe is None else self.recipe.output
        target = check_place(path, *([source.path] if source else []), *([output.file] if output else []))
        write_legend(self.facts.get("legend", {}), target)
        return target


def write_legend(legend: Mapping[str, Mapping[str, Sequence[str]]], target: Path) -> None:
    """Write the values of cut labels, by column and label."""
    with atomically(target) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["column", "category", "values"])
        writer.writerows([name, text, " | ".join(held)] for name, cut in legend.items() for text, held in cut.items())
