"""Small tables for the terminal, plain enough to read in a log file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from shoal.errors import printable
from shoal.report.figures import figure

if TYPE_CHECKING:
    from shoal.gate.figures import Figures
    from shoal.measures.assessment import Assessment
    from shoal.release import Release


PIPE = 110  # columns of a pipe or a log file
LONG = 40  # characters from which on a cell is a text, whatever its column
WORD = 24  # a longer word may be broken


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1) -> None:
    """A table whose first `left` columns are text and whose others are figures; no figure is ever cut.

    One that is too wide for the terminal is turned if it has few rows, and else told in parts.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE)
    title, headers = printable(title), [printable(head) for head in headers]
    cells = [[printable(figure(cell)) for cell in row] for row in rows]
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
) -> Grid:
    grid = Grid(
        title=Text(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_header=any(headers),
    )
    for j, header in enumerate(headers):
        text = j < left or any(cell_len(row[j]) > LONG for row in cells)
        width = None if widths is None else widths[j]
        grid.add_column(Text(header), justify="left" if text else "right", overflow="fold", width=width)
    for row in cells:
        grid.add_row(*map(Text, row))
    return grid


def _widths(
    headers: Sequence[str], cells: Sequence[Sequence[str]], left: int, room: int, narrow: bool
) -> list[int] | None:
    """The columns' widths within the room, or None. Texts may take several lines, and headers if `narrow`."""
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
    room -= 3 * len(headers) - 1  # what stands between the columns
    if sum(least) > room:
        return None
    while sum(widths) > room:  # the widest gives first
        j = max((j for j in range(len(widths)) if widths[j] > least[j]), key=widths.__getitem__)
        widths[j] -= 1
    return widths


def _parts(headers: Sequence[str], cells: Sequence[Sequence[str]], left: int, room: int) -> Iterator[list[int]]:
    """The columns in parts that fit, the first `left` in each of them."""
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
    """What was done and lost, as a statistician wants to see it."""
    facts = release.facts
    rows = [
        ["records", facts["n"]],
        ["groups", facts["groups"]],
        ["smallest group", facts["smallest_group"]],
        ["largest group", facts["largest_group"]],
        ["information loss", f"{facts['information_loss']:.4f} %"],
    ]
    if facts.get("columns"):
        rows.insert(1, ["protected columns", ", ".join(facts["columns"])])
    if facts.get("notice"):
        rows.append(["note", facts["notice"]])
    if facts.get("lower_bound") is not None:
        said = "proved optimal" if facts.get("proved") else f"gap {facts['gap']:.2f} %"
        rows.append(["no groups lose less than", f"{facts['lower_bound']:.4f} % ({said})"])
    print_table(f"{release.title}", ["", ""], [["k", facts["k"]], ["method", facts["method"]], *rows])
    if "stages" in facts:
        stages = [[s["name"], s["loss_before"], s["loss_after"], s["cpu_seconds"]] for s in facts["stages"]]
        print_table("What was run", ["stage", "loss before, %", "loss after, %", "CPU s"], stages)
    keys = ["column", "mean_before", "mean_after", "deviation_before", "deviation_after"]
    changes = [[row[key] for key in keys] for row in release.column_changes()]
    if changes:
        heads = ["column", "mean before", "mean after", "std. dev. before", "std. dev. after"]
        print_table("Numbers", heads, changes)
    labels = {name: about for name, about in facts.get("per_column", {}).items() if "changed" in about}
    if labels:
        rows = [[name, about["kind"], f"{100 * about['changed']:.1f} %"] for name, about in labels.items()]
        print_table("Labels", ["column", "kind", "cells changed"], rows, left=2)


def print_figures(figures: Figures | None) -> None:
    """The three figures, each with what it is about."""
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


def print_assessment(assessment: Assessment) -> None:
    rows = [[f.name.replace("_", " "), f.meaning, f.value, f.range] for f in assessment.figures]
    print_table("Loss and risk", ["figure", "what it says", "value", "range"], rows, left=2)
