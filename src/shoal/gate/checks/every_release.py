"""What every release guarantees: all rows in order, the right columns, no identifiers, and unchanged other columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Bools
from shoal.errors import counted
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
from shoal.gate.findings import Finding
from shoal.gate.pairing import follows_original
from shoal.table.bounds import bound_names

SAMPLE = 2_000  # rows that are compared before a whole column is compared with an identifier
COPY_SHARE = 0.9  # share of equal cells in a copy of an identifier


def rows(context: CheckContext) -> Finding:
    """No row is missing, duplicated or out of place."""
    lost = context.before.height - context.rows
    if lost:
        many = "row is" if abs(lost) == 1 else "rows are"
        what = f"{lost:,} {many} missing" if lost > 0 else f"{-lost:,} {many} too many"
        todo = (
            "release every row once; if the run left out rows with missing values, add --missing drop; if you left out "
            "rows, check against the original without them"
        )
        return context.make_finding(
            "rows", True, f"{what}: the release has {context.rows:,} rows, the original {context.before.height:,}",
            context.rows, context.before.height, todo, promised=True,
        )  # fmt: skip
    if context.order == "broken":
        return context.make_finding(
            "rows", True, "the release has the rows of the original in another order", context.rows,
            context.before.height,
            "keep the order of the original; if the rows were shuffled on purpose, add --shuffled", promised=True,
        )  # fmt: skip
    if context.policy.order == "shuffled" and context.order == "kept":
        return context.make_finding(
            "rows", True, f"all {context.rows:,} rows are there, in the original's order, but the policy demands a "
            "random order", context.rows, context.before.height, "write the release with --shuffle", promised=True,
        )  # fmt: skip
    wrong = misplaced(context) if context.expected is None else 0  # else `written` compares every cell
    if wrong:
        return context.make_finding(
            "rows", True, f"{counted(wrong, 'group')} {'does' if wrong == 1 else 'do'} not hold the mean or median of "
            "the records in their rows, although most groups do: rows are out of place, or values are wrong",
            context.rows, context.before.height, "compare the release with the original row by row", promised=True,
        )  # fmt: skip
    if follows_original(context) is False and not holds_aggregates(context):
        return context.make_finding(
            "rows", True, "the protected values do not follow the original values of their rows more closely than in "
            "random order: records have the protected values of other records", context.rows, context.before.height,
            "join the protected columns to their rows again; if the rows were shuffled on purpose, add --shuffled",
            promised=True,
        )  # fmt: skip
    how = "shuffled" if context.order == "shuffled" else "in the original's order"
    return context.make_finding(
        "rows", False, f"all {context.rows:,} rows are there, {how}", context.rows, context.before.height
    )


def columns(context: CheckContext) -> Finding:
    """The release has the columns of the original without the removed ones, in their order, and no others."""
    removed = set(context.guarantees.roles.removed)
    expected = [name for name in context.before.columns if name not in removed]
    released = [name for name in context.after.columns if name not in context.guarantees.identifiers]
    extra, absent = [n for n in released if n not in expected], [n for n in expected if n not in released]
    extra_named = [
        f"{n!r}" + (f" (a copy of the original {context.copies[n]!r})" if n in context.copies else "") for n in extra
    ]
    named = (("new", extra_named), ("missing", [repr(n) for n in absent]))
    parts = [f"{what} {'column' if len(some) == 1 else 'columns'}: {', '.join(some)}" for what, some in named if some]
    if not parts and released != expected:
        parts = ["the columns are in another order"]
    good = f"the release has the {counted(len(expected), 'column')} of the original, in their order"
    return context.make_finding(
        "columns", bool(parts), "; ".join(parts) or good,
        len(extra) + len(absent), 0,
        "release only columns of the original: a new column may be an index, a group number or an identifier; name "
        "columns that were left out with --drop" + _bounds_advice(extra, absent),
        promised=True,
    )  # fmt: skip


def _bounds_advice(extra: Sequence[str], absent: Sequence[str]) -> str:
    paired = [name for name in absent if {*bound_names(name)} <= {*extra}]
    return f"; if two columns bound {', '.join(map(repr, paired))}, add --bounds" if paired else ""


def identifiers(context: CheckContext) -> Finding:
    """No identifier or unit is released, under its name or another."""
    secret = (*context.guarantees.identifiers, *((context.guarantees.unit,) if context.guarantees.unit else ()))
    named = [name for name in secret if name in context.after.columns]
    problems = [f"{name!r} is still in the release" for name in named]
    for identifier in secret:
        carriers = _carriers(context, identifier, [c for c in context.after.columns if c not in named])
        problems += [f"{column!r} holds the values of {identifier!r}" for column in carriers]
        if identifier == context.guarantees.unit:
            problems += [
                f"{c!r} links the rows of each unit of {identifier!r}" for c in _renumbered(context, identifier)
            ]
    if problems or secret:
        good = f"{counted(len(secret), 'column')} {'was' if len(secret) == 1 else 'were'} removed"
        return context.make_finding(
            "identifiers", bool(problems), "; ".join(problems) or good, len(problems), 0,
            "remove these columns from the release with --identifiers COLUMN,…", promised=True,
        )  # fmt: skip
    return context.make_finding("identifiers", False, "no identifier is named", 0)


def _renumbered(context: CheckContext, unit: str) -> list[str]:
    """Return the unchanged columns that link the rows of a unit: one value per unit, which most other units lack."""
    if not context.aligned or context.units is None:
        return []
    count = int(context.units.max(initial=-1)) + 1
    linking = []
    for name in context.untouched:
        if name == unit or not 1 < count < context.rows or 2 * context.after[name].n_unique() < count:
            continue
        values = codes(context.after[name])
        pairs = np.unique(np.column_stack([context.units, values]), axis=0)
        holders = np.bincount(pairs[:, 1])
        if pairs.shape[0] == count and 2 * int((holders[pairs[:, 1]] == 1).sum()) >= count:
            linking.append(name)
    return linking


def _carriers(context: CheckContext, identifier: str, columns: Sequence[str]) -> list[str]:
    """Return the released columns that hold the values of an identifier, whatever their name and type."""
    secret = context.before[identifier]
    if secret.n_unique() <= secret.len() / 2 or secret.n_unique() < 3:
        return []  # too few distinct values: other columns may have the same values by accident
    sample = (
        np.unique(np.linspace(0, context.rows - 1, SAMPLE).astype(np.int64)) if context.rows else np.array([], np.int64)
    )
    text, unique = text_of(secret), secret.n_unique() >= COPY_SHARE * secret.len()
    carriers = []
    for name in (name for name in columns if context.after[name].n_unique() > COPY_SHARE * secret.n_unique()):
        cells = text_of(context.after[name].gather(sample))
        if context.aligned and agreeing(cells == text.gather(sample)) >= COPY_SHARE:
            if agreeing(text_of(context.after[name]) == text) >= COPY_SHARE:
                carriers.append(name)
        elif unique and (context.after[name].dtype in TEXT or context.after[name].n_unique() == context.rows):
            # Text columns rarely share most values by accident; numbers may, unless each number occurs once.
            common = text.filter(text.is_in(cells.unique().implode())).unique()
            if agreeing(cells.is_in(common.implode())) >= COPY_SHARE:
                carriers.append(name)
    return carriers


def untouched(context: CheckContext) -> Finding:
    """Every column that is neither removed nor protected equals the original, bit for bit."""
    if context.before.height != context.rows:
        return context.make_finding(
            "untouched",
            True,
            "not measured: the release does not have the rows of the original",
            todo="correct what the check rows reports",
            promised=True,
        )
    if not context.aligned:
        same = sorted_rows(context.before, context.untouched).equals(sorted_rows(context.after, context.untouched))
        columns = f"the unchanged columns ({len(context.untouched)})"
        how = "have the rows of the original, in another order" if same else "do not have the rows of the original"
        return context.make_finding(
            "untouched", not same, f"{columns} {how}", int(not same), 0,
            "write the release again: only protected columns may change", promised=True,
        )  # fmt: skip
    cells_of = context.changed_cells
    gone = ~context.kept  # in suppressed rows, columns without a role are suppressed too
    starred = {name: context.starred(name) & gone for name in context.columns.unassigned} if gone.any() else {}
    cells_of = {name: cells & ~starred[name] if name in starred else cells for name, cells in cells_of.items()}
    changed = {name: cells for name, cells in cells_of.items() if cells.any()}
    problems = [_how_changed(context, name, cells) for name, cells in changed.items()]
    verb = "is" if len(context.untouched) == 1 else "are"
    return context.make_finding(
        "untouched", bool(problems),
        "; ".join(problems) or f"{counted(len(context.untouched), 'column')} {verb} unchanged, bit for bit",
        int(sum(cells.sum() for cells in changed.values())), 0,
        "write the release again: only protected columns may change", promised=True,
    )  # fmt: skip


def _how_changed(context: CheckContext, name: str, cells: Bools) -> str:
    """Describe how a column changed: it holds another column's values, codes instead of labels, or other values."""
    before, after = context.before[name], context.after[name]
    for other in context.before.columns:
        if other != name and cells.mean() > 0.5 and before.n_unique() > 1:
            same = differing(context.before[other], after, blanks=context.written.blanks)
            if not same.any():
                return f"{name!r} holds the values of {other!r}: the columns are shifted"
    if before.dtype in TEXT and _numeric(after) and not _numeric(before):
        return f"{name!r} holds numbers instead of text: labels were written as codes"
    return f"{name!r} differs in {counted(int(cells.sum()), 'cell')}, the first in row {int(cells.argmax()) + 1}"


def _numeric(column: pl.Series) -> bool:
    """Whether a column holds numbers, even if they are stored as text."""
    if column.dtype not in TEXT:
        return column.dtype.is_numeric()
    return column.cast(pl.String).cast(pl.Float64, strict=False).null_count() == column.null_count() < column.len()


def written(context: CheckContext) -> Finding:
    """The file holds the table that was to be written, cell by cell."""
    expected = context.expected if context.expected is not None else context.after
    precision: dict[str, Any] = {"blanks": context.written.blanks, "tolerance": context.written.tolerance}
    same_shape = expected.height == context.rows and expected.columns == context.after.columns
    wrong = [n for n in expected.columns if same_shape and differing(expected[n], context.after[n], **precision).any()]
    bad = not same_shape or bool(wrong)
    message = "the file holds the protected table"
    if bad:
        message = "the file does not have the rows and columns of the protected table"
        if wrong:
            message = f"the file differs from the protected table in {', '.join(wrong)}"
    return context.make_finding(
        "written",
        bad,
        message,
        len(wrong),
        0,
        "the format cannot store these values: write a .parquet file",
        promised=True,
    )
