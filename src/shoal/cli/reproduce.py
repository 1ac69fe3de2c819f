"""`shoal reproduce`: the papers' tables and figures, made again, with the printed figures beside ours."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.options import print_json, say_when_compiling

if TYPE_CHECKING:
    from shoal.studies.reproduce.result import Result

ALL = "all"


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
    help="Write a page and a JSON file for each name into this folder; for all: the docs' pages.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the tables as one JSON object.")
def command(
    names: tuple[str, ...], quick: bool, seed: int, folder: Path | None, output: Path | None, as_json: bool
) -> None:
    """Make the published tables and figures NAME… again; without a name, list them; all makes every one.

    The list has every table and figure of the five documents, with the name that makes it again or why none does.
    `shoal reproduce all -o docs/published` writes the pages of the docs' section "Published results".
    """
    from shoal.engine.clock import Clock
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
        made[name] = reproduce(name, data_folder=folder, quick=quick, seed=seed)
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
    """Every printed table and figure, by document."""
    from shoal.cli.tables import print_table
    from shoal.studies.reproduce import ENTRIES
    from shoal.studies.reproduce.catalogue import ITEMS

    if as_json:
        print_json({"names": {n: about for n, (_, about) in ENTRIES.items()}, "printed": [i._asdict() for i in ITEMS]})
        return
    for document, items in itertools.groupby(ITEMS, lambda item: item.document):
        rows = [[i.name, i.entry or "–", i.about if i.entry else f"{i.about}: not computed, {i.why}"] for i in items]
        print_table(document, ["printed", "NAME", "what it is"], rows, left=3)
    click.echo("shoal reproduce NAME makes the tables and figures of a name again, shoal reproduce all every one.")


def print_result(result: Result) -> None:
    """The tables of a study in the terminal."""
    from shoal.cli.tables import print_table

    click.secho(result.title, bold=True)
    if result.convention:
        click.echo(result.convention + "\n")
    for table in result.tables:
        print_table(table["title"], table["columns"], table["rows"])
        if table["note"]:
            click.echo(table["note"] + "\n")
