"""What the commands have in common: reading the file, naming the roles, where the answer goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from shoal.data.table import Table
    from shoal.evolve.progress import Progress

F = TypeVar("F", bound=Callable[..., Any])


class Names(click.ParamType):  # type: ignore[type-arg]
    """Column names with commas between them; a name that holds a comma is quoted as in CSV."""

    name = "a,b,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        import csv

        names = [name.strip() for row in csv.reader([value], skipinitialspace=True) for name in row]
        if not all(names):
            self.fail("an empty column name: write names with single commas between them, as in a,b,c", param, ctx)
        return tuple(names)


NAMES = Names()


def input_options(command: F) -> F:
    """The file and the roles of its columns."""
    for option in reversed(
        (
            click.argument("file", type=click.Path()),
            click.option("--quasi", type=NAMES, default="", help="Columns an intruder may know; these are protected."),
            click.option("--identifiers", type=NAMES, default="", help="Columns that name somebody; they are dropped."),
            click.option("--confidential", type=NAMES, default="", help="Columns nobody should learn."),
            click.option("--weight", default=None, help="A column of weights, honoured in centroids and losses."),
            *csv_options,
        )
    ):
        command = option(command)
    return command


external_option = click.option(
    "--external", is_flag=True, help="A page for the outside: nothing in it that could tell a record."
)
csv_options = (
    click.option("--delimiter", default=None, help="Of a CSV file; found out if not given."),
    click.option("--encoding", default=None, help="Of a CSV file; found out if not given."),
    click.option("--decimal", type=click.Choice([".", ","]), default=None, help="Decimal sign of a CSV file."),
)


def output_options(command: F) -> F:
    """Where the protected table, the figures and the page go."""
    for option in reversed(
        (
            click.option("-o", "--output", type=click.Path(), default=None, help="Write the protected table here."),
            click.option("--report", type=click.Path(), default=None, help="Write an HTML page on loss and risk here."),
            click.option("--save-recipe", type=click.Path(), default=None, help="Write the run as a TOML file here."),
            click.option(
                "--shuffle", is_flag=True, help="Write the rows in an order drawn from the seed: keep it secret."
            ),
            click.option("--policy", default=None, help="Write only what passes: a policy's name or FILE.toml."),
            click.option(
                "--previous",
                type=click.Path(),
                default=None,
                help="An earlier release of the same records: groups that both show are looked at.",
            ),
            external_option,
            click.option("--seed", type=int, default=0, show_default=True, help="The same seed, the same answer."),
            click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object."),
        )
    ):
        command = option(command)
    return command


def read_table(given: dict[str, Any]) -> Table:
    """The table of the input options, taken out of a command's arguments."""
    from shoal.data.table import read

    names = ("identifiers", "quasi", "confidential", "weight", "delimiter", "encoding", "decimal")
    return read(given.pop("file"), **{name: given.pop(name) for name in names})


def print_json(facts: dict[str, Any]) -> None:
    """One JSON object on stdout; no NaN or infinity, which are no JSON."""
    click.echo(json.dumps(facts, default=_plain, allow_nan=False, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """A bar on stderr, on a terminal only: stage, share done, how much of how much, best so far, time left."""
    from shoal.evolve.progress import silent

    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[best]}"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None, best="", count="")
        stage, last = label, 0.0

        def update(done: float, total: float, best: float | None = None, what: str = "") -> None:
            nonlocal stage, last
            if (what or stage) != stage or done < last:
                bars.reset(task)  # the time left is that of the stage
            stage, last = what or stage, done
            shown = "" if best is None else f"best {best:.4g}"
            count = f"{done:,.0f} of {total:,.0f}" if float(total).is_integer() else ""
            bars.update(task, description=stage, completed=done, total=total, best=shown, count=count)

        yield update


def say_when_compiling() -> None:
    """Tell once, on stderr, that the first run compiles; later ones load what it made."""
    from shoal.kernels.compiling import when_compiling

    when_compiling(lambda _: click.echo("Compiling for this machine (once; `shoal warmup` does it ahead) …", err=True))
