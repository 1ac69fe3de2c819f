"""`shoal report`: write a report that compares a release with its original."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.help import SectionedCommand
from shoal.cli.options import (
    csv_options,
    external_option,
    order_option,
    role_options,
    say_when_compiling,
    take_roles,
    with_options,
)
from shoal.errors import check_seed, printable


@click.argument("original", type=click.Path())
@click.argument("release", type=click.Path())
@click.option("-o", "--output", type=click.Path(), metavar="FILE.html", required=True, help="HTML report to write.")
@click.option("--shuffled", is_flag=True, help="Declare that the rows of RELEASE were shuffled.")
@click.option(
    "--seed", type=int, metavar="N", default=None, help="Seed of the shuffle, if you set one, to restore the row order."
)
@click.option("--recipe", type=click.Path(), metavar="FILE.toml", help="Recipe of the run, to restore the row order.")
@external_option
def command(
    original: str,
    release: str,
    output: str,
    external: bool,
    shuffled: bool,
    seed: int | None,
    recipe: str | None,
    **arguments: Any,
) -> None:
    """Write a report that compares RELEASE with ORIGINAL: the input, the information loss and the disclosure risk.

    Both files must have the same records in the same order, unless you add --shuffled, --recipe or --seed. The report
    does not describe how the release was made.
    """
    from shoal.report.release import report_files
    from shoal.running import load_recipe
    from shoal.sources.files import check_distinct, check_place
    from shoal.sources.reading import read

    say_when_compiling()
    check_place(output, original, release)
    read_too = {"ORIGINAL": original, "RELEASE": release, "--roles": arguments.get("roles"), "--recipe": recipe}
    check_distinct({"-o": output}, read_too)
    roles = take_roles(arguments)
    key: int | str | None = None if seed is None else check_seed(seed)
    if recipe is not None and key is None:
        known = load_recipe(recipe)
        key = known.secret if known.secret is not None else known.seed
    before = read(original, **roles, **arguments)
    report_files(before, read(release, **arguments), Path(output), external=external, shuffled=shuffled, seed=key)
    click.echo(f"Written: {printable(output)}")


command = click.command(cls=SectionedCommand)(with_options(command, (*role_options, order_option, *csv_options)))
