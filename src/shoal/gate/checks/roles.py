"""What follows from the columns' roles: k over everything known, forgotten identifiers and units, as-is columns.

A column without a role counts as known to an intruder, and a statement that was not made is never assumed.
"""

from __future__ import annotations

import polars as pl

from shoal.gate.cells import is_number
from shoal.gate.context import UNALIGNED_TODO, CheckContext
from shoal.gate.figures import Figure
from shoal.gate.findings import Finding, counted, percent
from shoal.gate.policy import stricter
from shoal.table.likeness import identifier_reason, repeated_identifier_reason, unit_reason

ROLES = (
    "Give each a role: --quasi to protect it, --confidential, --drop, or --as-is; "
    "'shoal look FILE --save-roles roles.toml' drafts them"
)
MOST_NAMED = 8  # columns that a message lists


def known_k(context: CheckContext) -> Finding:
    """k over the protected columns and those without a role: the figure that decides."""
    figure, required = context.figures.known, context.required_k
    if not context.guarantees.hides_records and context.accept_k is None:
        return _unpromised(context, figure)
    broken = figure.k < required
    threshold = stricter(required, context.policy.thresholds.k)
    bad = threshold is not None and figure.k < threshold
    if not bad:
        text = f"over everything that an intruder may know, the smallest class has {figure.k:,} {_records(context)}"
        return context.make_finding("known-k", False, text, figure.k, threshold, promised=True)
    needed = required if broken else int(threshold or 0)
    unassigned = context.columns.unassigned
    text = (
        _with_unassigned(context, needed)
        if unassigned
        else f"over everything that an intruder may know k is {figure.k:,}, not {needed:,}: {found(context, figure)}"
    )
    outside = _in_no_set(context)
    if outside:
        have = "quasi-identifier is" if len(outside) == 1 else "quasi-identifiers are"
        text += f". {len(outside)} {have} in no set or column group: {', '.join(outside[:MOST_NAMED])}"
    todo = ROLES
    if not unassigned:
        accept = ", or accept it with --accept-k N" if broken else ""  # a policy's k cannot be accepted away
        first = "add them to a set (--set)" if outside else "protect all columns together"
        todo = f"{first}, or take a larger k{accept}"
    return context.make_finding("known-k", True, text, figure.k, needed, todo, promised=broken)


def _in_no_set(context: CheckContext) -> list[str]:
    """The protected columns for which k is promised in no column group: they are known all the same."""
    groups = context.guarantees.column_groups
    named = {name for group in groups for name in group}
    return [name for name in context.quasi if name not in named] if groups else []


def _unpromised(context: CheckContext, figure: Figure) -> Finding:
    """A method that hides no record: the publisher must accept the k that is left."""
    text = (
        "this method promises no k. Over everything that an intruder may know "
        f"k is {figure.k:,}: {found(context, figure)}"
    )
    todo = f"accept it with --accept-k {figure.k}, or protect the columns as well (shoal microaggregate)"
    return context.make_finding("known-k", True, text, figure.k, None, todo, promised=True)


def found(context: CheckContext, figure: Figure) -> str:
    """How many records are unique and how many people can be found, in words."""
    unique = f"{figure.uniques:,} of {context.rows:,} records are unique"
    return unique if figure.linked is None else f"{unique} and {percent(figure.linked)} of the people can be found"


def _with_unassigned(context: CheckContext, needed: int) -> str:
    figures, names = context.figures, context.columns.unassigned
    listed = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else "")
    one = len(names) == 1
    it = "it" if one else "them"
    how = "without protection" if set(names) & set(context.guarantees.swapped) else "unchanged"
    without = "" if figures.protected.linked is None else f" ({percent(figures.protected.linked)} without {it})"
    text = (
        f"{len(names)} {'column has' if one else 'columns have'} no role and would be released {how}: {listed}. "
        f"With {it} k is {figures.known.k:,}, not {needed:,}: {found(context, figures.known)}{without}"
    )
    added = [(name, count) for name, count in figures.added_uniques.items() if count > 0][:3]
    if added and len(names) > 1:
        parts = [f"{name} ({count:,} unique records)" for name, count in added]
        text += f". Most is added by {', '.join(parts)}"
    return text


def released(context: CheckContext) -> Finding:
    """The third figure: every released column, confidential ones and the weight included."""
    figure = context.figures.released
    text = (
        f"if somebody knew every released column, the confidential ones too, k would be {figure.k:,}: "
        f"{found(context, figure)}"
    )
    return context.make_finding("released", False, text, figure.k)


def every_role(context: CheckContext) -> Finding:
    """Where l or t is demanded, or the policy says so, a column without a role could be confidential: it blocks."""
    demanded = context.guarantees.demands_diversity or "l" in context.policy.blocks
    names = unnamed(context)
    if not names:
        return context.make_finding("roles", False, "every released column has a role", 0, 0)
    have = "column has" if len(names) == 1 else "columns have"
    text = f"{len(names)} released {have} no role: {', '.join(names[:MOST_NAMED])}"
    if demanded or context.policy.explicit:
        return context.make_finding("roles", True, text, len(names), 0, ROLES, promised=True)
    return context.make_finding("roles", False, f"{text}; they count as known to an intruder", len(names))


