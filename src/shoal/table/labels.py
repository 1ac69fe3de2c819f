"""Readable names of categories: an interval, a node of the taxonomy, or the joined values.

    [20-34]           whole numbers from 20 to 34        [1.5-3)   numbers from 1.5 up to, not including, 3
    Europe            a node of the taxonomy             France | Italy   joined values
    all but A | B     most of the domain                 any       all of it
A name is unique within its column. Missing values have a name, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.table.domain import Domain

SUPPRESSED = "*"
ANY = "any"
MOST_LEFT_OUT = 4  # values that "all but" may leave out


def group_names(domain: Domain, groups: Sequence[Sequence[int]]) -> list[str]:
    """A name for each category, which is a sequence of value codes."""
    plain = [group_name(domain, group) for group in groups]
    taken = {str(value) for value in domain.values}
    names: list[str] = []
    for group, name in zip(groups, plain, strict=True):
        single = len(group) == 1 and not domain.edges
        # A node may have the name of a value, and two categories may share a name: then join the values.
        if plain.count(name) > 1 or (not single and name in taken) or name == SUPPRESSED:
            name = " | ".join(value_name(domain, code) for code in group)
        while name in names or name == SUPPRESSED or (not single and name in taken):
            name = f"({name})"
        names.append(name)
    return names


def group_name(domain: Domain, group: Sequence[int]) -> str:
    """The simplest name of a category."""
    if len(group) == domain.size and domain.size > 1 and not domain.numeric:
        return domain.taxonomy.name_of(frozenset(domain.values)) or ANY if domain.taxonomy else ANY
    if domain.numeric:
        inside = [code for code in group if code < domain.present]
        parts = [interval(domain, inside)] if inside else []
        return " or ".join(parts + [missing_name(domain)] * (len(inside) < len(group)))
    names = [value_name(domain, code) for code in group]
    if domain.taxonomy is not None and len(group) > 1 and domain.present not in group:
        node = domain.taxonomy.name_of(frozenset(names))
        if node is not None:
            return node
    left_out = sorted(set(range(domain.size)) - set(group))
    if len(left_out) <= MOST_LEFT_OUT and len(group) > 2 * MOST_LEFT_OUT:
        return "all but " + " | ".join(value_name(domain, code) for code in left_out)
    return " | ".join(names)


def value_name(domain: Domain, code: int) -> str:
    """The name of a single value."""
    if code >= domain.present:
        return missing_name(domain)
    return interval(domain, [code]) if domain.numeric else str(domain.values[code])


def missing_name(domain: Domain) -> str:
    """The name of missing values, which differs from every value."""
    name = "missing"
    while name in domain.values:
        name = f"({name})"
    return name


def interval(domain: Domain, codes: Sequence[int]) -> str:
    """The name of the interval of neighbouring numbers; the name of a single exact number is the number."""
    if not domain.edges:
        low, high = domain.values[codes[0]], domain.values[codes[-1]]
        return number(low) if low == high else _between(low, high, "]")
    low, high = domain.edges[codes[0]], domain.edges[codes[-1] + 1]
    if not domain.whole:
        return _between(low, high, ")")
    return number(low) if high - 1 == low else _between(low, high - 1, "]")


def number(value: float) -> str:
    """A number without unnecessary decimals.

    >>> number(34.0), number(1e15), number(0.1)
    ('34', '1000000000000000', '0.1')
    """
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _between(low: float, high: float, end: str) -> str:
    return f"[{number(low)}{' to ' if low < 0 or high < 0 else '-'}{number(high)}{end}"
