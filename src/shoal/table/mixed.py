"""Numbers, dates, ordinal and nominal columns as one matrix, for searches by squared distances.

Numbers are standardized, ordinal columns by their rank. A nominal column has one indicator per value, scaled so that
its total variance is 1: its sum of squares within groups is then its Gini impurity (Light and Margolin 1971). Groups of
such columns get means, medians of ranks and modes (Domingo-Ferrer and Torra 2005).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats
from shoal.errors import InputError, ShoalWarning, UsageError, check_choice
from shoal.table.frames import wrap
from shoal.table.kinds import Labels, days, kind_of, labels_of
from shoal.table.scaling import SCALINGS, scale
from shoal.table.table import MISSING, Table

MOST_VALUES = 1_000  # of a nominal column: each is a dimension of the search
COSTLY_VALUES = 100  # from which on the run says what they cost
MOST_BYTES = 4 * 10**9  # of the matrix; a search needs several of that size
NEARLY_UNIQUE = 0.9  # distinct values per record: such labels name people
CODE_VALUES = 12  # whole numbers with at most so many values may be codes
CODE_RECORDS = 100  # in a smaller file few values are no sign of codes


@dataclass(frozen=True, eq=False)
class MixedColumns:
    """The protected columns of a table: `values` holds numbers and days, one column each, and `labels` the others."""

    table: Table
    names: tuple[str, ...]
    kinds: Mapping[str, str]
    measured: tuple[str, ...]
    values: Floats
    labels: Mapping[str, Labels]

    def matrix(
        self, scaling: str = "standard", weights: Floats | None = None, importance: Mapping[str, float] | None = None
    ) -> Floats:
        """One row per record: numbers and dates, then ranks, then indicators; every column's total variance is 1.

        With minmax scaling every column has the range 1: two different values of a nominal column are 1 apart.
        importance: what a column's squared distances are multiplied by, 1 by default.
        """
        check_choice("scaling", scaling, SCALINGS)
        factors = self._factors(importance or {})
        if not self.labels:
            scaled = scale(self.values, scaling, weights)
            return scaled if not importance else scaled * np.array([factors[name] for name in self.measured])
        if scaling == "none":
            raise UsageError(
                f"The columns {', '.join(self.labels)} hold labels, which have no unit: use --scaling standard or "
                "minmax, or protect the columns of numbers alone."
            )
        matrix = np.zeros((self.table.rows, self.dimensions))
        used = len(self.measured)
        if used:
            matrix[:, :used] = scale(self.values, scaling, weights)
            matrix[:, :used] *= np.array([factors[name] for name in self.measured])
        rows = np.arange(self.table.rows)
        for name, label in self._in_blocks():
            if label.kind == "ordinal":
                matrix[:, used] = factors[name] * scale(label.codes[:, None].astype(np.float64), scaling, weights)[:, 0]
                used += 1
                continue
            gini = label.gini(weights) if scaling == "standard" else 2.0
            if gini > 0.0:
                matrix[rows, used + label.codes] = factors[name] / np.sqrt(gini)
            used += label.dimensions
        return matrix

    @property
    def dimensions(self) -> int:
        """The columns of the matrix."""
        return len(self.measured) + sum(label.dimensions for label in self.labels.values())

    def _in_blocks(self) -> list[tuple[str, Labels]]:
        """The labels, ordinal columns first."""
        return sorted(self.labels.items(), key=lambda item: item[1].kind != "ordinal")

    def _factors(self, importance: Mapping[str, float]) -> dict[str, float]:
        for name, weight in importance.items():
            if name not in self.names:
                raise UsageError(f"importance: {name!r} is not a protected column ({', '.join(self.names)}).")
            if not 0.0 < weight < np.inf:
                raise UsageError(f"The importance of {name!r} must be a positive number, not {weight!r}.")
        return {name: float(np.sqrt(importance.get(name, 1.0))) for name in self.names}


def mixed_columns(table: Table, names: Sequence[str], *, allow_constant: bool = False) -> MixedColumns:
    """The columns by kind; numbers, dates and ranks must all be there (see `with_missing`).

    All columns constant is an error and some of them a warning, unless `allow_constant`.
    """
    kinds = {name: kind_of(table, name) for name in names}
    measured = tuple(name for name in names if kinds[name] in ("number", "date"))
    labels = {name: labels_of(table, name, kinds[name]) for name in names if kinds[name] in ("ordinal", "nominal")}
    if len(measured) == len(names) and "date" not in kinds.values():
        values = table.numbers(measured, allow_constant=allow_constant)
    else:
        values = np.empty((table.rows, len(measured)))
        for j, name in enumerate(measured):
            dates = kinds[name] == "date"
            values[:, j] = days(table, name) if dates else table.numbers([name], allow_constant=True)[:, 0]
        _check_constant(values, measured, labels, allow_constant)
    return MixedColumns(table, tuple(names), kinds, measured, values, labels)


# -- missing values ----------------------------------------------------------------------------------


def with_missing(table: Table, names: Sequence[str], policy: str) -> Table:
    """The table without missing numbers, dates and ranks: an error, rows dropped, or medians filled in.

    A missing value of a nominal column is a value of its own, unless rows are dropped. The median of dates and ranks
    is the lower one.
    """
    check_choice("way with missing cells", policy, MISSING)
    kinds = {name: kind_of(table, name) for name in names}
    numbers = [name for name in names if kinds[name] == "number"]
    if numbers:
        table = table.with_missing(policy, numbers)
    ordered = {name: _ordered(table, name, kinds[name]) for name in names if kinds[name] in ("date", "ordinal")}
    if policy == "drop":
        nominal = (name for name in names if kinds[name] == "nominal")
        ordered |= {name: np.where(_missing_labels(table, name), np.nan, 0.0) for name in nominal}
    gaps = {name: values for name, values in ordered.items() if np.isnan(values).any()}
    if not gaps:
        return table
    if policy == "error":
        name, values = next(iter(gaps.items()))
        absent = np.isnan(values)
        raise InputError(
            f"The column {name!r} has {int(absent.sum()):,} missing values, the first in row "
            f"{int(table.numbering[absent.argmax()])}. Choose what to do: --missing drop leaves out such rows, "
            f"--missing median fills in the column's median; or leave it out (--drop {name})."
        )
    return _dropped(table, gaps) if policy == "drop" else _filled(table, gaps)


def _missing_labels(table: Table, name: str) -> NDArray[np.bool_]:
    found = labels_of(table, name, "nominal")
    absent = [code for code, text in enumerate(found.texts) if text is None]
    return np.isin(found.codes, absent)


def _ordered(table: Table, name: str, kind: str) -> Floats:
    """Days or ranks, NaN where missing."""
    if kind == "date":
        return days(table, name)
    codes = labels_of(table, name, kind).codes
    return np.where(codes < 0, np.nan, codes)


def _dropped(table: Table, gaps: Mapping[str, Floats]) -> Table:
    kept = ~np.any([np.isnan(values) for values in gaps.values()], axis=0)
    if not kept.any():
        raise InputError(
            f"Every row has a missing value in {', '.join(gaps)}: dropping them leaves nothing. Leave out the column "
            "that misses most, or fill in medians (--missing median)."
        )
    lost = table.rows - int(kept.sum())
    _warn(f"{lost:,} of {table.rows:,} rows left out for missing values in {', '.join(gaps)}")
    source = None if table.source is None else table.source.take(kept)
    frame = wrap(table.frame).filter(kept.tolist()).to_native()
    return Table(frame, table.roles, source, numbering=table.numbering[kept])


def _filled(table: Table, gaps: Mapping[str, Floats]) -> Table:
    weights, data = table.weights(), wrap(table.frame)
    new, filled = {}, []
    for name, values in gaps.items():
        absent = np.isnan(values)
        if absent.all():
            raise InputError(f"The column {name!r} has no values, hence no median: leave it out.")
        row = _lower_median_row(values, weights)
        new[name] = data[name][np.where(absent, row, np.arange(table.rows))]
        filled.append(f"{name} ({int(absent.sum())} cells: {data[name][row]})")
    _warn(f"missing values filled with the column's median: {', '.join(filled)}")
    return Table(with_series(table.frame, new), table.roles, table.source, numbering=table.numbering)


def _lower_median_row(values: Floats, weights: Floats | None) -> int:
    """A row with the lower median of the values that are there."""
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    reached = np.cumsum(np.ones(order.size) if weights is None else weights[order])
    return int(order[np.searchsorted(reached, reached[-1] / 2)])


# -- the way back ------------------------------------------------------------------------------------


def with_series(frame: Any, new: Mapping[str, nw.Series[Any]]) -> Any:
    """A copy of a native frame with some columns replaced by series of the same library; types and order are kept."""
    if not new:
        return frame
    return wrap(frame).with_columns(*(series.alias(name) for name, series in new.items())).to_native()


def dated(old: nw.Series[Any], numbers: Floats) -> nw.Series[Any]:
    """Whole days since 1970 as a column of the old one's library and type."""
    stamps = np.rint(numbers).astype(np.int64).astype("datetime64[D]")
    library = old.__native_namespace__()
    native: Any
    if old.implementation.is_polars():
        native = library.Series(old.name, stamps).cast(old.to_native().dtype)
    elif old.implementation.is_pandas():
        index = old.to_native().index
        native = library.Series(stamps.astype("datetime64[s]"), index=index, name=old.name).astype(
            old.to_native().dtype
        )
    else:
        native = library.chunked_array([library.array(stamps).cast(old.to_native().type)])
    made: nw.Series[Any] = nw.from_native(native, series_only=True)
    return made


