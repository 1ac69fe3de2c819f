"""Columns as the attacks use them: numbers, dates in days, codes of labels, and NaN for missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import TEXT, codes, comparable, is_number, numbers

WITHIN = 0.01  # a prediction reveals a number if its relative error is at most this
SPREAD = 0.02  # and its error is at most this share of the standard deviation: 1 % of a birth year is two decades
ROUNDING = 1e-9  # error of floating-point arithmetic in an exact formula, in standard deviations
MIN_SHARE = 0.2  # a column that reveals less of the values is not reported
MIN_GAIN = 0.25  # nor one that reveals less of the values that neither the release nor a constant guess reveals
FEW = 50  # a column with more distinct numbers is not treated as a label
REPEATED = 5  # records per distinct value; with fewer, equal values may belong to one household
STAR = "*"
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f")
DAY = 86_400e6  # in microseconds
UNIT = r"(?:[€$£¥%]|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|JPY|kr|zł|Kč)?"
AMOUNT = rf"^{UNIT}\s*([+-]?(?:[0-9]{{1,3}}(?:[ .,'][0-9]{{3}})+|[0-9]+)(?:[.,][0-9]{{1,2}})?)\s*{UNIT}$"


@dataclass(frozen=True, eq=False)
class Truth:
    """A protected column: original and released values as numbers (codes of labels), with NaN for missing values.

    margin is the largest error at which a prediction reveals the value.
    """

    name: str
    values: Floats
    released: Floats
    margin: Floats
    is_number: bool

    @cached_property
    def known(self) -> Bools:
        return ~np.isnan(self.values)

    @cached_property
    def has_gaps(self) -> bool:
        return not bool(self.known.all())

    @cached_property
    def domain_size(self) -> int:
        return int(np.unique(self.values[self.known]).size)

    @property
    def repeats(self) -> bool:
        """Whether equal values are common, not only within a household."""
        return self.domain_size * REPEATED <= int(self.known.sum())

    @property
    def is_few_valued(self) -> bool:
        return self.repeats and (not self.is_number or self.domain_size <= FEW)

    @cached_property
    def guess(self) -> float:
        """The share of values that the best constant guess reveals."""
        return best_guess(self.values[self.known], self.margin[self.known])

    def min_agreement(self, unlabelled: int) -> float:
        """Return the share of records with the same label that must agree for the full test.

        Records without a label may all have the most common value, so the constant guess is lowered by their number.
        """
        records = float(self.known.sum())
        guess = max(0.0, self.guess * records - unlabelled) / max(1.0, records - unlabelled)
        return 0.8 * max(MIN_SHARE, guess + MIN_GAIN * (1 - guess))

    @cached_property
    def revealed(self) -> Bools:
        """Which values the released column itself reveals."""
        with np.errstate(invalid="ignore"):
            return np.abs(self.released - self.values) <= self.margin

    def at(self, rows: Ints) -> Truth:
        return Truth(self.name, self.values[rows], self.released[rows], self.margin[rows], self.is_number)


@dataclass(frozen=True, eq=False)
class Source:
    """An unchanged column as numbers (ranks or codes of labels), with NaN for values that are not released."""

    name: str
    values: Floats
    kind: str  # number, ordinal or nominal

    @property
    def is_constant(self) -> bool:
        known = self.values[~np.isnan(self.values)]
        return known.size < 2 or bool((known == known[0]).all())

    def at(self, rows: Ints) -> Source:
        return Source(self.name, self.values[rows], self.kind)


def truth_of(before: pl.Series, after: pl.Series) -> Truth:
    kind = kind_of(before)
    if kind == "label":
        both = pl.concat([text_or_missing(before), text_or_missing(after)])
        coded = np.where(both.is_null().to_numpy(), np.nan, codes(both).astype(np.float64))
        values, released = np.split(coded, [before.len()])
        return Truth(before.name, values, released, np.zeros(before.len()), is_number=False)
    values, released = read_numbers(before, kind), read_numbers(after, kind)
    deviation = float(np.nanstd(values)) if not np.isnan(values).all() else 0.0
    margin = np.full(values.size, SPREAD * deviation)
    if kind == "number":  # a date has no natural zero, so it has no relative error
        margin = np.fmin(margin, WITHIN * np.abs(values))
    return Truth(before.name, values, released, np.maximum(margin, ROUNDING * deviation), is_number=True)


def source_of(before: pl.Series, after: pl.Series, order: Sequence[str] | None) -> Source:
    """Return the original values of an unchanged column; values that are suppressed in the release are missing."""
    kind = kind_of(before)
    if kind != "label":
        values, kind = read_numbers(before, kind), "number" if order is None else "ordinal"
    elif order is not None:
        ranks = {value: float(rank) for rank, value in enumerate(order)}
        values = text_or_missing(before).replace_strict(ranks, default=None, return_dtype=pl.Float64).to_numpy()
        kind = "ordinal"
    else:
        text = text_or_missing(before)
        values, kind = np.where(text.is_null().to_numpy(), np.nan, codes(text)), "nominal"
    hidden = text_or_missing(after).is_null() if after.dtype in TEXT else after.is_null()
    return Source(before.name, np.where(hidden.to_numpy(), np.nan, values), kind)


def kind_of(column: pl.Series) -> str:
    """Return number, date or label; text with only numbers or only dates counts as number or date."""
    if is_number(column) or column.dtype == pl.Boolean:
        return "number"
    if column.dtype.is_temporal():
        return "date"
    if column.dtype not in TEXT:
        return "label"
    text = text_or_missing(column).drop_nulls()
    for kind in ("number", "date") if text.len() else ():
        if all(
            not np.isnan(read_numbers(part, kind)).any() for part in (text.head(100), text)
        ):  # the first cells decide in most cases
            return kind
    return "label"


def read_numbers(column: pl.Series, kind: str) -> Floats:
    """Return the numbers of a column, or its dates in days; NaN for other cells."""
    if column.dtype in TEXT:
        text = text_or_missing(column)
        column = _amounts(text) if kind == "number" else _dates(text)
    if isinstance(column.dtype, pl.Datetime) or column.dtype == pl.Date:
        values = numbers(column.cast(pl.Datetime("us")).to_physical()) / DAY
    elif column.dtype.is_temporal():
        values = numbers(column.to_physical())
    elif is_number(column) or column.dtype == pl.Boolean:
        values = numbers(column)
    else:
        values = np.full(column.len(), np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _amounts(text: pl.Series) -> pl.Series:
    """Read numbers from text, also amounts with a currency, thousands separators or a decimal comma."""
    plain = text.cast(pl.Float64, strict=False)
    if plain.null_count() == text.null_count():
        return plain
    core = text.str.extract(AMOUNT)
    whole = core.str.replace(r"[.,][0-9]{1,2}$", "").str.replace_all(r"[^0-9+-]", "")
    cents = core.str.extract(r"[.,]([0-9]{1,2})$").fill_null("0")
    return (whole + "." + cents).cast(pl.Float64, strict=False)


def _dates(text: pl.Series) -> pl.Series:
    """Read dates from text, in the format that most cells have."""
    read = [text.str.to_datetime(form, time_unit="us", strict=False) for form in DATES]
    return min(read, key=lambda column: column.null_count())


def text_or_missing(column: pl.Series) -> pl.Series:
    """Return a column as text; missing, empty and suppressed cells are missing."""
    text = comparable(column).cast(pl.String, strict=False)
    if column.dtype not in TEXT:
        return text
    bare = text.str.strip_chars()
    return bare.set(bare.is_in(["", STAR]).fill_null(False), None)


def best_guess(values: Floats, margin: Floats) -> float:
    """Return the share of values that the best constant guess reveals."""
    order = np.argsort(values)
    ranked, reach = values[order], margin[order]
    inside = np.searchsorted(ranked, ranked + reach, "right") - np.searchsorted(ranked, ranked - reach, "left")
    return float(inside.max(initial=0)) / max(values.size, 1)
