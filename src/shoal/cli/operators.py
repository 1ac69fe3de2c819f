"""`shoal study operators`: how the operators of GOMM work, alone and together."""

from __future__ import annotations

import click

from shoal.cli.options import NAMES, print_json, progress_bar, say_when_compiling


@click.command("operators")
@click.argument("file", type=click.Path())
@click.option("-k", type=int, multiple=True, default=(25,), show_default=True, help="Repeat for several.")
@click.option("--quasi", type=NAMES, default="", help="The columns; all if the file has only numbers.")
@click.option("--missing", default="error", show_default=True, help="Missing values: error, drop or median.")
@click.option("--convention", default="thesis", show_default=True, help="thesis or sound.")
@click.option("--generations", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--population", type=click.IntRange(min=2), default=200, show_default=True)
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Runs of each kind.")
@click.option("--alone/--together-only", default=True, help="Also each operator by itself.")
@click.option("-o", "--output", type=click.Path(file_okay=False), default="operators", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print where the files are as one JSON object.")
def command(
    file: str,
    k: tuple[int, ...],
    quasi: tuple[str, ...],
    missing: str,
    convention: str,
    generations: int,
    population: int,
    seeds: int,
    alone: bool,
    output: str,
    as_json: bool,
) -> None:
    """Run GOMM on FILE with all its operators and with each alone; a table and a page of plots go to a folder."""
    from pathlib import Path

    import polars as pl

    from shoal.data.table import read
    from shoal.errors import check_choice, check_k
    from shoal.grouping.cost import CONVENTIONS
    from shoal.study.operators import study_operators, write_operators

    say_when_compiling()
    check_choice("convention", convention, CONVENTIONS)
    table = read(file, quasi=quasi)
    columns = table.quasi_columns()
    table = table.with_missing(missing, columns)
    values = table.numbers(columns)
    parts = []
    with progress_bar("operators") as progress:
        for size in k:
            parts.append(
                study_operators(
                    values,
                    check_k(size, len(values)),
                    dataset=Path(file).stem,
                    convention=convention,
                    generations=generations,
                    population=population,
                    seeds=seeds,
                    alone=alone,
                    progress=progress,
                )
            )
    data, page = write_operators(pl.concat(parts), Path(output))
    if as_json:
        print_json({"table": str(data), "page": str(page), "rows": sum(part.height for part in parts)})
    else:
        click.echo(f"Written: {data}\nWritten: {page}")
