"""Checks of the columns' roles: k over the known columns, forgotten identifiers and units, as-is columns.

A column without a role counts as known to an intruder. Shoal never assumes a statement that the publisher did not make.
"""

from __future__ import annotations

import polars as pl

from shoal.errors import counted
from shoal.gate.cells import is_number
from shoal.gate.context import UNALIGNED_TODO, CheckContext
from shoal.gate.figures import Figure
from shoal.gate.findings import Finding, percent
from shoal.gate.policy import stricter
from shoal.table.likeness import identifier_reason, repeated_identifier_reason, unit_reason

ROLES = (
    "give each a role: --quasi to protect it, --confidential, --drop or --as-is; 'shoal look FILE --save-roles "
    "roles.toml' writes a draft"
)
NOTHING_LEFT = "every record is suppressed, so no class of records is left"
MAX_NAMED = 8  # columns that a message lists


def known_k(context: CheckContext) -> Finding:
    """k over the protected columns and those without a role, which decides."""
    figure, required = context.figures.known, context.required_k
    if not context.guarantees.hides_records and context.accept_k is None:
        return _without_guarantee(context, figure)
    broken = figure.k < required
    threshold = stricter(required, context.policy.thresholds.k)
    bad = threshold is not None and figure.k < threshold
    if not bad:
        text = f"over all columns that an intruder may know, the smallest class has {_members(context, figure.k)}"
        return context.make_finding("known-k", False, text, figure.k, threshold, promised=True)
    if figure.k == 0:
        todo = "use a smaller k, or fewer or coarser quasi-identifiers"
        return context.make_finding("known-k", True, NOTHING_LEFT, 0, threshold, todo, promised=broken)
    needed = required if broken else int(threshold or 0)
    unassigned = context.columns.unassigned
    text = (
        _with_unassigned(context, needed)
        if unassigned
        else f"over all columns that an intruder may know, k is {figure.k:,} instead of {needed:,}: "
        f"{_exposed(context, figure)}"
    )
    outside = _outside_groups(context)
    if outside:
        verb = "is" if len(outside) == 1 else "are"
        listed = ", ".join(outside[:MAX_NAMED])
        text += f". {counted(len(outside), 'quasi-identifier')} {verb} in no set or column group: {listed}"
    todo = ROLES
    if not unassigned:
        accept = ", or accept it with --accept-k N" if broken else ""  # a policy's k cannot be accepted away
        first = "add them to a set (--set)" if outside else "protect all columns together"
        todo = f"{first}, or use a larger k{accept}"
    return context.make_finding("known-k", True, text, figure.k, needed, todo, promised=broken)


def _outside_groups(context: CheckContext) -> list[str]:
    """Return the protected columns that are in no column group. An intruder may know them, too."""
    groups = context.guarantees.column_groups
    named = {name for group in groups for name in group}
    return [name for name in context.quasi if name not in named] if groups else []


def _without_guarantee(context: CheckContext, figure: Figure) -> Finding:
    """Return the finding for a method without k-anonymity: the publisher must accept the measured k."""
    text = (
        "this method does not guarantee a k. Over all columns that an intruder may know, "
        f"k is {figure.k:,}: {_exposed(context, figure)}"
    )
    todo = f"accept it with --accept-k {figure.k}, or also protect the columns with shoal microaggregate"
    return context.make_finding("known-k", True, text, figure.k, None, todo, promised=True)


def _exposed(context: CheckContext, figure: Figure) -> str:
    """Describe how many records are unique and how many people can be found."""
    unique = f"{figure.uniques:,} of {context.rows:,} records are unique"
    return unique if figure.linked is None else f"{unique} and {percent(figure.linked)} of the people can be found"


def _with_unassigned(context: CheckContext, needed: int) -> str:
    figures, names = context.figures, context.columns.unassigned
    listed = ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if names[MAX_NAMED:] else "")
    one = len(names) == 1
    it = "it" if one else "them"
    how = "without protection" if set(names) & set(context.guarantees.swapped) else "unchanged"
    without = "" if figures.protected.linked is None else f" ({percent(figures.protected.linked)} without {it})"
    text = (
        f"{counted(len(names), 'column')} {'has' if one else 'have'} no role and would be released {how}: {listed}. "
        f"With {it}, k is {figures.known.k:,} instead of {needed:,}: {_exposed(context, figures.known)}{without}"
    )
    added = [(name, count) for name, count in figures.added_uniques.items() if count > 0][:3]
    if added and len(names) > 1:
        parts = [f"{name} ({count:,} unique records)" for name, count in added]
        text += f". The columns that add most are {', '.join(parts)}"
    return text


def released(context: CheckContext) -> Finding:
    """The third known-column figure: an intruder who knows every released column, including confidential ones."""
    figure = context.figures.released
    text = (
        f"if an intruder knew every released column, including confidential ones, k would be {figure.k:,}: "
        f"{_exposed(context, figure)}"
    )
    return context.make_finding("released", False, text, figure.k)


def every_role(context: CheckContext) -> Finding:
    """Columns without a role. They block if l or t is guaranteed, because they could be confidential."""
    demanded = context.guarantees.demands_diversity or "l" in context.policy.blocks
    names = unnamed(context)
    if not names:
        return context.make_finding("roles", False, "every released column has a role", 0, 0)
    have = "has" if len(names) == 1 else "have"
    text = f"{counted(len(names), 'released column')} {have} no role: {', '.join(names[:MAX_NAMED])}"
    if demanded or context.policy.explicit:
        return context.make_finding("roles", True, text, len(names), 0, ROLES, promised=True)
    return context.make_finding(
        "roles", False, f"{text}; columns without a role count as known to an intruder", len(names)
    )


