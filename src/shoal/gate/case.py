"""One release to be judged: original and release side by side, what was asked, and the policy.

Rows stand side by side where `aligned`; a shuffled file whose seed is not known cannot be compared row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.gate.asked import Asked
from shoal.gate.cells import Bools, Classes, Floats, classes, codes, differing, is_number, numbers
from shoal.gate.findings import BLOCK, OK, WARN, Finding
from shoal.gate.policy import Policy
from shoal.gate.reading import Written

STAR = "*"


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that a check looks at.

    order: kept, shuffled (on purpose) or broken. labels: value labels of the original file.
    expected: the table that was to be written, where it is known. previous: an earlier release.
    """

    before: pl.DataFrame
    written: Written
    asked: Asked
    policy: Policy
    order: str = "kept"
    aligned: bool = True
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    expected: pl.DataFrame | None = None
    previous: Written | None = None

    @property
    def after(self) -> pl.DataFrame:
        return self.written.frame

    @property
    def rows(self) -> int:
        return self.after.height

    @cached_property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers that the release has."""
        return tuple(name for name in self.asked.quasi if name in self.after.columns)

    @cached_property
    def untouched(self) -> tuple[str, ...]:
        """The columns that should be as they were, and that the release has."""
        left_out = {*self.asked.identifiers, *self.asked.changed}
        return tuple(name for name in self.before.columns if name not in left_out and name in self.after.columns)

    @cached_property
    def kept(self) -> Bools:
        """The rows that are not suppressed: those with a * in every quasi-identifier are."""
        starred = np.full(self.rows, bool(self.quasi))
        for name in self.quasi:
            column = self.after[name]
            if column.dtype != pl.String:
                return np.ones(self.rows, dtype=bool)
            starred &= (column == STAR).fill_null(False).to_numpy()
        return ~starred

    @cached_property
    def joint(self) -> Classes:
        """The classes over all released quasi-identifiers."""
        return classes(self.after, self.quasi, self.kept)

    @cached_property
    def class_sets(self) -> list[Classes]:
        """The classes in which k is promised: over each column group, or over all quasi-identifiers."""
        groups = [tuple(name for name in group if name in self.quasi) for group in self.asked.column_groups]
        if not any(groups):
            return [self.joint] if self.quasi else []
        return [self.joint if set(group) == set(self.quasi) else self.of_columns(group) for group in groups if group]

    def of_columns(self, columns: tuple[str, ...]) -> Classes:
        return classes(self.after, columns, self.kept)

    @cached_property
    def aggregated(self) -> dict[str, tuple[Floats, Floats]]:
        """The quasi-identifiers that are numbers before and after: both, row by row."""
        if not self.aligned:
            return {}
        both = [name for name in self.quasi if is_number(self.before[name]) and is_number(self.after[name])]
        return {name: (numbers(self.before[name]), numbers(self.after[name])) for name in both}

    @cached_property
    def changed_cells(self) -> dict[str, Bools]:
        """For each untouched column, the rows in which it differs from the original."""
        ways: dict[str, Any] = {"blanks": self.written.blanks, "tolerance": self.written.tolerance}
        return {name: differing(self.before[name], self.after[name], **ways) for name in self.untouched}

    @cached_property
    def kept_values(self) -> list[tuple[Bools, Bools]]:
        """For each quasi-identifier: rows with the original value; rows that are alone or whose class had several."""
        found = []
        for group in self.class_sets:
            for name in group.columns:
                code = codes(self.before[name])
                mixed = (group.reduced(np.minimum, code) != group.reduced(np.maximum, code)) | (group.sizes == 1)
                varied = np.zeros(self.rows, dtype=bool)
                varied[group.order] = np.repeat(mixed, group.sizes)
                found.append((~differing(self.before[name], self.after[name]), varied))
        return found

    # -- how a check answers ---------------------------------------------------------------------

    def judged(
        self,
        check: str,
        bad: bool,
        finding: str,
        figure: float | None = None,
        threshold: float | None = None,
        todo: str = "",
        *,
        promised: bool = False,
    ) -> Finding:
        """A finding: fine, a warning, or a block where it breaks a promise or the policy says so."""
        status = OK if not bad else BLOCK if promised or check in self.policy.blocks else WARN
        told = figure if figure is None or np.isfinite(figure) else None
        return Finding(check, status, finding, told, threshold, todo if bad else "")

    def unmeasured(self, check: str, why: str, todo: str) -> Finding:
        """A check that could not be made is not passed."""
        return self.judged(check, True, f"not measured: {why}", todo=todo)


UNALIGNED = "the rows are shuffled, and their order is not known"
UNALIGNED_TODO = "give the seed of the shuffle (--seed), or check the file before it is shuffled"
