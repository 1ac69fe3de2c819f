"""`shoal.check`: a release beside its original, every check of the gate, and what each has found.

read original and release --> put their rows side by side --> promises --> what may leak --> findings by policy
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
    KAnonymity,
    LDiversity,
    Masked,
    Promise,
    SameValues,
    TCloseness,
    read_diversity,
)  # fmt: skip
from shoal.gate.reading import Written, frame_of, read_written
from shoal.gate.row_order import follows, shuffled_order
from shoal.sources.reading import read
from shoal.table.roles import Roles, names
from shoal.table.table import Table

Check = Callable[[CheckContext], Finding | tuple[Finding, ...]]

# What every release promises, in the order in which it is shown; the check of a type of promise stands in its own file.
# Each of these checks always has an answer, but for those in PARTICULAR and for types that nobody promised.
PROMISES: tuple[Check | type[Promise], ...] = (
    every_release.rows, every_release.columns, every_release.written, every_release.identifiers,
    roles.looks_like_identifier, every_release.untouched, SameValues, Masked, roles.looks_like_unit, roles.known_k,
    roles.every_role, *OF_CLASSES, content.undone, content.row_order,
)  # fmt: skip
# What is promised of every table, whether it is written or not.
ALWAYS: tuple[Check, ...] = (
    every_release.rows, every_release.columns, every_release.identifiers, every_release.untouched,
    exposure.few_suppressed,
)  # fmt: skip
PARTICULAR: Mapping[Check | type[Promise], Callable[[CheckContext], bool]] = {
    every_release.written: lambda context: context.expected is not None,
    Masked: lambda context: any(context.guarantees.of(kind, every_step=True) for kind in (SameValues, Masked)),
    **dict.fromkeys(OF_CLASSES, lambda context: True),  # measured although nobody promised them
}
# What may leak all the same.
LEAKS: tuple[Check, ...] = (
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
    previous: Any = None,
    first_release: bool = False,
    accept_k: int | None = None,
    keep_order: bool = False,
    shuffled: bool = False,
    seed: int | str | None = None,
    missing: str = "keep",
    round_weight: bool = False,
    **given: Any,
) -> Findings:
    """Look for broken guarantees and leaks in `release`, a file or frame made from `original`.

    The columns' roles are those of `shoal.read`: quasi, identifiers, confidential, unit, as_is, drop, roles, and so on.
    column_groups: columns that keep k together, where not all do at once. within: columns that no group crosses.
    l: a number, ("entropy", l) or ("recursive", c, l). swapped: columns whose values changed places (group anonymity),
    the column of the regions first. vital: the column and values of the target group whose regions were swapped, and
    decoys: how many new outliers were asked for.
    previous: an earlier release; first_release: there is none. accept_k: the k over everything known that is accepted
    instead of the promised one. keep_order: the original order is kept although it discloses values.
    shuffled: the rows are in another order on purpose; seed: the seed or the secret that gave this order, so that rows
    can be compared again. missing: how the run handled the original's missing values in the protected columns: keep,
    drop (rows left out) or median (filled in).

    >>> frame = pl.DataFrame({"age": [23, 25, 60, 62]})
    >>> result = check(frame, frame, quasi=["age"], k=2)
    >>> result.passed, result["joint-k"].finding
    (False, 'the smallest class over all protected columns has 1 record; 4 classes are smaller than 3')
    """
    judge = policy_named(policy)
    table = _table(original, given)
    moved, kept = names(swapped, "swapped"), names(within, "within")
    Roles(quasi=(*moved, *kept)).check(table.columns)
    chosen = _protected(table, moved, kept)
    weight = (table.roles.weight,) if round_weight and table.roles.weight else ()
    check_choice("distance", distance, DISTANCES)
    classes = _promises_of_classes(chosen, kept, column_groups, k, table.roles.confidential, l, t, distance)
    promises = (*classes, *(SameValues((name,)) for name in moved), *_masked(moved, vital, decoys))
    guarantees = Guarantees(table.roles, tuple(dict.fromkeys((*chosen, *moved))), promises, weight)
    before = handle_gaps(frame_of(table.frame), chosen, missing, table.roles)
    labels = table.source.labels.values if table.source is not None and table.source.labels is not None else {}
    context = CheckContext(
        before, _written(release, before), guarantees, judge, labels=labels,
        previous=None if previous is None else _written(previous, before),
        accept_k=accept_k, first_release=first_release, keep_order=keep_order,
    )  # fmt: skip
    return examine(aligned(context, shuffled, seed))


def _promises_of_classes(
    chosen: tuple[str, ...],
    within: tuple[str, ...],
    column_groups: Sequence[Sequence[str]],
    k: int | None,
    confidential: tuple[str, ...],
    l: Any,  # noqa: E741
    t: float | None,
    distance: str,
) -> list[Promise]:
    """k, l and t as the caller names them; a k that nobody names is measured."""
    for group in column_groups:
        for name in group:
            if name not in chosen:
                raise UsageError(f"the column group {', '.join(group)} names {name!r}, which is not protected")
    sets = [(*group, *within) for group in column_groups] or [(*chosen, *within)]
    groups, wanted_l = bool(column_groups), read_diversity(l)
    found: list[Promise] = []
    for columns in sets:
        found.append(KAnonymity(columns, 2 if k is None else k, group=groups, promised=k is not None))
        if wanted_l is not None:
            found.append(LDiversity(columns, confidential, wanted_l.l, wanted_l.kind, wanted_l.c))
        if t is not None or (distance != "equal" and confidential):
            limit = 1.0 if t is None else t
            found.append(TCloseness(columns, confidential, limit, distance, promised=t is not None))
    return found


def _masked(moved: Sequence[str], vital: tuple[str, Sequence[Any]] | None, decoys: int) -> tuple[Masked, ...]:
    """The target group whose regions were swapped, where it was named: its signal is measured."""
    if vital is None:
        if decoys:
            raise UsageError("--decoys belongs to a target group. Name it with --vital COL=v1,v2 or remove --decoys")
        return ()
    if not moved:
        raise UsageError("--vital needs the column of the regions. Add --swapped COLUMN or remove --vital")
    return (Masked((moved[0],), vital[0], tuple(vital[1]), decoys=decoys, promised=False),)


def _protected(table: Table, moved: Sequence[str], within: Sequence[str]) -> tuple[str, ...]:
    """The columns that were protected: those named, or else every column without a role."""
    if table.roles.quasi or table.roles.derived:
        chosen = (*table.roles.quasi, *table.roles.derived)
    elif moved:
        chosen = ()
    else:
        chosen = table.without_role()
    return tuple(name for name in chosen if name not in within)


def examine(context: CheckContext) -> Findings:
    """The findings on a context: every check, the three figures, and the CPU time of all this."""
    begin = time.process_time()
    found = _made(_with_other_types(PROMISES, context), context)
    for step in context.guarantees.steps:
        of_step = replace(context, guarantees=context.guarantees.of_step(step))
        if of_step.guarantees.of(KAnonymity):
            kept = _made(OF_CLASSES, of_step)
            found += [replace(finding, check=f"{finding.check} of step {step.number}") for finding in kept]
    found += _made(LEAKS, context)
    return Findings(found, context.policy.name, context.figures, time.process_time() - begin)


def broken_promises(context: CheckContext) -> list[str]:
    """What does not hold of the table, as sentences: what every release promises, its promises, those of its steps."""
    found = [finding for finding in _made((*ALWAYS, *_promised_types(context)), context) if finding.status == BLOCK]
    problems = [as_sentences(finding) for finding in found]
    for step in context.guarantees.steps:
        of_step = replace(context, guarantees=context.guarantees.of_step(step))
        for finding in _made(_promised_types(of_step), of_step):
            if finding.status == BLOCK:
                last = step == context.guarantees.steps[-1]
                later = "" if last else " A later step changed it: let the steps have different columns."
                columns = ", ".join(of_step.guarantees.columns)
                problems.append(
                    f"What step {step.number} ({step.name}) promised of {columns} does not hold in the final table. "
                    f"{as_sentences(finding)}{later}"
                )
    return problems


def _promised_types(context: CheckContext) -> tuple[type[Promise], ...]:
    """The types of promises that hold for the whole release, in the order in which they were given."""
    return tuple(dict.fromkeys(type(promise) for promise in context.guarantees.of(Promise)))


def _with_other_types(
    checks: Sequence[Check | type[Promise]], context: CheckContext
) -> tuple[Check | type[Promise], ...]:
    """The checks, and those of types of promises that they do not name."""
    return (*checks, *(kind for kind in _promised_types(context) if kind not in checks))


def _made(checks: Sequence[Check | type[Promise]], context: CheckContext) -> list[Finding]:
    found: list[Finding] = []
    of_promises = promise_checks()
    for entry in checks:
        function: Check
        if isinstance(entry, type):
            function, wanted = of_promises[entry], bool(context.guarantees.of(entry, every_step=True))
        else:
            function, wanted = entry, True
        if PARTICULAR[entry](context) if entry in PARTICULAR else wanted:
            result = function(context)
            found.extend([result] if isinstance(result, Finding) else result)
    return found


def aligned(context: CheckContext, shuffled: bool, seed: int | str | None) -> CheckContext:
    """The context with the original's rows in the order of the release's, where that order can be known."""
    before, after = context.before, context.after
    if before.height != after.height:
        return replace(context, aligned=False)
    if seed is not None:
        rows = before[shuffled_order(seed, before, context.guarantees.changed)]
        return replace(context, before=rows, order="shuffled")
    if shuffled:  # no column is sure to show that the rows stand side by side all the same
        return replace(context, order="shuffled", aligned=False)
    if not _moved(context):
        return context
    if context.policy.order == "shuffled":
        return replace(context, order="shuffled", aligned=False)
    # Rows that only changed places are told as such; anything else is for the checks of cells.
    one, two = (sorted_rows(frame, context.untouched) for frame in (before, after))
    return replace(context, order="broken") if context.untouched and one.equals(two) else context


def _moved(context: CheckContext) -> bool:
    """Whether rows may have changed places: an untouched column differs, or groups do not hold their members."""
    if context.untouched:
        return any(cells.any() for cells in context.changed_cells.values())
    return members.misplaced(context) > 0 or (
        context.policy.order == "shuffled" and not follows(context.before, context.after, context.quasi)
    )


def _table(original: Any, given: Mapping[str, Any]) -> Table:
    if not isinstance(original, Table):
        return read(original, **given)
    if not given:
        return original
    return original.with_roles(read(original.frame, **given).roles.over(original.roles))


def _written(release: Any, like: pl.DataFrame) -> Written:
    if isinstance(release, (str, os.PathLike)):
        path = Path(release).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no file {path}")
        return read_written(path, like)
    frame = release.frame if isinstance(release, Table) else release
    index = getattr(frame, "index", None)
    odd = index is not None and type(index).__name__ != "RangeIndex"
    return Written(frame_of(frame), {"index": "of pandas"} if odd else {})
