"""`shoal assess`: what a protected file lost, and what risk is left."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.options import NAMES, csv_options, print_json


@click.command()
@click.argument("original", type=click.Path())
@click.argument("protected", type=click.Path())
@click.option("--quasi", type=NAMES, default="", help="The columns to measure.")
@click.option("--confidential", type=NAMES, default="", help="Columns nobody should learn: their l and t.")
@click.option("--convention", default="sound", show_default=True, help="sound, or thesis: as the GOMM thesis measures.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Of the order in which an intruder learns columns."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def command(
    original: str,
    protected: str,
    quasi: tuple[str, ...],
    confidential: tuple[str, ...],
    convention: str,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Measure what PROTECTED lost against ORIGINAL and what risk is left: same records, same order."""
    from shoal.assessment import assess
    from shoal.cli.tables import print_assessment
    from shoal.data.table import read

    figures = assess(
        read(original, quasi=quasi, confidential=confidential, **reading),
        read(protected, **reading),
        convention=convention,
        seed=seed,
    )
    if as_json:
        print_json(dict(figures))
    else:
        print_assessment(figures)


for _option in reversed(csv_options):
    command = _option(command)