def unnamed(context: CheckContext) -> list[str]:
    """Return the released columns without a stated role, including protected ones."""
    assigned = {*context.guarantees.roles.assigned, *context.guarantees.within}
    return [name for name in context.after.columns if name not in assigned]


def looks_like_identifier(context: CheckContext) -> Finding:
    """A released column without a role that looks like a direct identifier."""
    reasons = {name: identifier_reason(_original(context, name)) for name in unnamed(context)}
    caught = {name: reason for name, reason in reasons.items() if reason}
    text = "; ".join(f"{name!r} looks like an identifier: {reason}" for name, reason in caught.items())
    return context.make_finding(
        "looks-like-identifier", bool(caught), text or "no released column without a role looks like an identifier",
        len(caught), 0, f"remove it with --identifiers {','.join(caught)}, or give it another role", promised=True,
    )  # fmt: skip


def identifier_roles(context: CheckContext) -> Finding:
    """A released column that looks like an identifier, although its role is confidential, as-is or weight."""
    names = (*context.columns.as_is, *context.columns.confidential, *context.columns.weight)
    text_only = {
        name: identifier_reason(_original(context, name)) for name in names if not is_number(context.after[name])
    }
    caught = {name: reason for name, reason in text_only.items() if reason}
    text = "; ".join(f"{name!r} is released and looks like an identifier: {why}" for name, why in caught.items())
    return context.make_finding(
        "identifier-role", bool(caught), text or "no released column with a role looks like an identifier", len(caught),
        0, f"remove it with --identifiers {','.join(caught)}",
    )  # fmt: skip


def _original(context: CheckContext, name: str) -> pl.Series:
    return context.before[name] if name in context.before.columns else context.after[name]


def looks_like_unit(context: CheckContext) -> Finding:
    """A column that identifies persons or households with several rows, and that the publisher did not name."""
    roles = context.guarantees.roles
    if roles.unit is not None:
        count = 0 if context.units is None else int(context.units.max(initial=-1)) + 1
        units = f"the column {roles.unit!r} has {counted(count, 'unit')}" if context.units is not None else ""
        if isinstance(roles.unit, str) and context.units is None:
            text = "not measured: the rows cannot be compared with the original"
            return context.make_finding("unit", True, text, todo=UNALIGNED_TODO, promised=True)
        return context.make_finding("unit", False, units or "the publisher states that every row is a different person")
    reasons = {name: repeated_identifier_reason(context.before[name]) for name in roles.identifiers}
    before = context.before.drop([copy for _, copy in context.guarantees.bounds.values()])
    others = [name for name in before.columns if name not in roles.identifiers and name not in roles.confidential]
    reasons |= {name: unit_reason(before, name) for name in others}
    caught = {name: reason for name, reason in reasons.items() if reason}
    text = "; ".join(f"{name!r} looks like a unit with several rows: {reason}" for name, reason in caught.items())
    first = next(iter(caught), "")
    return context.make_finding(
        "unit", bool(caught), text or "no column looks like a person or household with several rows", len(caught), 0,
        f"name it with --unit {first}, or state with --no-unit that every row is a different person", promised=True,
    )  # fmt: skip


def as_is(context: CheckContext) -> Finding:
    """Columns that are released unchanged because the publisher states that no intruder knows them."""
    roles = context.guarantees.roles
    names = context.columns.as_is
    if not names:
        return context.make_finding("as-is", False, "there is no as-is column", 0)
    problems = []
    if context.policy.explicit:
        patterns = [name for name in names if name in roles.by_pattern]
        without = [name for name in names if not roles.reasons.get(name, "").strip()]
        problems += [f"named by a pattern: {', '.join(patterns)}"] if patterns else []
        problems += [f"without a reason: {', '.join(without)}"] if without else []
    one = len(names) == 1
    text = (
        f"{counted(len(names), 'column')} {'is' if one else 'are'} released unchanged, because the publisher states "
        f"that no intruder knows {'it' if one else 'them'}: {', '.join(names)}"
    )
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
    rare = int(sizes[alone < context.wanted_k].sum())
    with_weight = context.unit_counts(context.over((*context.columns.known, *names)))
    return of_weights(context, rare, int(with_weight.min()) if with_weight.size else 0)


def of_weights(context: CheckContext, rare: int, smallest: int) -> Finding:
    """Return the finding on so many records with a rare weight, and on k over the known columns and the weight."""
    text = (
        f"{counted(rare, 'record')} {'has' if rare == 1 else 'have'} a weight that fewer than {context.wanted_k} "
        f"{'units' if context.counts_units else 'records'} share; with the weight, k over the known columns is "
        f"{smallest:,}"
    )
    return context.make_finding(
        "weight", rare > 0, text, rare, 0,
        f"release coarser weights (--round-weight), or remove the weight (--drop {context.columns.weight[0]})",
    )  # fmt: skip


def _members(context: CheckContext, number: int) -> str:
    return counted(number, "record") if context.units is None else f"{number:,} persons or households"
