"""What every release promises: all rows in their order, no identifiers, unchanged columns to the bit, and k, l, t."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Bools
from shoal.gate.cells import (
    TEXT,
    agreeing,
    codes,
    comparable,
    differing,
    is_number,
    signs_of_zero,
    sorted_rows,
    text_of,
)
from shoal.gate.checks.members import holds_aggregates, misplaced
from shoal.gate.context import CheckContext
from shoal.gate.diversity import diversity, farthest
from shoal.gate.findings import Finding, counted, percent
from shoal.gate.inside import largest_share
from shoal.gate.pairing import follows_original
from shoal.gate.policy import stricter

SAMPLE = 2_000  # rows looked at before a whole column is compared with an identifier
CARRIED = 0.9  # share of cells that make a column a copy of an identifier


def rows(context: CheckContext) -> Finding:
    """No row lost, doubled or out of place."""
    lost = context.before.height - context.rows
    if lost:
        what = f"{lost:,} rows are missing" if lost > 0 else f"{-lost:,} rows are too many"
        todo = "release every row once; where rows were left out on purpose, check against the original without them"
        return context.make_finding(
            "rows", True, f"{what}: {context.rows:,} instead of {context.before.height:,}",
            context.rows, context.before.height, todo, promised=True,
        )  # fmt: skip
    if context.order == "broken":
        return context.make_finding(
            "rows", True, "the rows are those of the original, but in another order", context.rows,
            context.before.height,
            "keep the order of the original; if the rows were shuffled on purpose, say so (--shuffled)", promised=True,
        )  # fmt: skip
    if context.policy.order == "shuffled" and context.order == "kept":
        return context.make_finding(
            "rows", True, f"all {context.rows:,} rows are there, in the order of the original, and the policy asks for "
            "another order", context.rows, context.before.height, "write the release with --shuffle", promised=True,
        )  # fmt: skip
    wrong = misplaced(context) if context.expected is None else 0  # known to the cell otherwise
    if wrong:
        return context.make_finding(
            "rows", True, f"{wrong:,} groups do not hold the mean or median of the records in their rows, and the "
            "others do: rows are out of place or values are wrong", context.rows, context.before.height,
            "compare the release with the original row by row", promised=True,
        )  # fmt: skip
    if follows_original(context) is False and not holds_aggregates(context):
        return context.make_finding(
            "rows", True, "the protected values do not follow the original values of their rows, no more than rows in "
            "random order do: each record has the protected values of another one", context.rows, context.before.height,
            "join the protected columns to their own rows again; if the rows were shuffled on purpose, say so "
            "(--shuffled)", promised=True,
        )  # fmt: skip
    how = "shuffled" if context.order == "shuffled" else "in the original's order"
    return context.make_finding(
        "rows", False, f"all {context.rows:,} rows are there, {how}", context.rows, context.before.height
    )


def columns(context: CheckContext) -> Finding:
    """The columns of the original without the removed ones, in their order, and no other."""
    removed = set(context.asked.roles.removed)
    expected = [name for name in context.before.columns if name not in removed]
    found = [name for name in context.after.columns if name not in context.asked.identifiers]
    extra, absent = [n for n in found if n not in expected], [n for n in expected if n not in found]
    extra_named = [
        f"{n!r}" + (f" (a copy of the original {context.copies[n]!r})" if n in context.copies else "") for n in extra
    ]
    named = (("new:", extra_named), ("missing:", [repr(n) for n in absent]))
    parts = [f"{what} {', '.join(some)}" for what, some in named if some]
    if not parts and found != expected:
        parts = ["the columns are in another order"]
    return context.make_finding(
        "columns", bool(parts), "; ".join(parts) or f"the {len(expected)} columns of the original, in their order",
        len(extra) + len(absent), 0,
        "release the original's columns only: a new column may be an index, a group's number or an identifier; name "
        "columns that were left out with --drop",
        promised=True,
    )  # fmt: skip


def identifiers(context: CheckContext) -> Finding:
    """No identifier or unit under its name, and no column that carries one's values under another."""
    secret = (*context.asked.identifiers, *((context.asked.unit,) if context.asked.unit else ()))
    named = [name for name in secret if name in context.after.columns]
    problems = [f"{name!r} is still there" for name in named]
    for identifier in secret:
        carriers = _carriers(context, identifier, [c for c in context.after.columns if c not in named])
        problems += [f"{column!r} holds the values of {identifier!r}" for column in carriers]
        if identifier == context.asked.unit:
            problems += [
                f"{c!r} links the rows of each unit of {identifier!r}" for c in _renumbered(context, identifier)
            ]
    if problems or secret:
        good = f"{len(secret)} {'column was' if len(secret) == 1 else 'columns were'} removed"
        return context.make_finding(
            "identifiers", bool(problems), "; ".join(problems) or good, len(problems), 0,
            "drop these columns, or name them as identifiers", promised=True,
        )  # fmt: skip
    return context.make_finding("identifiers", False, "no identifier was named", 0)


