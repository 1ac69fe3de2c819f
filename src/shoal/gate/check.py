"""`shoal.check`: compare a release with its original, run every check, and collect the findings.

read original and release --> align their rows --> verify guarantees --> look for disclosures --> findings by policy
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import UsageError, check_choice
from shoal.gate.cells import sorted_rows
from shoal.gate.checks import (
    content,
    every_release,
    exposure,
    linkage,
    members,
    previous,
    promise_checks,
    roles,
    traces,
)  # fmt: skip
from shoal.gate.context import CheckContext
from shoal.gate.findings import BLOCK, Finding, Findings, as_sentences
from shoal.gate.gaps import handle_gaps
from shoal.gate.guarantees import OF_CLASSES, Guarantees
from shoal.gate.policy import policy_named
from shoal.gate.promises import (
    DISTANCES,
    Bounds,
    EverySubset,
    KAnonymity,
    KOfStars,
    LDiversity,
    Masked,
    OnlyStars,
    Promise,
    SameValues,
    TCloseness,
    read_diversity,
)  # fmt: skip
from shoal.gate.reading import Written, frame_of, read_written
from shoal.gate.row_order import follows, shuffled_order
from shoal.sources.reading import read
from shoal.table.bounds import bounded_in, doubled
from shoal.table.roles import Roles, names
from shoal.table.table import Table

Check = Callable[[CheckContext], Finding | tuple[Finding, ...]]

# The checks of guarantees, in the order in which they are shown. A type stands for the check of this kind of guarantee,
# which has a file in gate/checks. A check runs always, unless PARTICULAR or a missing guarantee excludes it.
PROMISES: tuple[Check | type[Promise], ...] = (
    every_release.rows, every_release.columns, every_release.written, every_release.identifiers,
    roles.looks_like_identifier, every_release.untouched, SameValues, Masked, roles.looks_like_unit, roles.known_k,
    roles.every_role, *OF_CLASSES, content.undone, content.row_order,
)  # fmt: skip
# What every table guarantees, whether it is written or not.
ALWAYS: tuple[Check, ...] = (
    every_release.rows, every_release.columns, every_release.identifiers, every_release.untouched,
    exposure.few_suppressed,
)  # fmt: skip
PARTICULAR: Mapping[Check | type[Promise], Callable[[CheckContext], bool]] = {
    every_release.written: lambda context: context.expected is not None,
    Masked: lambda context: any(context.guarantees.of(kind, every_step=True) for kind in (SameValues, Masked)),
    **dict.fromkeys(OF_CLASSES, lambda context: True),  # measured even if they are not guaranteed
}
# The checks for other disclosures.
DISCLOSURES: tuple[Check, ...] = (
    roles.released, exposure.missing, exposure.suppressed, exposure.maximum_risk, exposure.average_risk,
    exposure.row_risk, exposure.small_counts, linkage.linkages, content.narrow_classes, content.confidential_keys,
    content.few_valued, members.dominance, members.unchanged_rows, members.unchanged_cells, members.exact_means,
    members.float_residue, roles.weight, roles.as_is, roles.identifier_roles, traces.traces, traces.formulas,
    traces.labels, previous.previous, traces.minimality,
)  # fmt: skip


def check(
    original: Any,
    release: Any,
    *,
    policy: str | Path = "default",
    k: int | None = None,
    column_groups: Sequence[Sequence[str]] = (),
    within: str | Sequence[str] = (),
    l: Any = None,  # noqa: E741
    t: float | None = None,
    distance: str = "equal",
    swapped: str | Sequence[str] = (),
    vital: tuple[str, Sequence[Any]] | None = None,
    decoys: int = 0,
    star: str | None = None,
    subsets: int | None = None,
    bounds: bool = False,
    previous: Any = None,
    first_release: bool = False,
    accept_k: int | None = None,
    keep_order: bool = False,
    shuffled: bool = False,
    seed: int | str | None = None,
    missing: str = "keep",
    round_weight: bool = False,
    **roles: Any,
) -> Findings:
    """Check a release against its original, its guarantees and a disclosure policy.

    Args:
        original: The original: a file, a data frame or a `Table`.
        release: The release: a file, a data frame or a `Table`.
        policy: A policy's name or a TOML file.
        k: The guaranteed k; None: k is only measured.
        column_groups: The column groups, if k is guaranteed within each of them instead of over all columns.
        within: Columns that no group crosses.
        l: The guaranteed l: a number, ("entropy", l) or ("recursive", c, l).
        t: The guaranteed t.
        distance: The distance between two values for t: equal or ordered.
        swapped: The columns whose values were swapped (group anonymity), the regions first.
        vital: The column and the values of the target group whose regions were swapped.
        decoys: The number of new outlier regions that the publisher requested.
        star: How k was counted where cells are starred: value or wildcard. Then cells may only be starred.
        subsets: The largest number of columns in a combination, if k is guaranteed for each that occurs.
        bounds: State that each quasi-identifier that the release lacks is bounded by two columns of it, such as
            age_lower and age_upper.
        previous: An earlier release of the same records.
        first_release: State that there is no earlier release.
        accept_k: The smallest k over the known columns that is accepted instead of the guaranteed k.
        keep_order: Accept the original row order although it discloses values.
        shuffled: State that the rows were shuffled.
        seed: The seed or the secret of the shuffle, so that rows can be compared.
        missing: How the run handled missing values of the protected columns: keep, drop (records left out) or median.
        round_weight: State that the weights are means of equivalence classes.
        roles: The columns' roles, as in `shoal.read`: quasi, identifiers, confidential, unit, as_is, drop and so on.

    Returns:
        One finding per check.

    Raises:
        UsageError: An argument is invalid, or a file does not exist.
        InputError: A file cannot be read.

    >>> frame = pl.DataFrame({"age": [23, 25, 60, 62]})
    >>> result = check(frame, frame, quasi=["age"], k=2)
    >>> result.passed, result["joint-k"].finding
    (False, 'the smallest class over all protected columns has 1 record; 4 classes have fewer than 3')
    """
    chosen_policy = policy_named(policy)
    table = _table(original, roles)
    pairs = _bounded(table, release) if bounds else {}
    table = doubled(table, pairs)
    column_groups = [[twin for name in group for twin in pairs.get(name, (name,))] for group in column_groups]
    guarantees = StatedGuarantees(
        k, column_groups, within, l, t, distance, swapped, vital, decoys, star, subsets, round_weight, pairs
    ).of(table)
    before = handle_gaps(frame_of(table.frame), guarantees.quasi, missing, table.roles)
    labels = table.source.labels.values if table.source is not None and table.source.labels is not None else {}
    context = CheckContext(
        before, _written(release, before), guarantees, chosen_policy, labels=labels,
        previous=None if previous is None else _written(previous, before),
        accept_k=accept_k, first_release=first_release, keep_order=keep_order,
    )  # fmt: skip
    return examine(aligned(context, shuffled, seed))


@dataclass(frozen=True)
class StatedGuarantees:
    """The guarantees that a publisher states of a release; the fields are arguments of `check`."""

    k: int | None = None
    column_groups: Sequence[Sequence[str]] = ()
    within: str | Sequence[str] = ()
    l: Any = None  # noqa: E741
    t: float | None = None
    distance: str = "equal"
    swapped: str | Sequence[str] = ()
    vital: tuple[str, Sequence[Any]] | None = None
    decoys: int = 0
    star: str | None = None
    subsets: int | None = None
    round_weight: bool = False
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def of(self, table: Table) -> Guarantees:
        """Return the guarantees with the columns of the table that they are about."""
        moved, kept, groups = names(self.swapped, "swapped"), names(self.within, "within"), self.column_groups
        Roles(quasi=(*moved, *kept)).check(table.columns)
        protected = _protected(table, moved, kept)
        weight = _rounded_weight(table) if self.round_weight else ()
        check_choice("distance", self.distance, DISTANCES)
        confidential = table.roles.confidential
        if self.distance != "equal" and not confidential:
            raise UsageError(
                f"--distance {self.distance} is about confidential columns. Name them with --confidential, or remove "
                "--distance."
            )
        class_k = None if self.star == "wildcard" or self.subsets is not None else self.k
        classes = _class_guarantees(protected, kept, groups, class_k, confidential, self.l, self.t, self.distance)
        stars = _star_guarantees(protected, kept, groups, self.k, self.star, self.subsets)
        moves = (*(SameValues((name,)) for name in moved), *_masked(moved, self.vital, self.decoys))
        protected_columns = tuple(dict.fromkeys((*protected, *moved)))
        bounds = [Bounds(pair, name) for name, pair in self.bounds.items()]
        return Guarantees(table.roles, protected_columns, (*classes, *stars, *bounds, *moves), weight)


def _bounded(table: Table, release: Any) -> dict[str, tuple[str, str]]:
    """Return the quasi-identifiers that the release lacks and has bounds of, with the names of these."""
    pairs = bounded_in(table, _written(release, frame_of(table.frame)).frame.columns)
    if not pairs:
        raise UsageError(
            "The release has no pair of columns such as age_lower and age_upper instead of a quasi-identifier age. "
            "Remove --bounds."
        )
    return pairs


def _rounded_weight(table: Table) -> tuple[str, ...]:
    """Return the weight column, whose values are means of equivalence classes."""
    if table.roles.weight is None:
        raise UsageError("--round-weight needs a weight column. Add --weight COLUMN or remove --round-weight.")
    return (table.roles.weight,)


def _class_guarantees(
    protected: tuple[str, ...],
    within: tuple[str, ...],
    column_groups: Sequence[Sequence[str]],
    k: int | None,
    confidential: tuple[str, ...],
    l: Any,  # noqa: E741
    t: float | None,
    distance: str,
) -> list[Promise]:
    """Return the guarantees k, l and t that the caller names; without a k, k is only measured."""
    for group in column_groups:
        for name in group:
            if name not in protected:
                raise UsageError(
                    f"The column group {', '.join(group)} contains {name!r}, which is not a protected column. Name it "
                    f"with --quasi or remove it from --groups."
                )
    sets = [(*group, *within) for group in column_groups] or [(*protected, *within)]
    groups, wanted_l = bool(column_groups), read_diversity(l)
    guarantees: list[Promise] = []
    for columns in sets:
        guarantees.append(KAnonymity(columns, 2 if k is None else k, group=groups, promised=k is not None))
        if wanted_l is not None:
            guarantees.append(LDiversity(columns, confidential, wanted_l.l, wanted_l.kind, wanted_l.c))
        if t is not None or (distance != "equal" and confidential):
            limit = 1.0 if t is None else t
            guarantees.append(TCloseness(columns, confidential, limit, distance, promised=t is not None))
    return guarantees


def _star_guarantees(
    protected: tuple[str, ...],
    within: tuple[str, ...],
    column_groups: Sequence[Sequence[str]],
    k: int | None,
    star: str | None,
    subsets: int | None,
) -> list[Promise]:
    """Return the guarantees of a release with starred cells; without a k, k is only measured."""
    guarantees: list[Promise] = []
    if star is not None:
        sets = [(*group, *within) for group in column_groups] or [(*protected, *within)]
        guarantees += [KOfStars(columns, k or 2, star, promised=k is not None) for columns in sets]
    if subsets is not None:
        guarantees.append(EverySubset(protected, subsets, k or 2, within, promised=k is not None))
    return [*guarantees, OnlyStars(protected)] if guarantees else []


def _masked(moved: Sequence[str], vital: tuple[str, Sequence[Any]] | None, decoys: int) -> tuple[Masked, ...]:
    """Return the target group whose regions were swapped, if it is named. Its signal is measured."""
    if vital is None:
        if decoys:
            raise UsageError("--decoys needs a target group. Add --vital COLUMN=V1,V2 or remove --decoys.")
        return ()
    if not moved:
        raise UsageError("--vital needs the column of the regions. Add --swapped COLUMN or remove --vital.")
    return (Masked((moved[0],), vital[0], tuple(vital[1]), decoys=decoys, promised=False),)


def _protected(table: Table, moved: Sequence[str], within: Sequence[str]) -> tuple[str, ...]:
    """Return the protected columns: the named quasi-identifiers, or else every column without a role."""
    if table.roles.quasi or table.roles.derived:
        columns = (*table.roles.quasi, *table.roles.derived)
    elif moved:
        columns = ()
    else:
        columns = table.without_role()
    return tuple(name for name in columns if name not in within)


def examine(context: CheckContext) -> Findings:
    """Run every check and measure the known-column figures."""
    begin = time.process_time()
    findings = _results(_with_other_types(PROMISES, context), context)
    for step in context.guarantees.steps:
        of_step = replace(context, guarantees=context.guarantees.of_step(step))
        if of_step.guarantees.of(KAnonymity):
            results = _results(OF_CLASSES, of_step)
            findings += [replace(finding, check=f"{finding.check} of step {step.number}") for finding in results]
    findings += _results(DISCLOSURES, context)
    return Findings(findings, context.policy.name, context.figures, time.process_time() - begin)


def broken_promises(context: CheckContext) -> list[str]:
    """Return the guarantees that do not hold, as sentences: those of every release, of this one and of its steps."""
    results = _results((*ALWAYS, *_promised_types(context)), context)
    problems = [as_sentences(finding) for finding in results if finding.status == BLOCK]
    for step in context.guarantees.steps:
        of_step = replace(context, guarantees=context.guarantees.of_step(step))
        for finding in _results(_promised_types(of_step), of_step):
            if finding.status == BLOCK:
                last = step == context.guarantees.steps[-1]
                later = "" if last else " A later step changed these columns. Use different columns in each step."
                columns = ", ".join(of_step.guarantees.columns)
                problems.append(
                    f"The guarantee of step {step.number} ({step.name}) for {columns} does not hold in the final "
                    f"table. {as_sentences(finding)}{later}"
                )
    return problems


def _promised_types(context: CheckContext) -> tuple[type[Promise], ...]:
    """Return the types of guarantees of the whole release, in their order."""
    return tuple(dict.fromkeys(type(promise) for promise in context.guarantees.of(Promise)))


def _with_other_types(
    checks: Sequence[Check | type[Promise]], context: CheckContext
) -> tuple[Check | type[Promise], ...]:
    """Return the checks, and those of further types of guarantees that the release has."""
    return (*checks, *(kind for kind in _promised_types(context) if kind not in checks))


def _results(checks: Sequence[Check | type[Promise]], context: CheckContext) -> list[Finding]:
    """Run those of the checks that apply."""
    findings: list[Finding] = []
    by_type = promise_checks()
    for entry in checks:
        function: Check
        if isinstance(entry, type):
            function, applies = by_type[entry], bool(context.guarantees.of(entry, every_step=True))
        else:
            function, applies = entry, True
        if PARTICULAR[entry](context) if entry in PARTICULAR else applies:
            result = function(context)
            findings.extend([result] if isinstance(result, Finding) else result)
    return findings


def aligned(context: CheckContext, shuffled: bool, seed: int | str | None) -> CheckContext:
    """Return the context with the original's rows in the order of the release, if this order is known."""
    before, after = context.before, context.after
    if before.height != after.height:
        return replace(context, aligned=False)
    if seed is not None:
        rows = before[shuffled_order(seed, before, context.guarantees.changed)]
        return replace(context, before=rows, order="shuffled")
    if shuffled:  # no column proves that the rows are aligned nevertheless
        return replace(context, order="shuffled", aligned=False)
    if not _moved(context):
        return context
    if context.policy.order == "shuffled":
        return replace(context, order="shuffled", aligned=False)
    # The check `rows` reports rows in another order. Other differences are left to the checks of cells.
    one, two = (sorted_rows(frame, context.untouched) for frame in (before, after))
    return replace(context, order="broken") if context.untouched and one.equals(two) else context


def _moved(context: CheckContext) -> bool:
    """Whether rows may be out of place: an unchanged column differs, or groups do not hold their members' mean."""
    if context.untouched:
        return any(cells.any() for cells in context.changed_cells.values())
    return members.misplaced(context) > 0 or (
        context.policy.order == "shuffled" and not follows(context.before, context.after, context.quasi)
    )


def _table(original: Any, stated_roles: Mapping[str, Any]) -> Table:
    if not isinstance(original, Table):
        return read(original, **stated_roles)
    if not stated_roles:
        return original
    return original.with_roles(read(original.frame, **stated_roles).roles.over(original.roles))


def _written(release: Any, like: pl.DataFrame) -> Written:
    if isinstance(release, (str, os.PathLike)):
        path = Path(release).expanduser()
        if not path.is_file():
            raise UsageError(f"The release {path} does not exist. Check the path.")
        return read_written(path, like)
    frame = release.frame if isinstance(release, Table) else release
    index = getattr(frame, "index", None)
    has_index = index is not None and type(index).__name__ != "RangeIndex"
    return Written(frame_of(frame), {"index": "of pandas"} if has_index else {})
