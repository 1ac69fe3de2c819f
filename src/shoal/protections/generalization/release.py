"""The release of a generalization: categories, suppressed records, and the guarantees of its equivalence classes."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.errors import UsageError
from shoal.gate.promises import KAnonymity, LDiversity, Promise, TCloseness
from shoal.measures.anonymity import class_sizes, classes, suppressed_rows
from shoal.measures.assessment import Assessment, Figure, declared_figure
from shoal.measures.diversity import class_counts, diversity_of, t_closeness
from shoal.protections.generalization.constraints import Rule
from shoal.protections.generalization.mapping import Mapping
from shoal.release import Release
from shoal.sources.files import atomically, check_place
from shoal.table.domain import Domain


@dataclass(frozen=True, eq=False)
class GeneralizedRelease(Release):
    """A release whose quasi-identifiers are categories; a suppressed record has * in all of them.

    starred_beside: the columns without a role, which are suppressed in the same records.
    """

    mapping: Mapping | None = None
    domains: tuple[Domain, ...] = ()
    rules: Dict[str, Rule] = field(default_factory=dict)
    sets: tuple[tuple[str, ...], ...] = ()
    starred_beside: tuple[str, ...] = ()

    def smallest_class(self) -> int:
        """Return the size of the smallest class of any set of columns; 0 if all records are suppressed."""
        if not self._kept.any():
            return 0
        sets = self.sets or (self.changed,)
        return min(int(class_sizes([self._codes[name][self._kept] for name in chosen]).min()) for chosen in sets)

    @cached_property
    def assessment(self) -> Assessment:
        """The measures of loss, of the classes, and of l and t of the confidential columns."""
        n = self.original.rows
        sizes = class_sizes([self._codes[name][self._kept] for name in self.changed])
        figures = [
            declared_figure("k", self.smallest_class(), n),
            declared_figure("uniques", int((sizes == 1).sum()), n),
            declared_figure("suppressed", n - int(self._kept.sum()), n),
        ]
        if "nwp" in self.facts:
            loss = Figure("nwp", self.facts["nwp"], "0 to 1", "generalization loss: average width of the categories")
            bias = Figure("necd", self.facts["necd"], "0 to 1", "bias: largest minus smallest class, per record")
            figures = [loss, bias, *figures]
        for name, rule in self.rules.items():
            worst_l, worst_t = self._measured(name, rule)
            figures.append(Figure(f"l of {name}", worst_l, "1 and up", f"{rule.kind} l-diversity of the worst class"))
            figures.append(Figure(f"t of {name}", worst_t, "0 to 1", f"t-closeness: largest {rule.distance} distance"))
        return Assessment(figures)

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
        with atomically(target) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["column", "category", "values"])
            for column in self.mapping.columns:
                for group in column.groups:
                    values = [*group.values, *(["missing"] if group.missing else [])]
                    writer.writerow([column.name, group.label, " | ".join(values) if group.values else group.label])
        return target

    def legend_rows(self) -> list[list[str]]:
        """Return column, label and values of the categories whose labels are cut."""
        legend = self.facts.get("legend", {})
        return [[name, label, " | ".join(values)] for name, cut in legend.items() for label, values in cut.items()]

    def label_counts(self, name: str) -> tuple[list[str], list[int]]:
        """Return the labels of a protected column, and the number of records of each."""
        labels = self.protected[name].codes
        return ["missing" if v is None else str(v) for v in labels.values], labels.counts.tolist()

    @cached_property
    def _codes(self) -> dict[str, NDArray[np.int32]]:
        return {name: self.protected[name].codes.codes for name in self.changed}

    @cached_property
    def _kept(self) -> NDArray[np.bool_]:
        """The records that are not suppressed."""
        if not self.facts.get("suppressed"):
            return np.ones(self.original.rows, dtype=bool)
        return ~suppressed_rows(self.protected, self.changed)

    def _measured(self, name: str, rule: Rule) -> tuple[float, float]:
        """Return the worst l and t over the sets of quasi-identifiers."""
        values = self.protected[name].codes
        reference = class_counts(np.zeros(values.codes.size, dtype=np.int64), values.codes, len(values.values))[0]
        kept = self._kept
        if not kept.any():
            return float("inf"), 0.0
        worst_l, worst_t = np.inf, 0.0
        for chosen in self.sets or (self.changed,):
            label = classes([self._codes[column][kept] for column in chosen])
            worst_l = min(worst_l, float(diversity_of(label, values.codes[kept], rule.kind, rule.c).min()))
            worst_t = max(worst_t, t_closeness(label, values.codes[kept], rule.distance, reference))
        return worst_l, worst_t


def class_promises(
    changed: tuple[str, ...], sets: tuple[tuple[str, ...], ...], k: int, rules: Dict[str, Rule]
) -> tuple[Promise, ...]:
    """Return the guarantees of k, l and t, over all protected columns or over each set of them."""
    promises: list[Promise] = []
    for columns in sets or (changed,):
        promises.append(KAnonymity(columns, k, group=bool(sets)))
        for rule in dict.fromkeys(rules.values()):
            confidential = tuple(name for name, its in rules.items() if its == rule)
            if rule.l > 1 or rule.kind == "recursive":
                promises.append(LDiversity(columns, confidential, rule.l, rule.kind, rule.c))
            if rule.t is not None:
                promises.append(TCloseness(columns, confidential, rule.t, rule.distance))
    return tuple(promises)
