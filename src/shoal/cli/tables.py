"""Small tables for the terminal, plain enough to read in a log file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text as RichText

from shoal.errors import printable, printable_rows
from shoal.report.figures import figures_of
from shoal.report.page import Grid, Text
from shoal.report.printed import printed

if TYPE_CHECKING:
    from shoal.gate.figures import Figures
    from shoal.release import Release


PIPE = 110  # columns of a pipe or a log file
LONG = 40  # a longer cell counts as text in any column
WORD = 24  # a longer word may be broken


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1) -> None:
    """Print a table whose first `left` columns are text and whose other columns are numbers, which are never cut.

    A table that is too wide for the terminal is transposed if it has few rows, and otherwise printed in parts.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE)
    (title, *headers), *cells = printable_rows([[title, *headers], *figures_of(rows)])
    for narrow in (False, True):
        widths = _widths(headers, cells, left, console.width, narrow)
        if widths is not None:
            console.print(_grid(title, headers, cells, left, widths))
            return
    if left == 1 and len(headers) > 2 * (len(rows) + 1):
        headers, *cells = [list(line) for line in zip(headers, *cells, strict=True)]
    for part, chosen in enumerate(_parts(headers, cells, left, console.width)):
        heads, shown = _of_columns(headers, cells, chosen)
        widths = _widths(heads, shown, left, console.width, True)
        console.print(_grid(f"{title}{' (continued)' if part else ''}", heads, shown, left, widths))


def _grid(
    title: str, headers: Sequence[str], cells: Sequence[Sequence[str]], left: int, widths: Sequence[int] | None
) -> RichTable:
    grid = RichTable(
        title=RichText(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_header=any(headers),
    )
    for j, header in enumerate(headers):
        text = j < left or any(cell_len(row[j]) > LONG for row in cells)
        width = None if widths is None else widths[j]
        grid.add_column(RichText(header), justify="left" if text else "right", overflow="fold", width=width)
    for row in cells:
        grid.add_row(*map(RichText, row))
    return grid


def _widths(
    headers: Sequence[str], cells: Sequence[Sequence[str]], left: int, room: int, narrow: bool
) -> list[int] | None:
    """Return the column widths, or None if they do not fit. Text may take several lines; headers too if `narrow`."""
    widths, least = [], []
    for j, header in enumerate(headers):
        column = [row[j] for row in cells]
        text = j < left or any(cell_len(cell) > LONG for cell in column)
        whole = max((cell_len(line) for cell in [header, *column] for line in cell.split("\n")), default=0)
        words = max((cell_len(word) for cell in [header, *column] for word in cell.split()), default=0)
        inside = max(map(cell_len, column), default=0)
        kept = max([inside, *map(cell_len, header.split())]) if narrow else whole
        widths.append(whole)
        least.append(max(1, min(words, WORD) if text else kept))
    room -= 3 * len(headers) - 1  # the space between the columns
    if sum(least) > room:
        return None
    while sum(widths) > room:  # narrow the widest column first
        j = max((j for j in range(len(widths)) if widths[j] > least[j]), key=widths.__getitem__)
        widths[j] -= 1
    return widths


def _parts(headers: Sequence[str], cells: Sequence[Sequence[str]], left: int, room: int) -> Iterator[list[int]]:
    """Yield the columns in parts that fit; each part has the first `left` columns."""
    first = list(range(left))
    chosen = first
    for j in range(left, len(headers)):
        more = [*chosen, j]
        if len(chosen) > left and _widths(*_of_columns(headers, cells, more), left, room, True) is None:
            yield chosen
            more = [*first, j]
        chosen = more
    yield chosen


def _of_columns(
    headers: Sequence[str], cells: Sequence[Sequence[str]], chosen: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    return [headers[j] for j in chosen], [[row[j] for j in chosen] for row in cells]


def print_release(release: Release) -> None:
    """Print the tables and sentences of a release."""
    print_blocks(printed(release))


def print_blocks(blocks: Iterable[Grid | Text]) -> None:
    for block in blocks:
        if isinstance(block, Text):
            click.echo(printable(block.text))
        else:
            print_table(block.title, block.heads, block.rows, block.text)


def print_figures(figures: Figures | None) -> None:
    """Print the known-column figures."""
    if figures is None:
        return
    from shoal.gate.findings import percent

    rows = []
    for part, meaning in (
        (figures.protected, "protected columns"),
        (figures.known, "protected columns and those without a role (decides)"),
        (figures.released, "every released column (if confidential values were known)"),
    ):
        linked = "not measured" if part.linked is None else percent(part.linked, 1)
        if part.linked_se is not None:
            linked += f" ± {percent(part.linked_se, 1)}"
        shown = [part.k, part.uniques, linked] if part.columns else ["–", "–", "–"]
        rows.append([meaning, len(part.columns), *shown])
    unit = " (k counts persons or households)" if figures.unit else ""
    heads = ["an intruder who knows the", "columns", "k", "unique records", "people found"]
    print_table(f"What an intruder finds{unit}", heads, rows)
