"""`shoal data`: the benchmark sets that are known, and those that are made by a seed."""

from __future__ import annotations

import json
from pathlib import Path

import click

from shoal.errors import check_seed


@click.group()
def command() -> None:
    """List the known benchmark sets, or make one of those that a seed makes."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def list_sets(as_json: bool) -> None:
    """Tell the known sets: rows, columns used, where they come from, where they were found."""
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
            click.echo(f"  make it: shoal data make {row['name']} -o {row['name']}.csv")
        else:
            click.echo(f"  {'found at ' + row['found'] if row['found'] else 'not found'}")
    click.echo(f"Files are looked for in {' and '.join(str(f) for f in datasets.folders())}")


@command.command("make")
@click.argument("name")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The file to write.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same rows.")
@click.option("--rows", type=int, help="How many records.")
@click.option("--columns", type=int, help="How many columns.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def make(name: str, output: Path, seed: int, rows: int | None, columns: int | None, as_json: bool) -> None:
    """Write the set NAME to a file; its ending tells the format."""
    from shoal.sources.files import check_target
    from shoal.studies import datasets

    check_seed(seed)
    check_target(output)
    given = {"rows": rows, "columns": columns}
    frame = datasets.make(name, output, seed, **{k: v for k, v in given.items() if v is not None})
    facts = {"name": name, "seed": seed, "rows": frame.height, "columns": frame.width, "output": str(output)}
    click.echo(json.dumps(facts) if as_json else f"{output}: {frame.height:,} rows, {frame.width} columns")
