"""The columns of a generalization: their ordered domains, from the options and the data.

The order of names is the one in the options, by label or by code, or else the one that the data declare (an ordinal
measure, an Enum). Without an order, any names may form a category, and Shoal reports names that look ordered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import UsageError, unknown
from shoal.notices import notice
from shoal.table.choices import UNITS
from shoal.table.coded_values import ColumnValues, number_or_text
from shoal.table.domain import Domain, date_domain, nominal_domain, numeric_domain
from shoal.table.kinds import CODES
from shoal.table.scales import likely_order
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


def domain_of(name: str, values: ColumnValues, options: DomainOptions, order: Any, declared: Any) -> Domain:
    """Return the domain of a column. order: that of the options, or None. declared: that of the roles, or None."""
    step, points = (options.granularity or {}).get(name), (options.cuts or {}).get(name)
    present = [value for value in values.codes.values if value is not None]
    tree = None
    if options.taxonomy and name in options.taxonomy:
        tree = read_taxonomy(options.taxonomy[name], name, values=set(map(str, present)))
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
        order = list(values.name_of.values()) or sorted(present, key=number_or_text)
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
