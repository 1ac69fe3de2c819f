"""The columns of a generalization: their values as names, numbers or days, and their ordered domains.

Codes with value labels (SPSS, Stata) are named by their labels; codes that the file declares missing are missing. A
text column in which every value is a date is a column of dates. The order of names is the one in the options, by label
or by code, or else the one that the data declare (an ordinal measure, an Enum). Without an order, any names may form a
category, and Shoal reports names that look ordered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np

from shoal.errors import InputError, UsageError, unknown
from shoal.notices import notice
from shoal.protections.values import finite_codes
from shoal.table.choices import UNITS
from shoal.table.column import Column, ColumnCodes
from shoal.table.dates import ReadDates, day_of_moment, days_of_texts, first_without_date
from shoal.table.domain import Domain, date_domain, nominal_domain, numeric_domain
from shoal.table.kinds import CODES
from shoal.table.labels import number
from shoal.table.scales import likely_order
from shoal.table.table import Table
from shoal.table.taxonomy import Taxonomy, read_taxonomy

NO_NUMBERS = "granularity and cut points are for numbers and dates"


@dataclass(frozen=True)
class DomainOptions:
    """The options on the values of the columns: steps, cut points, orders, taxonomies and missing values."""

    granularity: Mapping[str, Any] | None = None
    cuts: Mapping[str, Sequence[float]] | None = None
    order: str | Mapping[str, Any] | None = None
    taxonomy: Mapping[str, Any] | None = None
    free_cuts: bool = False
    show_extremes: bool = False
    missing: str = "category"

    def check(self, columns: Sequence[str]) -> None:
        """Raise an error for an option on a column that is not a quasi-identifier."""
        order = self.order if isinstance(self.order, Mapping) else None
        for option in (self.granularity, self.cuts, self.taxonomy, order):
            for column in option or ():
                if column not in columns:
                    raise unknown("quasi-identifier", column, columns)

    def unit(self, name: str) -> str | None:
        """Return the unit of dates in the granularity of a column, or None."""
        step = (self.granularity or {}).get(name)
        return step if isinstance(step, str) else None


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The values of a column in the form that a generalization needs.

    is_date: they are days since 1970. unit: that of the dates in the file. name_of: the names of labelled codes, by
    code, in the order of the codes. declared: the order that the data declare. is_exact: each value is one value of the
    file.
    """

    codes: ColumnCodes
    is_date: bool = False
    unit: str = "day"
    name_of: Mapping[str, str] = field(default_factory=dict)
    declared: tuple[str, ...] | None = None
    is_exact: bool = True


def values_of(table: Table, name: str, kind: str = "", unit: str | None = None) -> ColumnValues:
    """Return the values of a column. kind: number, name or date, if it is known."""
    column, codes = table[name], finite_codes(table, name)
    if kind == "date" or unit is not None or (not kind and name not in table.roles.nominal):
        days = _days(column, codes, unit is not None or kind == "date")
        if days is not None:
            return days
        if unit is not None and unit not in UNITS:
            raise UsageError(
                f"The granularity of {name!r} must be a number, or {', '.join(UNITS)} for dates, not {unit!r}."
            )
        if unit is not None or kind == "date":
            raise InputError(
                f"The column {name!r} does not hold dates that Shoal can read. Write them as 2001-03-31, or give a "
                f"step in numbers: --granularity {name}=5."
            )
    labels = _value_labels(column)
    as_names = kind == "name" or name in table.roles.nominal
    is_unlabelled_code = column.stored.numeric and (as_names or not codes.numeric)
    has_missing_texts = not codes.numeric and not codes.dated and bool(column.missing_codes)
    if labels or is_unlabelled_code or has_missing_texts:
        return _named(column, codes, labels)
    if codes.numeric or kind == "number":
        return ColumnValues(codes)
    order = column.declared_order()
    return ColumnValues(codes, declared=None if order is None else tuple(order))


def matched_to_leaves(values: ColumnValues, tree: Taxonomy) -> ColumnValues:
    """Return the values as the taxonomy writes them: the ZIP code 1234 may be the leaf 01234."""
    leaf_of = {number(float(leaf)): leaf for leaf in reversed(tree.leaves) if _is_number(leaf)}
    leaf_of |= {leaf: leaf for leaf in tree.leaves}
    names = [None if value is None else leaf_of.get(str(value), str(value)) for value in values.codes.values]
    if names == values.codes.values:
        return values
    return replace(values, codes=_recoded(values.codes, names, numeric=False))