def _renumbered(context: CheckContext, unit: str) -> list[str]:
    """The unchanged columns that link the rows of a unit: constant within each, and unlike most other units'."""
    if not context.aligned or context.units is None:
        return []
    count = int(context.units.max(initial=-1)) + 1
    found = []
    for name in context.untouched:
        if name == unit or not 1 < count < context.rows or 2 * context.after[name].n_unique() < count:
            continue
        values = codes(context.after[name])
        pairs = np.unique(np.column_stack([context.units, values]), axis=0)
        holders = np.bincount(pairs[:, 1])
        if pairs.shape[0] == count and 2 * int((holders[pairs[:, 1]] == 1).sum()) >= count:
            found.append(name)
    return found


def _carriers(context: CheckContext, identifier: str, columns: Sequence[str]) -> list[str]:
    """The released columns that carry the values of an identifier, whatever their name and type."""
    secret = context.before[identifier]
    if secret.n_unique() <= secret.len() / 2 or secret.n_unique() < 3:
        return []  # it tells few records apart: other columns may well hold the same words
    place = (
        np.unique(np.linspace(0, context.rows - 1, SAMPLE).astype(np.int64)) if context.rows else np.array([], np.int64)
    )
    text, unique = text_of(secret), secret.n_unique() >= CARRIED * secret.len()
    found = []
    for name in (name for name in columns if context.after[name].n_unique() > CARRIED * secret.n_unique()):
        few = text_of(context.after[name].gather(place))
        if context.aligned and agreeing(few == text.gather(place)) >= CARRIED:
            if agreeing(text_of(context.after[name]) == text) >= CARRIED:
                found.append(name)
        elif unique and (context.after[name].dtype in TEXT or context.after[name].n_unique() == context.rows):
            # Names of many do not meet by chance; numbers do, unless each of them is somebody's number.
            met = text.filter(text.is_in(few.unique().implode())).unique()
            if agreeing(few.is_in(met.implode())) >= CARRIED:
                found.append(name)
    return found


def untouched(context: CheckContext) -> Finding:
    """Every column that is neither dropped nor protected is as it was, bit for bit."""
    if context.before.height != context.rows:
        return context.make_finding(
            "untouched", True, "not measured: the rows are not those of the original", todo="see rows", promised=True
        )
    if not context.aligned:
        same = sorted_rows(context.before, context.untouched).equals(sorted_rows(context.after, context.untouched))
        how = "are as they were, row for row in another order" if same else "are not those of the original"
        return context.make_finding(
            "untouched", not same, f"{len(context.untouched)} columns {how}", int(not same), 0,
            "write the release again: nothing but the protected columns may change", promised=True,
        )  # fmt: skip
    cells_of = context.changed_cells
    gone = ~context.kept  # in suppressed rows, columns without a role are suppressed too
    starred = {name: context.starred(name) & gone for name in context.columns.unassigned} if gone.any() else {}
    cells_of = {name: cells & ~starred[name] if name in starred else cells for name, cells in cells_of.items()}
    changed = {name: cells for name, cells in cells_of.items() if cells.any()}
    problems = [_how_changed(context, name, cells) for name, cells in changed.items()]
    return context.make_finding(
        "untouched", bool(problems),
        "; ".join(problems) or f"{counted(len(context.untouched), 'column')} unchanged, bit for bit",
        int(sum(cells.sum() for cells in changed.values())), 0,
        "write the release again: nothing but the protected columns may change", promised=True,
    )  # fmt: skip


