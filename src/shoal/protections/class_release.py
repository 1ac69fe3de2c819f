"""A release of equivalence classes: categories, suppressed records, and the guarantees of k, l and t."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.gate.promises import KAnonymity, LDiversity, Promise, TCloseness
from shoal.measures.anonymity import class_sizes, classes, suppressed_rows
from shoal.measures.assessment import Figure, declared_figure
from shoal.measures.diversity import class_counts, diversity_of, t_closeness
from shoal.protections.class_rules import Rule
from shoal.release import Release


@dataclass(frozen=True, eq=False)
class ClassRelease(Release):
    """A release whose quasi-identifiers are categories; a suppressed record has * in all of them.

    rules: the required l and t, by confidential column. sets: the columns over which k holds, if not over all.
    starred_beside: the columns without a role, which are suppressed in the same records.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    sets: tuple[tuple[str, ...], ...] = ()
    starred_beside: tuple[str, ...] = ()

    def smallest_class(self) -> int:
        """Return the size of the smallest class of any set of columns; 0 if all records are suppressed."""
        if not self._kept.any():
            return 0
        sets = self.sets or (self.changed,)
        return min(int(class_sizes([self._codes[name][self._kept] for name in chosen]).min()) for chosen in sets)

    def class_figures(self) -> list[Figure]:
        """Return the figures of the classes: k, unique records and suppressed records."""
        n = self.original.rows
        sizes = class_sizes([self._codes[name][self._kept] for name in self.changed])
        return [
            declared_figure("k", self.smallest_class(), n),
            declared_figure("uniques", int((sizes == 1).sum()), n),
            declared_figure("suppressed", n - int(self._kept.sum()), n),
        ]

    def rule_figures(self) -> list[Figure]:
        """Return the worst l and t of each confidential column with a rule."""
        figures = []
        for name, rule in self.rules.items():
            worst_l, worst_t = self._measured(name, rule)
            figures.append(Figure(f"l of {name}", worst_l, "1 and up", f"{rule.kind} l-diversity of the worst class"))
            figures.append(Figure(f"t of {name}", worst_t, "0 to 1", f"t-closeness: largest {rule.distance} distance"))
        return figures

    def setting_rows(self) -> list[list[Any]]:
        """Return the names and values of the required l and t, and of the sets of columns over which k holds."""
        rows: list[list[Any]] = []
        for name, rule in self.rules.items():
            if rule.l > 1:
                rows.append([f"l of {name} ({rule.kind})", rule.l])
            if rule.t is not None:
                rows.append([f"t of {name} ({rule.distance})", rule.t])
        return [*rows, *(["k holds over", ", ".join(chosen)] for chosen in self.sets)]

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
    changed: tuple[str, ...], sets: tuple[tuple[str, ...], ...], k: int, rules: Mapping[str, Rule]
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
