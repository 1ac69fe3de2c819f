"""`shoal report`: the page of a release and its original, after the fact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

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
@click.option("-o", "--output", type=click.Path(), required=True, help="Write the HTML report here.")
@click.option("--shuffled", is_flag=True, help="The rows of RELEASE are in another order on purpose.")
@click.option("--seed", type=int, default=None, help="Seed of the shuffle, if one was typed: rows can be compared.")
@click.option("--recipe", type=click.Path(), default=None, help="Internal recipe of the run: rows can be compared.")
@external_option
def command(
    original: str,
    release: str,
    output: str,
    external: bool,
    shuffled: bool,
    seed: int | None,
    recipe: str | None,
    **given: Any,
) -> None:
    """Write a report on RELEASE and ORIGINAL: the input, the information loss and the remaining risk.

    Both hold the same records in the same order, unless --shuffled, --recipe or --seed says otherwise. The report does
    not describe how the release was made.
    """
    from shoal.report.release import report_files
    from shoal.running import load_recipe
    from shoal.sources.files import check_distinct, check_place
    from shoal.sources.reading import read

    say_when_compiling()
    check_place(output, original, release)
    read_too = {"ORIGINAL": original, "RELEASE": release, "--roles": given.get("roles"), "--recipe": recipe}
    check_distinct({"-o": output}, read_too)
    roles = take_roles(given)
    key: int | str | None = None if seed is None else check_seed(seed)
    if recipe is not None and key is None:
        known = load_recipe(recipe)
        key = known.secret if known.secret is not None else known.seed
    before = read(original, **roles, **given)
    report_files(before, read(release, **given), Path(output), external=external, shuffled=shuffled, seed=key)
    click.echo(f"Written: {printable(output)}")


command = click.command()(with_options(command, (*role_options, order_option, *csv_options)))
