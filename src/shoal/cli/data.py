"""`shoal data`: list the benchmark data sets and generate the synthetic ones."""

from __future__ import annotations

import json
from pathlib import Path

import click

from shoal.cli.help import SectionedCommand, SectionedGroup
from shoal.cli.options import json_option, seed_option_with
from shoal.errors import counted


@click.group(cls=SectionedGroup)
def command() -> None:
    """List the benchmark data sets and generate the synthetic ones."""


@command.command("list", cls=SectionedCommand)
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON object.")
def list_sets(as_json: bool) -> None:
    """List the known data sets with their size, source and location on this machine."""
    from shoal.studies import datasets

    rows = datasets.listing()
    if as_json:
        click.echo(json.dumps({"folders": [str(f) for f in datasets.folders()], "sets": rows}))
        return
    for row in rows:
        used = row["columns_used"]
        columns = f"{row['columns']} columns" + ("" if used == "all" else f", {len(used)} used")
        whole = f", {row['complete_rows']:,} complete" if row["complete_rows"] not in (None, row["rows"]) else ""
        click.secho(row["name"], bold=True)
        click.echo(f"  {row['about']}: {row['rows']:,} rows{whole}, {columns}{' by default' if row['options'] else ''}")
        click.echo(f"  {row['origin']}")
        if row["made"]:
            click.echo(f"  generate it: shoal data make {row['name']} -o {row['name']}.csv")
        else:
            click.echo(f"  {'location: ' + row['found'] if row['found'] else 'not on this machine'}")
    click.echo(f"Shoal searches for files in {' and '.join(str(f) for f in datasets.folders())}.")


@command.command("make", cls=SectionedCommand)
@click.argument("name")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write; its ending decides the format.",
)
@seed_option_with("Random seed. The same seed gives the same rows.")
@click.option("--rows", type=int, metavar="N", help="Number of records.")
@click.option("--columns", type=int, metavar="N", help="Number of columns.")
@json_option
def make(name: str, output: Path, seed: int, rows: int | None, columns: int | None, as_json: bool) -> None:
    """Generate the synthetic data set NAME and write it to a file."""
    from shoal.sources.files import check_target
    from shoal.studies import datasets

    check_target(output)
    size = {"rows": rows, "columns": columns}
    frame = datasets.make(name, output, seed, **{k: v for k, v in size.items() if v is not None})
    facts = {"name": name, "seed": seed, "rows": frame.height, "columns": frame.width, "output": str(output)}
    shown = f"{output}: {counted(frame.height, 'row')}, {counted(frame.width, 'column')}"
    click.echo(json.dumps(facts) if as_json else shown)
