"""The release of a generalization: categories, suppressed records, and the guarantees of its equivalence classes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from shoal.errors import UsageError
from shoal.measures.assessment import Assessment, Figure
from shoal.protections.class_release import ClassRelease
from shoal.protections.generalization.mapping import Mapping
from shoal.sources.files import atomically, check_place
from shoal.table.domain import Domain


@dataclass(frozen=True, eq=False)
class GeneralizedRelease(ClassRelease):
    """A release whose quasi-identifiers are categories."""

    mapping: Mapping | None = None
    domains: tuple[Domain, ...] = ()

    @cached_property
    def assessment(self) -> Assessment:
        """The measures of loss, of the classes, and of l and t of the confidential columns."""
        figures = self.class_figures()
        if "nwp" in self.facts:
            loss = Figure("nwp", self.facts["nwp"], "0 to 1", "generalization loss: average width of the categories")
            bias = Figure("necd", self.facts["necd"], "0 to 1", "bias: largest minus smallest class, per record")
            figures = [loss, bias, *figures]
        return Assessment([*figures, *self.rule_figures()])

    def save_mapping(self, path: str | os.PathLike[str]) -> Path:
        """Write the mapping as JSON; `apply_mapping` applies it to new data."""
        if self.mapping is None:
            raise UsageError(
                "This release was made by a mapping file. Use that file; there is no new mapping to write."
            )
        source, output = self.original.source, None if self.recipe is None else self.recipe.output
        target = check_place(path, *([source.path] if source else []), *([output.file] if output else []))
        with atomically(target) as temporary:
            self.mapping.save(temporary)
        return target

    def save_legend(self, path: str | os.PathLike[str]) -> Path:
        """Write the values of every category as CSV: column, category, values."""
        if self.mapping is None:
            raise UsageError(
                "This release was made by a mapping file, so it has no legend. Use the legend of the release that "
                "wrote the mapping."
            )
        source, output = self.original.source, None if self.recipe is None else self.recipe.output
        target = check_place(path, *([source.path] if source else []), *([output.file] if output else []))
        with atomically(target) as temporary:
            self.mapping.save_legend(temporary)
        return target
