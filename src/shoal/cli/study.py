"""`shoal study`: how the searches behave. A study is a subcommand below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from shoal.cli.options import NAMES, F, print_json, progress_bar, say_when_compiling


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """Numbers with commas between them, or a range: 0:1:0.1 is 0 to 1 in steps of 0.1."""

    name = "a,b,… or from:to:step"

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
                f"{value!r} is neither numbers with commas between them (0.1,0.3) nor from:to:step (0:1:0.1)",
                param,
                ctx,
            )


MOST_VALUES = 10_000  # of one range

quasi_option = click.option("--quasi", type=NAMES, default="", help="Columns of a file; all by default.")


def folder_option(default: str | None, about: str) -> Callable[[F], F]:
    """Where a study writes."""
    return click.option(
        "-o", "--output", type=click.Path(file_okay=False), default=default, show_default=True, help=about
    )


def check_study(data: str, folder: str, names: Sequence[str]) -> None:
    """An error now if the folder cannot be written, or if DATA is one of the files that the study writes into it."""
    from pathlib import Path

    from shoal.sources.files import check_distinct, check_place

    place = Path(folder)
    nearest = next(path for path in (place, *place.absolute().parents) if path.exists())
    check_place(nearest / names[0])
    check_distinct({f"{name} in the folder of -o": Path(folder) / name for name in names}, {"DATA": data})


@click.group("study")
def command() -> None:
    """Study how a search behaves under its settings."""


@command.command("sensitivity")
@click.argument("data")
@click.option("-k", type=int, default=3, show_default=True, help="The least number of records in a group.")
@quasi_option
@click.option(
    "--grid", default="coarse", show_default=True, help="published (11 x 11 x 10, ten runs each), coarse or quick."
)
@click.option("--mutation", type=Numbers(), default=None, help="Other mutation rates.")
@click.option("--crossover", type=Numbers(), default=None, help="Other crossover rates.")
@click.option("--population", type=Numbers(), default=None, help="Other population sizes.")
@click.option("--repeats", type=click.IntRange(min=1), default=None, help="Runs of each setting.")
@click.option("--generations", type=click.IntRange(min=1), default=None, help="10,000 up to 35 records, else 100,000.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed, the same answer."
)
@click.option("--threads", type=click.IntRange(min=1), default=None, help="At most this many; all cores by default.")
@folder_option("sensitivity", "The folder of the runs, the page and the JSON; a stopped study goes on from it.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
def sensitivity(
    data: str, k: int, quasi: tuple[str, ...], output: str, as_json: bool, seed: int, threads: int | None, **given: Any
) -> None:
    """Run the genetic algorithm over a grid of its rates and population, and find their best ranges.

    DATA is a file, a known set (see `shoal data list`) or a size such as 20x2: random values, made by the seed.
    """
    from pathlib import Path

    from shoal.studies.analysis import analyse
    from shoal.studies.sensitivity import chosen_grid, run_grid, values_of

    say_when_compiling()
    check_study(data, output, ("runs.parquet", "runs.jsonl", "sensitivity.html", "sensitivity.json"))
    grid = chosen_grid(**given)
    values = values_of(data, quasi, seed)
    folder = Path(output)
    try:
        with progress_bar("runs") as progress:
            runs = run_grid(values, k, grid, folder=folder, seed=seed, threads=threads, progress=progress)
    except KeyboardInterrupt:
        click.echo(f"Stopped; the finished runs are in {folder}: the same command goes on from there.", err=True)
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


@command.command("operators")
@click.argument("data")
@click.option("-k", "levels", type=Numbers(), default="5", show_default=True, help="One k or several.")
@quasi_option
@click.option(
    "--convention",
    type=click.Choice(["thesis", "sound"]),
    default="thesis",
    show_default=True,
    help="How loss and risk are measured.",
)
@click.option("--generations", type=click.IntRange(min=1), default=100, show_default=True, help="Of each run.")
@click.option("--population", type=click.IntRange(min=2), default=200, show_default=True, help="Of each run.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Runs of each setting.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="At most this many.")
@folder_option("operators", "The folder for the table and the page.")
@click.option("--json", "as_json", is_flag=True, help="Print where the results are as one JSON object.")
def operators(
    data: str, levels: tuple[float, ...], quasi: tuple[str, ...], output: str, as_json: bool, **given: Any
) -> None:
    """How GOMM's operators work on DATA (a file or a known set), alone and together: a table and plots."""
    from pathlib import Path

    import polars as pl

    from shoal.studies.operators import study_operators, write_operators
    from shoal.studies.sensitivity import values_of

    say_when_compiling()
    if not all(level.is_integer() for level in levels):  # neither of NaN nor of infinity
        raise click.BadParameter("k is a whole number, or several with commas between them", param_hint="-k")
    check_study(data, output, ("operators.parquet", "operators.html"))
    values = values_of(data, quasi, 0)
    with progress_bar("operators") as progress:
        tables = [study_operators(values, int(k), dataset=data, progress=progress, **given) for k in levels]
    table, page = write_operators(pl.concat(tables), Path(output))
    if as_json:
        print_json({"table": str(table), "page": str(page), "rows": sum(t.height for t in tables)})
    else:
        click.echo(f"Written: {table}, {page}")


@command.command("alpha")
@click.option("--alphas", type=Numbers(), default=None, help="Other values of alpha.")
@click.option("--quick", is_flag=True, help="A smaller search at each alpha.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the made microfile.")
@folder_option(None, "Write a page and JSON here.")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as one JSON object.")
def alpha(alphas: tuple[float, ...] | None, quick: bool, seed: int, output: str | None, as_json: bool) -> None:
    """How alpha of the tau test changes the outliers found and the feasible solutions of a made microfile."""
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
