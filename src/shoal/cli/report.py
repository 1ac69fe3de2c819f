"""`shoal report`: the page of a release and its original, after the fact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import NAMES, csv_options, external_option, say_when_compiling


@click.command()
@click.argument("original", type=click.Path())
@click.argument("release", type=click.Path())
@click.option("--quasi", type=NAMES, default="", help="The columns to compare.")
@click.option("--identifiers", type=NAMES, default="", help="Columns of ORIGINAL that name somebody.")
@click.option(
    "--confidential", type=NAMES, default="", help="Columns nobody should learn: how alike classes are in them."
)
@click.option("--weight", default=None, help="A column of weights, honoured in means and deviations.")
@click.option("-o", "--output", type=click.Path(), required=True, help="Write the HTML page here.")
@click.option("--shuffled", is_flag=True, help="The rows of RELEASE are in another order on purpose.")
@click.option("--seed", type=int, default=None, help="The seed of the shuffle: rows can be compared again.")
@external_option
def command(
    original: str,
    release: str,
    quasi: tuple[str, ...],
    identifiers: tuple[str, ...],
    confidential: tuple[str, ...],
    weight: str | None,
    output: str,
    external: bool,
    shuffled: bool,
    seed: int | None,
    **reading: Any,
) -> None:
    """Write a page on RELEASE against ORIGINAL: what came in, what was lost, what risk is left.

    The same records in the same order, unless --shuffled or --seed says otherwise. Nothing is told of how the release
    was made.
    """
    from shoal.data.files import check_place
    from shoal.data.table import read
    from shoal.report.release import report_files

    say_when_compiling()
    check_place(output, original, release)
    before = read(original, quasi=quasi, identifiers=identifiers, confidential=confidential, weight=weight, **reading)
    report_files(before, read(release, **reading), Path(output), external=external, shuffled=shuffled, seed=seed)
    click.echo(f"Written: {output}")


for _option in reversed(csv_options):
    command = _option(command)
