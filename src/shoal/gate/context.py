"""The input of every check: the original, the release, the guarantees and the policy.

If `aligned`, row i of the release is the record of row i of the original. A shuffled file whose seed is unknown is not
aligned and cannot be compared row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

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


class ClassSizes(NamedTuple):
    """How many classes have the same size: the size in records or units, the classes, and their records."""

    size: Ints
    classes: Ints
    records: Ints


@dataclass(frozen=True, eq=False)
class CheckContext:
    """The input of every check, and what several checks compute from it.

    Attributes:
        before: The original.
        written: The released file.
        guarantees: What is guaranteed, and the columns' roles.
        policy: The policy that decides which findings block.
        order: kept, shuffled (on purpose) or broken.
        aligned: Whether the rows of both files can be compared.
        labels: The value labels of the original file.
        expected: The table that was to be written, if it is known.
        previous: An earlier release.
        accept_k: The k that the publisher accepts instead of the guaranteed one.
        first_release: Whether the publisher states that there is no earlier release.
        keep_order: Whether the publisher keeps the original order although it discloses values.
        row_numbers: The number of each row in the original data, counted from 1, if it is known.
        is_drawn: Whether these are rows that were drawn from a larger table.
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
    is_drawn: bool = False
    _classes: dict[tuple[frozenset[str], bool], Classes] = field(default_factory=dict, init=False)

    @property
    def after(self) -> pl.DataFrame:
        return self.written.frame

    @property
    def rows(self) -> int:
        return self.after.height

    @property
    def is_part(self) -> bool:
        """Whether these are some classes of a larger table, whose counts are added to those of the others."""
        return False

    @cached_property
    def seen(self) -> pl.DataFrame:
        """The release as other programs may show it: a column as text, if equal values have different texts.

        NaN and null are the same value here (missing), but some programs show them differently.
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
        """The released columns, by what an intruder may know."""
        return known_columns(self.guarantees, self.after.columns)

    @cached_property
    def figures(self) -> Figures:
        """k, unique records and linkage over the three sets of columns."""
        return measure_figures(self)

    @cached_property
    def copies(self) -> dict[str, str]:
        """The released columns that copy the original values of a protected column, with that column."""
        return copied_columns(self)

    @cached_property
    def quasi(self) -> tuple[str, ...]:
        """The protected columns that the release has."""
        return self.columns.protected

    @cached_property
    def untouched(self) -> tuple[str, ...]:
        """The released columns that must be unchanged."""
        left_out = {*self.guarantees.roles.removed, *self.guarantees.changed}
        return tuple(name for name in self.before.columns if name not in left_out and name in self.after.columns)

    @property
    def required_k(self) -> int:
        """The k that the known columns must have: the accepted or the guaranteed one, or 2 if there is neither."""
        return self.promised_k if self.accept_k is None else self.accept_k

    @property
    def wanted_k(self) -> int:
        """The larger of the guaranteed k and the policy's k, whatever k the publisher accepts."""
        return max(self.promised_k, self.policy.thresholds.k or 0)

    @property
    def promised_k(self) -> int:
        """The largest guaranteed k, or 2 if none is guaranteed."""
        return max((promise.k for promise in self.guarantees.of(KAnonymity, every_step=True)), default=2)

    @cached_property
    def units(self) -> Ints | None:
        """The person or household of each record, numbered from 0; None if no column is the unit."""
        name = self.guarantees.unit
        if name is None or not self.aligned:
            return None
        return codes(self.before[name]) - 1

    @cached_property
    def known_sizes(self) -> ClassSizes:
        """The sizes of the classes over all columns that an intruder may know."""
        counts = self.unit_counts(self.known)
        size, place = np.unique(counts, return_inverse=True)
        records = np.bincount(place.reshape(-1), weights=self.known.sizes, minlength=size.size)
        return ClassSizes(size, np.bincount(place.reshape(-1), minlength=size.size), records.astype(np.int64))

    @property
    def counts_units(self) -> bool:
        """Whether classes are counted in units."""
        return self.units is not None

    def unit_counts(self, groups: Classes) -> Ints:
        """Return the number of records in each class, or of distinct units if there is a unit column."""
        return groups.sizes if self.units is None else groups.distinct(self.units)

    # -- suppressed rows and classes -------------------------------------------------------------

    def starred(self, name: str) -> Bools:
        """Return which cells of a column are suppressed: a star in text, a missing value in other types."""
        column = self.after[name]
        if column.dtype in TEXT:
            return np.asarray((column.cast(pl.String) == STAR).fill_null(False).to_numpy(), dtype=bool)
        return missing_cells(column)

    @cached_property
    def _marked(self) -> Bools:
        """The rows with a suppressed cell in a protected column.

        A cell that was missing before does not count, and neither does a missing bound: its whole group has none.
        """
        marked = np.zeros(self.rows, dtype=bool)
        for name in (name for name in self.quasi if name not in self.guarantees.bounding):
            cells = self.starred(name)
            if cells.any() and self.after[name].dtype not in TEXT and self.aligned and name in self.before.columns:
                cells = cells & ~missing_cells(self.before[name])
            marked |= cells
        return marked

    def kept_over(self, columns: tuple[str, ...]) -> Bools:
        """Return the rows that are not suppressed. A suppressed row has no value in any of the columns."""
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
        """Return the equivalence classes over some columns, without suppressed rows. The result is cached."""
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
        """The classes over all columns that an intruder may know."""
        return self.over(self.columns.known)

    @cached_property
    def class_sets(self) -> list[Classes]:
        """The classes in which k is guaranteed: over each column group, or over all quasi-identifiers."""
        groups = [tuple(name for name in group if name in self.quasi) for group in self.guarantees.column_groups]
        if not any(groups):
            return [self.joint] if self.quasi else []
        return [self.over(group) for group in groups if group]

    def over_released(self, columns: tuple[str, ...]) -> Classes:
        """Return the equivalence classes over those of the columns that the release has."""
        return self.over(tuple(name for name in columns if name in self.after.columns))

    @cached_property
    def aggregated(self) -> dict[str, tuple[Floats, Floats]]:
        """The quasi-identifiers that are numbers before and after, with both versions row by row."""
        if not self.aligned:
            return {}
        # Codes and bounds are not averages.
        labels = {*self.guarantees.roles.nominal, *self.guarantees.roles.order, *self.guarantees.bounding}
        names = [
            name
            for name in self.quasi
            if name not in labels and is_number(self.before[name]) and is_number(self.after[name])
        ]
        return {name: (numbers(self.before[name]), numbers(self.after[name])) for name in names}

    def is_whole(self, name: str) -> bool:
        """Whether an aggregated column has whole numbers only, before and after."""
        return all(bool((values == np.rint(values)).all()) for values in self.aggregated[name])

    def same_cells(self, name: str) -> Bools:
        """Return which cells of a protected column have the original value."""
        return ~differing(self.before[name], self.after[name])

    @cached_property
    def changed_cells(self) -> dict[str, Bools]:
        """For each unchanged column, the rows in which it differs from the original."""
        precision: dict[str, Any] = {"blanks": self.written.blanks, "tolerance": self.written.tolerance}
        # Columns that no group crosses are protected too, and a protected column has no -0.0.
        exact = {name: name not in self.guarantees.within for name in self.untouched}
        return {
            name: differing(self.before[name], self.after[name], signed_zero=exact[name], **precision)
            for name in self.untouched
        }

    @cached_property
    def kept_values(self) -> list[tuple[Bools, Bools]]:
        """For each quasi-identifier: the rows with the original value, and the rows in which this is informative.

        It is informative in a class of one record, and in a class whose records had different original values.
        """
        kept = []
        for group in self.class_sets:
            for name in group.columns:
                code = codes(self.before[name])
                mixed = (group.reduced(np.minimum, code) != group.reduced(np.maximum, code)) | (group.sizes == 1)
                varied = np.zeros(self.rows, dtype=bool)
                varied[group.order] = np.repeat(mixed, group.sizes)
                kept.append((self.same_cells(name), varied))
        return kept

    # -- findings ---------------------------------------------------------------------

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
        """Return a finding with its status.

        Args:
            check: The name of the check.
            bad: Whether the check failed.
            finding: What it found.
            figure: The measured value.
            threshold: What the value is compared with.
            todo: What to do if the check failed.
            promised: Whether the check verifies a guarantee, so that a failure always blocks.

        Returns:
            ok or info (without a threshold) if the check passed; else block if it verifies a guarantee or the policy
            blocks it, and warn otherwise.
        """
        fine = OK if promised or threshold is not None else INFO
        status = fine if not bad else BLOCK if promised or check in self.policy.blocks else WARN
        shown = figure if figure is None or np.isfinite(figure) else None
        return Finding(check, status, finding, shown, threshold, todo if bad else "")

    def unmeasured(self, check: str, why: str, todo: str) -> Finding:
        """Return a finding for a check that could not be made. Such a check does not pass."""
        return self.make_finding(check, True, f"not measured: {why}", todo=todo)


UNALIGNED = "the rows are shuffled, and their order is not known"
UNALIGNED_TODO = "add the recipe of the run with --recipe FILE, or the seed with --seed N if a seed was typed"
