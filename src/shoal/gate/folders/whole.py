"""The findings on a release in many files: from counts over all files, and from drawn records.

A table of at most ALL_ROWS records is drawn as a whole, so every check of a single file runs on it. In a larger one,
the checks of classes and of single columns are counted in all files (`CountedClasses`). Only the checks for columns
that give a value away, for identifiers and for the order of the rows see drawn records.
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
from shoal.gate.checks import content, exposure, l_diversity, linkage, members, previous, roles, traces
from shoal.gate.checks.previous import EXACT, TODO
from shoal.gate.context import CheckContext
from shoal.gate.figures import ALL, SAMPLE, Figure, Figures
from shoal.gate.findings import BLOCK, WARN, WORST_FIRST, Finding, Findings, percent
from shoal.gate.folders.classes import CountsOfAll
from shoal.gate.folders.promises import ROUNDING, Weighted, promise_findings
from shoal.gate.folders.recount import SETS
from shoal.gate.guarantees import Guarantees
from shoal.gate.inside import MAX_FEW as MAX_FEW
from shoal.gate.known import KnownColumns
from shoal.gate.policy import Policy, stricter
from shoal.gate.promises import LDiversity, TCloseness
from shoal.gate.reading import Written

MOST_SHARES = 1_000_000  # distinct values of a confidential column whose t is counted
ALL_ROWS = 100_000  # up to so many records, every check sees all of them; in a larger table so many are drawn
# The checks of drawn records, and those of counts, which `Counted` supplies.
DRAWN = (
    roles.looks_like_identifier, roles.looks_like_unit, content.undone, content.row_order, roles.as_is,
    roles.identifier_roles, traces.labels, traces.minimality,
)  # fmt: skip
BY_COUNTS = (roles.known_k, roles.every_role, roles.released)
NO_SWAPS = {"swapped-signal"}  # a check of shoal mask, which protects no folder


@dataclass(frozen=True)
class WithEarlier:
    """An earlier release, joined to this one. smallest: the smallest class over both.

    exact: for each protected column, in how many records this release and the earlier one have the original value.
    """

    smallest: int
    exact: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class CountedClasses:
    """What was counted in all files of a table above ALL_ROWS records.

    Attributes:
        counts: The counts of the classes.
        domains: The distinct original values of each protected column that has two or three.
        near: The neighbouring released values of each protected column that differ in their last bits only.
        keys: The confidential numbers that are nearly unique.
        too_many: The confidential columns with too many distinct values to count t.
        rare: The records with a rare weight.
        hidden: The units of suppressed records, at most as many as a class needs; None without units.
        by_groups: The share of people found by an intruder who knows the column groups, with its standard error.
    """

    counts: CountsOfAll
    domains: Mapping[str, tuple[float, ...]]
    near: Mapping[str, int]
    keys: Sequence[str]
    too_many: Sequence[str]
    rare: int
    hidden: int | None
    by_groups: tuple[float, float | None] | None


class Counted(CheckContext):
    """The drawn records, with the number of all records."""

    all_rows: int = 0

    @property
    def counts_units(self) -> bool:
        return self.guarantees.unit is not None

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
        counted: What was counted in all files, in a table above ALL_ROWS records.
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
    counted: CountedClasses | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the drawn records are all records, on which every check of one file runs."""
        return self.counted is None

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
        if self.counted is None:
            others = list(examine(context))
        else:
            others = [part(_drawn(context)) for part in DRAWN]
            if self.earlier is None:
                others.append(previous.previous(context))
            others += findings_of_counts(context, self.counted, self.suppressed)
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
        if self.guarantees.unit is not None:
            todo = "use a larger k, or shoal microaggregate or shoal recode, whose groups have k units"
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

    def _unmeasured(self, measured: Mapping[str, Finding]) -> Finding:
        """Which checks saw drawn records only. It blocks if the policy blocks on a check that was not made."""
        text = (
            f"{self.before.height:,} of {self.rows:,} records were drawn for the checks of identifiers, the row order "
            "and columns that give a value away; all others counted every record"
        )
        declared = NO_SWAPS | (set() if self.guarantees.column_groups else {"group-linkage"})
        lacking = sorted(self.policy.blocks - measured.keys() - declared)
        if not lacking:
            return Finding("drawn", "info", text, self.before.height)
        text += f"; the policy {self.policy.name} blocks on checks that were not made: {', '.join(lacking)}"
        todo = f"check a release of at most {ALL_ROWS:,} records, or choose another policy"
        return Finding("drawn", BLOCK, text, self.before.height, todo=todo)