def _how_changed(context: CheckContext, name: str, cells: Bools) -> str:
    """What became of a column, in words; shifted columns and codes for labels are told as such."""
    before, after = context.before[name], context.after[name]
    for other in context.before.columns:
        if other != name and cells.mean() > 0.5 and before.n_unique() > 1:
            same = differing(context.before[other], after, blanks=context.written.blanks)
            if not same.any():
                return f"{name!r} holds the values of {other!r}: the columns are shifted"
    if before.dtype in TEXT and _numeric(after) and not _numeric(before):
        return f"{name!r} held text and holds numbers: labels were written as codes"
    return f"{name!r} differs in {int(cells.sum()):,} cells, the first in row {int(cells.argmax()) + 1}"


def _numeric(column: pl.Series) -> bool:
    """Whether a column holds numbers, be it as text."""
    if column.dtype not in TEXT:
        return column.dtype.is_numeric()
    return column.cast(pl.String).cast(pl.Float64, strict=False).null_count() == column.null_count() < column.len()


def swapped(context: CheckContext) -> Finding:
    """A column whose values changed places has each value as often as before."""
    problems = []
    for name in context.asked.swapped:
        if name not in context.after.columns or context.before.height != context.rows:
            continue
        one, two = (
            column if is_number(column) else comparable(column)
            for column in (context.before[name], context.after[name])
        )
        if differing(one.sort(), two.sort(), blanks=context.written.blanks, tolerance=context.written.tolerance).any():
            problems.append(f"{name!r} has other values than before, or some more often")
    good = f"each value of {', '.join(context.asked.swapped)} occurs as often as before"
    return context.make_finding(
        "swapped",
        bool(problems),
        "; ".join(problems) or good,
        len(problems),
        0,
        "swap values, never change them",
        promised=True,
    )


def written(context: CheckContext) -> Finding:
    """The file holds the table that was verified before it was written."""
    expected = context.expected if context.expected is not None else context.after
    ways: dict[str, Any] = {"blanks": context.written.blanks, "tolerance": context.written.tolerance}
    same_shape = expected.height == context.rows and expected.columns == context.after.columns
    wrong = [n for n in expected.columns if same_shape and differing(expected[n], context.after[n], **ways).any()]
    bad = not same_shape or bool(wrong)
    message = "the file holds the table that was verified"
    if bad:
        message = f"the file differs from the table in {', '.join(wrong)}" if wrong else "the file has another shape"
    return context.make_finding(
        "written", bad, message, len(wrong), 0, "the format cannot hold these values: take .parquet", promised=True
    )


def within_groups(context: CheckContext) -> Finding:
    """k within each column group."""
    k = context.asked.k
    smallest = {
        found.columns: int(context.unit_counts(found).min(initial=context.rows)) for found in context.class_sets
    }
    least = min(smallest.values())
    worst = min(smallest, key=lambda names: smallest[names])
    bad = k is not None and least < k
    text = f"the smallest class within a column group has {counted(least, 'record')}"
    if bad:
        below = sum(int((context.unit_counts(c) < (k or 0)).sum()) for c in context.class_sets)
        text += f": {', '.join(worst)}; {below:,} classes in all are below k"
    return context.make_finding(
        "k-within-groups", bad, text, least, k, "protect the file again: a class below k is not a group", promised=True
    )


