"""What every release promises: all rows in their order, its columns, no identifiers, unchanged columns bit for bit."""

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
    differing,
    sorted_rows,
    text_of,
)
from shoal.gate.checks.members import holds_aggregates, misplaced
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding, counted
from shoal.gate.pairing import follows_original

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
    removed = set(context.guarantees.roles.removed)
    expected = [name for name in context.before.columns if name not in removed]
    found = [name for name in context.after.columns if name not in context.guarantees.identifiers]
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
    secret = (*context.guarantees.identifiers, *((context.guarantees.unit,) if context.guarantees.unit else ()))
    named = [name for name in secret if name in context.after.columns]
    problems = [f"{name!r} is still there" for name in named]
    for identifier in secret:
        carriers = _carriers(context, identifier, [c for c in context.after.columns if c not in named])
        problems += [f"{column!r} holds the values of {identifier!r}" for column in carriers]
        if identifier == context.guarantees.unit:
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
    """What became of a column, in words; a shifted column and a code for labels are named as such."""
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
