"""Numbers, dates, ordinal and nominal columns as one matrix, for searches by squared distances.

Numbers are standardized, ordinal columns by their rank. A nominal column has one indicator per value, scaled so that
its total variance is 1: its sum of squares within groups is then its Gini impurity (Light and Margolin 1971). Groups of
such columns get means, medians of ranks and modes (Domingo-Ferrer and Torra 2005).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from shoal.arrays import Floats, aligned_rows
from shoal.errors import InputError, UsageError, check_choice
from shoal.notices import notice
from shoal.table.choices import SCALINGS
from shoal.table.kinds import Labels, kinds_of, labels_of
from shoal.table.scaling import scale
from shoal.table.table import Table, all_constant, some_constant, too_wide

MOST_VALUES = 1_000  # most values of a nominal column: each is a dimension of the search
COSTLY_VALUES = 100  # above this number of values, a notice says what they cost
MOST_BYTES = 4 * 10**9  # largest matrix; a search needs several of this size
NEARLY_UNIQUE = 0.9  # distinct values per record above which labels name people
CODE_VALUES = 12  # whole numbers with at most this many values may be codes
CODE_RECORDS = 100  # in a smaller file, few distinct values do not suggest codes


@dataclass(frozen=True, eq=False)
class MixedColumns:
    """The protected columns of a table: `measured` are numbers and dates, `labels` are the others."""

    table: Table
    names: tuple[str, ...]
    kinds: Mapping[str, str]
    measured: tuple[str, ...]
    labels: Mapping[str, Labels]

    @property
    def values(self) -> Floats:
        """The numbers and days, one column each. The array is made on each call, so that a search can release it."""
        values = aligned_rows(self.table.rows, len(self.measured))
        for j, name in enumerate(self.measured):
            values[:, j] = self.table[name].days if self.kinds[name] == "date" else self.table[name].numbers
        return values

    def matrix(
        self, scaling: str = "standard", weights: Floats | None = None, importance: Mapping[str, float] | None = None
    ) -> Floats:
        """One row per record: numbers and dates, then ranks, then indicators.

        Args:
            scaling: With "standard", the total variance of every column is 1. With "minmax", its range is 1, and two
                different values of a nominal column have the distance 1.
            weights: The weights of the records.
            importance: The factor of the squared distances of a column, 1 by default.
        """
        check_choice("scaling", scaling, SCALINGS)
        factors = self.factors(importance or {})
        if not self.labels:
            scaled = scale(self.values, scaling, weights, in_place=True)
            return scaled if not importance else scaled * np.array([factors[name] for name in self.measured])
        if scaling == "none":
            raise UsageError(
                f"The columns {', '.join(self.labels)} hold labels, which must be scaled. Use --scaling standard or "
                "--scaling minmax, or protect only the columns of numbers."
            )
        matrix = np.zeros((self.table.rows, self.dimensions))
        used = len(self.measured)
        if used:
            matrix[:, :used] = scale(self.values, scaling, weights, in_place=True)
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
        """The number of columns of the matrix."""
        return len(self.measured) + sum(label.dimensions for label in self.labels.values())

    def _in_blocks(self) -> list[tuple[str, Labels]]:
        """The labels, ordinal columns first."""
        return sorted(self.labels.items(), key=lambda item: item[1].kind != "ordinal")

    def factors(self, importance: Mapping[str, float]) -> dict[str, float]:
        """Return the factor of each column's distances: the square root of its importance."""
        for name, weight in importance.items():
            if name not in self.names:
                raise UsageError(
                    f"The importance names {name!r}, which is not a protected column. The protected columns are: "
                    f"{', '.join(self.names)}."
                )
            if not 0.0 < weight < np.inf:
                raise UsageError(f"The importance of {name!r} must be a positive number, not {weight!r}.")
        return {name: float(np.sqrt(importance.get(name, 1.0))) for name in self.names}


def mixed_columns(table: Table, names: Sequence[str], *, allow_constant: bool = False) -> MixedColumns:
    """The columns by kind; numbers, dates and ranks must not be missing (see `Table.with_missing`).

    Raises:
        InputError: All columns are constant, and `allow_constant` is false. A warning names constant columns.
    """
    kinds = kinds_of(table, names)
    measured = tuple(name for name in names if kinds[name] in ("number", "date"))
    labels = {name: labels_of(table, name, kinds[name]) for name in names if kinds[name] in ("ordinal", "nominal")}
    columns = MixedColumns(table, tuple(names), kinds, measured, labels)
    if len(measured) == len(names) and "date" not in kinds.values():
        table.numbers(measured, allow_constant=allow_constant)
    else:
        for name in measured:
            if kinds[name] == "number":
                table.numbers([name], allow_constant=True)
        _check_constant(columns, allow_constant)
    return columns


# -- new values --------------------------------------------------------------------------------------


def dated(old: nw.Series[Any], numbers: Floats) -> nw.Series[Any]:
    """Whole days since 1970 as a column of the same library and type as the old one."""
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


# -- limits and warnings -----------------------------------------------------------------------------


