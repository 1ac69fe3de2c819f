"""`shoal reproduce`: the papers' tables, made again, with the printed figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.options import print_json, say_when_compiling

if TYPE_CHECKING:
    from shoal.study.reproduce.result import Result


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="Fewer runs or generations: minutes become seconds, figures are rougher.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed, the same answer."
)
@click.option(
    "--data",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="The folder of the benchmark sets; SHOAL_DATA by default.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Write a page and a JSON file for each name into this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the tables as one JSON object.")
def command(
    names: tuple[str, ...], quick: bool, seed: int, folder: Path | None, output: Path | None, as_json: bool
) -> None:
    """Make the published tables NAME… again; without a name, list them."""
    from shoal.study.reproduce import ENTRIES, reproduce

    if not names:
        if as_json:
            print_json({name: about for name, (_, about) in ENTRIES.items()})
        else:
            for name, (_, about) in ENTRIES.items():
                click.echo(f"{name:<16} {about}")
        return
    say_when_compiling()
    made = {}
    for name in names:
        made[name] = reproduce(name, data_folder=folder, quick=quick, seed=seed)
        if output is not None:
            made[name].write(output, name)
        if not as_json:
            print_result(made[name])
    if as_json:
        print_json({name: result.as_json() for name, result in made.items()})


def print_result(result: Result) -> None:
    """The tables of a study in the terminal."""
    from shoal.cli.tables import print_table

    click.secho(result.title, bold=True)
    for table in result.tables:
        print_table(table["title"], table["columns"], table["rows"])
        if table["note"]:
            click.echo(table["note"] + "\n")
