"""Options that several commands share: the input file, the column roles and the output."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shoal.gate.policy import names as policy_names
from shoal.spelling import ByColumn, ColumnValues, Names, Spelling

if TYPE_CHECKING:
    from shoal.engine.progress import Progress
    from shoal.table.table import Table

F = TypeVar("F", bound=Callable[..., Any])
POLICIES = ", ".join(policy_names())


class Spelled(click.ParamType):  # type: ignore[type-arg]
    """The type of an option whose text a `Spelling` reads."""

    def __init__(self, spelling: Spelling, name: str) -> None:
        self.spelling, self.name = spelling, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.spelling.read([value]) if value else ()
        except ValueError as error:
            self.fail(str(error), param, ctx)


class ColumnAndNames(Spelled):
    """COLUMN=A,B,…: a column and a list of names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        if not isinstance(value, str):
            return (value[0], tuple(value[1]))
        ((column, names),) = super().convert(value, param, ctx).items()
        return column, names


FILE = click.Path()
NAMES, BY_COLUMN = Spelled(Names(), "A,B,…"), ColumnAndNames(ByColumn(Names()), "COLUMN=A,B,…")
ROLE_LISTS = ("identifiers", "quasi", "confidential", "drop", "as_is", "nominal", "numeric", "accept_derived")
ROLE_NAMES = (*ROLE_LISTS, "weight", "unit", "no_unit", "no_confidential", "derived", "order", "roles")

role_options = (
    click.option("--roles", type=FILE, metavar="FILE.toml", help="Roles file, as 'shoal look --save-roles' writes it."),
    click.option("--identifiers", type=NAMES, default="", help="Direct identifiers, such as names. They are removed."),
    click.option("--quasi", type=NAMES, default="", help="Columns that an intruder may know. They are protected."),
    click.option("--confidential", type=NAMES, default="", help="Confidential columns, such as a diagnosis."),
    click.option("--no-confidential", is_flag=True, help="Declare that no column is confidential."),
    click.option("--weight", metavar="COLUMN", help="Survey weights, used in means and losses. k counts records."),
    click.option("--unit", metavar="COLUMN", help="Column that identifies a person or household. It is removed."),
    click.option("--no-unit", is_flag=True, help="Declare that every row is a different person."),
    click.option("--drop", type=NAMES, default="", help="Columns to leave out of the release."),
    click.option(
        "--as-is", type=NAMES, default="", help="Columns to release unchanged, because no intruder knows them."
    ),
    click.option("--derived", type=BY_COLUMN, multiple=True, help="Column computed from others, such as tax=income."),
    click.option(
        "--accept-derived",
        type=NAMES,
        default="",
        help="Columns to release although they may disclose a protected value.",
    ),
    click.option("--nominal", type=NAMES, default="", help="Columns whose numbers are codes, not quantities."),
    click.option("--numeric", type=NAMES, default="", help="Columns whose whole numbers are quantities, not codes."),
)
order_option = click.option(
    "--order", type=BY_COLUMN, multiple=True, help="Values of an ordinal column, lowest first, such as size=s,m,l."
)


def with_options(command: F, options: Iterable[Callable[[F], F]]) -> F:
    """Return the command with these options, in this order."""
    for option in reversed(list(options)):
        command = option(command)
    return command


def input_options(command: F) -> F:
    """Add the input file and its options to a command."""
    return with_options(command, (click.argument("file", type=FILE), *role_options, *csv_options))


json_option = click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")


class WholeNumber(click.IntRange):
    """A whole number within a range."""

    name = "whole number"


