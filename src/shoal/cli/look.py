"""`shoal look`: list the columns with their risk, and draft the column roles for a person to review."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.help import SectionedCommand
from shoal.cli.options import FILE, csv_options, print_json
from shoal.errors import printable

if TYPE_CHECKING:
    from shoal.overview import Look


@click.command(cls=SectionedCommand)
@click.argument("file", type=click.Path())
@click.option("--roles", type=FILE, metavar="FILE.toml", help="Roles file. Columns with a role in it keep that role.")
@click.option("--save-roles", type=FILE, metavar="FILE.toml", help="Write the drafted roles to a roles file.")
@click.option("--json", "as_json", is_flag=True, help="Print the columns as one JSON object.")
def command(file: str, roles: str | None, save_roles: str | None, as_json: bool, **reading: Any) -> None:
    """List the columns of FILE with their risk, and draft a role for each.

    A person must review the draft. A column is a quasi-identifier if its values are stable over time, available
    outside and distinguishing.
    """
    from shoal.overview import look
    from shoal.sources.files import check_place
    from shoal.sources.reading import read

    if save_roles is not None:
        check_place(save_roles, file, *([] if roles is None else [roles]))
    overview = look(read(file, roles=roles, **reading))
    if save_roles is not None:
        overview.save_roles(save_roles)
    if as_json:
        print_json(overview.facts())
        return
    _print(overview, file)
    options = [part for name, value in reading.items() if value is not None for part in (f"--{name}", value)]
    arguments = ["shoal", "microaggregate", file, "-k", "5", "--roles", save_roles or "roles.toml", *options]
    first = f"Review {save_roles}" if save_roles else "Save the draft with --save-roles roles.toml and review it"
    click.echo(printable(f"{first}, then: {shlex.join([*arguments, '-o', 'protected.csv'])}"))


def _print(overview: Look, file: str) -> None:
    from shoal.cli.tables import print_table

    headers = ["column", "type", "function of", "looks like", "distinct", "missing", "unique, %", "adds uniques"]
    rows = [
        [c.name, c.type, c.function_of or "", c.looks_like, c.distinct, c.missing, 100 * c.unique_share,
         c.added_uniques]
        for c in overview.columns
    ]  # fmt: skip
    print_table(f"Columns of {file} ({overview.rows:,} rows)", headers, rows, left=4)
    roles = [[c.name, c.role, c.reason] for c in overview.columns]
    print_table("Draft of the roles", ["column", "role", "reason"], roles, left=3)


for _option in reversed(csv_options):
    command = _option(command)
