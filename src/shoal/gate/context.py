"""What a check looks at: original and release side by side, what is guaranteed, and the policy.

Rows stand side by side where `aligned`; a shuffled file whose seed is not known cannot be compared row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import (
    TEXT,
    Classes,
    classes,
    codes,
    comparable,
    differing,
    is_number,
    missing_cells,
    numbers,
)  # fmt: skip
from shoal.gate.copies import copied_columns
from shoal.gate.figures import Figures, measure_figures
from shoal.gate.findings import BLOCK, INFO, OK, WARN, Finding
from shoal.gate.guarantees import Guarantees
from shoal.gate.known import KnownColumns, known_columns
from shoal.gate.policy import Policy
from shoal.gate.promises import KAnonymity
from shoal.gate.reading import Written

STAR = "*"


@dataclass(frozen=True, eq=False)
class CheckContext:
    """Everything that a check looks at.

    order: kept, shuffled (on purpose) or broken. labels: value labels of the original file.
    expected: the table that was to be written, where it is known. previous: an earlier release.
    accept_k: the k that the publisher accepts instead of the promised one. first_release: the publisher states that
    there is no earlier one. keep_order: the publisher wants the original order although it gives values away.
    row_numbers: the number of each row in the original data, counted from 1; None where it is not known.
    """

    before: pl.DataFrame
    written: Written
    guarantees: Guarantees
    policy: Policy
    order: str = "kept"
    aligned: bool = True
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    expected: pl.DataFrame | None = None
    previous: Written | None = None
    accept_k: int | None = None
    first_release: bool = False
    keep_order: bool = False
    row_numbers: Ints | None = None
    _classes: dict[tuple[frozenset[str], bool], Classes] = field(default_factory=dict, init=False)

    @property
    def after(self) -> pl.DataFrame:
        return self.written.frame

    @property
    def rows(self) -> int:
        return self.after.height

    @cached_property
    def seen(self) -> pl.DataFrame:
        """The release as a reader may see it: columns as text where equal values differ as text.

        NaN and null are one value, missing; but some programs show which is which.
        """
        gaps = [c.name for c in self.after.get_columns() if c.dtype.is_float() and c.null_count() and c.is_nan().any()]
        seen = self.after.with_columns(self.after[name].cast(pl.String) for name in gaps)
        text = self.written.text
        if text is None:
            return seen
        finer = [name for name in text.columns if text[name].n_unique() > comparable(seen[name]).n_unique()]
        return seen.with_columns(text[name] for name in finer)

    @cached_property
    def columns(self) -> KnownColumns:
        """The released columns by who may know them."""
        return known_columns(self.guarantees, self.after.columns)

    @cached_property
    def figures(self) -> Figures:
        """k, unique records and people found over the three sets of columns."""
        return measure_figures(self)

    @cached_property
    def copies(self) -> dict[str, str]:
        """The released columns that hold the original values of a protected one, and which."""
        return copied_columns(self)

    @cached_property
    def quasi(self) -> tuple[str, ...]:
        """The protected columns that the release has."""
        return self.columns.protected

    @cached_property
    def untouched(self) -> tuple[str, ...]:
        """The columns that should be unchanged, and that the release has."""
        left_out = {*self.guarantees.roles.removed, *self.guarantees.changed}
        return tuple(name for name in self.before.columns if name not in left_out and name in self.after.columns)

    @property
    def required_k(self) -> int:
        """The k that the known columns must keep: the accepted or the promised one; 2 where none was promised."""
        return self.promised_k if self.accept_k is None else self.accept_k

    @property
    def wanted_k(self) -> int:
        """The promised k or the policy's, whichever is larger: what an accepted k does not change."""
        return max(self.promised_k, self.policy.thresholds.k or 0)

    @property
    def promised_k(self) -> int:
        """The largest k that was promised or wanted; 2 where none was."""
        return max((promise.k for promise in self.guarantees.of(KAnonymity, every_step=True)), default=2)

    @cached_property
    def units(self) -> Ints | None:
        """Each record's person or household, numbered from 0, where a column marks it."""
        name = self.guarantees.unit
        if name is None or not self.aligned:
            return None
        return codes(self.before[name]) - 1

    def unit_counts(self, found: Classes) -> Ints:
        """The distinct persons of each class: its records, or its distinct units."""
        return found.sizes if self.units is None else found.distinct(self.units)

    # -- suppressed rows and classes -------------------------------------------------------------

    def starred(self, name: str) -> Bools:
        """The cells of a column that hold no value: a star, or in a typed column missing."""
        column = self.after[name]
        if column.dtype in TEXT:
            return np.asarray((column.cast(pl.String) == STAR).fill_null(False).to_numpy(), dtype=bool)
        return missing_cells(column)

    @cached_property
    def _marked(self) -> Bools:
        """The rows in which a protected column is suppressed: a star, or a typed cell that had a value before."""
        marked = np.zeros(self.rows, dtype=bool)
        for name in self.quasi:
            cells = self.starred(name)
            if cells.any() and self.after[name].dtype not in TEXT and self.aligned and name in self.before.columns:
                cells = cells & ~missing_cells(self.before[name])
            marked |= cells
        return marked

    def kept_over(self, columns: tuple[str, ...]) -> Bools:
        """The rows that are not suppressed: those without a value in every one of the columns are."""
        starred = self._marked.copy() if columns else np.zeros(self.rows, dtype=bool)
        for name in columns:
            if not starred.any():
                break
            starred &= self.starred(name)
        return ~starred

    @cached_property
    def kept(self) -> Bools:
        """The rows that are not suppressed in the protected columns."""
        return self.kept_over(self.quasi)

    def over(self, columns: tuple[str, ...], *, with_suppressed: bool = False) -> Classes:
        """The equivalence classes over some columns, suppressed rows apart; each set is counted once."""
        kept = None if with_suppressed else self.kept_over(columns)
        kept = None if kept is None or kept.all() else kept
        key = (frozenset(columns), kept is None)
        if key not in self._classes:
            self._classes[key] = classes(self.seen, columns, kept)
        return self._classes[key]

    @cached_property
    def joint(self) -> Classes:
        """The classes over all protected columns."""
        return self.over(self.quasi)

    @cached_property
    def known(self) -> Classes:
        """The classes over everything that an intruder may know."""
        return self.over(self.columns.known)

    @cached_property
    def class_sets(self) -> list[Classes]:
        """The classes in which k is promised: over each column group, or over all quasi-identifiers."""
        groups = [tuple(name for name in group if name in self.quasi) for group in self.guarantees.column_groups]
        if not any(groups):
            return [self.joint] if self.quasi else []
        return [self.over(group) for group in groups if group]

    def over_released(self, columns: tuple[str, ...]) -> Classes:
        """The equivalence classes over those of the columns that the release has."""
        return self.over(tuple(name for name in columns if name in self.after.columns))

    @cached_property
    def aggregated(self) -> dict[str, tuple[Floats, Floats]]:
        """The quasi-identifiers that are numbers before and after: both, row by row."""
        if not self.aligned:
            return {}
        labels = {*self.guarantees.roles.nominal, *self.guarantees.roles.order}  # numbers that are codes
        both = [
            name
            for name in self.quasi
            if name not in labels and is_number(self.before[name]) and is_number(self.after[name])
        ]
        return {name: (numbers(self.before[name]), numbers(self.after[name])) for name in both}

    @cached_property
    def changed_cells(self) -> dict[str, Bools]:
        """For each untouched column, the rows in which it differs from the original."""
        ways: dict[str, Any] = {"blanks": self.written.blanks, "tolerance": self.written.tolerance}
        # Columns that no group crosses are protected too, and a protected column has one zero.
        exact = {name: name not in self.guarantees.within for name in self.untouched}
        return {
            name: differing(self.before[name], self.after[name], signed_zero=exact[name], **ways)
            for name in self.untouched
        }

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

    def make_finding(
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
        """A finding: ok, info without a threshold, a warning, or a block where it breaks a promise or the policy."""
        fine = OK if promised or threshold is not None else INFO
        status = fine if not bad else BLOCK if promised or check in self.policy.blocks else WARN
        shown = figure if figure is None or np.isfinite(figure) else None
        return Finding(check, status, finding, shown, threshold, todo if bad else "")

    def unmeasured(self, check: str, why: str, todo: str) -> Finding:
        """A check that could not be made is not passed."""
        return self.make_finding(check, True, f"not measured: {why}", todo=todo)


UNALIGNED = "the rows are shuffled, and their order is not known"
UNALIGNED_TODO = "give the recipe of the run (--recipe) or the seed that was typed (--seed), or check before shuffling"
