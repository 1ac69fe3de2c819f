"""Disclosures besides the values: row and group numbers, metadata, labels of values that no record has, formulas."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import counted
from shoal.gate.cells import TEXT, comparable, is_number, numbers
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding

INDEX = re.compile(r"__index_level_\d+__|unnamed: ?\d+|index|level_\d+|row[ _.]?(names?|id|nr|no|number|index)", re.I)
FORMULA = r"^[=@\t\r]|^[+-]"
SIGNED = r"^[+-]\s*[0-9.,\s]*([eE][+-]?[0-9]+)?\s*%?$"  # a number with a sign, or the sign alone


def traces(context: CheckContext) -> Finding:
    """Row numbers, group numbers, an index, metadata, or labels and categories of values that no record has."""
    problems = [f"the file's metadata has {key!r}" for key in context.written.metadata] + _left_over(context)
    for name in (name for name in context.after.columns if name not in context.quasi):
        column = context.after[name]
        if _numbers_rows(column):
            problems.append(f"{name!r} numbers the rows")
        elif _numbers_groups(context, column):
            problems.append(f"{name!r} has a different value in each group")
        elif INDEX.fullmatch(name):
            problems.append(f"{name!r} is named like an index")
    return context.make_finding(
        "traces", bool(problems),
        "; ".join(problems) or "no column numbers rows or groups, and the file has no metadata", len(problems), 0,
        "remove these columns (--drop), and write the file without index, metadata and labels of values that no record "
        "has",
    )  # fmt: skip


def _left_over(context: CheckContext) -> list[str]:
    """Return what the file declares about values that no record has. They may be original values."""
    written, problems = context.written, []
    for name, labels in written.labels.items():
        absent = _absent(context.after[name], labels, written.letters.get(name, frozenset()))
        if absent:
            problems.append(f"{name!r} has {counted(absent, 'value label')} of values that no record has")
    for column in (leaf for whole in context.after.get_columns() for leaf in _leaves(whole)):
        absent = _absent(column, {*_enum(column), *(written.categories or {}).get(column.name, ())})
        if absent:
            kinds = "category" if absent == 1 else "categories"
            problems.append(f"{column.name!r} declares {absent:,} {kinds} that no record has")
    if written.categories is None:
        problems.append("the categories of the columns cannot be read without pyarrow; type: pip install pyarrow")
    declaring = [name for name in written.missing if name in context.quasi]
    return problems + [f"the protected column {name!r} has codes that are declared missing" for name in declaring]


def _absent(column: pl.Series, declared: Collection[Any], letters: frozenset[str] = frozenset()) -> int:
    """Return how many of the declared values no record has."""
    if not declared:
        return 0
    values = column.cast(pl.String) if column.dtype in TEXT else column
    present = {_bare(value) for value in values.unique().to_list()} | letters
    return sum(_bare(value) not in present for value in declared if value is not None)


def _leaves(column: pl.Series) -> list[pl.Series]:
    """Return a column, or the columns inside a nested one."""
    dtype = column.dtype
    if isinstance(dtype, pl.List | pl.Array):
        return _leaves(column.explode())
    if isinstance(dtype, pl.Struct):
        inside = [column.struct.field(field.name).alias(f"{column.name}.{field.name}") for field in dtype.fields]
        return [leaf for part in inside for leaf in _leaves(part)]
    return [column]


def _enum(column: pl.Series) -> list[str]:
    return column.dtype.categories.to_list() if isinstance(column.dtype, pl.Enum) else []


def _bare(value: Any) -> Any:
    """Return a value without the trailing blanks that SPSS adds to text."""
    return value.rstrip() if isinstance(value, str) else value


def _numbers_rows(column: pl.Series) -> bool:
    """Whether a column numbers the rows in ascending or descending order."""
    if not is_number(column) or column.null_count() or column.len() < 3:
        return False
    steps = np.diff(numbers(column))
    return bool((steps == 1).all() or (steps == -1).all())


def _numbers_groups(context: CheckContext, column: pl.Series) -> bool:
    """Whether a column has one value per class, and a different one in each class."""
    for classes in context.class_sets:
        groups = classes.sizes.size
        if not 1 < groups < context.rows or not context.kept.all() or column.n_unique() != groups:
            continue
        pairs = pl.DataFrame([comparable(column).rename("value"), pl.Series("group", classes.labels)])
        if pairs.n_unique() == groups:
            return True
    return False


def formulas(context: CheckContext) -> Finding:
    """Text cells and column names that a spreadsheet program would execute."""
    problems, count = [], 0
    names = pl.Series("", context.after.columns)
    for name, column in [("the first line", names), *((n, context.after[n]) for n in context.after.columns)]:
        if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
            continue
        text = column.cast(pl.String)
        risky = (text.str.contains(FORMULA) & ~text.str.contains(SIGNED)).fill_null(False)
        here = int(risky.sum())
        if here:
            count += here
            first = int(risky.to_numpy().argmax())
            where = f"{name!r} ({counted(here, 'cell')}, the first in row {first + 1})"
            problems.append(name if name == "the first line" else where)
    finding = (
        f"a spreadsheet program would execute text as a formula: {', '.join(problems)}"
        if problems
        else "no text looks like a formula"
    )
    return context.make_finding(
        "formulas", count > 0, finding, count, 0,
        "put an apostrophe before such text, or warn the readers not to open the file in a spreadsheet program",
    )  # fmt: skip


def labels(context: CheckContext) -> Finding:
    """Unchanged columns of codes whose value labels the release no longer has."""
    lost = [name for name in context.untouched if context.labels.get(name) and not context.written.labels.get(name)]
    message = "no value labels were lost"
    if lost:
        message = f"these columns hold codes and have lost their value labels: {', '.join(map(repr, lost))}"
    return context.make_finding(
        "labels", bool(lost), message, len(lost), 0,
        "write a format with value labels (.sav or .dta), or publish the list of codes with the release",
    )  # fmt: skip


def minimality(context: CheckContext) -> Finding:
    """Whether confidential values influenced the groups, so that an intruder can draw conclusions from the groups."""
    demanded = context.guarantees.demands_diversity
    message = "no l or t was requested, so the groups depend only on the quasi-identifiers"
    if demanded:
        message = (
            "l or t was requested, so the groups also depend on confidential values, and an intruder who knows the "
            "method can draw conclusions from them"
        )
    return context.make_finding(
        "minimality", demanded, message, None, None, "mention this in the documentation of the release"
    )
