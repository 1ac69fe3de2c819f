"""Small tables for the terminal, plain enough to read in a log file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid

from shoal.report.figures import figure

if TYPE_CHECKING:
    from shoal.measure.assessment import Assessment
    from shoal.release import Release


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1) -> None:
    """A table whose first `left` columns are text and whose others are figures."""
    grid = Grid(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_header=any(headers),
    )
    for i, header in enumerate(headers):
        grid.add_column(header, no_wrap=i >= left, justify="left" if i < left else "right", overflow="fold")
    for row in rows:
        grid.add_row(*(figure(cell) for cell in row))
    # A pipe or a log file gets a fixed width, so that figures are never cut.
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    console.print(grid)


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
    if facts.get("lower_bound") is not None:
        said = "proved optimal" if facts.get("proved") else f"gap {facts['gap']:.2f} %"
        rows.append(["no groups lose less than", f"{facts['lower_bound']:.4f} % ({said})"])
    print_table(f"{release.title}", ["", ""], [["k", facts["k"]], ["method", facts["method"]], *rows])
    if "stages" in facts:
        stages = [[s["name"], s["loss_before"], s["loss_after"], s["cpu_seconds"]] for s in facts["stages"]]
        print_table("What was run", ["stage", "loss before, %", "loss after, %", "CPU s"], stages)
    headers = ["column", "mean before", "mean after", "deviation before", "deviation after"]
    keys = ["column", "mean_before", "mean_after", "deviation_before", "deviation_after"]
    print_table("What changed", headers, [[row[key] for key in keys] for row in release.column_changes()])
    print_assessment(release.assessment)


def print_assessment(assessment: Assessment) -> None:
    rows = [[f.name.replace("_", " "), f.meaning, f.value, f.range] for f in assessment.figures]
    print_table("Loss and risk", ["figure", "what it says", "value", "range"], rows, left=2)
