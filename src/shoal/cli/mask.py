"""`shoal mask`: hide where a group is concentrated, by swapping records between districts."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.delivery import Delivery
from shoal.cli.options import (
    NAMES,
    input_options,
    output_options,
    progress_bar,
    read_table,
    say_when_compiling,
)
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.protect.mask import GroupRelease

# Options that belong to one method only: the other refuses them.
METHOD_OPTIONS = (
    click.option("--budget", type=click.IntRange(min=1), help="flow: flows solved in the search over signals."),
    click.option("--steps", type=click.IntRange(min=0), help="flow: work on the lower bound."),
    click.option("--runs", type=click.IntRange(min=1), help="memetic: runs [default: 10]."),
    click.option("--generations", type=click.IntRange(min=1), help="memetic: generations a run [default: 1000]."),
    click.option("--population", type=click.IntRange(min=2), help="memetic: individuals [default: 100]."),
    click.option("--mutation", type=float, help="memetic: chance of a gene's mutation [default: 0.001]."),
    click.option("--p-mem", type=float, help="memetic: chance that the partner, not the vital record, is replaced."),
    click.option("--centre", type=float, help="memetic: rows at which the penalty is one half."),
    click.option("--tau", is_flag=True, default=None, help="memetic: the tau test as a factor of the fitness."),
    click.option("--flow-seeds", is_flag=True, default=None, help="memetic: start with flow solutions."),
)
OWN = ("budget", "steps", "runs", "generations", "population", "mutation", "p_mem", "centre", "tau", "flow_seeds")


def method_options(command: Any) -> Any:
    for option in reversed(METHOD_OPTIONS):
        command = option(command)
    return command


@click.command()
@input_options
@click.option("--vital", required=True, metavar="COL=v1,v2", help="The column and values that make a record vital.")
@click.option("--parameter", required=True, help="The column of districts.")
@click.option("--influential", type=NAMES, required=True, help="Columns in which swapped records should be alike.")
@click.option("--ordinal", type=NAMES, default="", help="Those of them that are numbers; the others are categories.")
@click.option("--weights", default="", metavar="a=2,…", help="Weights of influential columns, 1 if not named.")
@click.option("--method", type=click.Choice(["flow", "memetic"]), default="flow", show_default=True, help="How.")
@click.option(
    "--signal", type=click.Choice(["quantity", "concentration", "difference"]), default="quantity", show_default=True,
    help="Counts, shares, or the difference of two groups' shares.",
)  # fmt: skip
@click.option("--second", default=None, metavar="COL=v1,v2", help="The second group of the difference.")
@click.option("--outliers", type=NAMES, default="", help="Districts to mask; found by the tau test if not given.")
@click.option("--thresholds", default="", metavar="x,y,…", help="What to bring these districts to, one each.")
@click.option(
    "--nth", type=int, default=1, show_default=True, help="Automatic threshold: the nth largest ordinary value."
)
@click.option(
    "--rule", type=click.Choice(["largest", "below"]), default="largest", show_default=True,
    help="That value, or that minus a fifth of the gap.",
)  # fmt: skip
@click.option(
    "--restriction", type=click.Choice(["zmf", "linear", "step"]), default="zmf", show_default=True,
    help="How compatibility falls above the threshold.",
)  # fmt: skip
@click.option("--root", is_flag=True, help="Compatibility as the paper printed it: a square root.")
@click.option("--alpha", type=float, default=0.01, show_default=True, help="Significance level of the tau test.")
@click.option(
    "--side", type=click.Choice(["both", "upper"]), default="both", show_default=True, help="Of the tau test."
)
@click.option("--compatibility", type=float, default=0.5, show_default=True, help="Least compatibility.")
@click.option("--sensitivity", type=float, default=0.0, show_default=True, help="Share of outliers that may stay.")
@click.option("--distortion", type=float, default=0.3, show_default=True, help="Greatest share of the worst metric.")
@click.option("--pick", type=int, default=1, show_default=True, help="Which feasible solution, by distortion.")
@click.option("--swaps", "swap_file", type=click.Path(), default=None, help="Write the list of swaps (CSV) here.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Runs at the same time.")
@method_options
@output_options
def command(swap_file: str | None, **given: Any) -> None:
    """Swap records of FILE between districts so that the vital group's outliers are masked.

    Only the parameter values of swapped pairs change. Written is only what was verified.
    """

    say_when_compiling()
    for name in ("quasi", "weight"):
        if given[name]:
            raise UsageError(f"--{name} has no meaning for masking: leave it out; --influential names the columns used")
    own = {name: given.pop(name) for name in OWN}
    options = {name: value for name, value in own.items() if value is not None}
    delivery = Delivery(given, written={"--swaps": swap_file})
    given["vital"] = _group(given["vital"], "--vital")
    given["second"] = None if given["second"] is None else _group(given["second"], "--second")
    given["weights"] = _weights(given["weights"])
    given["outliers"] = given["outliers"] or None
    given["thresholds"] = _floats(given["thresholds"]) if given["thresholds"] else None
    from shoal.protect.mask import mask_group

    table = read_table(given)
    with progress_bar("masking") as progress:
        release = mask_group(table, progress=progress, **given, **options)
    delivery.write(
        release, show, also={} if swap_file is None else {swap_file: lambda path: _write_swaps(release, path)}
    )


def _group(text: str, option: str) -> tuple[str, list[str]]:
    column, sign, values = text.partition("=")
    names = [v.strip() for v in values.split(",") if v.strip()]
    if not sign or not column.strip() or not names:
        raise UsageError(f"{option} must be a column and its values, as in OCC=551010,552010; not {text!r}")
    return column.strip(), names


def _weights(text: str) -> dict[str, float]:
    weights = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, sign, value = part.partition("=")
        if not sign:
            raise UsageError(f"--weights must be names and numbers, as in AGE=2,SEX=0.5; not {part!r}")
        weights[name.strip()] = _floats(value)[0]
    return weights


def _floats(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"numbers with commas between them are needed, as in 10,12.5; not {text!r}") from None


def _write_swaps(release: GroupRelease, path: str) -> None:
    from pathlib import Path

    from shoal.data.files import atomically

    rows = release.swap_list()
    with atomically(Path(path)) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["vital_row", "from", "partner_row", "to", "metric"])
        writer.writeheader()
        writer.writerows(rows)


def show(release: GroupRelease) -> None:
    from shoal.cli.tables import print_table

    facts = release.facts
    rows = [
        ["records", facts["n"]],
        ["vital records", facts["vital_records"]],
        ["outliers before", ", ".join(map(str, facts["outliers"]))],
        ["outliers after", ", ".join(map(str, facts["modified_outliers"])) or "none"],
        ["swaps", facts["swaps"]],
        ["metric", facts["metric"]],
        ["lower bound of the metric", facts["lower_bound"]],
        ["least for this signal", facts["flow_optimum"]],
        ["attribute values distorted", f"{100 * facts['distortion']:.4f} %"],
        ["compatibility", facts["compatibility"]],
    ]
    print_table(f"Group anonymity, method {facts['method']}", ["", ""], rows)
    changed = [
        [label, before, after]
        for label, before, after in zip(facts["districts"], facts["signal"], facts["modified_signal"], strict=True)
        if before != after
    ]
    print_table("Signal, where it changed", ["district", "before", "after"], changed)
    shown = facts["feasible_solutions"][:24]
    print_table(
        f"Feasible solutions ({len(facts['feasible_solutions'])}; --pick takes another one)",
        ["no.", "fitness", "metric", "compatibility", "swaps", "outliers"],
        [
            [s["number"], s["fitness"], s["metric"], s["compatibility"], s["swaps"], " ".join(map(str, s["outliers"]))]
            for s in shown
        ],
    )
