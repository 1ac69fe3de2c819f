"""`shoal microaggregate`: groups of at least k records, each replaced by its group's mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.delivery import Delivery
from shoal.cli.options import (
    BY_COLUMN,
    NAMES,
    WEIGHTED,
    input_options,
    output_options,
    progress_bar,
    read_table,
    say_when_compiling,
)

PATH_ORDERS = ["tour", "nearest", "mdav"]
# Options that belong to some methods only: a method that does not have one refuses it.
METHOD_OPTIONS = (
    click.Option(
        ["--remainder"],
        type=click.Choice(["standard", "solanas", "thesis", "distribute"]),
        help="mdav: what becomes of the last records.",
    ),
    click.Option(["--metric"], type=click.Choice(["euclidean", "l1"]), help="mdav: the distance."),
    click.Option(["--engine"], type=click.Choice(["auto", "brute", "tree"]), help="mdav: how; the answer is the same."),
    click.Option(
        ["--effort"],
        type=click.Choice(["quick", "standard", "thorough"]),
        help="auto, anneal, memetic, blocks: how much work; standard by default.",
    ),
    click.Option(["--seconds"], type=float, help="auto, anneal, memetic, blocks, exact: stop after that long."),
    click.Option(
        ["--checkpoint"],
        type=click.Path(path_type=Path),
        help="auto, anneal, memetic, blocks: write the state here now and then.",
    ),
    click.Option(["--resume"], is_flag=True, default=None, help="Go on from the checkpoint."),
    click.Option(["--gamma"], type=str, help="vmdav: how readily groups grow, a number or auto."),
    click.Option(["--split/--no-split"], default=None, help="mst: split trees of 2k records or more."),
    click.Option(["--path-order"], type=click.Choice(PATH_ORDERS), help="path: the order of the records that is cut."),
    click.Option(["--population"], type=int, help="genetic, hybrid: the number of chromosomes."),
    click.Option(["--generations"], type=int, help="genetic, hybrid: how many; by the number of records if not given."),
    click.Option(["--mutation-rate"], type=float, help="genetic, hybrid: the share of genes that change."),
    click.Option(["--crossover-rate"], type=float, help="genetic, hybrid: the share of parents that exchange genes."),
    click.Option(["--crossover"], type=click.Choice(["one-point", "two-point", "uniform"]), help="genetic, hybrid."),
    click.Option(["--selection"], type=click.Choice(["roulette", "tournament", "rank"]), help="genetic, hybrid."),
    click.Option(["--inversion"], type=float, help="genetic, hybrid: the share of children with a reversed stretch."),
    click.Option(["--macro-size"], type=int, help="hybrid: records in a macro-group, a multiple of k."),
    click.Option(
        ["--macro-split"], type=click.Choice(["two-step", "direct"]), help="hybrid: how macro-groups are made."
    ),
    click.Option(["--heuristic"], type=click.Choice(["mdav", "md"]), help="hybrid: what makes the first groups."),
    click.Option(["--runs"], type=int, help="hybrid: populations a macro-group, which share the generations."),
)


@click.command()
@input_options
@click.option("-k", type=int, required=True, help="The least number of records in a group.")
@click.option("--within", type=NAMES, default="", help="Columns that no group crosses; they stay unchanged.")
@click.option("--order", multiple=True, help="Values of an ordinal column, lowest first: size=s,m,l.")
@click.option("--importance", type=WEIGHTED, default="", help="Weight of columns in the distance: age=2,sex=0.5.")
@click.option("--method", default="auto", show_default=True, help="Method that finds the groups.")
@click.option("--aggregate", default="mean", show_default=True, help="What a group is replaced by: mean or median.")
@click.option("--round", is_flag=True, help="Keep integer columns integers.")
@click.option("--scaling", default="standard", show_default=True, help="Before distances: standard, minmax or none.")
@click.option("--refine", is_flag=True, help="Go on with local search from the method's groups.")
@click.option("--bound", is_flag=True, help="Certify how far from the optimum the groups can be.")
@click.option("--bound-seconds", type=float, default=60.0, show_default=True, help="At most that long for the bound.")
@click.option("--missing", default="error", show_default=True, help="Missing values: error, drop or median.")
@click.option("--threads", type=click.IntRange(min=1), default=None, help="At most this many; all cores by default.")
@output_options
def command(**given: Any) -> None:
    """Put the records of FILE into groups of at least k and replace their values by the group's.

    Numbers get the group's mean, ordinal columns its median, nominal columns its most frequent value. Without --quasi,
    every column without a role is protected. Every record then shares its protected columns with at least k - 1 others.
    """
    from shoal.protections.microaggregation.register import method

    say_when_compiling()
    own = {name: given.pop(name) for name in (option.name or "" for option in METHOD_OPTIONS)}
    options = {name: value for name, value in own.items() if value is not None}
    method(given["method"]).check_options(options)
    delivery = Delivery(given, written={"--checkpoint": options.get("checkpoint")})
    bare = [text for text in given["order"] if text in PATH_ORDERS]  # the former way to name the order of a path
    given["order"] = [BY_COLUMN.convert(text, None, None) for text in given["order"] if text not in PATH_ORDERS]
    if bare:
        options["path_order"] = bare[-1]
        method(given["method"]).check_options(options)
    given["importance"] = dict(given["importance"]) or None
    from shoal.protections.microaggregation.protect import microaggregate

    table = read_table(given)
    with progress_bar("grouping") as progress:
        release = microaggregate(table, progress=progress, **given, **options)
    from shoal.cli.tables import print_release

    delivery.write(release, print_release)


command.params.extend(METHOD_OPTIONS)
