"""`shoal compare`: compare the methods that suit a file on information loss and disclosure risk."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.help import SectionedCommand
from shoal.cli.options import (
    FILE,
    input_options,
    json_option,
    print_json,
    progress_bar,
    read_table,
    say_when_compiling,
    seed_option,
    threads_option,
)


@click.command("compare", cls=SectionedCommand)
@input_options
@click.option(
    "-k", type=int, metavar="K", required=True, help="Smallest allowed size of an equivalence class, 2 or more."
)
@click.option(
    "--effort",
    type=click.Choice(["quick", "standard", "thorough"]),
    default="standard",
    show_default=True,
    help="Largest search budget; smaller budgets run too.",
)
@click.option(
    "--missing",
    default="error",
    show_default=True,
    metavar="[error|drop|median]",
    help="Handling of missing values. error: stop. drop: remove the records. median: fill in the median.",
)
@click.option(
    "--report", type=FILE, metavar="FILE.html", help="Write an HTML report with the table and a risk-utility map."
)
@seed_option
@threads_option
@json_option
def command(report: str | None, as_json: bool, **arguments: Any) -> None:
    """Run the methods that suit FILE and compare their information loss and disclosure risk.

    Press Ctrl-C to stop; Shoal then prints the methods that have run.
    """
    from shoal.comparison import compare
    from shoal.sources.files import check_distinct, check_place

    say_when_compiling()
    if report is not None:
        check_place(report, arguments["file"])
        check_distinct({"--report": report}, {"--roles": arguments.get("roles")})
    table = read_table(arguments)
    with progress_bar("comparing") as progress:
        comparison = compare(table, progress=progress, **arguments)
    if report is not None:
        comparison.report(report)
    if comparison.stopped:
        click.echo("Stopped before all methods had run; these are the results so far.", err=True)
    if as_json:
        print_json(comparison.as_json())
        return
    from shoal.cli.tables import print_table

    print_table(f"Loss and risk at k = {comparison.k}", *comparison.rows())
    if comparison.left_out:
        print_table(
            "Methods not run", ["method", "reason"], [[item.name, item.why] for item in comparison.left_out], left=2
        )
    if report is not None:
        click.echo(f"Written: {report}")
    click.echo(" ".join(filter(None, (comparison.answer, comparison.explanation))))
