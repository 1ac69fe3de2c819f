"""The release of a generalization: its own promises (k for each set, l, t, starred rows) and its own page."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PromiseError, UsageError
from shoal.gate.asked import Asked, Diversity
from shoal.measures.anonymity import class_sizes, classes
from shoal.measures.assessment import Assessment, Figure
from shoal.measures.diversity import class_counts, diversity_of, t_closeness
from shoal.protections.generalization.constraints import Rule
from shoal.protections.generalization.mapping import Mapping
from shoal.protections.values import coded_column
from shoal.release import Release
from shoal.sources.files import atomically, check_place
from shoal.table.domain import Domain
from shoal.table.frames import wrap
from shoal.table.labels import SUPPRESSED


@dataclass(frozen=True, eq=False)
class GeneralizedRelease(Release):
    """A release whose quasi-identifiers are categories; rows with * in all of them are suppressed.

    starred_beside: columns without a role, which are suppressed in the same rows.
    """

    mapping: Mapping | None = None
    domains: tuple[Domain, ...] = ()
    rules: Dict[str, Rule] = field(default_factory=dict)
    sets: tuple[tuple[str, ...], ...] = ()
    starred_beside: tuple[str, ...] = ()
    kind: ClassVar[str] = "generalization"

    def verify(self) -> None:
        """Check on the final table: rows, identifiers, other columns, and k, l and t of every row that is kept."""
        changed = (*self.changed, *self.starred_beside)
        Release(self.original, self.frame, changed, None, self.facts).verify()
        self._verify_beside()
        if self.k is None:
            return
        smallest = self.smallest_class()
        if smallest < self.k:
            raise PromiseError(
                f"the smallest class of the protected table has {smallest} records, fewer than k = {self.k}; "
                "nothing is written"
            )
        suppressed = int((~self._kept).sum())
        if 0 < suppressed < self.k:
            raise PromiseError(
                f"{suppressed} suppressed records are fewer than k = {self.k}, a small class of their own; nothing is "
                "written"
            )
        for name, rule in self.rules.items():
            found_l, found_t = self._measured(name, rule)
            if found_l < rule.l - 1e-9 or (rule.t is not None and found_t > rule.t + 1e-9):
                raise PromiseError(
                    f"the confidential column {name!r} keeps l = {found_l:g} and t = {found_t:.4f}, short of what was "
                    "asked for; nothing is written"
                )

    def _verify_beside(self) -> None:
        """Columns without a role differ from the original in suppressed rows only."""
        for name in self.starred_beside:
            before, after = (
                wrap(table.frame)[name].filter(self._kept.tolist()).to_list()
                for table in (self.original, self.protected)
            )
            pairs = zip(before, after, strict=True)
            if any(old != new and not (_is_missing(old) and _is_missing(new)) for old, new in pairs):
                raise PromiseError(f"the column {name!r} should be unchanged, but it differs; nothing is written")

    def asked(self) -> Asked:
        """k for each set, and the l and t that were asked for."""
        wanted = self.facts.get("k") if self.k is None else None  # a mapping from other data: measured, not promised
        given = replace(super().asked(), column_groups=self.sets, wanted_k=wanted)
        if not self.rules:
            return given
        rule = next(iter(self.rules.values()))  # one for all confidential columns
        low = Diversity(rule.l, rule.kind, rule.c) if rule.l > 1 or rule.kind == "recursive" else None
        return replace(given, diversity=low, t=rule.t, distance=rule.distance)

    def smallest_class(self) -> int:
        """The smallest class over the sets of quasi-identifiers, suppressed rows apart; 0 if no row is kept."""
        if not self._kept.any():
            return 0
        sets = self.sets or (self.changed,)
        return min(int(class_sizes([self._codes[name][self._kept] for name in chosen]).min()) for chosen in sets)

    @cached_property
    def assessment(self) -> Assessment:
        """Loss, classes and what the confidential columns still tell."""
        n = self.original.rows
        sizes = class_sizes([self._codes[name][self._kept] for name in self.changed])
        figures = [
            Figure("k", self.smallest_class(), f"1 to {n}", "the smallest equivalence class of the protected columns"),
            Figure("uniques", int((sizes == 1).sum()), f"0 to {n}", "unique records in the protected columns"),
            Figure("suppressed", n - int(self._kept.sum()), f"0 to {n}", "records with * in every quasi-identifier"),
        ]
        if "nwp" in self.facts:
            loss = Figure("nwp", self.facts["nwp"], "0 to 1", "the share of the columns' detail that was lost")
            bias = Figure("necd", self.facts["necd"], "0 to 1", "how much the sizes of classes differ, over all rows")
            figures = [loss, bias, *figures]
        for name, rule in self.rules.items():
            found_l, found_t = self._measured(name, rule)
            figures.append(Figure(f"l of {name}", found_l, "1 and up", f"{rule.kind} diversity of the worst class"))
            figures.append(
                Figure(f"t of {name}", found_t, "0 to 1", f"largest {rule.distance} distance from the table")
            )
        return Assessment(figures)

    def save_mapping(self, path: str | os.PathLike[str]) -> Path:
        """Write the mapping as JSON, to be applied to new data."""
        if self.mapping is None:
            raise UsageError("this release was made by a mapping; it has no other to write")
        source, output = self.original.source, None if self.recipe is None else self.recipe.output
        target = check_place(path, *([source.path] if source else []), *([output.file] if output else []))
        with atomically(target) as temporary:
            self.mapping.save(temporary)
        return target

    def label_counts(self, name: str) -> tuple[list[str], list[int]]:
        """The labels of a protected column and how many rows have each."""
        found = coded_column(self.protected, name)
        return ["missing" if v is None else str(v) for v in found.values], found.counts.tolist()

    @cached_property
    def _codes(self) -> dict[str, NDArray[np.int32]]:
        return {name: coded_column(self.protected, name).codes for name in self.changed}

    @cached_property
    def _kept(self) -> NDArray[np.bool_]:
        """The rows that are not suppressed."""
        if not self.facts.get("suppressed"):
            return np.ones(self.original.rows, dtype=bool)
        starred = np.ones(self.original.rows, dtype=bool)
        for name in self.changed:
            found = coded_column(self.protected, name)
            code = found.values.index(SUPPRESSED) if SUPPRESSED in found.values else -1
            starred &= found.codes == code
        return ~starred

    def _measured(self, name: str, rule: Rule) -> tuple[float, float]:
        """The worst l and t over the sets of quasi-identifiers."""
        values = coded_column(self.protected, name)
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


def _is_missing(value: object) -> bool:
    return value is None or value != value
