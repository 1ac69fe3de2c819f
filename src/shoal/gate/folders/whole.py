"""The findings on a release in many files: from counts over all files, and from drawn records.

A table of at most ALL_ROWS records is drawn as a whole, so every check of a single file runs on it. In a larger one,
the checks that need every class at once are left out: a policy that blocks on them cannot pass.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.arrays import Ints
from shoal.errors import counted
from shoal.gate.check import examine
from shoal.gate.checks import content, roles
from shoal.gate.checks.previous import EXACT, TODO
from shoal.gate.context import CheckContext
from shoal.gate.figures import ALL, SAMPLE, Figure, Figures
from shoal.gate.findings import BLOCK, WARN, WORST_FIRST, Finding, Findings, percent
from shoal.gate.folders.promises import Weighted, promise_findings
from shoal.gate.folders.recount import SETS
from shoal.gate.guarantees import Guarantees
from shoal.gate.known import KnownColumns
from shoal.gate.policy import Policy, stricter
from shoal.gate.reading import Written

ALL_ROWS = 100_000  # up to so many records, every check sees all of them; in a larger table so many are drawn
# The checks of drawn records, and those of counts, which `Counted` supplies.
DRAWN = (roles.looks_like_identifier, roles.looks_like_unit, content.undone, content.row_order, roles.as_is)
BY_COUNTS = (roles.known_k, roles.every_role, roles.released)
NO_SWAPS = {"swapped-signal"}  # a check of shoal mask, which protects no folder


@dataclass(frozen=True)
class WithEarlier:
    """An earlier release, joined to this one. smallest: the smallest class over both.

    exact: for each protected column, in how many records this release and the earlier one have the original value.
    """

    smallest: int
    exact: Mapping[str, tuple[int, int]]


class Counted(CheckContext):
    """The drawn records, with the number of all records."""

    all_rows: int = 0

    @property
    def rows(self) -> int:
        return self.all_rows


@dataclass(frozen=True, eq=False)
class WholeCheck:
    """What is known of the whole release.

    Attributes:
        before: The drawn records of the original, in their order.
        after: The same records as released.
        rows: The number of all records.
        classes: For each set of columns, the smallest class and the unique records.
        linked: For each set of columns, the share of people found and its standard error.
        by_file: The findings of each file.
        numbers: The row number of each drawn record, counted from 1.
        suppressed: The number of suppressed records.
        weighted: The distinct tuples of the whole release, if a guarantee needs them.
        shuffled: Whether the rows of each file are in a random order; all rows are then in that of the release.
        earlier: An earlier release of the same records.
    """

    before: pl.DataFrame
    after: pl.DataFrame
    rows: int
    columns: KnownColumns
    classes: Mapping[str, tuple[int, int]]
    linked: Mapping[str, tuple[float, float | None]]
    by_file: Sequence[tuple[str, Sequence[Finding]]]
    guarantees: Guarantees
    policy: Policy
    numbers: Ints
    accept_k: int | None = None
    first_release: bool = False
    keep_order: bool = False
    suppressed: int = 0
    weighted: Weighted | None = None
    shuffled: bool = False
    earlier: WithEarlier | None = None

    @property
    def is_complete(self) -> bool:
        return self.before.height == self.rows

    @property
    def figures(self) -> Figures:
        """The known-column figures."""
        made = {name: Figure(_columns(self.columns, name), *self.classes[name], *self.linked[name]) for name in SETS}
        return Figures(made["protected"], made["known"], made["released"], made["not_confidential"], records=self.rows,
                       unit=self.guarantees.unit is not None)  # fmt: skip

    def findings(self) -> Findings:
        """Run every check of the whole, and join the findings of the files."""
        begin = time.process_time()
        figures = self.figures
        options = {
            "accept_k": self.accept_k, "first_release": self.first_release, "keep_order": self.keep_order,
            "row_numbers": self.numbers, "order": "shuffled" if self.shuffled else "kept",
        }  # fmt: skip
        context = Counted(self.before, Written(self.after), self.guarantees, self.policy, **options)  # type: ignore[arg-type]
        object.__setattr__(context, "all_rows", self.rows)
        context.__dict__["figures"] = figures
        if self.is_complete:
            others = list(examine(context))
        else:
            others = [part(_drawn(context)) for part in DRAWN]
            others.append(self._suppressed(context))
        counted_ones = [self._joint_k(context, figures.protected), *(part(context) for part in BY_COUNTS)]
        if self.shuffled:
            counted_ones.append(_order_of_files(context))
        if self.earlier is not None:
            counted_ones.append(self._with_earlier(context, self.earlier))
        if self.weighted is not None:
            counted_ones += promise_findings(context, self.weighted)
        names = {f.check for f in counted_ones}
        joined = {f.check: f for f in (*self._worst_of_files(), *counted_ones)}
        for finding in others:
            other = joined.get(finding.check)
            if other is None or (finding.check not in names and _is_worse(finding, other)):
                joined[finding.check] = finding
        if not self.is_complete:
            joined["drawn"] = self._unmeasured(joined)
        return Findings(list(joined.values()), self.policy.name, figures, time.process_time() - begin)

    def _worst_of_files(self) -> list[Finding]:
        """Return the worst finding of each check of a file."""
        worst = worst_of_files(self.by_file)
        rows = worst.get("rows")
        if rows is not None and rows.status not in (BLOCK, WARN):
            how = "shuffled within each file" if self.shuffled else "in the original's order"
            text = f"all {self.rows:,} rows of {counted(len(self.by_file), 'file')} are there, {how}"
            worst["rows"] = replace(rows, finding=text, figure=self.rows, threshold=self.rows)
        return list(worst.values())

    def _joint_k(self, context: CheckContext, figure: Figure) -> Finding:
        promised = None if self.guarantees.column_groups else self.guarantees.k
        threshold = stricter(self.guarantees.k, self.policy.thresholds.k)
        broken = promised is not None and figure.k < promised
        bad = threshold is not None and figure.k < threshold
        what = "record" if self.guarantees.unit is None else "unit"
        text = f"the smallest class over all protected columns of all files has {counted(figure.k, what)}"
        todo = "protect the files again"
        return context.make_finding(
            "joint-k", bad, text, figure.k, promised if broken else threshold, todo, promised=broken
        )

    def _with_earlier(self, context: CheckContext, earlier: WithEarlier) -> Finding:
        """k over the classes of both releases, and original values that only the earlier one holds."""
        shares = {name: (here / self.rows, again / self.rows) for name, (here, again) in earlier.exact.items()}
        exact = {name: again for name, (here, again) in shares.items() if again - here > EXACT}
        what = "record" if self.guarantees.unit is None else "unit"
        text = (
            f"if an intruder joins all {self.rows:,} records to the earlier release, the smallest class over both has "
            f"{counted(earlier.smallest, what)}"
        )
        if exact:
            worst = max(exact, key=lambda name: exact[name])
            text += f", and the earlier release holds the original {worst!r} of {percent(exact[worst])} of the records"
        k = context.wanted_k
        return context.make_finding("previous", earlier.smallest < k or bool(exact), text, earlier.smallest, k, TODO)

    def _suppressed(self, context: CheckContext) -> Finding:
        """Suppressed records, which must form a class of k too."""
        few = 0 < self.suppressed < context.wanted_k
        text = f"{counted(self.suppressed, 'record')} of all files {'is' if self.suppressed == 1 else 'are'} suppressed"
        text += f": fewer than {context.wanted_k}, so they form a small class" if few else ""
        return context.make_finding(
            "suppressed", few, text, self.suppressed, context.wanted_k,
            "remove the suppressed records, or suppress more records",
            promised=0 < self.suppressed < context.required_k,
        )  # fmt: skip

    def _unmeasured(self, measured: Mapping[str, Finding]) -> Finding:
        """Which checks saw drawn records only. It blocks if the policy blocks on a check that was not made."""
        text = f"other checks ran on {self.before.height:,} of {self.rows:,} records, or need all classes at once"
        declared = NO_SWAPS | ({"previous"} if self.first_release else set())
        lacking = sorted(self.policy.blocks - measured.keys() - declared)
        if not lacking:
            return Finding("drawn", "info", text, self.before.height)
        text += f"; the policy {self.policy.name} blocks on checks that were not made: {', '.join(lacking)}"
        todo = f"check a release of at most {ALL_ROWS:,} records, or choose another policy"
        return Finding("drawn", BLOCK, text, self.before.height, todo=todo)


def _order_of_files(context: Counted) -> Finding:
    """Whether the order of shuffled files still follows a protected column: which file a record is in discloses it."""
    plain = _drawn(context)
    finding = content.row_order(replace(plain, order="kept"))
    todo = "divide the records at random among the files first, or accept the order (--keep-order)"
    return replace(finding, todo=todo if finding.todo else "")


def _drawn(context: Counted) -> CheckContext:
    """Return the context of the drawn records alone."""
    plain = CheckContext(
        context.before, context.written, context.guarantees, context.policy, keep_order=context.keep_order,
        row_numbers=context.row_numbers, order=context.order,
    )  # fmt: skip
    plain.__dict__["figures"] = context.figures
    return plain


def worst_of_files(by_file: Sequence[tuple[str, Sequence[Finding]]]) -> dict[str, Finding]:
    """Return for each check of a file its worst finding, with the file's name if it is not fine."""
    worst: dict[str, Finding] = {}
    for name, findings in by_file:
        for finding in findings:
            if finding.status in (BLOCK, WARN):
                finding = replace(finding, finding=f"{name}: {finding.finding}")
            before = worst.get(finding.check)
            if before is None or _is_worse(finding, before):
                worst[finding.check] = finding
    return worst


def _is_worse(one: Finding, other: Finding) -> bool:
    return WORST_FIRST.index(one.status) < WORST_FIRST.index(other.status)


def drawn_rows(rows: int) -> tuple[Ints, Ints]:
    """Return the rows that are drawn, and those of them whose people are looked for, in ascending order."""
    everything = np.arange(rows)
    rng = np.random.default_rng(0)
    people = everything if rows <= ALL else np.sort(rng.choice(rows, SAMPLE, replace=False))
    if rows <= ALL_ROWS:
        return everything, people
    return np.union1d(people, np.sort(rng.choice(rows, ALL_ROWS, replace=False))), people


def _columns(columns: KnownColumns, name: str) -> tuple[str, ...]:
    chosen: tuple[str, ...] = getattr(columns, name)
    return chosen
