"""`shoal compare`: the methods that suit a file, side by side on loss and risk."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.options import input_options, print_json, progress_bar, read_table, say_when_compiling
from shoal.errors import check_seed


@click.command("compare")
@input_options
@click.option("-k", type=int, required=True, help="The least number of records that look alike.")
@click.option(
    "--effort",
    type=click.Choice(["quick", "standard", "thorough"]),
    default="standard",
    show_default=True,
    help="The most that a search may spend; lower efforts are run too.",
)
@click.option("--missing", default="error", show_default=True, help="Missing values: error, drop or median.")
@click.option("--report", type=click.Path(), default=None, help="Write an HTML page with the risk-utility map here.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed, the same answer.")
@click.option("--threads", type=click.IntRange(min=1), default=None, help="At most this many; all cores by default.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def command(report: str | None, as_json: bool, **given: Any) -> None:
    """Which method is better for FILE? Run those that suit it and compare what they lose and what they risk.

    Ctrl-C ends with what was done so far.
    """
    from shoal.comparison import compare
    from shoal.sources.files import check_distinct, check_place

    say_when_compiling()
    if report is not None:
        check_place(report, given["file"])
        check_distinct({"--report": report}, {"--roles": given.get("roles")})
    check_seed(given["seed"])
    table = read_table(given)
    with progress_bar("comparing") as progress:
        found = compare(table, progress=progress, **given)
    if report is not None:
        found.report(report)
    if found.stopped:
        click.echo("Stopped; this is what was done so far.", err=True)
    if as_json:
        print_json(found.as_json())
        return
    from shoal.cli.tables import print_table

    print_table(f"Loss and risk at k = {found.k}", *found.rows())
    if found.left_out:
        print_table("Left out", ["method", "why"], [[item.name, item.why] for item in found.left_out], left=2)
    if report is not None:
        click.echo(f"Written: {report}")
    click.echo(found.answer)
