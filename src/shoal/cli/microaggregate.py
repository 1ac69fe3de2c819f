"""`shoal microaggregate`: groups of at least k records, each replaced by its group's mean."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.options import (
    input_options,
    output_options,
    print_json,
    progress_bar,
    read_table,
    say_when_compiling,
)

# Options that belong to some methods only: a method that does not have one refuses it.
METHOD_OPTIONS = (
    click.option(
        "--remainder",
        type=click.Choice(["standard", "solanas", "thesis", "distribute"]),
        help="mdav: what becomes of the last records.",
    ),
    click.option("--metric", type=click.Choice(["euclidean", "l1"]), help="mdav: the distance."),
    click.option("--engine", type=click.Choice(["auto", "brute", "tree"]), help="mdav: how; the answer is the same."),
    click.option("--gamma", type=str, help="vmdav: how readily groups grow, a number or auto."),
    click.option("--split/--no-split", default=None, help="mst: split trees of 2k records or more."),
    click.option("--order", type=click.Choice(["tour", "nearest", "mdav"]), help="path: the order that is cut."),
    click.option("--population", type=int, help="genetic, hybrid: the number of chromosomes."),
    click.option("--generations", type=int, help="genetic, hybrid: how many; by the number of records if not given."),
    click.option("--mutation-rate", type=float, help="genetic, hybrid: the share of genes that change."),
    click.option("--crossover-rate", type=float, help="genetic, hybrid: the share of parents that exchange genes."),
    click.option("--crossover", type=click.Choice(["one-point", "two-point", "uniform"]), help="genetic, hybrid."),
    click.option("--selection", type=click.Choice(["roulette", "tournament", "rank"]), help="genetic, hybrid."),
    click.option("--inversion", type=float, help="genetic, hybrid: the share of children with a reversed stretch."),
    click.option("--macro-size", type=int, help="hybrid: records in a macro-group, a multiple of k."),
    click.option("--macro-split", type=click.Choice(["two-step", "direct"]), help="hybrid: how macro-groups are made."),
    click.option("--heuristic", type=click.Choice(["mdav", "md"]), help="hybrid: what makes the first groups."),
    click.option("--runs", type=int, help="hybrid: populations a macro-group, which share the generations."),
)
OWN = (
    *("remainder", "metric", "engine", "gamma", "split", "order"),
    *("population", "generations", "mutation_rate", "crossover_rate", "crossover", "selection", "inversion"),
    *("macro_size", "macro_split", "heuristic", "runs"),
)


def method_options(command: Any) -> Any:
    for option in reversed(METHOD_OPTIONS):
        command = option(command)
    return command


@click.command()
@input_options
@click.option("-k", type=int, required=True, help="The least number of records in a group.")
@click.option("--method", default="auto", show_default=True, help="How the groups are found.")
@click.option("--aggregate", default="mean", show_default=True, help="What a group is replaced by: mean or median.")
@click.option("--round", is_flag=True, help="Keep integer columns integers.")
@click.option("--scaling", default="standard", show_default=True, help="Before distances: standard, minmax or none.")
@click.option("--missing", default="error", show_default=True, help="Missing values: error, drop or median.")
@click.option("--threads", type=click.IntRange(min=1), default=None, help="At most this many; all cores by default.")
@method_options
@output_options
def command(output: str | None, report: str | None, as_json: bool, **given: Any) -> None:
    """Put the records of FILE into groups of at least k and replace each by its group's mean.

    Every record then looks like at least k - 1 others in the columns named by --quasi.
    """
    from shoal.data.files import check_place, check_target
    from shoal.partition.methods import method

    say_when_compiling()
    own = {name: given.pop(name) for name in OWN}
    options = {name: value for name, value in own.items() if value is not None}
    method(given["method"]).check_options(options)
    if output is not None:
        check_target(output, given["file"])
    if report is not None:
        check_place(report, given["file"])
    from shoal.protect.microaggregation import microaggregate

    table = read_table(given)
    with progress_bar("grouping") as progress:
        release = microaggregate(table, progress=progress, **given, **options)
    if output is not None:
        release.save(output)
    if report is not None:
        release.report(report)
    if as_json:
        print_json(release.facts)
    else:
        from shoal.cli.tables import print_release

        print_release(release)
        for target in (output, report):
            if target is not None:
                click.echo(f"Written: {target}")