# -- limits and doubts -------------------------------------------------------------------------------


def check_size(columns: MixedColumns) -> None:
    """An error for labels that are nearly unique, for too many of them, and for a matrix that is too large."""
    n = columns.table.rows
    for name, label in columns.labels.items():
        distinct = sum(text is not None for text in label.texts)
        if label.kind == "ordinal":
            continue
        if distinct > 2 and distinct >= NEARLY_UNIQUE * n:
            raise InputError(
                f"The column {name!r} has {distinct:,} different values in {n:,} records: it looks like an identifier. "
                f"Remove it (--identifiers {name} or --drop {name}), or put its values into few categories first."
            )
        if distinct > MOST_VALUES:
            raise InputError(
                f"The nominal column {name!r} has {distinct:,} different values; at most {MOST_VALUES:,} can be "
                f"grouped. {_ways_out(name)}"
            )
    size = 8 * n * columns.dimensions
    if size > MOST_BYTES and columns.labels:
        largest = max(columns.labels.values(), key=lambda label: label.dimensions)
        raise InputError(
            f"The columns to protect make {columns.dimensions:,} dimensions, one for each value of a nominal column: "
            f"{size / 1e9:.1f} GB for {n:,} records, and at most {MOST_BYTES / 1e9:.0f} GB are possible. Most has "
            f"{largest.name!r} with {len(largest.texts):,} values. {_ways_out(largest.name)}"
        )


