"""What follows from the columns' roles: k over everything known, forgotten identifiers and units, as-is columns.

A column without a role counts as known to an intruder, and a statement that was not made is never assumed.
"""

from __future__ import annotations

import polars as pl

from shoal.gate.case import UNALIGNED_TODO, Case
from shoal.gate.cells import is_number
from shoal.gate.figures import Figure
from shoal.gate.findings import Finding, counted, percent
from shoal.gate.policy import stricter
from shoal.table.likeness import identifier_reason, repeated_identifier_reason, unit_reason

ROLES = (
    "Give each a role: --quasi to protect it, --confidential, --drop, or --as-is; "
    "'shoal look FILE --save-roles roles.toml' drafts them"
)
MOST_NAMED = 8  # columns that a message lists


def known_k(case: Case) -> Finding:
    """k over the protected columns and those without a role: the figure that decides."""
    figure, required = case.figures.known, case.required_k
    if not case.asked.promises_k and case.accept_k is None:
        return _unpromised(case, figure)
    broken = figure.k < required
    threshold = stricter(required, case.policy.thresholds.k)
    bad = threshold is not None and figure.k < threshold
    if not bad:
        text = f"over everything that an intruder may know, the smallest class has {figure.k:,} {_records(case)}"
        return case.judged("known-k", False, text, figure.k, threshold, promised=True)
    needed = required if broken else int(threshold or 0)
    unassigned = case.columns.unassigned
    text = (
        _with_unassigned(case, needed)
        if unassigned
        else f"over everything that an intruder may know k is {figure.k:,}, not {needed:,}: {found(case, figure)}"
    )
    outside = _in_no_set(case)
    if outside:
        have = "quasi-identifier is" if len(outside) == 1 else "quasi-identifiers are"
        text += f". {len(outside)} {have} in no set or column group: {', '.join(outside[:MOST_NAMED])}"
    todo = ROLES
    if not unassigned:
        accept = ", or accept it with --accept-k N" if broken else ""  # a policy's k cannot be accepted away
        first = "add them to a set (--set)" if outside else "protect all columns together"
        todo = f"{first}, or take a larger k{accept}"
    return case.judged("known-k", True, text, figure.k, needed, todo, promised=broken)


def _in_no_set(case: Case) -> list[str]:
    """The protected columns for which k is promised in no column group: they are known all the same."""
    groups = case.asked.column_groups
    named = {name for group in groups for name in group}
    return [name for name in case.quasi if name not in named] if groups else []


def _unpromised(case: Case, figure: Figure) -> Finding:
    """A method that hides no record: the publisher must accept the k that is left."""
    text = (
        f"this method promises no k. Over everything that an intruder may know k is {figure.k:,}: {found(case, figure)}"
    )
    todo = f"accept it with --accept-k {figure.k}, or protect the columns as well (shoal microaggregate)"
    return case.judged("known-k", True, text, figure.k, None, todo, promised=True)


def found(case: Case, figure: Figure) -> str:
    """How many records are unique and how many people can be found, in words."""
    unique = f"{figure.uniques:,} of {case.rows:,} records are unique"
    return unique if figure.linked is None else f"{unique} and {percent(figure.linked)} of the people can be found"


def _with_unassigned(case: Case, needed: int) -> str:
    figures, names = case.figures, case.columns.unassigned
    listed = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else "")
    one = len(names) == 1
    it = "it" if one else "them"
    how = "without protection" if set(names) & set(case.asked.swapped) else "unchanged"
    without = "" if figures.protected.linked is None else f" ({percent(figures.protected.linked)} without {it})"
    text = (
        f"{len(names)} {'column has' if one else 'columns have'} no role and would be released {how}: {listed}. "
        f"With {it} k is {figures.known.k:,}, not {needed:,}: {found(case, figures.known)}{without}"
    )
    added = [(name, count) for name, count in figures.added_uniques.items() if count > 0][:3]
    if added and len(names) > 1:
        parts = [f"{name} ({count:,} unique records)" for name, count in added]
        text += f". Most is added by {', '.join(parts)}"
    return text


def released(case: Case) -> Finding:
    """The third figure: every released column, confidential ones and the weight included."""
    figure = case.figures.released
    text = (
        f"if somebody knew every released column, the confidential ones too, k would be {figure.k:,}: "
        f"{found(case, figure)}"
    )
    return case.judged("released", False, text, figure.k)


def every_role(case: Case) -> Finding:
    """Where l or t is demanded, or the policy says so, a column without a role could be confidential: it blocks."""
    demanded = case.asked.diversity is not None or case.asked.t is not None or "l" in case.policy.blocks
    names = unnamed(case)
    if not names:
        return case.judged("roles", False, "every released column has a role", 0, 0)
    have = "column has" if len(names) == 1 else "columns have"
    text = f"{len(names)} released {have} no role: {', '.join(names[:MOST_NAMED])}"
    if demanded or case.policy.explicit:
        return case.judged("roles", True, text, len(names), 0, ROLES, promised=True)
    return case.judged("roles", False, f"{text}; they count as known to an intruder", len(names))


