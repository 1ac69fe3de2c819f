"""A release: the protected table, and how it was made. Shoal checks its guarantees on the file before it is in place.

`save` writes the file only if every record shares everything an intruder may know with at least k - 1 others, no
identifier is left, no row is missing, and every unchanged column equals the original's.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.gate.guarantees import Guarantees
from shoal.gate.known import KnownColumns, known_columns
from shoal.gate.promises import Promise
from shoal.measures.assessment import Assessment, Figure, assess_evidence
from shoal.measures.columns import moments
from shoal.measures.evidence import evidence_of_tables
from shoal.notices import notice
from shoal.sources.files import check_target, checksum
from shoal.table.bounds import doubled
from shoal.table.frames import wrap
from shoal.table.table import Table

if TYPE_CHECKING:
    from pathlib import Path as _Path

    from shoal.engine.trace import TracePoint
    from shoal.gate.findings import Findings
    from shoal.gate.saving import Saving
    from shoal.protections.protection import Protection
    from shoal.recipe import Recipe
else:
    _Path = type(Path())  # before Python 3.12 only the system's own class can be extended


SEED_NOTICE = (
    "The random choices that hide records (the order of the rows, the swaps) depend on a seed that you typed. Anyone "
    "who knows the seed and has the original can undo them. Leave out the seed: Shoal then draws a secret, which only "
    "the recipe holds."
)


@dataclass(frozen=True, eq=False)
class Release:
    """A protected table and how it was made.

    Attributes:
        original: The input table, with the rows that were used.
        frame: The protected data frame, of the same type as the input.
        changed: The protected columns.
        k: The guaranteed class size over the protected columns together, or None if none is guaranteed.
        facts: The values of the run that the command line prints.
        solution: The partition, the cuts or the swaps.
        title: The title of the report.
        protection: The declaration of the protection.
        recipe: The recipe that repeats the run, or None if an argument cannot be written as text.
        seed: The seed that was typed, or None.
        secret: The secret from which random choices are drawn if no seed was typed.
        versions: The versions of Shoal, NumPy and Python.
        checksum: The SHA-256 checksum of the input file.
        trace: The points that the progress bar showed.
        notices: What the user should know, from reading and from the run.
        within: Columns that are constant within every group and unchanged.
        promises: The guarantees that the release check verifies.
        checked: The findings on the written file, in the copy that `Saved` holds.
    """

    original: Table
    frame: Any
    changed: tuple[str, ...]
    k: int | None
    facts: dict[str, Any]
    solution: Any = None
    title: str = "Release"
    protection: Protection | None = None
    recipe: Recipe | None = None
    seed: int | None = None
    secret: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    checksum: str | None = None
    trace: tuple[TracePoint, ...] = ()
    notices: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    promises: tuple[Promise, ...] = ()
    checked: Findings | None = None

    @property
    def parts(self) -> tuple[Release, ...]:
        """The releases of the steps. A release of one step has itself as its only part."""
        return (self,)

    @property
    def draws_at_random(self) -> bool:
        """Whether the release depends on random choices that hide something, such as a shuffled row order."""
        return any(step.protection is not None and step.protection.draws_from_secret for step in self.parts)

    @property
    def table(self) -> Any:
        """The protected data frame. Shoal warns once if columns without a role break the guaranteed k."""
        _ = self._warned
        return self.frame

    @cached_property
    def _warned(self) -> bool:
        from shoal.gate.findings import as_sentences
        from shoal.gate.saving import known_smallest

        if self.k is None or known_smallest(self.original, self.frame, self.guarantees) >= self.k:
            return False
        message = as_sentences(self.findings["known-k"])
        notice(f"This table does not have k = {self.k}. {message}")
        return True

    @cached_property
    def before(self) -> Table:
        """The original with the columns of the release: a column that two columns bound has both names."""
        return doubled(self.original, Guarantees(promises=self.promises).bounds)

    @cached_property
    def protected(self) -> Table:
        """The protected data frame as a `Table`."""
        return Table(self.frame, self.before.roles.released(), self.before.source, like=self.before)

    @cached_property
    def assessment(self) -> Assessment:
        """The information loss and the remaining disclosure risk."""
        within = [name for name in self.columns.protected if name not in self.changed]
        evidence = evidence_of_tables(self.before, self.protected, self.changed, within=within)
        return assess_evidence(evidence, ("information_loss", "k", "uniques"))

    @property
    def step_figures(self) -> Sequence[Figure]:
        """The measures of this release as one of several steps."""
        return self.assessment.figures

    def _numeric(self) -> list[str]:
        """The protected columns that are numbers before and after."""
        kinds, after, roles = self.before.kinds, self.protected.kinds, self.before.roles
        codes = {*roles.nominal, *roles.order}  # numbers that are labels
        return [name for name in self.changed if kinds[name] == after[name] == "number" and name not in codes]

    @property
    def findings(self) -> Findings:
        """The findings of the release check, for the table in the original's order; `save` checks the written file."""
        return self._unsaved_findings if self.checked is None else self.checked

    @cached_property
    def _unsaved_findings(self) -> Findings:
        from shoal.gate.saving import examine_unsaved

        return examine_unsaved(self.original, self.frame, self.guarantees)

    def verify(self) -> None:
        """Verify every guarantee on the final table.

        Raises:
            PromiseError: A guarantee does not hold; the message names it.
        """
        from shoal.gate.saving import verify_unsaved

        verify_unsaved(self.original, self.frame, self.guarantees)

    @property
    def guarantees(self) -> Guarantees:
        """The guarantees that the release check verifies on the table and on the written file."""
        guarantees = Guarantees(self.before.roles, self.changed, self.promises)
        if guarantees.roles.quasi or not guarantees.quasi:
            return guarantees
        without_role = tuple(name for name in self.changed if name not in guarantees.roles.assigned)
        # Without --quasi, every column without a role was protected.
        return replace(guarantees, roles=replace(guarantees.roles, quasi=without_role))

    @property
    def columns(self) -> KnownColumns:
        """The released columns, by who may know them."""
        return known_columns(self.guarantees, wrap(self.frame).columns)

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
    ) -> Saved:
        """Verify every guarantee, write the table, and check the written file. The file is complete or not written.

        Args:
            path: The file to write; its ending decides the format.
            shuffle: Write the rows in random order, drawn from the run's secret, or from the seed if you set one.
            keep_order: Keep the original order of the rows although it discloses values.
            policy: A policy's name or a TOML file; a release that it blocks is not written.
            previous: An earlier release of the same records, to check both together.
            first_release: State that these records were never released before.
            accept_k: The smallest k over all known columns that you accept instead of the guaranteed k.
            round_weight: Give each record the mean weight of its equivalence class.

        Returns:
            The path of the file, with its recipe, findings and notices. The release itself does not change.

        Raises:
            PromiseError: A guarantee does not hold or the policy blocks the release; nothing is written.
            WriteError: The file cannot be written.
        """
        from shoal.gate.saving import Saving

        return self.save_with(
            path, Saving(shuffle, keep_order, policy, previous, first_release, accept_k, round_weight)
        )

    def save_with(
        self, path: str | os.PathLike[str], saving: Saving, prepare: Callable[[Saved], Any] | None = None
    ) -> Saved:
        """Do what `save` does; call `prepare` before the checked file is in place. If it raises, nothing is written."""
        from shoal.gate.saving import policy_notices, save_checked

        target = Path(path)
        inputs = [self.original.source.path] if self.original.source else []
        check_target(target, *inputs, *([] if saving.previous is None else [saving.previous]))
        frame, guarantees = self._to_write(saving)
        notices = (SEED_NOTICE,) if (saving.shuffle or self.draws_at_random) and self.secret is None else ()
        for text in notices:
            notice(text)
        made: list[Saved] = []

        def then(written: Path, findings: Findings) -> None:
            recipe = self.recipe and self.recipe.with_output(target, checksum(written), **asdict(saving))
            release = self._with_check(recipe, findings)
            made.append(Saved.of(target, release, (*notices, *policy_notices(findings, saving))))
            if prepare is not None:
                prepare(made[0])

        key = self.secret if self.secret is not None else self.seed or 0
        save_checked(self.original, frame, guarantees, target, saving, key, then)
        return made[0]

    def _with_check(self, recipe: Recipe | None, findings: Findings) -> Release:
        """Return a copy with the findings on its file. The measures of the table are not computed again."""
        release = copy.copy(self)
        object.__setattr__(release, "recipe", recipe)
        object.__setattr__(release, "checked", findings)
        return release

    def _to_write(self, saving: Saving) -> tuple[Any, Guarantees]:
        """Return the data frame to write and its guarantees."""
        if not saving.round_weight:
            return self.frame, self.guarantees
        from shoal.gate.saving import class_weights
        from shoal.sources.files import as_polars

        weight = self.original.roles.weight
        if weight is None:
            raise UsageError("--round-weight needs a weight column. Add --weight COLUMN or remove --round-weight.")
        frame, guarantees = as_polars(self.frame), self.guarantees
        return class_weights(frame, weight, self.columns.known), replace(guarantees, rounded=(weight,))

    def report(self, path: str | os.PathLike[str], external: bool = False) -> Path:
        """Write an HTML report on the result, the information loss and the remaining disclosure risk.

        Args:
            path: The HTML file to write.
            external: Write the public report, which discloses nothing about single records.

        Returns:
            The path of the report.
        """
        from shoal.report.release import write_release

        return write_release(self, Path(path), external)

    def column_changes(self) -> list[dict[str, Any]]:
        """Return the mean and the standard deviation of each protected numeric column, before and after."""
        weights, columns = self.original.weights(), self._numeric()
        if not columns:
            return []
        rows = []
        for name in columns:
            row: dict[str, Any] = {"column": name}
            for when, table in (("before", self.before), ("after", self.protected)):
                values = table.numbers([name], missing="keep", allow_constant=True)[:, 0]
                statistics = moments(values, weights)
                row |= {f"mean_{when}": statistics.mean, f"deviation_{when}": statistics.deviation}
            rows.append(row)
        return rows


class Saved(_Path):
    """A saved release: the path of the file, and what belongs to it.

    Attributes:
        recipe: The recipe, with the output file and how it was saved.
        findings: The findings of the release check on the file.
        notices: What the publisher should know.
        release: The release with this recipe and these findings, for a report.
    """

    recipe: Recipe | None
    findings: Findings
    notices: tuple[str, ...]
    release: Release

    @classmethod
    def of(cls, path: Path, release: Release, notices: tuple[str, ...]) -> Saved:
        """Make it from the path and from the release that has the findings on this file."""
        saved = cls(path)
        saved.recipe, saved.findings, saved.notices, saved.release = release.recipe, release.findings, notices, release
        return saved

    @property
    def path(self) -> Path:
        return Path(self)

    def with_segments(self, *parts: str | os.PathLike[str]) -> Path:
        """Make a plain path, for paths that are derived from this one."""
        return Path(*parts)

    def report(self, path: str | os.PathLike[str], external: bool = False) -> Path:
        """Write an HTML report with the check of the written file.

        Args:
            path: The HTML file to write.
            external: Write the public report, which discloses nothing about single records.

        Returns:
            The path of the report.
        """
        return self.release.report(path, external)
