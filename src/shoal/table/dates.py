"""Dates as days since 1970, read from text in one of the usual forms, and their units: day, month, quarter, year."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

MONTHS = {"month": 1, "quarter": 3, "year": 12}  # months per unit
FIRST_DAY = date(1970, 1, 1)
DAY_FIRST = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%y", "%d.%m.%y")
MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y")
OTHERS = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%Y%m%d")


def days_of_texts(texts: Sequence[str]) -> tuple[list[float], bool] | None:
    """The days of texts that are all dates in one form, and whether another form fits too; None if they are not.

    >>> days_of_texts(["02.01.1970", "31.12.1969"])
    ([1.0, -1.0], False)
    """
    if not texts or not any(character.isdigit() for character in texts[0]):
        return None
    for form in (*OTHERS, *DAY_FIRST):
        days = _days(texts, form)
        if days is not None:
            is_ambiguous = form in DAY_FIRST and any(
                other not in (None, days) for other in (_days(texts, other_form) for other_form in MONTH_FIRST)
            )
            return days, is_ambiguous
    for form in MONTH_FIRST:
        days = _days(texts, form)
        if days is not None:
            return days, False
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


def _first_of(month: int) -> float:
    return float((date(month // 12, month % 12 + 1, 1) - FIRST_DAY).days)


def _days(texts: Sequence[str], form: str) -> list[float] | None:
    days = []
    for text in texts:
        try:
            when = datetime.strptime(text.strip(), form).date()
        except ValueError:
            return None
        days.append(float((when - FIRST_DAY).days))
    return days