def check_size(columns: MixedColumns, *, with_matrix: bool = True) -> None:
    """Raise an error if labels are nearly unique; if the search needs a matrix, also if that would be too large."""
    n = columns.table.rows
    most = MOST_VALUES if with_matrix else n
    for name, label in columns.labels.items():
        check_labels(name, label.kind, sum(text is not None for text in label.texts), n, most)
    if not with_matrix:
        return
    size = 8 * n * columns.dimensions
    if size > MOST_BYTES and columns.labels:
        largest = max(columns.labels.values(), key=lambda label: label.dimensions)
        raise InputError(
            f"The columns to protect have {columns.dimensions:,} dimensions, one per value of a nominal column. They "
            f"need {size / 1e9:.1f} GB for {n:,} records, and at most {MOST_BYTES / 1e9:.0f} GB are possible. "
            f"{largest.name!r} has the most values ({len(largest.texts):,}). {_ways_out(largest.name)}"
        )


def check_labels(name: str, kind: str, distinct: int, n: int, most: int = MOST_VALUES) -> None:
    """Raise an error if the labels of a nominal column are nearly unique, or more than `most`."""
    if kind == "ordinal":
        return
    if distinct > 2 and distinct >= NEARLY_UNIQUE * n:
        raise InputError(
            f"The column {name!r} has {distinct:,} different values in {n:,} records and looks like an identifier. "
            f"Remove it (--identifiers {name} or --drop {name}), or merge its values into a few categories first."
        )
    if distinct > most:
        raise InputError(
            f"The nominal column {name!r} has {distinct:,} different values; at most {most:,} can be grouped "
            f"with an indicator per value. In a single file, --loss changes has no such limit. {_ways_out(name)}"
        )


def cost_notice(columns: MixedColumns) -> str | None:
    """The notice on nominal columns with many values, which take time; None if there are none."""
    large = {name: len(label.texts) for name, label in columns.labels.items() if label.kind == "nominal"}
    large = {name: count for name, count in large.items() if count > COSTLY_VALUES}
    if not large:
        return None
    counts = ", ".join(f"{name} ({count:,})" for name, count in large.items())
    return (
        f"Some nominal columns have many values: {counts}. Each value is a dimension of the search "
        f"({columns.dimensions:,} in total), and the run time grows with their number. Coarser values (shoal "
        "generalize) make the run faster and change fewer cells."
    )


def warn_of_codes(columns: MixedColumns) -> None:
    """Warn about numbers that may be codes and that are not declared numeric."""
    numbers = [name for name in columns.measured if columns.kinds[name] == "number"]
    for reason, names in doubtful_codes(columns.table, numbers).items():
        listed = ",".join(names)
        notice(
            f"{reason} may be codes, but Shoal averages them as numbers: {', '.join(names)}. Use --nominal {listed} if "
            f"they are codes, --numeric {listed} if they are quantities."
        )


def doubtful_codes(table: Table, names: Sequence[str]) -> dict[str, list[str]]:
    """Columns of numbers that may be codes, by reason: few whole values, only 0 and 1, or labels for some values."""
    doubtful: dict[str, list[str]] = {}
    for name in names:
        if name in table.roles.numeric:
            continue
        values = table[name].numbers
        reason = None
        if _has_labels(table, name, values):
            reason = "Numbers of which some have value labels"
        elif table.rows >= CODE_RECORDS and _has_few_whole_values(values):
            reason = f"Whole numbers with at most {CODE_VALUES} values"
        elif np.array_equal(np.unique(values[~np.isnan(values)]), (0.0, 1.0)):
            reason = "Columns of 0 and 1"
        if reason is not None:
            doubtful.setdefault(reason, []).append(name)
    return doubtful


def _has_labels(table: Table, name: str, values: Floats) -> bool:
    """Whether the file labels at least two values of a column; a single label may mark an upper limit or "none"."""
    source = table.source
    if source is None or source.labels is None or not source.untouched(table[name].series.to_polars()):
        return False
    codes = [code for code in source.labels.values.get(name, {}) if not isinstance(code, str)]
    ranges = source.user_missing(name)
    meant = [code for code in codes if not any(low <= code <= high for low, high in ranges)]
    return int(np.isin(meant, values).sum()) > 1


def _has_few_whole_values(values: Floats) -> bool:
    if np.unique(values[:1000]).size > CODE_VALUES or not np.array_equal(values, np.rint(values)):
        return False
    return 1 < np.unique(values).size <= CODE_VALUES


def _ways_out(name: str) -> str:
    return (
        f"Merge its values into coarser categories first (shoal generalize), remove it (--drop {name}), or use "
        f"--confidential {name} if no intruder knows it."
    )


def _check_constant(columns: MixedColumns, allow_constant: bool) -> None:
    measured, labels, values = columns.measured, columns.labels, columns.values
    with np.errstate(over="ignore"):
        width = np.ptp(values, axis=0)
    for name, wide in zip(measured, ~np.isfinite(width), strict=True):
        if wide:
            raise InputError(too_wide(name))
    if allow_constant:
        return
    constant = [name for name, range_ in zip(measured, width, strict=True) if range_ == 0]
    constant += [name for name, label in labels.items() if label.codes.min() == label.codes.max()]
    if len(constant) == len(measured) + len(labels):
        raise InputError(all_constant(constant))
    if constant:
        notice(some_constant(constant))
