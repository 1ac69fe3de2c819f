"""What a file discloses beside its values: numbers of rows and groups, metadata, labels of absent values, formulas."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
import polars as pl

from shoal.gate.cells import TEXT, comparable, is_number, numbers
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding, counted

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
            problems.append(f"{name!r} tells the groups apart: one value a group")
        elif INDEX.fullmatch(name):
            problems.append(f"{name!r} is named like an index")
    return context.make_finding(
        "traces", bool(problems), "; ".join(problems) or "no number of a row or a group, and no metadata",
        len(problems), 0,
        "drop these columns; write the file without an index, without metadata and without labels of absent values",
    )  # fmt: skip


def _left_over(context: CheckContext) -> list[str]:
    """What the file declares about values that no record has: they may be values of the original."""
    written, problems = context.written, []
    for name, labels in written.labels.items():
        absent = _absent(context.after[name], labels, written.letters.get(name, frozenset()))
        if absent:
            problems.append(f"{name!r} has {counted(absent, 'value label')} of values that no record has")
    for column in (leaf for whole in context.after.get_columns() for leaf in _leaves(whole)):
        absent = _absent(column, {*_enum(column), *(written.categories or {}).get(column.name, ())})
        if absent:
            problems.append(f"{column.name!r} declares categories that no record has ({absent:,})")
    if written.categories is None:
        problems.append("the categories of the columns cannot be read without pyarrow (pip install pyarrow)")
    declaring = [name for name in written.missing if name in context.quasi]
    return problems + [f"the protected column {name!r} has codes that are declared missing" for name in declaring]


def _absent(column: pl.Series, declared: Collection[Any], letters: frozenset[str] = frozenset()) -> int:
    """How many of the declared values no record has."""
    if not declared:
        return 0
    values = column.cast(pl.String) if column.dtype in TEXT else column
    held = {_bare(value) for value in values.unique().to_list()} | letters
    return sum(_bare(value) not in held for value in declared if value is not None)


def _leaves(column: pl.Series) -> list[pl.Series]:
    """A column, or the columns inside a nested one."""
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
    """A value to be compared: SPSS pads text with blanks at its end."""
    return value.rstrip() if isinstance(value, str) else value


def _numbers_rows(column: pl.Series) -> bool:
    """Whether a column counts the rows, up or down."""
    if not is_number(column) or column.null_count() or column.len() < 3:
        return False
    steps = np.diff(numbers(column))
    return bool((steps == 1).all() or (steps == -1).all())


def _numbers_groups(context: CheckContext, column: pl.Series) -> bool:
    """Whether a column has one value in each class, and another in each other class."""
    for found in context.class_sets:
        groups = found.sizes.size
        if not 1 < groups < context.rows or not context.kept.all() or column.n_unique() != groups:
            continue
        pairs = pl.DataFrame([comparable(column).rename("value"), pl.Series("group", found.labels)])
        if pairs.n_unique() == groups:
            return True
    return False


def formulas(context: CheckContext) -> Finding:
    """Text cells and names that a spreadsheet would run."""
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
            where = f"{name!r} ({here:,} cells, the first in row {first + 1})" if name != "the first line" else name
            problems.append(where)
    finding = (
        f"text that a spreadsheet takes for a formula: {', '.join(problems)}"
        if problems
        else "no text looks like a formula"
    )
    return context.make_finding(
        "formulas", count > 0, finding, count, 0,
        "put an apostrophe before such text, or tell the readers not to open the file in a spreadsheet",
    )  # fmt: skip


def labels(context: CheckContext) -> Finding:
    """Value labels of the original that the release no longer has: its codes are left without words."""
    lost = [name for name in context.untouched if context.labels.get(name) and not context.written.labels.get(name)]
    message = f"codes without their labels: {', '.join(map(repr, lost))}" if lost else "no value labels were lost"
    return context.make_finding(
        "labels",
        bool(lost),
        message,
        len(lost),
        0,
        "write the labels (.sav, .dta), or release the list of codes with it",
    )


def minimality(context: CheckContext) -> Finding:
    """Whether confidential values had a part in the grouping: who knows the method can then reason backwards."""
    demanded = context.guarantees.demands_diversity
    message = "no l or t was asked for: the groups depend on the quasi-identifiers alone"
    if demanded:
        message = (
            "l or t was asked for: the groups depend on confidential values too, and a reader may ask why they are so"
        )
    return context.make_finding(
        "minimality", demanded, message, None, None, "say so in the documentation of the release"
    )
