"""A release: the protected table, and how it was made. Its promises are checked on what is about to be written.

`save` writes only if, in the final table, every record shares its quasi-identifiers with at least
k - 1 others, no identifier is left, no row was lost and every other column is as it was.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.assessment import assess_columns
from shoal.data.files import check_target
from shoal.data.table import Table
from shoal.errors import PromiseError
from shoal.gate.asked import Asked
from shoal.measure.anonymity import class_sizes
from shoal.measure.assessment import Assessment
from shoal.measure.columns import moments

if TYPE_CHECKING:
    from shoal.evolve.trace import Point
    from shoal.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Release:
    """What a method gives back.

    original: the table that came in, its rows as they were used.
    table: the protected frame, of the kind that came in.
    changed: the columns that were protected. k: what was promised of them together (None: nothing).
    facts: figures of the run, as the command line prints them. solution: the partition, cuts or swaps.
    recipe: the run, to be repeated (None if an argument cannot be written as text); once saved, with its output.
    checksum: of the input file.
    trace: what the progress showed.
    """

    original: Table
    table: Any
    changed: tuple[str, ...]
    k: int | None
    facts: dict[str, Any]
    solution: Any = None
    title: str = "Release"
    extra: dict[str, Any] = field(default_factory=dict)
    recipe: Recipe | None = None
    seed: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    checksum: str | None = None
    trace: tuple[Point, ...] = ()
    kind: ClassVar[str] = "microaggregation"

    @cached_property
    def protected(self) -> Table:
        """The protected frame as a table."""
        return Table(self.table, self.original.roles.released(), self.original.source)

    @cached_property
    def assessment(self) -> Assessment:
        """What was lost and what risk is left."""

        return assess_columns(self.original, self.protected, self.changed)

    def verify(self) -> None:
        """Check every promise on the final table; a PromiseError tells the first that fails."""
        before, after = self.original, self.protected
        if after.rows != before.rows:
            raise PromiseError(
                f"the protected table has {after.rows} rows instead of {before.rows}; nothing is written"
            )
        left = [c for c in before.roles.identifiers if c in after.columns]
        if left:
            raise PromiseError(f"the identifier {left[0]!r} is still in the protected table; nothing is written")
        expected = [c for c in before.columns if c not in before.roles.identifiers]
        if list(after.columns) != expected:
            raise PromiseError("the protected table's columns are not those of the original; nothing is written")
        for name in expected:
            if name not in self.changed and not before.same_column(after, name):
                raise PromiseError(f"the column {name!r} should be untouched, but it changed; nothing is written")
        if self.k is not None:
            smallest = int(class_sizes([after.raw(name) for name in self.changed]).min())
            if smallest < self.k:
                raise PromiseError(
                    f"the smallest class of the protected table has {smallest} records, fewer than k = {self.k}; "
                    "nothing is written"
                )

    def asked(self) -> Asked:
        """What the gate holds the written file to."""
        roles = self.original.roles
        return Asked(roles.identifiers, self.changed, roles.confidential, roles.weight, self.k)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        shuffle: bool = False,
        policy: str | os.PathLike[str] | None = None,
        previous: str | os.PathLike[str] | None = None,
    ) -> Path:
        """Verify every promise, write the table in the format of the path's ending, and check what was written.

        shuffle: rows in an order drawn from the seed. policy: a name or a TOML file; what it blocks is not written.
        previous: an earlier release of the same rows, to be intersected with. It is all or nothing.
        """
        from shoal.gate.saving import save_checked

        target = Path(path)
        inputs = [self.original.source.path] if self.original.source else []
        check_target(target, *inputs, *([] if previous is None else [previous]))
        self.verify()
        saving: dict[str, Any] = {"shuffle": shuffle, "policy": policy, "previous": previous}
        save_checked(self.original, self.table, self.asked(), target, seed=self.seed or 0, **saving)
        if self.recipe is not None:  # what comes later (a page, a recipe's file) tells how it was saved
            object.__setattr__(self, "recipe", self.recipe.with_output(target, **saving))
        return target

    def report(self, path: str | os.PathLike[str], external: bool = False) -> Path:
        """Write an HTML page on what was done, lost and left; external: nothing in it that could tell a record."""
        from shoal.report.release import write_release

        return write_release(self, Path(path), external)

    def column_changes(self) -> list[dict[str, Any]]:
        """Mean and deviation of each protected column, before and after."""
        weights = self.original.weights()
        before, after = (t.numbers(self.changed, allow_constant=True) for t in (self.original, self.protected))
        rows = []
        for j, name in enumerate(self.changed):
            row: dict[str, Any] = {"column": name}
            for when, values in (("before", before[:, j]), ("after", after[:, j])):
                found = moments(values, weights)
                row |= {f"mean_{when}": found.mean, f"deviation_{when}": found.deviation}
            rows.append(row)
        return rows
