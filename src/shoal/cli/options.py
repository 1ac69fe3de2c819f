"""What the commands have in common: reading the file, naming the roles, where the answer goes."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from shoal.engine.progress import Progress
    from shoal.table.table import Table

F = TypeVar("F", bound=Callable[..., Any])


class Names(click.ParamType):  # type: ignore[type-arg]
    """Column names with commas between them; a name that holds a comma is quoted as in CSV."""

    name = "a,b,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        import csv

        try:
            names = [name.strip() for row in csv.reader([value], skipinitialspace=True) for name in row]
        except csv.Error:
            self.fail('a name that holds a line break or a quote is written in quotes: a,"two words"', param, ctx)
        if not all(names):
            self.fail("an empty column name: write names with single commas between them, as in a,b,c", param, ctx)
        return tuple(names)


NAMES = Names()


class ByColumn(click.ParamType):  # type: ignore[type-arg]
    """COLUMN=a,b,…: a column and a list of names."""

    name = "column=a,b,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        if not isinstance(value, str):
            return (value[0], tuple(value[1]))
        column, sign, values = value.partition("=")
        if not sign or not column.strip() or not values.strip():
            self.fail(f"{value!r} must be a column and its values, as in education=primary,secondary", param, ctx)
        return column.strip(), NAMES.convert(values, param, ctx)


class Weighted(click.ParamType):  # type: ignore[type-arg]
    """COLUMN=NUMBER,…: columns with a number each."""

    name = "column=x,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        if not isinstance(value, str):
            return tuple(value)
        pairs = []
        for part in NAMES.convert(value, param, ctx) if value else ():
            name, _, number = part.partition("=")
            try:
                pairs.append((name.strip(), float(number)))
            except ValueError:
                self.fail(f"{part!r} must be a column and a number, as in age=2", param, ctx)
        return tuple(pairs)


BY_COLUMN, WEIGHTED = ByColumn(), Weighted()
ROLE_LISTS = ("identifiers", "quasi", "confidential", "drop", "as_is", "nominal", "numeric", "accept_derived")
ROLE_NAMES = (*ROLE_LISTS, "weight", "unit", "no_unit", "no_confidential", "derived", "order", "roles")

role_options = (
    click.option("--roles", type=click.Path(), default=None, help="Roles file (TOML), as 'shoal look' drafts it."),
    click.option("--identifiers", type=NAMES, default="", help="Columns that name a person; they are removed."),
    click.option("--quasi", type=NAMES, default="", help="Columns an intruder may know; they are protected."),
    click.option("--confidential", type=NAMES, default="", help="Columns nobody may learn; released unchanged."),
    click.option("--no-confidential", is_flag=True, help="State that no column is confidential."),
    click.option("--weight", default=None, help="Column of survey weights, used in means and losses."),
    click.option("--unit", default=None, help="Column that marks the rows of one person or household; removed."),
    click.option("--no-unit", is_flag=True, help="State that every row is another person."),
    click.option("--drop", type=NAMES, default="", help="Columns left out of the release."),
    click.option("--as-is", type=NAMES, default="", help="Columns released unchanged: no intruder knows them."),
    click.option("--derived", type=BY_COLUMN, multiple=True, help="Column that follows from others: tax=income."),
    click.option("--accept-derived", type=NAMES, default="", help="Columns that may give a protected value away."),
    click.option("--nominal", type=NAMES, default="", help="Columns whose numbers are codes, not quantities."),
    click.option("--numeric", type=NAMES, default="", help="Columns whose few whole numbers are quantities."),
)
order_option = click.option(
    "--order", type=BY_COLUMN, multiple=True, help="Values of an ordinal column, lowest first: size=s,m,l."
)


def with_options(command: F, options: Iterable[Callable[[F], F]]) -> F:
    """The command with these options, in this order."""
    for option in reversed(list(options)):
        command = option(command)
    return command


def input_options(command: F) -> F:
    """The file and the roles of its columns."""
    return with_options(command, (click.argument("file", type=click.Path()), *role_options, *csv_options))


external_option = click.option(
    "--external", is_flag=True, help="Write the report for the outside: it holds nothing about single records."
)
csv_options = (
    click.option("--delimiter", default=None, help="Column delimiter of a text file. [default: detected]"),
    click.option("--encoding", default=None, help="Encoding of a text file. [default: detected]"),
    click.option("--decimal", type=click.Choice([".", ","]), default=None, help="Decimal sign of a text file."),
)
release_options = (
    click.option("--policy", default=None, help="Write only what passes this policy: a name or FILE.toml."),
    click.option("--previous", type=click.Path(), default=None, help="Earlier release of the same records."),
    click.option("--first-release", is_flag=True, help="State that these records were never released before."),
    click.option("--shuffle", is_flag=True, help="Write the rows in a random order."),
    click.option("--keep-order", is_flag=True, help="Keep the order of the rows although it discloses values."),
    click.option(
        "--accept-k", type=click.IntRange(min=1), default=None, help="Smallest k you accept over known columns."
    ),
    click.option("--round-weight", is_flag=True, help="Give each record the mean weight of its class."),
)


def output_options(command: F) -> F:
    """Where the release, the figures and the report are written."""
    return with_options(
        command,
        (
            click.option("-o", "--output", type=click.Path(), default=None, help="Write the release here."),
            click.option("--report", type=click.Path(), default=None, help="Write an HTML report here."),
            click.option("--save-recipe", type=click.Path(), default=None, help="Write the run as a TOML file here."),
            *release_options,
            external_option,
            click.option("--external-report", type=click.Path(), default=None, help="Write a second, external report."),
            click.option(
                "--seed", type=int, default=None, help="Seed of the search. [default: 0, and a secret for what hides]"
            ),
            click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object."),
        ),
    )


def take_roles(given: dict[str, Any]) -> dict[str, Any]:
    """The role options as arguments of `shoal.read`, taken out of a command's arguments."""
    roles = {name: given.pop(name) for name in ROLE_NAMES if name in given}
    if roles.pop("no_unit", False):
        if roles.get("unit"):
            from shoal.errors import UsageError

            raise UsageError("either --unit or --no-unit, not both")
        roles["unit"] = False
    for name in ("derived", "order"):
        if name in roles:
            roles[name] = dict(roles[name])
    return roles


