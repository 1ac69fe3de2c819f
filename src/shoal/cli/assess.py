"""`shoal assess`: what a protected file lost, and what risk is left."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.options import csv_options, order_option, print_json, role_options, take_roles, with_options
from shoal.errors import check_seed


@click.argument("original", type=click.Path())
@click.argument("release", type=click.Path())
@click.option("--convention", default="sound", show_default=True, help="sound, or thesis: as the GOMM thesis measures.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the order in which columns are learnt.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def command(original: str, release: str, convention: str, seed: int, as_json: bool, **given: Any) -> None:
    """Measure the information loss of RELEASE against ORIGINAL and the remaining risk: same records, same order.

    Numbers have all measures. For labels the share of changed cells is shown.
    """
    from shoal.assessment import assess
    from shoal.cli.tables import print_assessment
    from shoal.sources.reading import read

    check_seed(seed)
    roles = take_roles(given)
    figures = assess(read(original, **roles, **given), read(release, **given), convention=convention, seed=seed)
    if as_json:
        print_json(dict(figures))
    else:
        print_assessment(figures)


command = click.command()(with_options(command, (*role_options, order_option, *csv_options)))
