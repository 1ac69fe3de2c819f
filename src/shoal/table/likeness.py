"""Columns that look like direct identifiers or like the unit (the person or household that several rows belong to).

The kinds of direct identifiers are those of the handbook of statistical disclosure control (Hundepool et al. 2012) and
of the HIPAA safe harbor rule; check digits verify IBANs (ISO 13616). Patterns are tested on a sample of each column, so
that a file of a million rows takes a second. The reasons never quote a value.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.cell_hashes import as_text, cell_hashes, class_sizes
from shoal.table.column_names import (
    COUNTED,
    MEASURES,
    NAME_WORDS,
    PLAIN_NAMES,
    is_birth_name,
    is_person_name,
    is_phone_name,
    is_unit_name,
    key_stem,
    name_words,
    squashed,
)

SAMPLE = 1_000  # values per column on which a pattern is tested
MOST = 0.9  # share of the sample that must match
NEARLY_UNIQUE = 0.95
MIN_ROWS = 20  # fewer rows do not say whether texts are unique
CHANCE = 1e-6  # below this probability an agreement is not an accident
FEW_VALUES = 50
TEXT = (pl.String, pl.Categorical, pl.Enum)

EMAIL = r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"
URL = r"^\s*(?i:https?://|ftp://|www\.)\S+"
UUID = r"^\s*\{?(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\}?\s*$"
MAC = r"^\s*(?i:([0-9a-f]{2}[:-]){5}[0-9a-f]{2})\s*$"
IBAN = r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"
# Ranges of years, postcodes (Portugal, USA) and times consist of the same characters as phone numbers.
NO_PHONE = r"^\s*([0-9]{4}\s*[-–/]\s*[0-9]{4}|[0-9]{4}-[0-9]{3}|[0-9]{5}-[0-9]{4})\s*$"
PHONE = r"^\s*(\+|\(|[0-9])[0-9\s()/.\-–]{5,24}[0-9]\s*$"
PHONE_SIGN = r"^\s*\+|[0-9)][\s/\-–]+[(0-9]|[0-9]\.[0-9]+\.[0-9]|^\s*\("
# A number with decimals, thousands separators or a currency is a quantity and not a key.
QUANTITY = (
    r"^\s*[€$£]?\s*[+-]?([0-9]+|[0-9]{1,3}([.,' ][0-9]{3})+|[0-9]*[.,][0-9]+|[0-9]{1,3}(,[0-9]{3})+\.[0-9]+|"
    r"[0-9]{1,3}(\.[0-9]{3})+,[0-9]+)([eE][+-]?[0-9]+)?\s*(%|€|\$|£|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|JPY)?\s*$"
)
FULL_NAME = r"^\s*\p{Lu}[\p{L}'’.\-]*(,?\s+(\p{Lu}|d[aeiu]|v[ao]n)[\p{L}'’.\-]*){1,4}\s*$"
WHOLE = r"^\s*(0|[1-9][0-9]{0,17})\s*$"
TIME = r"^\s*[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?\s*$"
DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y")
DATE = r"^\s*([0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}([T ].*)?|[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2}))\s*$"


# -- identifiers -----------------------------------------------------------------------------------


def identifier_reason(column: pl.Series) -> str | None:
    """Why a column looks like a direct identifier; None if it does not.

    >>> identifier_reason(pl.Series("contact", ["ann@example.org", "bob@example.org"]))
    'the values are e-mail addresses'
    >>> identifier_reason(pl.Series("income", [31_500, 28_200, 40_700]))
    """
    values = _present(column)
    if values is None or values.len() == 0:
        return None
    if values.dtype == pl.String:
        return _text_reason(values)
    if values.dtype in (pl.Date, pl.Datetime):
        return _birth_reason(_sampled(values).cast(pl.Date), values)
    return _number_reason(values) if _all_whole(values) else None


def _present(column: pl.Series) -> pl.Series | None:
    """The values that are not missing, as text, numbers or dates; None for a column of another type."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.Object:
        column = as_text(column)
    if column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if column.dtype == pl.String:
        return column.filter(column != "")
    if column.dtype.is_float():
        return column.filter(column.is_finite())
    if column.dtype.is_integer() or column.dtype in (pl.Date, pl.Datetime):
        return column.drop_nulls()
    return None


