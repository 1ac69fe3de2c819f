"""`shoal.check`: a release beside its original, every check of the gate, and what each has found.

read original and release --> put their rows side by side --> promises --> what may leak --> findings by policy
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.roles import Roles, names
from shoal.data.table import Table, read
from shoal.errors import UsageError
from shoal.gate import exposure, linkage, members, promises, traces
from shoal.gate.asked import Asked, read_diversity
from shoal.gate.case import Case
from shoal.gate.cells import comparable, sorted_rows
from shoal.gate.findings import Finding, Findings
from shoal.gate.order import follows, shuffled_order
from shoal.gate.policy import policy_named
from shoal.gate.reading import Written, frame_of, read_written

Check = tuple[Callable[[Case], Finding | tuple[Finding, ...]], Callable[[Case], bool]]

# k, l and t, of a release or of one of its steps; and when they apply.
PROTECTION: tuple[Check, ...] = (
    (promises.within_groups, lambda case: bool(case.asked.column_groups and case.class_sets)),
    (promises.joint_k, lambda case: bool(case.quasi)),
    (promises.least_l, lambda case: bool(_told(case) and case.class_sets)),
    (promises.greatest_t, lambda case: bool(_told(case) and case.class_sets)),
)
# What every release promises, and when it applies; in the order in which it is told.
PROMISES: tuple[Check, ...] = (
    (promises.rows, lambda case: True),
    (promises.columns, lambda case: True),
    (promises.written, lambda case: case.expected is not None),
    (promises.identifiers, lambda case: True),
    (promises.untouched, lambda case: True),
    (promises.swapped, lambda case: bool(case.asked.swapped)),
    *PROTECTION,
)
# What may leak all the same.
LEAKS: tuple[Check, ...] = (
    *(
        (function, lambda case: bool(case.quasi))
        for function in (
            exposure.missing, exposure.suppressed, exposure.maximum_risk, exposure.average_risk, exposure.row_risk,
            exposure.small_counts, linkage.linkages, members.dominance,
            members.unchanged_rows, members.unchanged_cells, members.exact_means, members.float_residue,
        )
    ),
    (exposure.uniques_other, lambda case: True),
    (traces.traces, lambda case: True),
    (traces.formulas, lambda case: True),
    (traces.labels, lambda case: bool(case.labels)),
    (traces.previous, lambda case: case.previous is not None),
    (traces.minimality, lambda case: True),
)  # fmt: skip


def check(
    original: Any,
    release: Any,
    *,
    policy: str | Path = "default",
    quasi: str | Sequence[str] = (),
    identifiers: str | Sequence[str] = (),
    confidential: str | Sequence[str] = (),
    weight: str | None = None,
    k: int | None = None,
    column_groups: Sequence[Sequence[str]] = (),
    l: Any = None,  # noqa: E741
    t: float | None = None,
    distance: str = "equal",
    swapped: str | Sequence[str] = (),
    previous: Any = None,
    shuffled: bool = False,
    seed: int | None = None,
    missing: str = "keep",
) -> Findings:
    """Look for broken promises and leaks in `release`, a file or frame made from `original`.

    column_groups: columns that keep k together, where not all do at once. l: a number, ("entropy", l) or
    ("recursive", c, l). swapped: columns whose values changed places (group anonymity). previous: an earlier release.
    shuffled: the rows are in another order on purpose; seed: the one that gave this order, so that rows can be
    compared again. missing: keep, or drop the original's rows that miss a quasi-identifier.

    >>> frame = pl.DataFrame({"age": [23, 25, 60, 62]})
    >>> found = check(frame, frame, quasi=["age"], k=2)
    >>> found.passed, found["joint-k"].finding
    (False, 'the smallest class over all quasi-identifiers has 1 records; 4 classes are smaller than 3')
    """
    judge = policy_named(policy)
    table = _table(original, names(quasi, "quasi"), names(identifiers, "identifiers"), names(confidential, ""), weight)
    moved = names(swapped, "swapped")
    Roles(quasi=moved).check(table.columns)
    chosen = table.roles.quasi if moved else table.quasi_columns()
    asked = Asked(
        table.roles.identifiers, chosen, table.roles.confidential, table.roles.weight, k,
        tuple(tuple(group) for group in column_groups), read_diversity(l), t, distance, moved,
    )  # fmt: skip
    before = _without_gaps(frame_of(table.frame), chosen, missing)
    labels = table.source.labels.values if table.source is not None and table.source.labels is not None else {}
    case = Case(
        before, _written(release, before), asked, judge, labels=labels,
        previous=None if previous is None else _written(previous, before),
    )  # fmt: skip
    return examine(aligned(case, shuffled, seed))


def examine(case: Case, *, promised_only: bool = False) -> Findings:
    """The findings on a case: every check that applies."""
    found = _made(PROMISES, case)
    for number, step in enumerate(case.asked.also, start=1):
        kept = _made(PROTECTION, replace(case, asked=step))
        found += [replace(finding, check=f"{finding.check} of step {number}") for finding in kept]
    return Findings(found if promised_only else found + _made(LEAKS, case), case.policy.name)


def _made(checks: Sequence[Check], case: Case) -> list[Finding]:
    found: list[Finding] = []
    for function, applies in checks:
        if applies(case):
            told = function(case)
            found.extend([told] if isinstance(told, Finding) else told)
    return found


def aligned(case: Case, shuffled: bool, seed: int | None) -> Case:
    """The case with the original's rows in the order of the release's, where that order can be known."""
    before, after = case.before, case.after
    if before.height != after.height:
        return replace(case, aligned=False)
    if seed is not None:
        rows = before[shuffled_order(seed, before, case.asked.changed)]
        return replace(case, before=rows, order="shuffled")
    if not _moved(case):
        return case
    if shuffled or case.policy.order == "shuffled":
        return replace(case, order="shuffled", aligned=False)
    # Rows that only changed places are told as such; anything else is for the checks of cells.
    one, two = (sorted_rows(frame, case.untouched) for frame in (before, after))
    return replace(case, order="broken") if case.untouched and one.equals(two) else case


def _moved(case: Case) -> bool:
    """Whether rows may have changed places: an untouched column differs, or groups do not hold their members."""
    if case.untouched:
        return any(cells.any() for cells in case.changed_cells.values())
    return members.misplaced(case) > 0 or (
        case.policy.order == "shuffled" and not follows(case.before, case.after, case.quasi)
    )


def _told(case: Case) -> bool:
    return any(name in case.after.columns for name in case.asked.confidential)


def _table(
    original: Any,
    quasi: tuple[str, ...],
    identifiers: tuple[str, ...],
    confidential: tuple[str, ...],
    weight: str | None,
) -> Table:
    if isinstance(original, Table):
        given: Mapping[str, Any] = {"quasi": quasi, "identifiers": identifiers, "confidential": confidential}
        roles = replace(original.roles, **{name: value for name, value in given.items() if value})
        return original.with_roles(roles if weight is None else replace(roles, weight=weight))
    return read(original, quasi=quasi, identifiers=identifiers, confidential=confidential, weight=weight)


def _without_gaps(frame: pl.DataFrame, quasi: Sequence[str], way: str) -> pl.DataFrame:
    if way not in ("keep", "drop"):
        raise UsageError(f"missing must be keep or drop, not {way!r}")
    if way == "keep" or not quasi:
        return frame
    full = pl.all_horizontal(comparable(frame[name]).is_not_null() for name in quasi)
    return frame.filter(pl.select(full).to_series())


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