def joint_k(context: CheckContext) -> Finding:
    """k over all protected columns together: promised, unless it is so within column groups only."""
    promised = context.asked.k if not context.asked.column_groups else None
    counts = context.unit_counts(context.joint)
    least = int(counts.min()) if counts.size else 0
    threshold = stricter(context.asked.k, context.policy.thresholds.k)
    broken = promised is not None and least < promised
    bad = threshold is not None and least < threshold
    text = f"the smallest class over all protected columns has {counted(least, 'record')}"
    if bad:
        text += f"; {int((counts < (threshold or 0)).sum()):,} classes are smaller than {threshold:g}"
        zeros = [name for name in context.quasi if signs_of_zero(context.after[name])]
        text += f". 0.0 and -0.0 count as two values in {', '.join(map(repr, zeros))}" if zeros else ""
    if bad and context.asked.column_groups and not broken:
        text += ". Within each column group every record shares its values with others, over all columns it does not"
    todo = "protect all columns together (shoal microaggregate), or with a larger k"
    return context.make_finding("joint-k", bad, text, least, promised if broken else threshold, todo, promised=broken)


def least_l(context: CheckContext) -> Finding:
    """The fewest confidential values in a class: a single value is disclosed without any link."""
    asked, threshold = context.asked.diversity, context.policy.thresholds.l
    names = [name for name in context.asked.confidential if name in context.after.columns]
    if not names or not context.class_sets:
        return _without_confidential(context, "l")
    found = {name: min(diversity(c, context.after[name], asked) for c in context.class_sets) for name in names}
    worst = min(found, key=lambda name: found[name])
    value = found[worst]
    broken = asked is not None and value < asked.l - 1e-9
    bad = broken or (threshold is not None and value < threshold - 1e-9)
    kind = "distinct" if asked is None else asked.kind
    text = f"the least diverse class has l = {value:g} ({kind}) in {worst!r}"
    text += _largest_share(context, worst)
    return context.make_finding(
        "l", bad, text, value, asked.l if asked is not None and broken else threshold,
        "ask the method for l (shoal generalize -l), or take a larger k", promised=broken,
    )  # fmt: skip


def _largest_share(context: CheckContext, name: str) -> str:
    """Which value the homogeneous classes disclose, and of how many records; else the largest share of one value."""
    if is_number(context.after[name]):
        return ""  # numbers are judged by their spread
    shares = [largest_share(found, context.after[name], context.units) for found in context.class_sets]
    found = [share for share in shares if share is not None]
    if not found:
        return ""
    worst = max(found, key=lambda share: (share.homogeneous_records, share.share))
    if not worst.homogeneous_classes:
        return f": at most {percent(worst.share)} of a class have one value ({worst.value!r})"
    one = worst.homogeneous_classes == 1
    value = "missing" if worst.frequent_value is None else worst.frequent_value
    return (
        f": {worst.homogeneous_records:,} records stand in {worst.homogeneous_classes:,} "
        f"{'class' if one else 'classes'} with a single value, {worst.frequent_records:,} of them with {value!r}"
    )


def greatest_t(context: CheckContext) -> Finding:
    """How far a class's confidential values lie from those of the whole table."""
    asked, threshold = context.asked.t, context.policy.thresholds.t
    names = [name for name in context.asked.confidential if name in context.after.columns]
    if not names or not context.class_sets:
        return _without_confidential(context, "t")
    way = context.asked.distance
    found = {name: max(farthest(c, context.after[name], way) for c in context.class_sets) for name in names}
    worst = max(found, key=lambda name: found[name])
    value = found[worst]
    broken = asked is not None and value > asked + 1e-9
    bad = broken or (threshold is not None and value > threshold + 1e-9)
    text = f"the values of {worst!r} in a class lie at most {value:.4g} ({way}) from those of the whole table"
    return context.make_finding(
        "t", bad, text, round(value, 6), asked if broken else threshold,
        "ask the method for t (shoal generalize -t), or take a larger k", promised=broken,
    )  # fmt: skip


def _without_confidential(context: CheckContext, check: str) -> Finding:
    """Not measured: fine only where the publisher states that no column is confidential."""
    if context.asked.roles.no_confidential:
        return context.make_finding(check, False, "the publisher states that no column is confidential")
    if check not in context.policy.blocks:
        return context.make_finding(check, False, "not measured: no confidential column is named")
    return context.unmeasured(
        check, "no confidential column is named",
        "name the confidential columns (--confidential), or state that there is none (--no-confidential)",
    )  # fmt: skip