def unnamed(context: CheckContext) -> list[str]:
    """The released columns that nobody gave a role, the protected ones among them."""
    assigned = {*context.guarantees.roles.assigned, *context.guarantees.within}
    return [name for name in context.after.columns if name not in assigned]


def looks_like_identifier(context: CheckContext) -> Finding:
    """A released column without a role that looks like a direct identifier."""
    reasons = {name: identifier_reason(_original(context, name)) for name in unnamed(context)}
    caught = {name: reason for name, reason in reasons.items() if reason}
    text = "; ".join(f"{name!r} looks like an identifier: {reason}" for name, reason in caught.items())
    return context.make_finding(
        "looks-like-identifier", bool(caught), text or "no released column without a role looks like an identifier",
        len(caught), 0, f"remove it: --identifiers {','.join(caught)}; or give it another role", promised=True,
    )  # fmt: skip


def identifier_roles(context: CheckContext) -> Finding:
    """A released column that looks like an identifier although it is called confidential, as-is or a weight."""
    names = (*context.columns.as_is, *context.columns.confidential, *context.columns.weight)
    text_only = {
        name: identifier_reason(_original(context, name)) for name in names if not is_number(context.after[name])
    }
    caught = {name: reason for name, reason in text_only.items() if reason}
    text = "; ".join(f"{name!r} is released and looks like an identifier: {why}" for name, why in caught.items())
    return context.make_finding(
        "identifier-role", bool(caught), text or "no released column with a role looks like an identifier", len(caught),
        0, f"remove it: --identifiers {','.join(caught)}",
    )  # fmt: skip


def _original(context: CheckContext, name: str) -> pl.Series:
    return context.before[name] if name in context.before.columns else context.after[name]


def looks_like_unit(context: CheckContext) -> Finding:
    """Rows of one person or household must be named as such, or denied."""
    roles = context.guarantees.roles
    if roles.unit is not None:
        units = f"{context.units.max() + 1:,} units in the column {roles.unit!r}" if context.units is not None else ""
        if isinstance(roles.unit, str) and context.units is None:
            text = "not measured: the rows cannot be compared with the original"
            return context.make_finding("unit", True, text, todo=UNALIGNED_TODO, promised=True)
        return context.make_finding("unit", False, units or "the publisher states that every row is another person")
    reasons = {name: repeated_identifier_reason(context.before[name]) for name in roles.identifiers}
    others = [
        name for name in context.before.columns if name not in roles.identifiers and name not in roles.confidential
    ]
    reasons |= {name: unit_reason(context.before, name) for name in others}
    caught = {name: reason for name, reason in reasons.items() if reason}
    text = "; ".join(f"{name!r} looks like a person or household with several rows: {r}" for name, r in caught.items())
    first = next(iter(caught), "")
    return context.make_finding(
        "unit", bool(caught), text or "no column looks like a person or household with several rows", len(caught), 0,
        f"name it: --unit {first}; or state that every row is another person: --no-unit", promised=True,
    )  # fmt: skip


def as_is(context: CheckContext) -> Finding:
    """Columns that are released unchanged because the publisher says that no intruder knows them."""
    roles = context.guarantees.roles
    names = context.columns.as_is
    if not names:
        return context.make_finding("as-is", False, "no column is released as it is on the publisher's word", 0)
    problems = []
    if context.policy.explicit:
        patterns = [name for name in names if name in roles.by_pattern]
        without = [name for name in names if not roles.reasons.get(name, "").strip()]
        problems += [f"named by a pattern: {', '.join(patterns)}"] if patterns else []
        problems += [f"without a reason: {', '.join(without)}"] if without else []
    text = f"{counted(len(names), 'column')} released unchanged on the publisher's word: {', '.join(names)}"
    return context.make_finding(
        "as-is", bool(problems), "; ".join([text, *problems]), len(names), None,
        "name each column with its reason in a roles file: [as-is] columns = […], reason = { x = \"…\" }",
    )  # fmt: skip


def weight(context: CheckContext) -> Finding:
    """Weights whose values single out strata or records."""
    names = context.columns.weight
    if not names:
        return context.make_finding("weight", False, "no weight is released")
    alone = context.unit_counts(context.over(names))
    sizes = context.over(names).sizes
    few = int(sizes[alone < context.wanted_k].sum())
    beside = context.unit_counts(context.over((*context.columns.known, *names)))
    smallest = int(beside.min()) if beside.size else 0
    text = (
        f"{few:,} records have a weight that fewer than {context.wanted_k} records share; with the weight, k over the "
        f"known columns is {smallest:,}"
    )
    return context.make_finding(
        "weight", few > 0, text, few, 0, "release coarser weights (--round-weight), or drop the weight (--drop)"
    )


def _records(context: CheckContext) -> str:
    return "persons or households" if context.units is not None else "records"