def read_table(given: dict[str, Any]) -> Table:
    """The table of the input options, taken out of a command's arguments; its `order` must be by column."""
    from shoal.sources.reading import read

    text = {name: given.pop(name) for name in ("delimiter", "encoding", "decimal")}
    return read(given.pop("file"), **take_roles(given), **text)


def print_json(facts: dict[str, Any]) -> None:
    """One JSON object on stdout; NaN and infinity, which JSON does not have, are null."""
    click.echo(json.dumps(_plain(facts), allow_nan=False, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """A value as JSON has it: lists for arrays, and null for a number that could not be measured.

    >>> _plain({"loss": float("inf"), "k": (3, 4)})
    {'loss': None, 'k': [3, 4]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """A bar on stderr, on a terminal only: stage, share done, how much of how much, best so far, time left."""
    from shoal.engine.progress import silent

    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
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
    from shoal.engine.kernels.compiling import when_compiling

    when_compiling(lambda _: click.echo("Compiling for this machine (once; `shoal warmup` does it ahead) …", err=True))


def column_values(text: str, option: str) -> tuple[str, list[str]]:
    """A column and some of its values, from COL=v1,v2."""
    column, sign, values = text.partition("=")
    names = [v.strip() for v in values.split(",") if v.strip()]
    if not sign or not column.strip() or not names:
        from shoal.errors import UsageError

        raise UsageError(f"{option} must be a column and its values, as in OCC=551010,552010; not {text!r}")
    return column.strip(), names
