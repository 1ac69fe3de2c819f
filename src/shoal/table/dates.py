"""Dates as days since 1970, read from text in one of the usual forms, and their units: day, month, quarter, year."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

MONTHS = {"month": 1, "quarter": 3, "year": 12}  # months per unit
FIRST_DAY = date(1970, 1, 1)
DAY_FIRST = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%y", "%d.%m.%y")
MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y")
OTHERS = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%Y%m%d")
MONTHS_ONLY = ("%Y-%m", "%Y/%m", "%m/%Y", "%m.%Y", "%b %Y", "%B %Y")
YEARS_OF_MONTHS = 1800, 2100  # a text such as 4711-05 is a code, not a month
TIME = re.compile(r"[T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)? ?(Z|[+-]\d{2}:?\d{2})?$")
QUARTER = re.compile(r"(?P<year>\d{4})[- ]?Q(?P<quarter>[1-4])$|Q(?P<first>[1-4])[- /](?P<last>\d{4})$")
MOSTLY = 0.9  # share of dates among the texts of a column from which the others look like mistakes


@dataclass(frozen=True)
class ReadDates:
    """The days of texts. form: how they are written. unit: day, month or quarter, the finest that they have.

    is_ambiguous: the day and the month could be swapped. has_times: times of day were left out.
    """

    days: list[float]
    form: str
    unit: str = "day"
    is_ambiguous: bool = False
    has_times: bool = False


def days_of_texts(texts: Sequence[str]) -> ReadDates | None:
    """The days of texts that are all dates in one form; None if they are not.

    >>> days_of_texts(["02.01.1970", "31.12.1969"]).days
    [1.0, -1.0]
    >>> days_of_texts(["1970-02", "1969-12"]).unit, days_of_texts(["1970-Q2", "1969-Q4"]).unit
    ('month', 'quarter')
    """
    if not texts or not any(character.isdigit() for character in texts[0]):
        return None
    plain = [TIME.sub("", text.strip()) for text in texts]
    has_times = any(TIME.search(text.strip()) for text in texts)
    if has_times and len(set(plain)) < 2:
        return None  # times of a single day
    for form in (*OTHERS, *DAY_FIRST):
        days = _days(plain, form)
        if days is not None:
            is_ambiguous = form in DAY_FIRST and any(
                other not in (None, days) for other in (_days(plain, other_form) for other_form in MONTH_FIRST)
            )
            return ReadDates(days, form, "day", is_ambiguous, has_times)
    for form in MONTH_FIRST:
        days = _days(plain, form)
        if days is not None:
            return ReadDates(days, form, "day", False, has_times)
    for form in MONTHS_ONLY:
        days = _days(texts, form)
        if days is not None and all(low <= _year(day) <= high for day in days for low, high in [YEARS_OF_MONTHS]):
            return ReadDates(days, form, "month")
    quarters = [QUARTER.match(text.strip()) for text in texts]
    if all(quarters):
        return ReadDates([_first_of_quarter(match) for match in quarters if match is not None], "quarter", "quarter")
    return None


def first_without_date(texts: Sequence[str]) -> tuple[str, float] | None:
    """The first text that is not a date where most of them are dates, and the share of dates; None if few are."""
    some = [text for text in texts if any(character.isdigit() for character in text)]
    for form in (*OTHERS, *DAY_FIRST, *MONTH_FIRST):
        if not any(_days([TIME.sub("", text.strip())], form) for text in some[:5]):
            continue
        others = [text for text in texts if _days([TIME.sub("", text.strip())], form) is None]
        share = 1 - len(others) / len(texts)
        if others and share >= MOSTLY:
            return others[0], share
    return None


def day_of_moment(text: str) -> float:
    """The day of a date or of a date with a time of day, in ISO form."""
    return float((date.fromisoformat(text[:10]) - FIRST_DAY).days)


def date_text(day: float, unit: str) -> str:
    """A day as text in a unit.

    >>> [date_text(400.0, unit) for unit in ("day", "month", "quarter", "year")]
    ['1971-02-05', '1971-02', '1971-Q1', '1971']
    """
    when = FIRST_DAY + timedelta(days=int(day))
    if unit == "quarter":
        return f"{when.year:04d}-Q{(when.month + 2) // 3}"
    return when.isoformat()[: {"day": 10, "month": 7, "year": 4}[unit]]


def unit_edges(first: float, last: float, unit: str) -> tuple[float, ...]:
    """The first days of the units from that of one day to the one after that of another."""
    if unit == "day":
        return tuple(float(day) for day in range(int(first), int(last) + 2))
    step = MONTHS[unit]
    start, end = (FIRST_DAY + timedelta(days=int(day)) for day in (first, last))
    month = (start.year * 12 + start.month - 1) // step * step
    edges = [_first_of(month)]
    while edges[-1] <= (end - FIRST_DAY).days:
        month += step
        edges.append(_first_of(month))
    return tuple(edges)


def _year(day: float) -> int:
    return (FIRST_DAY + timedelta(days=int(day))).year


def _first_of_quarter(match: re.Match[str]) -> float:
    year, quarter = match["year"] or match["last"], match["quarter"] or match["first"]
    return _first_of(int(year) * 12 + 3 * int(quarter) - 3)


def _first_of(month: int) -> float:
    return float((date(month // 12, month % 12 + 1, 1) - FIRST_DAY).days)


def _days(texts: Sequence[str], form: str) -> list[float] | None:
    days = []
    if form == "%Y%m%d" and any(len(text.strip()) != 8 for text in texts):
        return None  # strptime would take 199011 for the first of January 1990
    for text in texts:
        try:
            when = datetime.strptime(text.strip(), form).date()
        except ValueError:
            return None
        days.append(float((when - FIRST_DAY).days))
    return days
