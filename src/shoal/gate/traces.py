"""What a file discloses beside its values: numbers of rows and groups, metadata, labels of absent values, formulas."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
import polars as pl

from shoal.gate.case import Case
from shoal.gate.cells import TEXT, comparable, is_number, numbers
from shoal.gate.findings import Finding, counted

INDEX = re.compile(r"__index_level_\d+__|unnamed: ?\d+|index|level_\d+|row[ _.]?(names?|id|nr|no|number|index)", re.I)
FORMULA = r"^[=@\t\r]|^[+-]"
SIGNED = r"^[+-]\s*[0-9.,\s]*([eE][+-]?[0-9]+)?\s*%?$"  # a number with a sign, or the sign alone


def traces(case: Case) -> Finding:
    """Row numbers, group numbers, an index, metadata, or labels and categories of values that no record has."""
    told = [f"the file's metadata has {key!r}" for key in case.written.metadata] + _left_over(case)
    for name in (name for name in case.after.columns if name not in case.quasi):
        column = case.after[name]
        if _numbers_rows(column):
            told.append(f"{name!r} numbers the rows")
        elif _numbers_groups(case, column):
            told.append(f"{name!r} tells the groups apart: one value a group")
        elif INDEX.fullmatch(name):
            told.append(f"{name!r} is named like an index")
    return case.judged(
        "traces", bool(told), "; ".join(told) or "no number of a row or a group, and no metadata", len(told), 0,
        "drop these columns; write the file without an index, without metadata and without labels of absent values",
    )  # fmt: skip


def _left_over(case: Case) -> list[str]:
    """What the file declares about values that no record has: they may be values of the original."""
    written, told = case.written, []
    for name, labels in written.labels.items():
        absent = _absent(case.after[name], labels, written.letters.get(name, frozenset()))
        if absent:
            told.append(f"{name!r} has {counted(absent, 'value label')} of values that no record has")
    for column in (leaf for whole in case.after.get_columns() for leaf in _leaves(whole)):
        absent = _absent(column, {*_enum(column), *(written.categories or {}).get(column.name, ())})
        if absent:
            told.append(f"{column.name!r} declares categories that no record has ({absent:,})")
    if written.categories is None:
        told.append("the categories of the columns cannot be read without pyarrow (pip install pyarrow)")
    declaring = [name for name in written.missing if name in case.quasi]
    return told + [f"the protected column {name!r} has codes that are declared missing" for name in declaring]


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


def _numbers_groups(case: Case, column: pl.Series) -> bool:
    """Whether a column has one value in each class, and another in each other class."""
    for found in case.class_sets:
        groups = found.sizes.size
        if not 1 < groups < case.rows or not case.kept.all() or column.n_unique() != groups:
            continue
        pairs = pl.DataFrame([comparable(column).rename("value"), pl.Series("group", found.labels)])
        if pairs.n_unique() == groups:
            return True
    return False


def formulas(case: Case) -> Finding:
    """Text cells and names that a spreadsheet would run."""
    told, count = [], 0
    names = pl.Series("", case.after.columns)
    for name, column in [("the first line", names), *((n, case.after[n]) for n in case.after.columns)]:
        if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
            continue
        text = column.cast(pl.String)
        risky = (text.str.contains(FORMULA) & ~text.str.contains(SIGNED)).fill_null(False)
        here = int(risky.sum())
        if here:
            count += here
            first = int(risky.to_numpy().argmax())
            where = f"{name!r} ({here:,} cells, the first in row {first + 1})" if name != "the first line" else name
            told.append(where)
    finding = (
        f"text that a spreadsheet takes for a formula: {', '.join(told)}" if told else "no text looks like a formula"
    )
    return case.judged(
        "formulas", count > 0, finding, count, 0,
        "put an apostrophe before such text, or tell the readers not to open the file in a spreadsheet",
    )  # fmt: skip


def labels(case: Case) -> Finding:
    """Value labels of the original that the release no longer has: its codes are left without words."""
    lost = [name for name in case.untouched if case.labels.get(name) and not case.written.labels.get(name)]
    told = f"codes without their labels: {', '.join(map(repr, lost))}" if lost else "no value labels were lost"
    return case.judged(
        "labels", bool(lost), told, len(lost), 0, "write the labels (.sav, .dta), or release the list of codes with it"
    )


def minimality(case: Case) -> Finding:
    """Whether confidential values had a part in the grouping: who knows the method can then reason backwards."""
    asked = case.asked.diversity is not None or case.asked.t is not None
    told = "no l or t was asked for: the groups depend on the quasi-identifiers alone"
    if asked:
        told = (
            "l or t was asked for: the groups depend on confidential values too, and a reader may ask why they are so"
        )
    return case.judged("minimality", asked, told, None, None, "say so in the documentation of the release")
