"""`shoal reproduce`: reproduce published tables and figures next to the original values."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.help import SectionedCommand
from shoal.cli.options import json_option, print_json, say_when_compiling, seed_option

if TYPE_CHECKING:
    from shoal.studies.reproduce.result import Result

ALL = "all"


@click.command(cls=SectionedCommand)
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="Use fewer runs or generations: seconds instead of minutes, less exact.")
@seed_option
@click.option(
    "--data",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    default=None,
    help="Folder of the benchmark data sets. [default: the environment variable SHOAL_DATA]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    default=None,
    help="Write a report and a JSON file per name into FOLDER; all writes the pages of the docs.",
)
@json_option
def command(
    names: tuple[str, ...], quick: bool, seed: int, folder: Path | None, output: Path | None, as_json: bool
) -> None:
    """Reproduce the published tables and figures NAMES; all reproduces every one.

    Without a name, Shoal lists every table and figure of the five publications, with its name or the reason why it
    cannot be reproduced. `shoal reproduce all -o docs/published` writes the section "Published results" of the docs.
    """
    from shoal.arrays import cores
    from shoal.engine.clock import Clock
    from shoal.engine.control import Control
    from shoal.studies.reproduce import ENTRIES, reproduce
    from shoal.studies.reproduce.pages import write_index, write_page

    if not names:
        list_published(as_json)
        return
    say_when_compiling()
    every = ALL in names
    options = f"{' --quick' if quick else ''}{f' --seed {seed}' if seed else ''}"
    made = {}
    for name in ENTRIES if every else names:
        clock = Clock()
        run = partial(reproduce, name, data_folder=folder, quick=quick, seed=seed)
        made[name] = Control(threads=cores()).call(run)
        spent = clock.read()["cpu_seconds"]
        if output is not None and every:
            write_page(output, name, made[name], f"shoal reproduce {name}{options}", spent)
            click.echo(f"{name}: {spent:.0f} CPU seconds", err=True)
        elif output is not None:
            made[name].write(output, name)
        if not as_json and not (every and output):
            print_result(made[name])
    if every and output is not None:
        click.echo(f"Written: {write_index(output, f'shoal reproduce all{options}')}", err=True)
    if as_json:
        print_json({name: result.as_json() for name, result in made.items()})


def list_published(as_json: bool) -> None:
    """Print every published table and figure, by publication."""
    from shoal.cli.tables import print_table
    from shoal.studies.reproduce import ENTRIES
    from shoal.studies.reproduce.catalogue import ITEMS

    if as_json:
        print_json({"names": {n: about for n, (_, about) in ENTRIES.items()}, "printed": [i._asdict() for i in ITEMS]})
        return
    for document, items in itertools.groupby(ITEMS, lambda item: item.document):
        rows = [[i.name, i.entry or "–", i.about if i.entry else f"{i.about}: not computed, {i.why}"] for i in items]
        print_table(document, ["published", "NAME", "content"], rows, left=3)
    click.echo("Run 'shoal reproduce NAME' to reproduce the tables and figures of a name, or 'shoal reproduce all'.")


def print_result(result: Result) -> None:
    """Print the tables of a study."""
    from shoal.cli.tables import print_table

    click.secho(result.title, bold=True)
    if result.convention:
        click.echo(result.convention + "\n")
    for table in result.tables:
        print_table(table["title"], table["columns"], table["rows"])
        if table["note"]:
            click.echo(table["note"] + "\n")