def _sampled(values: pl.Series) -> pl.Series:
    """A sample at equal distances, because a sorted file has its unusual values at the ends."""
    return values.gather_every(max(1, -(-values.len() // SAMPLE)))


def _all_whole(values: pl.Series) -> bool:
    if values.dtype.is_integer():
        return True
    if not values.dtype.is_float():
        return False
    sample = _sampled(values)
    return bool((sample == sample.floor()).all()) and bool((values == values.floor()).all())


def _text_reason(values: pl.Series) -> str | None:
    sample = _sampled(values)
    bare = sample.str.strip_chars()
    varied = 2 * bare.n_unique() >= min(MIN_ROWS, bare.len())
    if varied:
        for what, fits in KINDS:
            if fits(bare, values.name):
                return f"the values are {what}"
    dates = _dates(bare)
    if dates is not None:
        return _birth_reason(dates, values)
    digits = _share(bare, r"^[0-9]+$") >= MOST
    if digits and _share(bare, WHOLE) >= MOST and _share(bare, r"^0[0-9]") == 0:
        return _number_reason(values.str.strip_chars().cast(pl.Int64, strict=False).drop_nulls())
    if (_share(bare, QUANTITY) >= MOST and not digits) or _share(bare, TIME) >= MOST:
        return None
    return _unique_text_reason(values)


def _unique_text_reason(values: pl.Series) -> str | None:
    """Why texts look like identifiers: nearly all are different, or the column has the name of names or keys."""
    name, n = values.name, values.len()
    sample = _sampled(values)
    named = is_person_name(name) or key_stem(name) is not None
    if not named and 2 * sample.n_unique() < sample.len():
        return None  # more than half of the rows share their text, so a full count is not needed
    distinct = values.n_unique()
    if n >= MIN_ROWS and distinct > NEARLY_UNIQUE * n:
        return f"{_percent(distinct, n)} of the texts are different"
    if n >= MIN_ROWS and 2 * _unique_rows(values) > n and _share(sample, FULL_NAME) >= MOST:
        return f"{_percent(distinct, n)} of the texts are different, and they look like names of people"
    if is_person_name(name) and distinct >= MIN_ROWS and (squashed(name) not in PLAIN_NAMES or distinct > 0.05 * n):
        return f"the column's name suggests names or addresses, and there are {distinct:,} different texts"
    return _key_reason(values, distinct)


def _number_reason(values: pl.Series) -> str | None:
    """Why whole numbers look like identifiers: they number the rows, or their name or equal length suggests keys."""
    name, n = values.name, values.len()
    low, high = int(values.min()), int(values.max())  # type: ignore[arg-type]
    sample = _sampled(values)
    if is_phone_name(name) and low >= 0 and sample.is_between(10**6, 10**15 - 1).mean() >= MOST:  # type: ignore[operator]
        return "the values are phone numbers"
    dates = _dates_of_numbers(sample, low, high)
    if dates is not None and is_birth_name(name):
        return _birth_reason(dates, values)
    named = key_stem(name) is not None
    if not named and sample.n_unique() < 0.8 * sample.len():
        return None
    distinct = values.n_unique()
    if not MEASURES.intersection(name_words(name)):
        if distinct == n >= 10 and high - low == n - 1:
            return f"the numbers are {low:,} to {high:,}, each once: they number the rows"
        if n >= 30 and distinct > NEARLY_UNIQUE * n and high - low < 1.25 * n:
            return f"the numbers lie from {low:,} to {high:,} with few gaps: they number the rows"
    if distinct == n >= 30 and low >= 10**6 and len(str(low)) == len(str(high)):
        return f"all numbers are different and have {len(str(low))} digits, as keys have"
    return _key_reason(values, distinct)


def _key_reason(values: pl.Series, distinct: int) -> str | None:
    """Why a column looks like a key: its name suggests it, and most rows have different values."""
    n = values.len()
    stem = key_stem(values.name)
    if stem is None or n < 3 or COUNTED.intersection(stem):
        return None
    if n < MIN_ROWS and distinct < n:
        return None
    if 3 * distinct <= 2 * n and 2 * _unique_rows(values) <= n:
        return None  # the values repeat: unit_reason decides
    return f"the column's name suggests a key, and {_percent(distinct, n)} of the values are different"


def _birth_reason(dates: pl.Series, values: pl.Series) -> str | None:
    """Why exact dates look like dates of birth: the column's name or their range suggests it; `dates` is a sample."""
    dates = dates.drop_nulls()
    if dates.len() == 0 or (dates.len() > 1 and dates.dt.day().n_unique() == 1):
        return None  # months or years
    if is_birth_name(values.name):
        return "the column's name suggests dates of birth"
    days = np.sort(dates.cast(pl.Int32).to_numpy())
    years = (
        float(np.quantile(days, 0.99) - np.quantile(days, 0.01)) / 365.25
    )  # without unusual dates such as 9999-12-31
    if values.len() < MIN_ROWS or years <= 30:
        return None
    distinct = values.n_unique()
    if distinct > NEARLY_UNIQUE * values.len() or (years > 60 and distinct >= MIN_ROWS):
        return f"{distinct:,} different dates span {years:.0f} years, as dates of birth do"
    return None


# -- patterns of text, on a sample -----------------------------------------------------------------


def _share(sample: pl.Series, pattern: str) -> float:
    return float(sample.str.contains(pattern).mean() or 0.0)  # type: ignore[arg-type]


def _is_email(sample: pl.Series, name: str) -> bool:
    return _share(sample, EMAIL) >= 0.1  # also within other text


def _is_iban(sample: pl.Series, name: str) -> bool:
    bare = sample.str.replace_all(r"[\s-]", "").str.to_uppercase()
    fits = bare.filter(bare.str.contains(IBAN))
    if fits.len() < MOST * sample.len():
        return False
    tested = fits.head(200).to_list()
    right = sum(int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1 for text in tested)
    return right >= 0.8 * len(tested)


def _is_address_of_device(sample: pl.Series, name: str) -> bool:
    if _share(sample, MAC) >= MOST:
        return True
    if _share(sample, r"^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$|^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$") < MOST:
        return False
    return sum(map(_is_ip, sample.to_list())) >= MOST * sample.len()


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_phone(sample: pl.Series, name: str) -> bool:
    digits = sample.str.count_matches(r"[0-9]")
    fits = sample.str.contains(PHONE) & digits.is_between(7, 15)
    if not is_phone_name(name):
        other = sample.str.contains(NO_PHONE) | sample.str.contains(DATE) | sample.str.contains(QUANTITY)
        fits = fits & sample.str.contains(PHONE_SIGN) & (~other | sample.str.starts_with("+"))
    return float(fits.mean() or 0.0) >= MOST  # type: ignore[arg-type]


KINDS: tuple[tuple[str, Callable[[pl.Series, str], bool]], ...] = (
    ("e-mail addresses", _is_email),
    ("web addresses", lambda sample, name: _share(sample, URL) >= MOST),
    ("UUIDs", lambda sample, name: _share(sample, UUID) >= MOST),
    ("IBANs", _is_iban),
    ("IP or MAC addresses", _is_address_of_device),
    ("phone numbers", _is_phone),
)


def _dates(sample: pl.Series) -> pl.Series | None:
    """A sample of texts as dates; None if too few are dates."""
    if _share(sample, DATE) < MOST:
        return None
    head = sample.str.replace(r"[T ].*$", "")
    parsed = [head.str.to_date(form, strict=False, exact=True) for form in DATE_FORMATS]
    best = min(parsed, key=pl.Series.null_count)
    return best if best.null_count() <= (1 - MOST) * sample.len() else None


def _dates_of_numbers(sample: pl.Series, low: int, high: int) -> pl.Series | None:
    """A sample of whole numbers such as 19800131 as dates; None if they are not dates."""
    if low < 1850_01_01 or high > 2100_12_31:
        return None
    parsed = sample.cast(pl.Int64).cast(pl.String).str.to_date("%Y%m%d", strict=False)
    return parsed if parsed.null_count() == 0 else None


# -- units -----------------------------------------------------------------------------------------


def unit_reason(frame: pl.DataFrame, name: str) -> str | None:
    """Why a column looks like the unit, the person or household that several rows belong to; None if it does not.

    The values must repeat. In addition, either the column has the name of a unit, or equal values are in consecutive
    rows (or equally frequent) and another column is constant within each of them, beyond chance.
    """
    values = _present(frame.get_column(name))
    if values is None or values.len() < MIN_ROWS or values.dtype in (pl.Date, pl.Datetime) or not _is_code(values):
        return None
    named = is_unit_name(name)
    distinct = values.n_unique()
    rows_per_value = values.len() / distinct
    if distinct < 10 or not 1.5 <= rows_per_value <= 200:
        return None
    if not named and (distinct < 30 or rows_per_value > 20 or not _codes_only(values)):
        return None
    sizes = class_sizes(cell_hashes(values))
    if 2 * int(sizes[sizes > 1].sum()) < values.len():
        return None
    share = f"{values.len():,} rows have {distinct:,} values ({rows_per_value:.1f} rows per value)"
    if named:
        return f"the column's name suggests a person, household or key, and {share}"
    balanced = int(sizes.min()) == int(sizes.max())
    consecutive = _runs(values) == distinct and _sizes_of_units(sizes)
    constant = _constant_within(frame, name) if balanced or consecutive else None
    if constant is None:
        return None
    where = "equally frequent" if balanced else "in consecutive rows"
    return f"equal values are {where}, {share}, and {constant!r} is the same in all rows of each value"


def repeated_identifier_reason(column: pl.Series) -> str | None:
    """Why an identifier column shows that several rows belong to one person; None if it does not.

    Different people share parts of names, addresses and dates of birth, so these are not evidence.

    >>> repeated_identifier_reason(pl.Series("member", [f"M{i // 3}" for i in range(60)]))
    '60 of 60 rows share their value with another row: the rows are not one per person'
    """
    values = _present(column)
    shared_names = NAME_WORDS.intersection(name_words(column.name)) or squashed(column.name) in NAME_WORDS
    if values is None or values.dtype in (pl.Date, pl.Datetime) or shared_names or is_birth_name(column.name):
        return None
    if values.dtype.is_float() and not _all_whole(values):
        return None
    distinct = values.n_unique()
    if distinct < 10 or values.len() > 200 * distinct:
        return None
    shared = values.len() - _unique_rows(values)
    if 2 * shared < values.len():
        return None
    return f"{shared:,} of {values.len():,} rows share their value with another row: the rows are not one per person"


def _is_code(values: pl.Series) -> bool:
    return values.dtype == pl.String or _all_whole(values)


def _codes_only(values: pl.Series) -> bool:
    """Whether the values are whole numbers or texts with a digit; words such as names of regions are not codes."""
    return values.dtype != pl.String or _share(_sampled(values), r"[0-9]") >= MOST


def _unique_rows(values: pl.Series) -> int:
    return int((class_sizes(cell_hashes(values)) == 1).sum())


def _runs(values: pl.Series) -> int:
    return 1 + int((values != values.shift(1)).sum())


def _sizes_of_units(sizes: NDArray[np.int64]) -> bool:
    """Whether the sizes are those of households and panels: small or equal. Places and classes are larger and vary."""
    same = float(np.mean(sizes == np.bincount(sizes).argmax()))
    return same >= 0.9 or (float(sizes.mean()) <= 8 and int(sizes.max()) <= 40)


def _constant_within(frame: pl.DataFrame, name: str) -> str | None:
    """Another column with few values that is constant within every value of this one, beyond chance.

    A column that keeps its value over many consecutive units, such as the age group in a file sorted by age, depends on
    the row order and is not evidence.
    """
    hashes = cell_hashes(frame.get_column(name))
    _, first = np.unique(hashes, return_index=True)
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    for other in frame.columns:
        if other == name:
            continue
        column = cell_hashes(frame.get_column(other))
        if np.unique(column[: 4 * SAMPLE]).size > FEW_VALUES:
            continue
        if not np.array_equal(column[order][1:][same], column[order][:-1][same]):
            continue
        counts = np.unique(column, return_counts=True)[1]
        if not 2 <= counts.size <= FEW_VALUES or agreement_chance(counts, int(same.sum())) >= CHANCE:
            continue
        by_unit = column[np.sort(first)]
        shares = np.unique(by_unit, return_counts=True)[1] / by_unit.size
        expected = (1 - float((shares**2).sum())) * (by_unit.size - 1)
        if 2 * int((by_unit[1:] != by_unit[:-1]).sum()) >= expected:
            return other
    return None


def agreement_chance(counts: NDArray[np.int64], agreements: int) -> float:
    """An upper bound on the probability that so many rows agree with an earlier row of their value by accident.

    It assumes independent columns; a row agrees at most with the share of the most frequent value.
    """
    return float((counts.max() / counts.sum()) ** agreements)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part // whole} %"