def domain_of(name: str, values: ColumnValues, options: DomainOptions, order: Any, declared: Any) -> Domain:
    """Return the domain of a column. order: that of the options, or None. declared: that of the roles, or None."""
    step, points = (options.granularity or {}).get(name), (options.cuts or {}).get(name)
    tree = read_taxonomy(options.taxonomy[name], name) if options.taxonomy and name in options.taxonomy else None
    present = [value for value in values.codes.values if value is not None]
    missing = len(present) < len(values.codes.values)
    explicit = order if not isinstance(order, str) or order != "auto" else None
    if values.is_date and explicit is None and tree is None:
        if points is not None:
            raise UsageError(f"The column {name!r} holds dates: use --granularity {name}=month instead of cut points.")
        if step is not None and not isinstance(step, str):
            raise UsageError(f"The column {name!r} holds dates: its granularity is {', '.join(UNITS)}, not {step!r}.")
        if step is not None and step not in UNITS[UNITS.index(values.unit) :]:
            allowed = ", ".join(UNITS[UNITS.index(values.unit) :])
            raise UsageError(f"The dates of {name!r} allow the granularity {allowed}, not {step!r}.")
        domain = date_domain(name, present, missing, step or values.unit, show_extremes=options.show_extremes)
    elif values.codes.numeric and not values.is_date and tree is None and order is None:
        domain = numeric_domain(name, present, missing, step, points, show_extremes=options.show_extremes)
    else:
        if step is not None or points is not None:
            what = "is ordered by names" if values.codes.numeric else "holds names"
            raise UsageError(f"The column {name!r} {what}: {NO_NUMBERS}.")
        if values.codes.numeric and tree is None:
            what = "dates" if values.is_date else "numbers"
            raise UsageError(f"The column {name!r} holds {what}: its order is known. Leave out order.")
        domain = _names_domain(name, values, options, order, declared, tree)
    return domain.apart() if options.missing == "alone" else domain


def _names_domain(
    name: str, values: ColumnValues, options: DomainOptions, order: Any, declared: Any, tree: Taxonomy | None
) -> Domain:
    """Return the domain of a column of names."""
    pairs = zip(values.codes.values, values.codes.counts, strict=True)
    present = {str(value): int(count) for value, count in pairs if value is not None}
    missing = len(present) < len(values.codes.values)
    if order is None:
        order = "taxonomy" if tree is not None else declared
    is_unasked = order is None
    if order is None:
        # Values that no record has are left out: the release must not list them.
        declared_here = [value for value in values.declared or () if value in present]
        order = declared_here or ("alphabetical" if values.codes.dated else "auto")
    if not isinstance(order, str) and [str(part) for part in order] == [CODES]:
        order = CODES
    if order == CODES:
        order = list(values.name_of.values()) or sorted(present, key=_number_or_text)
    elif not isinstance(order, str):
        order = [values.name_of.get(str(part), str(part)) for part in order]
    if is_unasked and order == "auto":
        _report_likely_order(name, list(present))
    return nominal_domain(
        name, list(present), list(present.values()), missing, order, tree, free_cuts=options.free_cuts
    )


def _report_likely_order(name: str, names: Sequence[str]) -> None:
    likely = likely_order(names)
    if likely is not None:
        notice(
            f"The values of {name!r} look ordered, and any of them may form a category. If they are, name the order: "
            f"--order {name}={','.join(likely)}. If they are not: --order {name}=auto"
        )


def _is_number(text: str) -> bool:
    return text.strip().isdigit()


