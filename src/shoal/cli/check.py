"""`shoal check`: check a release against its original, its guarantees and a disclosure policy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.folders import NAMES as FOLDER_NAMES
from shoal.cli.folders import folder_options, is_folder, scan_existing
from shoal.cli.help import FOLDERS, GUARANTEES, RELEASE_CHECK, SectionedCommand
from shoal.cli.options import (
    FILE,
    NAMES,
    POLICIES,
    accept_k_option,
    column_values,
    csv_options,
    first_release_option,
    order_option,
    previous_option,
    print_json,
    progress_bar,
    role_options,
    take_roles,
    with_options,
)
from shoal.errors import UsageError, check_seed, printable
from shoal.gate.promises import DISTANCES
from shoal.protections import declared

if TYPE_CHECKING:
    from shoal.recipe import Step


@click.argument("original", type=click.Path(), required=False)
@click.argument("release", type=click.Path(), required=False)
@click.option(
    "-k", type=click.IntRange(min=1), metavar="K", help="Guaranteed k, the smallest size of an equivalence class."
)
@click.option(
    "--groups", metavar="A,B;C,D", help="Column groups that have k each, as text or as JSON of 'shoal group'."
)
@click.option("--within", type=NAMES, default="", help="Columns that are constant within every group and unchanged.")
@click.option("-l", "l", metavar="L", help="Guaranteed l-diversity, such as 3, entropy:3 or recursive:C:L.")
@click.option("-t", "t", type=float, metavar="T", help="Guaranteed t-closeness, between 0 and 1.")
@click.option(
    "--distance",
    default="equal",
    show_default=True,
    metavar=f"[{'|'.join(DISTANCES)}]",
    help="Distance of two values in t-closeness. equal: the same for all. ordered: by their places in ascending order.",
)
@click.option("--swapped", type=NAMES, default="", help="Columns whose values were swapped, the regions first.")
@click.option("--vital", metavar="COLUMN=V1,V2", help="Target group whose regions were swapped.")
@click.option(
    "--decoys",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Number of new outlier regions that shoal mask had to make.",
)
@click.option("--star", metavar="[value|wildcard]", help="Reading of a star in k, if single cells were starred.")
@click.option(
    "--subsets",
    type=click.IntRange(min=1),
    metavar="M",
    help="k is guaranteed for every combination of up to M columns that occurs.",
)
@click.option(
    "--bounds",
    is_flag=True,
    help="Declare that each quasi-identifier that RELEASE lacks is bounded by two columns, such as age_lower and "
    "age_upper.",
)
@click.option(
    "--policy",
    metavar="NAME|FILE.toml",
    default="default",
    show_default=True,
    help=f"Disclosure policy: {POLICIES}, or a TOML file of your own.",
)
@previous_option
@first_release_option
@accept_k_option
@click.option("--keep-order", is_flag=True, help="Accept the order of the rows although it discloses values.")
@click.option("--round-weight", is_flag=True, help="Declare that weights are means of equivalence classes.")
@click.option("--shuffled", is_flag=True, help="Declare that the rows of RELEASE were shuffled.")
@click.option(
    "--recipe", type=FILE, metavar="FILE.toml", help="Recipe of the run, for its roles, guarantees and row order."
)
@click.option("--seed", type=int, metavar="N", help="Seed of the shuffle, if you set one.")
@click.option(
    "--missing",
    default="keep",
    show_default=True,
    metavar="[keep|drop|median]",
    help="Handling of missing values by the run. keep: they stayed. drop: it removed the records. "
    "median: it filled in the median.",
)
@click.option("--list-policies", is_flag=True, help="List the policies with their justification, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
def command(
    original: str | None,
    release: str | None,
    list_policies: bool,
    as_json: bool,
    groups: str | None,
    recipe: str | None,
    **arguments: Any,
) -> None:
    """Check RELEASE against ORIGINAL, the file that it was made from, before you publish it.

    Both can be folders of files: shoal check 'original/*.parquet' protected

    Exit code 0: nothing blocks the release; 1: something does. Broken guarantees always block; other findings warn
    unless the policy blocks them.
    """
    if list_policies:
        _list(as_json)
        return
    if original is None or release is None:
        raise UsageError("Two files or folders are needed. Type: shoal check ORIGINAL RELEASE")
    from shoal.folders.checking import check_files
    from shoal.gate.check import check
    from shoal.sources.reading import read

    if arguments["seed"] is not None:
        check_seed(arguments["seed"])
    reading = {name: arguments.pop(name) for name in ("delimiter", "encoding", "decimal")}
    roles = take_roles(arguments)
    if arguments["l"] is not None:
        arguments["l"] = arguments["l"].split(":")
    arguments["vital"] = None if arguments["vital"] is None else column_values(arguments["vital"], "--vital")
    if recipe is not None:
        _from_recipe(recipe, arguments, roles)
    arguments["column_groups"] = read_groups(groups) if groups else ()
    if is_folder({**arguments, "original": original}, "original"):
        files = scan_existing(original, arguments, roles, **reading)
        with progress_bar("release check") as progress:
            findings = check_files(files, release, progress=progress, **arguments)
    else:
        for name in FOLDER_NAMES:
            del arguments[name]
        findings = check(read(original, **roles, **reading), release, **arguments)
    if as_json:
        print_json(findings.facts())
    else:
        _print(findings)
    if not findings.passed:
        click.get_current_context().exit(1)


def _from_recipe(path: str, arguments: dict[str, Any], roles: dict[str, Any]) -> None:
    """Take from the internal recipe what the command line leaves open: the row order, the roles and the guarantees."""
    from shoal.running import load_recipe
    from shoal.table.roles import Roles

    known = load_recipe(path)
    if known.output is not None and known.output.shuffle and arguments["seed"] is None:
        arguments["seed"] = known.secret if known.secret is not None else known.seed
    stated = known.input.stated("file", "sha256", "files", "checksums", "delimiter", "encoding", "decimal", "roles")
    step = known.steps[-1].arguments
    if "quasi" in step:
        stated["quasi"] = tuple(step["quasi"])
    if roles.get("roles") is None:
        roles["roles"] = Roles(**stated)
    arguments["within"] = arguments["within"] or tuple(step.get("within", ()))
    if len(known.steps) == 1:
        _take_promises(known.steps[0], arguments)
        if arguments["missing"] == "keep" and step.get("missing") in ("drop", "median"):
            arguments["missing"] = step["missing"]
    if known.output is not None:
        for name in ("keep_order", "first_release", "round_weight"):
            arguments[name] = arguments[name] or getattr(known.output, name)
        if arguments["accept_k"] is None:
            arguments["accept_k"] = known.output.accept_k


def _take_promises(step: Step, options: dict[str, Any]) -> None:
    """Add the guarantees of a step that the command line does not set."""
    context, module = click.get_current_context(), declared(step.do).module("command")
    if module is None or not hasattr(module, "check_arguments"):
        return
    for name, value in module.check_arguments(step.arguments).items():
        if value is not None and context.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            options[name] = value


def read_groups(text: str) -> list[list[str]]:
    """Read column groups from a,b;c,d or from JSON.

    >>> read_groups("a,b;c")
    [['a', 'b'], ['c']]
    """
    if text.lstrip().startswith("["):
        try:
            column_groups = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"--groups is not valid JSON: {error}. Write it as A,B;C,D.") from None
        if not all(isinstance(group, list) and all(isinstance(name, str) for name in group) for group in column_groups):
            raise UsageError('--groups must be a list of lists of column names, such as [["a","b"],["c"]].')
        return [list(group) for group in column_groups]
    return [list(NAMES.convert(part, None, None)) for part in text.split(";")]


def _list(as_json: bool) -> None:
    from shoal.gate.policy import names, policy_named

    policies = [policy_named(name) for name in names()]
    if as_json:
        keys = ("name", "title", "justification", "order", "explicit", "sources")
        print_json(
            {"policies": [{key: getattr(p, key) for key in keys} | {"blocks": sorted(p.blocks)} for p in policies]}
        )
        return
    for policy in policies:
        click.echo(f"{policy.name}: {policy.title}\n  {policy.justification}")
        click.echo(f"  Also blocks: {', '.join(sorted(policy.blocks)) or 'no findings other than broken guarantees'}")
        for threshold, source in policy.sources.items():
            click.echo(f"  {threshold} = {getattr(policy.thresholds, threshold):g}: {source}")
        click.echo()


def _print(findings: Any) -> None:
    from shoal.cli.tables import print_figures, print_table

    rows = [
        [f.status.upper() if f.status in ("warn", "block") else f.status, f.check,
         f.finding + (f". To do: {f.todo}" if f.todo else ""),
         "" if f.figure is None else f.figure, "" if f.threshold is None else f.threshold]
        for f in findings
    ]  # fmt: skip
    heads = ["", "check", "finding", "value", "threshold"]
    print_table(f"Release check, policy {findings.policy}", heads, rows, left=3)
    print_figures(findings.figures)
    click.echo(printable(findings.verdict))


_headings = dict.fromkeys(
    ("k", "groups", "within", "l", "t", "distance", "swapped", "vital", "decoys", "star", "subsets", "bounds"),
    GUARANTEES,
)
_headings |= dict.fromkeys(FOLDER_NAMES, FOLDERS)
_headings |= dict.fromkeys(("recipe", "seed", "shuffled", "missing", "list_policies"), RELEASE_CHECK)
command = click.command(cls=SectionedCommand, headings=_headings)(
    with_options(command, (*role_options, order_option, *csv_options))
)
command.params += folder_options("checked", continues=False)
