"""A release: the protected table, and how it was made. Its guarantees are checked on the file about to be written.

`save` writes only if, in the file itself, every record shares everything that an intruder may know with at least k - 1
others, no identifier is left, no row was lost and every unchanged column equals the original's.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.assessment import assess_columns
from shoal.errors import PromiseError, ShoalWarning, UsageError
from shoal.gate.asked import Asked
from shoal.measures.anonymity import class_sizes
from shoal.measures.assessment import Assessment, Figure
from shoal.measures.columns import moments
from shoal.sources.files import check_target, checksum
from shoal.table.table import Table

if TYPE_CHECKING:
    from shoal.engine.trace import Point
    from shoal.gate.findings import Findings
    from shoal.gate.saving import Saving
    from shoal.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Release:
    """A protected table and how it was made.

    original: the table that came in, its rows as they were used. frame: the protected frame, of the kind that came in.
    changed: the columns that were protected. k: guaranteed class size over them together (None: nothing).
    within: columns that no group crosses. facts: figures of the run, as the command line prints them.
    solution: the partition, cuts or swaps. recipe: the run, to be repeated (None if an argument cannot be written as
    text); once saved, with its output. seed: as it was typed. secret: what hides draws from it, where no seed was
    typed. checksum: of the input file. trace: what the progress showed.
    """

    original: Table
    frame: Any
    changed: tuple[str, ...]
    k: int | None
    facts: dict[str, Any]
    solution: Any = None
    title: str = "Release"
    extra: dict[str, Any] = field(default_factory=dict)
    recipe: Recipe | None = None
    seed: int | None = None
    secret: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    checksum: str | None = None
    trace: tuple[Point, ...] = ()
    within: tuple[str, ...] = ()
    kind: ClassVar[str] = "microaggregation"
    draws_at_random: ClassVar[bool] = False  # whether its choices hide something, beyond the search

    @property
    def table(self) -> Any:
        """The protected frame; a warning, once, if columns without a role break its guarantee."""
        _ = self._warned
        return self.frame

    @cached_property
    def _warned(self) -> bool:
        from shoal.gate.saving import known_smallest, sentence

        if self.k is None or known_smallest(self.original, self.frame, self.asked()) >= self.k:
            return False
        message = sentence(self.findings["known-k"])
        warnings.warn(f"This table does not keep k = {self.k}. {message}", ShoalWarning, stacklevel=4)
        return True

    @cached_property
    def protected(self) -> Table:
        """The protected frame as a table."""
        return Table(self.frame, self.original.roles.released(), self.original.source)

    @cached_property
    def assessment(self) -> Assessment:
        """What was lost and what risk is left."""
        if self._numeric() == list(self.changed):
            return assess_columns(self.original, self.protected, self.changed)
        sizes = class_sizes([self.protected.raw(name) for name in (*self.changed, *self.within)])
        n, loss = self.original.rows, self.facts.get("information_loss")
        return Assessment(
            [
                Figure("information_loss", loss, "0 to about 100 %", "the share of the columns' variance that is lost"),
                Figure("k", int(sizes.min()), f"1 to {n}", "the smallest equivalence class of the protected columns"),
                Figure("uniques", int((sizes == 1).sum()), f"0 to {n}", "unique records in the protected columns"),
            ]
        )

    def _numeric(self) -> list[str]:
        """The protected columns that are numbers before and after."""
        kinds, after, roles = self.original.kinds, self.protected.kinds, self.original.roles
        codes = {*roles.nominal, *roles.order}  # numbers that are labels
        return [name for name in self.changed if kinds[name] == after[name] == "number" and name not in codes]

    @cached_property
    def findings(self) -> Findings:
        """What the release check found: on the written file once it is saved, on the table before."""
        from shoal.gate.saving import examine_unsaved

        return examine_unsaved(self.original, self.frame, self.asked())

    def verify(self) -> None:
        """Check every guarantee on the final table; a PromiseError names the first that fails."""
        before, after = self.original, self.protected
        if after.rows != before.rows:
            raise PromiseError(
                f"the protected table has {after.rows} rows instead of {before.rows}; nothing is written"
            )
        removed = before.roles.removed
        left = [c for c in removed if c in after.columns]
        if left:
            raise PromiseError(f"the column {left[0]!r} is still in the protected table; nothing is written")
        expected = [c for c in before.columns if c not in removed]
        if list(after.columns) != expected:
            raise PromiseError("the protected table's columns are not those of the original; nothing is written")
        for name in self._unchanged(expected):
            if not before.same_column(after, name):
                raise PromiseError(f"the column {name!r} should be unchanged, but it differs; nothing is written")
        if self.k is not None:
            smallest = int(class_sizes([after.raw(name) for name in (*self.changed, *self.within)]).min())
            if smallest < self.k:
                raise PromiseError(
                    f"the smallest class of the protected table has {smallest} records, fewer than k = {self.k}; "
                    "nothing is written"
                )

    def _unchanged(self, columns: Sequence[str]) -> list[str]:
        """The released columns that must equal the original's."""
        return [name for name in columns if name not in self.changed]

    def asked(self) -> Asked:
        """What the release check holds the written file to."""
        roles = self.original.roles
        if not roles.quasi:  # every column without a role was protected
            roles = replace(roles, quasi=tuple(name for name in self.changed if name not in roles.assigned))
        return Asked(roles, self.changed, self.k, self.within)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        shuffle: bool = False,
        keep_order: bool = False,
        policy: str | os.PathLike[str] | None = None,
        previous: str | os.PathLike[str] | None = None,
        first_release: bool = False,
        accept_k: int | None = None,
        round_weight: bool = False,
    ) -> Path:
        """Verify every guarantee, write the table in the format of the path's ending, and check what was written.

        shuffle: rows in a random order, drawn from the run's secret, or from the seed if one was typed. keep_order:
        keep the original order although it discloses values. policy: a name or a TOML file; what it blocks is not
        written. previous: an earlier release of the same records; first_release: there is none. accept_k: the k over
        everything known that you accept instead of the promised one. round_weight: give each record the mean weight of
        its equivalence class. The file is written whole or not at all.
        """
        from shoal.gate.saving import Saving

        return self.save_with(
            path, Saving(shuffle, keep_order, policy, previous, first_release, accept_k, round_weight)
        )

    def save_with(self, path: str | os.PathLike[str], saving: Saving, prepare: Callable[[], Any] | None = None) -> Path:
        """As `save`; `prepare` is called before the checked file is put in place: if it raises, nothing is written."""
        from shoal.gate.saving import save_checked

        target = Path(path)
        inputs = [self.original.source.path] if self.original.source else []
        check_target(target, *inputs, *([] if saving.previous is None else [saving.previous]))
        self.verify()
        frame, asked = self._as_saved(saving)
        if (saving.shuffle or self.draws_at_random) and self.secret is None:
            warnings.warn(
                "What hides (a shuffled order, swapped records) is drawn from a seed, so whoever knows it and has the "
                "original can undo it. Leave out the seed to draw from a fresh secret, which a recipe then holds.",
                ShoalWarning,
                stacklevel=3,
            )
        key = self.secret if self.secret is not None else self.seed or 0

        def then(written: Path, found: Findings) -> None:
            self.__dict__["findings"] = found  # what comes later (a page, JSON) shows the check of the written file
            if self.recipe is not None:  # and how it was saved
                recipe = self.recipe.with_output(target, checksum(written), **asdict(saving))
                object.__setattr__(self, "recipe", recipe)
            if prepare is not None:
                prepare()

        save_checked(self.original, frame, asked, target, saving, key, then)
        return target

    def _as_saved(self, saving: Saving) -> tuple[Any, Asked]:
        """The frame as it is written, and what the release check holds it to."""
        if not saving.round_weight:
            return self.frame, self.asked()
        from shoal.gate.known import known_columns
        from shoal.gate.saving import class_weights
        from shoal.sources.files import as_polars

        weight = self.original.roles.weight
        if weight is None:
            raise UsageError("--round-weight rounds the weight: name it with --weight, or leave the option out")
        frame, asked = as_polars(self.frame), self.asked()
        known = known_columns(asked, frame.columns).known
        return class_weights(frame, weight, known), replace(asked, rounded=(weight,))

    def report(self, path: str | os.PathLike[str], external: bool = False) -> Path:
        """Write an HTML page on what was done, lost and left; external: nothing in it that could tell a record."""
        from shoal.report.release import write_release

        return write_release(self, Path(path), external)

    def column_changes(self) -> list[dict[str, Any]]:
        """Mean and standard deviation of each protected number, before and after."""
        weights, columns = self.original.weights(), self._numeric()
        if not columns:
            return []
        before, after = (
            t.numbers(columns, missing="keep", allow_constant=True) for t in (self.original, self.protected)
        )
        rows = []
        for j, name in enumerate(columns):
            row: dict[str, Any] = {"column": name}
            for when, values in (("before", before[:, j]), ("after", after[:, j])):
                found = moments(values, weights)
                row |= {f"mean_{when}": found.mean, f"deviation_{when}": found.deviation}
            rows.append(row)
        return rows
