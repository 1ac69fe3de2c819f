"""`shoal group`: which columns are microaggregated together, for the best balance of loss and risk."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.delivery import Delivery
from shoal.cli.options import (
    input_options,
    output_options,
    progress_bar,
    read_table,
    say_when_compiling,
)


@click.command("group")
@input_options
@click.option("-k", type=int, required=True, help="The least number of records in a group, within each column group.")
@click.option(
    "--method",
    default=None,
    help="memetic (the default), gomm, d-gomm, exact; or all, univariate, correlated, uncorrelated.",
)
@click.option("--size", type=click.IntRange(min=1), default=None, help="correlated, uncorrelated: columns in a group.")
@click.option(
    "--groups",
    "groups_file",
    default=None,
    help="A JSON file with your own groups: lists of column names or numbers from 1; FILE#a.b for an entry inside.",
)
@click.option("--convention", default="sound", show_default=True, help="sound, or thesis: as the GOMM thesis measures.")
@click.option("--front", is_flag=True, help="Also the choices that no other beats in both loss and risk.")
@click.option("--evaluations", type=click.IntRange(min=1), default=None, help="memetic: how many groupings to look at.")
@click.option("--seconds", type=float, default=None, help="memetic: stop after this time, whatever is left to look at.")
@click.option("--round", is_flag=True, help="Keep integer columns integers.")
@click.option("--missing", default="error", show_default=True, help="Missing values: error, drop or median.")
@click.option("--threads", type=click.IntRange(min=1), default=None, help="At most this many; all cores by default.")
@output_options
def command(
    groups_file: str | None,
    front: bool,
    **given: Any,
) -> None:
    """Group the columns of FILE and microaggregate each group of columns by itself.

    Every record then looks like at least k - 1 others within each group of columns. Over all columns together fewer
    may look alike: the joint k is measured and printed.
    """
    from shoal.protections.grouping.protect import group_attributes

    say_when_compiling()
    delivery = Delivery(given, read={"--groups": None if groups_file is None else groups_file.partition("#")[0]})
    groups = None if groups_file is None else read_groups(groups_file)
    table = read_table(given)
    with progress_bar("column groups") as progress:
        release = group_attributes(table, groups=groups, with_front=front, progress=progress, **given)
    delivery.write(release, show)


def read_groups(place: str) -> Any:
    """The lists of a JSON file, or of the entry that is named after a #."""
    import json
    from pathlib import Path

    from shoal.errors import InputError, unknown

    name, _, entry = place.partition("#")
    try:
        found = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the file {name} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"the file {name} is not JSON: {error}") from None
    for key in entry.split(".") if entry else ():
        if not isinstance(found, dict) or key not in found:
            raise unknown("entry", key, found if isinstance(found, dict) else (), InputError)
        found = found[key]
    if not isinstance(found, list) or not found:
        inside = (
            f": name one of its entries, as in {name}#{next(iter(found))}" if isinstance(found, dict) and found else ""
        )
        raise InputError(f"{place} must hold a list of groups, each a list of columns{inside}")
    return found


def show(release: Any) -> None:
    """The groups of columns, what they cost, and what is promised."""
    from shoal.cli.tables import print_table

    facts = release.facts
    print_table("Column groups", ["", ""], [[f"group {i + 1}", ", ".join(g)] for i, g in enumerate(facts["groups"])], 2)
    rows = [
        ["fitness", f"{facts['fitness']:.4f}"],
        ["information loss", f"{facts['information_loss']:.4f} %"],
        ["interval disclosure", f"{facts['interval_disclosure']:.4f} %"],
        ["distance linkage", f"{facts['distance_linkage']:.4f} %"],
        ["smallest group of records within a column group", facts["smallest_group"]],
        ["joint k, over all columns (measured, not promised)", facts["joint_k"]],
        ["groupings looked at", facts["evaluations"]],
    ]
    print_table("Loss and risk", ["", ""], rows)
    if release.front:
        points = [[c["information_loss"], c["risk"], c["fitness"], len(c["groups"])] for c in release.front]
        print_table("No other choice is better in both", ["loss", "risk", "fitness", "groups"], points, left=0)