def unnamed(case: Case) -> list[str]:
    """The released columns that nobody gave a role, the protected ones among them."""
    assigned = {*case.asked.roles.assigned, *case.asked.within}
    return [name for name in case.after.columns if name not in assigned]


def looks_like_identifier(case: Case) -> Finding:
    """A released column without a role that looks like a direct identifier."""
    reasons = {name: identifier_reason(_original(case, name)) for name in unnamed(case)}
    caught = {name: reason for name, reason in reasons.items() if reason}
    text = "; ".join(f"{name!r} looks like an identifier: {reason}" for name, reason in caught.items())
    return case.judged(
        "looks-like-identifier", bool(caught), text or "no released column without a role looks like an identifier",
        len(caught), 0, f"remove it: --identifiers {','.join(caught)}; or give it another role", promised=True,
    )  # fmt: skip


def identifier_roles(case: Case) -> Finding:
    """A released column that looks like an identifier although it is called confidential, as-is or a weight."""
    names = (*case.columns.as_is, *case.columns.confidential, *case.columns.weight)
    text_only = {name: identifier_reason(_original(case, name)) for name in names if not is_number(case.after[name])}
    caught = {name: reason for name, reason in text_only.items() if reason}
    text = "; ".join(f"{name!r} is released and looks like an identifier: {why}" for name, why in caught.items())
    return case.judged(
        "identifier-role", bool(caught), text or "no released column with a role looks like an identifier", len(caught),
        0, f"remove it: --identifiers {','.join(caught)}",
    )  # fmt: skip


def _original(case: Case, name: str) -> pl.Series:
    return case.before[name] if name in case.before.columns else case.after[name]


def looks_like_unit(case: Case) -> Finding:
    """Rows of one person or household must be named as such, or denied."""
    roles = case.asked.roles
    if roles.unit is not None:
        units = f"{case.units.max() + 1:,} units in the column {roles.unit!r}" if case.units is not None else ""
        if isinstance(roles.unit, str) and case.units is None:
            text = "not measured: the rows cannot be compared with the original"
            return case.judged("unit", True, text, todo=UNALIGNED_TODO, promised=True)
        return case.judged("unit", False, units or "the publisher states that every row is another person")
    reasons = {name: repeated_identifier_reason(case.before[name]) for name in roles.identifiers}
    others = [name for name in case.before.columns if name not in roles.identifiers and name not in roles.confidential]
    reasons |= {name: unit_reason(case.before, name) for name in others}
    caught = {name: reason for name, reason in reasons.items() if reason}
    text = "; ".join(f"{name!r} looks like a person or household with several rows: {r}" for name, r in caught.items())
    first = next(iter(caught), "")
    return case.judged(
        "unit", bool(caught), text or "no column looks like a person or household with several rows", len(caught), 0,
        f"name it: --unit {first}; or state that every row is another person: --no-unit", promised=True,
    )  # fmt: skip


def as_is(case: Case) -> Finding:
    """Columns that are released unchanged because the publisher says that no intruder knows them."""
    roles = case.asked.roles
    names = case.columns.as_is
    if not names:
        return case.judged("as-is", False, "no column is released as it is on the publisher's word", 0)
    problems = []
    if case.policy.explicit:
        patterns = [name for name in names if name in roles.by_pattern]
        without = [name for name in names if not roles.reasons.get(name, "").strip()]
        problems += [f"named by a pattern: {', '.join(patterns)}"] if patterns else []
        problems += [f"without a reason: {', '.join(without)}"] if without else []
    text = f"{counted(len(names), 'column')} released unchanged on the publisher's word: {', '.join(names)}"
    return case.judged(
        "as-is", bool(problems), "; ".join([text, *problems]), len(names), None,
        "name each column with its reason in a roles file: [as-is] columns = […], reason = { x = \"…\" }",
    )  # fmt: skip


def weight(case: Case) -> Finding:
    """Weights whose values single out strata or records."""
    names = case.columns.weight
    if not names:
        return case.judged("weight", False, "no weight is released")
    alone = case.unit_counts(case.over(names))
    sizes = case.over(names).sizes
    few = int(sizes[alone < case.wanted_k].sum())
    beside = case.unit_counts(case.over((*case.columns.known, *names)))
    smallest = int(beside.min()) if beside.size else 0
    text = (
        f"{few:,} records have a weight that fewer than {case.wanted_k} records share; with the weight, k over the "
        f"known columns is {smallest:,}"
    )
    return case.judged(
        "weight", few > 0, text, few, 0, "release coarser weights (--round-weight), or drop the weight (--drop)"
    )


def _records(case: Case) -> str:
    return "persons or households" if case.units is not None else "records"
