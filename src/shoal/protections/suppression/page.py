"""The report of a cell suppression: how many cells are starred, in which columns, and which values."""

from __future__ import annotations

from typing import Any

from shoal.protections.suppression.command import result_rows
from shoal.report.page import Block, Grid, Text

MOST_VALUES = 12  # of a column, in the table of starred values


def promise(release: Any, external: bool) -> str:
    """Return the guarantee."""
    facts = release.facts
    others = f"at least {facts['k'] - 1} others"
    if "subsets" in facts:
        return (
            f"Every combination of up to {facts['subsets']} of {facts['d']} protected columns that a record has occurs "
            f"in at least {facts['k']} records."
        )
    if facts["star"] == "wildcard":
        return f"Every record is compatible with {others} in the protected columns, if a star matches every value."
    over = "in each set of protected columns" if release.sets else "in the protected columns, stars included"
    return f"Every record agrees with {others} {over}."


def settings(release: Any, external: bool) -> list[list[Any]]:
    """Return the reading of a star and the sets of columns."""
    reading = "only equals a star" if release.facts["star"] == "value" else "equals every value"
    return [["a star", reading], *(["k holds over", ", ".join(chosen)] for chosen in release.sets)]


def done(release: Any, min_records: int | None) -> list[Block]:
    """Return the stars by column and by value; a public report shows no counts by value."""
    facts, n = release.facts, release.original.rows
    share = f"{100 * facts['suppressed_share']:.2f} % of the protected cells are starred; all others are original."
    rows = [[name, f"{100 * count / n:.2f} %"] for name, count in facts["by_column"].items()]
    by_column = Grid(["column", "share of cells with a star"], rows, text=1, title="Stars by column")
    if min_records is not None:
        return [Text(f"Shoal replaced single cells by a star. {share}"), by_column]
    values = []
    for name, count in facts["by_column"].items():
        for value, records, stars in release.stars_by_value(name)[:MOST_VALUES] if count else ():
            if stars:
                values.append([name, value, records, stars, f"{100 * stars / records:.1f} %"])
    heads = ["column", "value", "records", "stars", "share"]
    return [
        Text(share),
        Grid(["", ""], result_rows(facts), text=2),
        by_column,
        Grid(heads, values, text=2, title="Values that are starred most"),
    ]