def findings_of_counts(context: Counted, counted_classes: CountedClasses, suppressed: int) -> list[Finding]:
    """Return the findings of what was counted in all files."""
    counts = counted_classes.counts
    context.__dict__["known_sizes"] = counts.known_sizes
    hidden = suppressed if counted_classes.hidden is None else counted_classes.hidden
    few = exposure.of_suppressed(context, suppressed, hidden)
    kept_cells = np.array(counts.of("cells")).reshape(-1, 2).sum(axis=0)
    findings = [
        *(few or (exposure.many_suppressed(context, suppressed),)),
        exposure.maximum_risk(context),
        exposure.average_risk(context),
        exposure.row_risk(context),
        exposure.small_counts(context),
        *linkage.of_linkage(context),
        content.of_narrow_classes(context, counts.narrow),
        content.of_keys(context, counted_classes.keys),
        content.of_extremes(context, counts.extremes(counted_classes.domains)),
        members.of_dominated(context, sum(counts.of("small")), counts.dominated),
        members.of_unchanged_rows(context, counts.rows_kept),
        members.of_unchanged_cells(context, int(kept_cells[0]), int(kept_cells[1])),
        members.of_solvable(context, counts.solvable),
        members.of_near_values(context, counted_classes.near),
        *_diversity(context, counts),
        *_closeness(context, counted_classes),
    ]
    weight = context.columns.weight
    findings.append(
        roles.of_weights(context, counted_classes.rare, counts.with_weight) if weight else roles.weight(context)
    )
    if counted_classes.by_groups is not None:
        share, error = counted_classes.by_groups
        findings.append(linkage.of_group_linkage(context, Figure((), 0, 0, share, error)))
    if counts.misplaced:
        findings.append(
            context.make_finding(
                "rows", True, f"{counted(counts.misplaced, 'group')} of all files do not hold the mean or median of "
                "the records in their rows, although most groups do: rows are out of place, or values are wrong",
                context.rows, context.rows, "compare the release with the original row by row", promised=True,
            )
        )  # fmt: skip
    return findings


def _diversity(context: Counted, counts: CountsOfAll) -> list[Finding]:
    """The least diverse class, if no l is guaranteed."""
    if context.guarantees.of(LDiversity):
        return []
    if not context.columns.confidential or not context.quasi:
        return [l_diversity.without_confidential(context, "l")]
    value, worst = counts.least_diverse or (float("inf"), "")
    threshold = context.policy.thresholds.l
    bad = threshold is not None and value < threshold - ROUNDING
    text = f"the least diverse class has l = {value:g} (distinct) in {worst!r}"
    return [context.make_finding("l", bad, text, value, threshold, "use a larger k, or request l with -l L")]


def _closeness(context: Counted, counted_classes: CountedClasses) -> list[Finding]:
    """The class that is furthest from the whole table, if the policy limits t and no t is guaranteed."""
    threshold = context.policy.thresholds.t
    if context.guarantees.of(TCloseness) or threshold is None:
        return []
    if not context.columns.confidential or not context.quasi:
        return [l_diversity.without_confidential(context, "t")]
    if counted_classes.too_many:
        why = f"{counted_classes.too_many[0]!r} has more than {MOST_SHARES:,} distinct values"
        return [context.unmeasured("t", why, "make its values coarser, or release it without this policy")]
    value, worst = counted_classes.counts.farthest or (0.0, "")
    text = f"the largest distance of a class from the whole table is t = {value:.4g} (equal) in {worst!r}"
    todo = "use a larger k, or request t with shoal generalize -t T"
    return [context.make_finding("t", value > threshold + ROUNDING, text, round(value, 6), threshold, todo)]


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
        row_numbers=context.row_numbers, order=context.order, is_drawn=True,
    )  # fmt: skip
    plain.__dict__["figures"] = context.figures
    return plain


def wanted_k(guarantees: Guarantees, policy: Policy) -> int:
    """Return the larger of the guaranteed k and the policy's k."""
    return CheckContext(pl.DataFrame(), Written(pl.DataFrame()), guarantees, policy).wanted_k


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
    """Return the rows that are drawn, and those of them whose people are looked for, in ascending order.

    Rows are drawn in pairs of neighbours, so that an order that only neighbours show is seen: that of households.
    """
    everything = np.arange(rows)
    rng = np.random.default_rng(0)
    people = everything if rows <= ALL else np.sort(rng.choice(rows, SAMPLE, replace=False))
    if rows <= ALL_ROWS:
        return everything, people
    first = rng.choice(rows - 1, ALL_ROWS // 2, replace=False)
    return np.union1d(people, np.union1d(first, first + 1)), people


def _columns(columns: KnownColumns, name: str) -> tuple[str, ...]:
    chosen: tuple[str, ...] = getattr(columns, name)
    return chosen