class SeedType(click.ParamType):  # type: ignore[type-arg]
    """A whole number that can be a seed."""

    name = "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from shoal.errors import UsageError, check_seed

        try:
            return check_seed(int(value) if isinstance(value, str) and value.strip().isdecimal() else value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


def seed_option_with(about: str) -> Callable[[F], F]:
    """Return the option for a seed, with its own help text."""
    return click.option("--seed", type=SeedType(), metavar="N", default=0, show_default=True, help=about)


seed_option = seed_option_with("Random seed. The same seed gives the same result.")
threads_option = click.option(
    "--threads", type=WholeNumber(min=1), metavar="N", help="Largest number of threads. [default: all cores]"
)
external_option = click.option(
    "--external", is_flag=True, help="Write a public report, without anything that could disclose a record."
)
csv_options = (
    click.option("--delimiter", metavar="CHAR", help="Column delimiter of a text file. [default: detected]"),
    click.option("--encoding", metavar="NAME", help="Character encoding of a text file. [default: detected]"),
    click.option(
        "--decimal", type=click.Choice([".", ","]), help="Decimal separator of a text file. [default: detected]"
    ),
)
previous_option = click.option(
    "--previous", type=FILE, metavar="FILE", help="Check together with an earlier release of the same records."
)
first_release_option = click.option(
    "--first-release", is_flag=True, help="Declare that these records were never released before."
)
accept_k_option = click.option(
    "--accept-k",
    type=click.IntRange(min=1),
    metavar="K",
    help="Accept this k over all columns that an intruder may know.",
)
release_options = (
    click.option(
        "--policy",
        metavar="NAME|FILE.toml",
        help=f"Write the file only if it passes this policy: {POLICIES}, or a TOML file of your own.",
    ),
    previous_option,
    first_release_option,
    click.option("--shuffle", is_flag=True, help="Write the rows in random order, so that it discloses nothing."),
    click.option("--keep-order", is_flag=True, help="Keep the order of the rows although it discloses values."),
    accept_k_option,
    click.option("--round-weight", is_flag=True, help="Give each record the mean weight of its equivalence class."),
)


output_list = (
    click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the release to FILE (.csv, .parquet, …)."),
    click.option(
        "--report", type=FILE, metavar="FILE.html", help="Write an HTML report on information loss and disclosure risk."
    ),
    click.option(
        "--save-recipe", type=FILE, metavar="FILE.toml", help="Save this run, to be repeated with 'shoal run'."
    ),
    *release_options,
    external_option,
    click.option(
        "--external-report", type=FILE, metavar="FILE.html", help="Write a public report in addition to --report."
    ),
    json_option,
)


def take_roles(arguments: dict[str, Any]) -> dict[str, Any]:
    """Take the role options out of a command's arguments, and return them as arguments of `shoal.read`."""
    roles = {name: arguments.pop(name) for name in ROLE_NAMES if name in arguments}
    if roles.pop("no_unit", False):
        if roles.get("unit"):
            from shoal.errors import UsageError

            raise UsageError("--unit and --no-unit cannot be combined. Remove one of them.")
        roles["unit"] = False
    for name in ("derived", "order"):
        if name in roles:
            roles[name] = dict(roles[name])
    return roles


def read_table(arguments: dict[str, Any]) -> Table:
    """Take the input options out of a command's arguments, and read the table; `order` must be by column."""
    from shoal.sources.reading import read

    text_options = {name: arguments.pop(name) for name in ("delimiter", "encoding", "decimal")}
    return read(arguments.pop("file"), **take_roles(arguments), **text_options)


def print_json(facts: dict[str, Any]) -> None:
    """Print one JSON object on stdout; NaN and infinity, which JSON does not have, become null."""
    click.echo(json.dumps(_plain(facts), allow_nan=False, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: lists for arrays, and null for a number that could not be measured.

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
    """Show a progress bar on stderr, on a terminal only: stage, share done, count, best value, time left."""
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
                bars.reset(task)  # the remaining time is that of the stage
            stage, last = what or stage, done
            shown = "" if best is None else f"best {best:.4g}"
            count = f"{done:,.0f} of {total:,.0f}" if float(total).is_integer() else ""
            bars.update(task, description=stage, completed=done, total=total, best=shown, count=count)

        yield update


def say_when_compiling() -> None:
    """Print once, on stderr, that the first run compiles; later runs load the compiled code."""
    from shoal.engine.kernels.compiling import when_compiling

    message = "Compiling for this machine; this happens once. Run 'shoal warmup' to do it in advance."
    when_compiling(lambda _: click.echo(message, err=True))


def column_values(text: str, option: str) -> tuple[str, tuple[str, ...]]:
    """Return a column and some of its values, from COLUMN=v1,v2."""
    try:
        return ColumnValues().read([text])
    except ValueError as error:
        from shoal.errors import UsageError

        raise UsageError(f"{option}: {error}") from None