def _number_or_text(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text


def _value_labels(column: Column) -> Mapping[Any, str]:
    """Return the value labels of a column of codes, or of a text column with labels for all its values."""
    labels = None if column.source is None else column.source.labels
    if labels is None or column.kind not in ("category", "text"):
        return {}
    label_of = labels.values.get(column.name, {})
    stored = [value for value in column.stored.values if value is not None]
    if column.kind == "text" and not all(value in label_of for value in stored):
        return {}
    return label_of


def _named(column: Column, codes: ColumnCodes, labels: Mapping[Any, str]) -> ColumnValues:
    """Return the codes by their labels; a code without a label names itself, and declared missing codes are missing."""
    stored = column.stored
    texts: list[str | None] = []
    for value in stored.values:
        is_missing = value is None or column.is_declared_missing(value)
        texts.append(None if is_missing else number(value) if isinstance(value, int | float) else str(value))
    names = [
        None if text is None else labels.get(value, text) for text, value in zip(texts, stored.values, strict=True)
    ]
    name_of: dict[str, str] = {}
    for text, name in zip(texts, names, strict=True):
        if text is not None and name is not None:
            name_of[text] = f"{name} ({text})" if names.count(name) > 1 else name
    ordinal = stored.numeric and column.ordered
    in_order = sorted(name_of, key=_number_or_text)
    return ColumnValues(
        _recoded(stored, [None if text is None else name_of[text] for text in texts], numeric=False),
        name_of={text: name_of[text] for text in in_order},
        declared=tuple(name_of[text] for text in in_order) if ordinal else None,
        is_exact=len([text for text in texts if text is None]) <= 1,
    )


def _days(column: Column, codes: ColumnCodes, is_asked: bool) -> ColumnValues | None:
    """Return the days since 1970, or None if the column does not hold dates. Times of day need a unit."""
    if column.kind not in ("date", "text") and not (is_asked and codes.numeric):
        return None
    texts = [value if isinstance(value, str) else number(value) for value in codes.values if value is not None]
    if codes.dated:
        if column.kind != "date" or (column.series.dtype != nw.Date and not is_asked):
            return None
        read = ReadDates([day_of_moment(text) for text in texts], "")
    else:
        dates = days_of_texts(texts)
        if dates is None:
            _report_mistakes(column, codes, texts, is_asked)
            return None
        read = dates
    _report_reading(column.name, read)
    every = iter(read.days)
    return ColumnValues(
        _recoded(codes, [None if value is None else next(every) for value in codes.values], numeric=True),
        is_date=True,
        unit=read.unit,
        is_exact=len(set(read.days)) == len(read.days),
    )


def _report_reading(name: str, dates: ReadDates) -> None:
    """Say what the texts leave open: the order of day and month, the century, and times of day."""
    if dates.is_ambiguous:
        notice(
            f"The dates of {name!r} may have the day or the month first. Shoal takes the day first. Write them "
            "as 2001-03-31 if that is wrong"
        )
    if dates.form.endswith("%y"):
        notice(
            f"The years of {name!r} have two digits. Shoal takes 69 to 99 as 1969 to 1999, and 00 to 68 as 2000 to "
            "2068. Write years with four digits if that is wrong"
        )
    if dates.has_times:
        notice(f"The values of {name!r} are dates with times of day. Shoal forms categories of whole days")


def _report_mistakes(column: Column, codes: ColumnCodes, texts: Sequence[str], is_asked: bool) -> None:
    """Name the first text that is not a date, in a column that otherwise holds dates."""
    other = first_without_date(texts)
    if other is None:
        return
    text, share = other
    row = column.row(int(codes.first_rows()[texts.index(text)]))
    message = f"{100 * share:.3g} % of the values of {column.name!r} are dates, but not {text!r} in row {row}"
    if is_asked:
        raise InputError(f"{message}. Correct it, or leave it empty so that it counts as missing.")
    notice(
        f"{message}, so Shoal takes all of them as names without an order. Correct it, or leave it empty so that it "
        "counts as missing"
    )


def _recoded(codes: ColumnCodes, values: Sequence[Any], numeric: bool) -> ColumnCodes:
    """Return the same records with new values, one per old value; equal new values become one."""
    distinct: list[Any] = sorted({value for value in values if value is not None})
    if None in values:
        distinct.append(None)
    place = {value: i for i, value in enumerate(distinct)}
    lookup = np.array([place[value] for value in values], dtype=np.int32)
    recoded = lookup[codes.codes] if lookup.size else codes.codes
    counts = np.bincount(recoded, minlength=len(distinct)).astype(np.int64)
    return ColumnCodes(distinct, recoded, counts, numeric=numeric)