def cost_notice(columns: MixedColumns) -> str | None:
    """What nominal columns with many values cost, if there are any."""
    large = {name: len(label.texts) for name, label in columns.labels.items() if label.kind == "nominal"}
    large = {name: count for name, count in large.items() if count > COSTLY_VALUES}
    if not large:
        return None
    told = ", ".join(f"{name} ({count:,})" for name, count in large.items())
    return (
        f"nominal columns with many values: {told}. Each value is a dimension of the search, {columns.dimensions:,} in "
        "all, and the time grows with them; coarser values (shoal generalize) make it faster and change fewer cells"
    )


def warn_of_codes(columns: MixedColumns) -> None:
    """Warnings for numbers that may be codes, and that nobody declared numeric."""
    measured = enumerate(columns.measured)
    numbers = {name: columns.values[:, j] for j, name in measured if columns.kinds[name] == "number"}
    for why, found in doubtful_codes(columns.table, numbers).items():
        named = ",".join(found)
        _warn(
            f"{why} may be codes, and are averaged as numbers here: {', '.join(found)}. Use --nominal {named} if they "
            f"are codes, --numeric {named} if they are quantities"
        )


def doubtful_codes(table: Table, numbers: Mapping[str, Floats]) -> dict[str, list[str]]:
    """The columns of numbers that may be codes, by the reason: few whole values, 0 and 1, or labels for some values."""
    found: dict[str, list[str]] = {}
    for name, values in numbers.items():
        if name in table.roles.numeric:
            continue
        why = None
        if _has_labels(table, name, values):
            why = "numbers of which some have value labels"
        elif table.rows >= CODE_RECORDS and _few_whole(values):
            why = f"whole numbers with at most {CODE_VALUES} values"
        elif np.array_equal(np.unique(values[~np.isnan(values)]), (0.0, 1.0)):
            why = "columns of 0 and 1"
        if why is not None:
            found.setdefault(why, []).append(name)
    return found


def _has_labels(table: Table, name: str, values: Floats) -> bool:
    """Whether the file has labels for two values of a column or more; one label may be that of a bound or of none."""
    source = table.source
    if source is None or source.labels is None or not source.untouched(wrap(table.frame)[name].to_polars()):
        return False
    codes = [code for code in source.labels.values.get(name, {}) if not isinstance(code, str)]
    ranges = source.user_missing(name)
    meant = [code for code in codes if not any(low <= code <= high for low, high in ranges)]
    return int(np.isin(meant, values).sum()) > 1


def _few_whole(values: Floats) -> bool:
    if np.unique(values[:1000]).size > CODE_VALUES or not np.array_equal(values, np.rint(values)):
        return False
    return 1 < np.unique(values).size <= CODE_VALUES


def _ways_out(name: str) -> str:
    return (
        f"Put its values into coarser categories first (shoal generalize), leave it out (--drop {name}), or, where "
        f"nobody outside knows it, use --confidential {name}."
    )


def _check_constant(
    values: Floats, measured: Sequence[str], labels: Mapping[str, Labels], allow_constant: bool
) -> None:
    with np.errstate(over="ignore"):
        width = np.ptp(values, axis=0)
    for name, wide in zip(measured, ~np.isfinite(width), strict=True):
        if wide:
            raise InputError(f"The numbers of the column {name!r} lie too far apart to be subtracted: rescale it.")
    if allow_constant:
        return
    constant = [name for name, range_ in zip(measured, width, strict=True) if range_ == 0]
    constant += [name for name, label in labels.items() if label.codes.min() == label.codes.max()]
    if len(constant) == len(measured) + len(labels):
        raise InputError(
            f"All columns to protect are constant ({', '.join(constant)}): there is nothing to protect. Name others."
        )
    if constant:
        what = "the column is" if len(constant) == 1 else "the columns are"
        _warn(f"{what} constant: {', '.join(map(repr, constant))}; one value does not tell records apart")


def _warn(message: str) -> None:
    warnings.warn(message, ShoalWarning, stacklevel=5)
