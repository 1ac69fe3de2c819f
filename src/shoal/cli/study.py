"""`shoal study`: studies of how the searches respond to their settings, one subcommand per study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from shoal.cli.help import SectionedCommand, SectionedGroup
from shoal.cli.options import (
    NAMES,
    F,
    WholeNumber,
    json_option,
    print_json,
    progress_bar,
    say_when_compiling,
    seed_option,
    seed_option_with,
    threads_option,
)


class NumberList(click.ParamType):  # type: ignore[type-arg]
    """Numbers separated by commas, or a range: 0:1:0.1 is 0 to 1 in steps of 0.1."""

    name = "A,B,… or FROM:TO:STEP"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if not isinstance(value, str):
            return tuple(value)
        try:
            if ":" in value:
                first, last, step = (float(part) for part in value.split(":"))
                if step <= 0 or last < first or not (last - first) / step < MOST_VALUES:
                    raise ValueError
                return tuple(round(first + i * step, 10) for i in range(int((last - first) / step + 1e-9) + 1))
            return tuple(float(part) for part in value.split(","))
        except ValueError:
            self.fail(
                f"{value!r} is not a list of numbers. Use commas (0.1,0.3) or from:to:step (0:1:0.1).",
                param,
                ctx,
            )


MOST_VALUES = 10_000  # largest number of values in a range

quasi_option = click.option("--quasi", type=NAMES, default="", help="Columns to use. [default: all columns]")


missing_option = click.option(
    "--missing",
    metavar="[error|drop|median]",
    help="Handling of missing values. error: stop. drop: remove the records. median: fill in the median. "
    "[default: error; drop for a known data set]",
)


def folder_option(default: str | None, about: str) -> Callable[[F], F]:
    """Return the option for the folder that a study writes."""
    folder = click.Path(file_okay=False)
    return click.option("-o", "--output", type=folder, metavar="FOLDER", default=default, show_default=True, help=about)


def check_study(data: str, folder: str, names: Sequence[str]) -> None:
    """Raise an error if the folder cannot be written, or if DATA is one of the files that the study writes."""
    from pathlib import Path

    from shoal.sources.files import check_distinct, check_place

    place = Path(folder)
    nearest = next(path for path in (place, *place.absolute().parents) if path.exists())
    check_place(nearest / names[0])
    check_distinct({f"{name} in the folder of -o": Path(folder) / name for name in names}, {"DATA": data})


@click.group("study", cls=SectionedGroup)
def command() -> None:
    """Study how a search algorithm responds to its settings."""


@command.command("sensitivity", cls=SectionedCommand)
@click.argument("data")
@click.option("-k", type=int, metavar="K", default=3, show_default=True, help="Smallest allowed group size.")
@quasi_option
@missing_option
@click.option(
    "--grid",
    default="coarse",
    show_default=True,
    metavar="[published|coarse|quick]",
    help="Grid of settings; published has 11 x 11 x 10 settings with ten runs each.",
)
@click.option("--mutation", type=NumberList(), default=None, help="Mutation rates. [default: those of the grid]")
@click.option("--crossover", type=NumberList(), default=None, help="Crossover rates. [default: those of the grid]")
@click.option("--population", type=NumberList(), default=None, help="Population sizes. [default: those of the grid]")
@click.option("--repeats", type=WholeNumber(min=1), metavar="N", default=None, help="Number of runs per setting.")
@click.option(
    "--generations",
    type=WholeNumber(min=1),
    metavar="N",
    default=None,
    help="Number of generations. [default: 10,000 for up to 35 records, 100,000 above]",
)
@seed_option
@threads_option
@folder_option("sensitivity", "Write the runs, a report and JSON into FOLDER. A stopped study continues from it.")
@json_option
def sensitivity(
    data: str,
    k: int,
    quasi: tuple[str, ...],
    missing: str | None,
    output: str,
    as_json: bool,
    seed: int,
    threads: int | None,
    **options: Any,
) -> None:
    """Run the genetic algorithm over a grid of rates and population sizes, and find their best ranges.

    DATA is a file, a known data set (see `shoal data list`), or a size such as 20x2 for random values.
    """
    from pathlib import Path

    from shoal.studies.analysis import analyse
    from shoal.studies.sensitivity import chosen_grid, run_grid, values_of

    say_when_compiling()
    check_study(data, output, ("runs.parquet", "runs.jsonl", "sensitivity.html", "sensitivity.json"))
    grid = chosen_grid(**options)
    values = values_of(data, quasi, seed, missing)
    folder = Path(output)
    try:
        with progress_bar("runs") as progress:
            runs = run_grid(values, k, grid, folder=folder, seed=seed, threads=threads, progress=progress)
    except KeyboardInterrupt:
        click.echo(f"Stopped. The finished runs are in {folder}. Repeat the command to continue.", err=True)
        raise click.exceptions.Exit(130) from None
    from shoal.studies.outcome import outcome

    result = outcome(data, runs, analyse(runs))
    result.write(folder, "sensitivity")
    if as_json:
        print_json(result.as_json())
    else:
        from shoal.cli.reproduce import print_result

        print_result(result)
        click.echo(f"Written: {folder}/runs.parquet, {folder}/sensitivity.html, {folder}/sensitivity.json")


@command.command("operators", cls=SectionedCommand)
@click.argument("data")
@click.option(
    "-k", "levels", type=NumberList(), default="5", show_default=True, help="Smallest allowed group size, or several."
)
@quasi_option
@missing_option
@click.option(
    "--convention",
    type=click.Choice(["thesis", "sound"]),
    default="thesis",
    show_default=True,
    help="Convention of loss and risk; thesis is that of the GOMM thesis.",
)
@click.option(
    "--generations",
    type=WholeNumber(min=1),
    metavar="N",
    default=100,
    show_default=True,
    help="Number of generations per run.",
)
@click.option(
    "--population",
    type=WholeNumber(min=2),
    metavar="N",
    default=200,
    show_default=True,
    help="Population size of each run.",
)
@click.option(
    "--seeds",
    type=WholeNumber(min=1),
    metavar="N",
    default=3,
    show_default=True,
    help="Number of runs per setting.",
)
@seed_option_with("Seed of the first run per setting; the other runs have the next seeds.")
@click.option(
    "--threads",
    type=WholeNumber(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Largest number of threads.",
)
@folder_option("operators", "Write the table and a report into FOLDER.")
@click.option("--json", "as_json", is_flag=True, help="Print the paths of the results as one JSON object.")
def operators(
    data: str,
    levels: tuple[float, ...],
    quasi: tuple[str, ...],
    missing: str | None,
    seed: int,
    output: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Study the operators of GOMM on DATA, alone and together.

    DATA is a file, a known data set (see `shoal data list`), or a size such as 20x2 for random values.
    """
    from pathlib import Path

    import polars as pl

    from shoal.errors import check_k
    from shoal.studies.operators import study_operators, write_operators
    from shoal.studies.sensitivity import values_of

    say_when_compiling()
    if not all(level.is_integer() for level in levels):  # neither of NaN nor of infinity
        raise click.BadParameter("k must be a whole number, or several separated by commas.", param_hint="-k")
    check_study(data, output, ("operators.parquet", "operators.html"))
    values = values_of(data, quasi, seed, missing)
    for k in levels:
        check_k(int(k), len(values))
    with progress_bar("operators") as progress:
        tables = [
            study_operators(values, int(k), dataset=data, first_seed=seed, progress=progress, **options) for k in levels
        ]
    table, page = write_operators(pl.concat(tables), Path(output))
    if as_json:
        print_json({"table": str(table), "page": str(page), "rows": sum(t.height for t in tables)})
    else:
        click.echo(f"Written: {table}, {page}")


@command.command("alpha", cls=SectionedCommand)
@click.option("--alphas", type=NumberList(), default=None, help="Values of alpha. [default: those of the study]")
@click.option("--quick", is_flag=True, help="Use a smaller search per alpha.")
@seed_option
@folder_option(None, "Write a report and JSON into FOLDER.")
@json_option
def alpha(alphas: tuple[float, ...] | None, quick: bool, seed: int, output: str | None, as_json: bool) -> None:
    """Study how alpha of the tau test changes the outliers and the feasible solutions of a synthetic data set."""
    from pathlib import Path

    from shoal.cli.reproduce import print_result
    from shoal.studies.alpha import ALPHAS, alpha_study

    say_when_compiling()
    with progress_bar("alpha") as progress:
        result = alpha_study(alphas=alphas or ALPHAS, seed=seed, quick=quick, progress=progress)
    if output is not None:
        result.write(Path(output), "alpha")
    if as_json:
        print_json(result.as_json())
    else:
        print_result(result)
