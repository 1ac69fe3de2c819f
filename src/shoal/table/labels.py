"""Readable labels of categories: an interval, the node of a taxonomy with exactly these values, or the values.

    [20-34]           whole numbers from 20 to 34        [1.5-3)   numbers from 1.5 up to, not including, 3
    <= 21, >= 65      the ends of an open domain         2001-03 to 2001-07   dates
    Europe            a node of the taxonomy             France | Italy   joined values
    all but A | B     most of the domain                 any       all of it
    France and 11 more   a long list of values, which the legend has in full

Labels are unique within a column. Missing values have a name and are never blank.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.table.dates import date_text
from shoal.table.domain import Domain

SUPPRESSED = "*"
ANY = "any"
MOST_LEFT_OUT = 4  # values that "all but" may leave out
LONGEST = 60  # characters of joined values; longer lists are cut


def group_names(domain: Domain, groups: Sequence[Sequence[int]], full: bool = False) -> list[str]:
    """Return a label for each category of a domain, unique within the column.

    Args:
        groups: The value codes of each category.
        full: Whether long labels are written in full.
    """
    plain = [group_name(domain, group, full) for group in groups]
    taken = {str(value) for value in domain.values}
    names: list[str] = []
    for group, name in zip(groups, plain, strict=True):
        single = len(group) == 1 and not domain.edges
        # A node named like another value, or two categories that share a name: fall back to the joined values.
        if plain.count(name) > 1 or (not single and name in taken) or name == SUPPRESSED:
            name = " | ".join(value_name(domain, code) for code in group)
        while name in names or name == SUPPRESSED or (not single and name in taken):
            name = f"({name})"
        names.append(name)
    return names


def group_name(domain: Domain, group: Sequence[int], full: bool = False) -> str:
    """Return the shortest label of a category; another category may have the same one."""
    inside = domain.numbers_of(group)
    has_missing = len(inside) < len(group)
    if len(group) == domain.size and domain.size > 1 and not domain.numeric:
        return domain.taxonomy.name_of(frozenset(domain.values)) or ANY if domain.taxonomy else ANY
    if domain.numeric:
        parts = [interval(domain, inside)] if inside else []
        return " or ".join(parts + [missing_name(domain)] * has_missing)
    names = [str(domain.values[number]) for number in inside]
    if domain.taxonomy is not None and len(inside) > 1:
        node = domain.taxonomy.name_of(frozenset(names))
        if node is not None:
            return f"{node} or {missing_name(domain)}" if has_missing else node
    gap = [missing_name(domain)] * has_missing
    left_out = sorted(set(range(domain.size)) - set(group))
    if len(left_out) <= MOST_LEFT_OUT and len(group) > 2 * MOST_LEFT_OUT:
        label = "all but " + " | ".join(value_name(domain, code) for code in left_out)
        if full or len(label) <= LONGEST:
            return label
    label = " | ".join(names + gap)
    if full or len(label) <= LONGEST or len(names) < 2:
        return label
    return " or ".join([f"{names[0]} and {len(names) - 1} more", *gap])


def members(domain: Domain, group: Sequence[int]) -> list[str]:
    """Return the labels of the values of a category."""
    return [value_name(domain, code) for code in group]


def value_name(domain: Domain, code: int) -> str:
    """Return the label of a single value."""
    inside = domain.numbers_of([code])
    if not inside:
        return missing_name(domain)
    return interval(domain, inside) if domain.numeric else str(domain.values[inside[0]])


def missing_name(domain: Domain) -> str:
    """Return the name of missing values: a word that is not a value."""
    name = "missing"
    while name in domain.values:
        name = f"({name})"
    return name


def interval(domain: Domain, numbers: Sequence[int]) -> str:
    """Return the label of the interval of neighbouring values; a single exact value is its own label.

    An open domain shows neither its smallest nor its largest value, unless a category has only that value.
    """
    first, last = numbers[0], numbers[-1]
    closed, low, high = bounds(domain, numbers)
    shown_low, shown_high = (value_text(domain, bound) for bound in (low, high))
    if closed and shown_low == shown_high:
        return shown_low
    starts, ends = first == 0 and domain.is_open, last == domain.present - 1 and domain.is_open
    if starts and ends:
        return ANY
    if starts:
        return f"{'<=' if closed else '<'} {shown_high}"
    if ends:
        return f">= {shown_low}"
    if domain.unit:
        return f"{shown_low} to {shown_high}"
    return f"[{shown_low}{' to ' if low < 0 or high < 0 else '-'}{shown_high}{']' if closed else ')'}"


def bounds(domain: Domain, numbers: Sequence[int]) -> tuple[bool, float, float]:
    """Return whether the upper bound belongs to the interval of neighbouring values, and both bounds."""
    first, last = numbers[0], numbers[-1]
    if not domain.edges:
        return True, domain.values[first], domain.values[last]
    if domain.unit:  # the first days of the first and the last unit
        return True, domain.edges[first], domain.edges[last]
    low, high = domain.edges[first], domain.edges[last + 1]
    return (True, low, high - 1) if domain.whole else (False, low, high)


def value_text(domain: Domain, value: float) -> str:
    """Return a number or a date as text."""
    return date_text(value, domain.unit) if domain.unit else number(value)


def number(value: float) -> str:
    """Return a number as text, without a decimal point if it is whole.

    >>> number(34.0), number(1e15), number(0.1)
    ('34', '1000000000000000', '0.1')
    """
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
