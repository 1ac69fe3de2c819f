"""`shoal mask`: hide where a group is concentrated, by swapping records between regions."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.delivery import Delivery
from shoal.cli.options import (
    NAMES,
    column_values,
    input_options,
    output_options,
    progress_bar,
    read_table,
    say_when_compiling,
)
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.protections.regions.protect import GroupRelease

# Options that belong to one method only: the other refuses them.
METHOD_OPTIONS = (
    click.option("--budget", type=click.IntRange(min=1), help="flow: target signals tried."),
    click.option("--steps", type=click.IntRange(min=0), help="flow: work on the lower bound of the metric."),
    click.option("--runs", type=click.IntRange(min=1), help="memetic: runs [default: 10]."),
    click.option("--generations", type=click.IntRange(min=1), help="memetic: generations per run [default: 1000]."),
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
@click.option("--vital", required=True, metavar="COL=v1,v2", help="Target group: a column and its values.")
@click.option("--parameter", required=True, help="Column of the regions.")
@click.option("--influential", type=NAMES, required=True, help="Matching columns, in which swapped records agree.")
@click.option("--ordinal", type=NAMES, default="", help="Matching columns that are numbers; the others are categories.")
@click.option("--weights", default="", metavar="a=2,…", help="Weights of the matching columns, 1 if not named.")
@click.option("--along", type=NAMES, default="", help="Columns tied to the region that are swapped together with it.")
@click.option(
    "--settings", type=click.Choice(["hiding", "published"]), default="hiding", show_default=True,
    help="hiding: no outlier shows at any of --alphas in any signal. published: as in the paper, at --alpha in one.",
)  # fmt: skip
@click.option(
    "--method", type=click.Choice(["flow", "memetic"]), default="flow", show_default=True,
    help="Search method; memetic needs --settings published.",
)  # fmt: skip
@click.option(
    "--signal", type=click.Choice(["quantity", "concentration", "difference"]), default="quantity", show_default=True,
    help="Where outliers are looked for: counts, shares, or the difference of two groups' shares.",
)  # fmt: skip
@click.option("--second", default=None, metavar="COL=v1,v2", help="The second group of the difference.")
@click.option("--outliers", type=NAMES, default="", help="Regions to mask; found by the tau test if not given.")
@click.option("--thresholds", default="", metavar="x,y,…", help="Values to bring these regions to, one each.")
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
@click.option("--alpha", type=float, default=0.01, show_default=True, help="Level that finds the original outliers.")
@click.option("--alphas", default="", metavar="a,b,…", help="Levels to hide at. [default: 0.001,0.005,0.01,0.02,0.05]")
@click.option(
    "--side", type=click.Choice(["both", "upper"]), default="both", show_default=True, help="Side of the tau test."
)
@click.option("--compatibility", type=float, default=None, help="Least compatibility. [default: 0.95; published: 0.5]")
@click.option("--sensitivity", type=float, default=0.0, show_default=True, help="published: share of outliers left.")
@click.option(
    "--distortion",
    type=float,
    default=None,
    help="Largest share of the worst distortion. [default: 0.5; published: 0.3]",
)
@click.option(
    "--decoys", type=click.IntRange(min=0), default=0, show_default=True,
    help="Ordinary regions, drawn at random, that are made to stand out.",
)  # fmt: skip
@click.option(
    "--pick", type=int, default=None,
    help="Which solution, by distortion. [default: the best protection at little more distortion; published: 1]",
)  # fmt: skip
@click.option("--swaps", "swap_file", type=click.Path(), default=None, help="Write the list of swaps (CSV) here.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Runs at the same time.")
@method_options
@output_options
def command(swap_file: str | None, **given: Any) -> None:
    """Swap records of FILE between regions to hide where the target group is concentrated.

    Only the regions of swapped records change. The result is verified before it is written.
    """

    say_when_compiling()
    for name in ("quasi", "weight"):
        if given[name]:
            raise UsageError(f"--{name} has no meaning for masking: leave it out; --influential names the columns used")
    own = {name: given.pop(name) for name in OWN}
    options = {name: value for name, value in own.items() if value is not None}
    delivery = Delivery(given, written={"--swaps": swap_file})
    given["vital"] = column_values(given["vital"], "--vital")
    given["second"] = None if given["second"] is None else column_values(given["second"], "--second")
    given["weights"] = _weights(given["weights"])
    given["outliers"] = given["outliers"] or None
    given["thresholds"] = _floats(given["thresholds"]) if given["thresholds"] else None
    given["alphas"] = _floats(given["alphas"]) if given["alphas"] else None
    for name in ("alphas", "compatibility", "distortion", "pick"):  # what is not typed is as the settings have it
        if given[name] is None:
            del given[name]
    from shoal.protections.regions.protect import mask_group

    table = read_table(given)
    with progress_bar("masking") as progress:
        release = mask_group(table, progress=progress, **given, **options)
    delivery.write(
        release, show, also={} if swap_file is None else {swap_file: lambda path: _write_swaps(release, path)}
    )


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

    from shoal.sources.files import atomically

    rows = release.swap_list()
    with atomically(Path(path)) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["vital_row", "from", "partner_row", "to", "metric"])
        writer.writeheader()
        writer.writerows(rows)


def show(release: GroupRelease) -> None:
    from shoal.cli.tables import print_table

    facts = release.facts
    click.echo(facts["headline"])
    rows = [
        ["records", facts["n"]],
        ["target records", facts["vital_records"]],
        ["original outliers", ", ".join(map(str, facts["outliers"]))],
        ["original outliers still outliers", ", ".join(map(str, facts["outliers_left"])) or "none"],
        ["new outliers", ", ".join(map(str, facts["new_outliers"])) or "none"],
        ["decoys", ", ".join(map(str, facts["decoys"])) or "none"],
        ["ranks of the original outliers", _ranks(facts["ranks"])],
        *([["regions an intruder must consider", facts["candidate_regions"]]] if facts["candidate_regions"] else []),
        ["swaps", facts["swaps"]],
        ["metric", facts["metric"]],
        ["lower bound of the metric", facts["lower_bound"]],
        ["least for this signal", facts["flow_optimum"]],
        ["attribute values distorted", f"{100 * facts['distortion']:.4f} %"],
        ["compatibility", facts["compatibility"]],
        *_attack_rows(facts["attack"]),
    ]
    print_table(f"Group anonymity, method {facts['method']}, settings {facts['settings']}", ["", ""], rows)
    changed = [
        [label, before, after]
        for label, before, after in zip(facts["districts"], facts["signal"], facts["modified_signal"], strict=True)
        if before != after
    ]
    print_table("Signal, where it changed", ["region", "before", "after"], changed)
    _print_solutions(facts)


def _ranks(ranks: dict[str, dict[str, int]]) -> str:
    """The places of the original outliers after masking, by signal."""
    return "; ".join(f"{kind}: {', '.join(map(str, sorted(of.values())))}" for kind, of in ranks.items())


def _attack_rows(attack: dict[str, Any] | None) -> list[list[Any]]:
    """What the other columns give away of the moved records' original regions."""
    if attack is None:
        return []
    guessed, base = (f"{100 * attack[name]:.1f} %" for name in ("moved_guessed", "moved_guessed_base"))
    ranks = ", ".join(map(str, sorted(attack["ranks"].values())))
    return [
        ["original regions guessed from other columns", f"{guessed} of the moved records (by chance {base})"],
        ["ranks of the original outliers in that attack", ranks],
    ]


def _print_solutions(facts: dict[str, Any]) -> None:
    from shoal.cli.tables import print_table

    hiding = facts["settings"] == "hiding"
    last = "regions to consider" if hiding else "outliers"
    print_table(
        f"Feasible solutions ({len(facts['feasible_solutions'])}; this is {facts['picked']}, --pick takes another one)",
        ["no.", "fitness", "metric", "compatibility", "swaps", last],
        [
            [s["number"], s["fitness"], s["metric"], s["compatibility"], s["swaps"],
             s["candidate_regions"] if hiding else " ".join(map(str, s["outliers"]))]
            for s in facts["feasible_solutions"][:24]
        ],
    )  # fmt: skip
