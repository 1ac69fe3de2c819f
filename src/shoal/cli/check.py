"""`shoal check`: a release beside its original, every promise and every leak that is looked for."""

from __future__ import annotations

import json
from typing import Any

import click

from shoal.cli.options import (
    NAMES,
    column_values,
    csv_options,
    order_option,
    print_json,
    role_options,
    take_roles,
    with_options,
)
from shoal.errors import UsageError, check_seed, printable


@click.argument("original", type=click.Path(), required=False)
@click.argument("release", type=click.Path(), required=False)
@click.option("-k", type=click.IntRange(min=1), default=None, help="Promised k.")
@click.option("--groups", default=None, help="Columns that keep k together: a,b;c,d or JSON (shoal group).")
@click.option("--within", type=NAMES, default="", help="Columns that no group crosses; unchanged.")
@click.option("-l", "l", default=None, help="Promised l: 3, entropy:3 or recursive:C:L.")
@click.option("-t", "t", type=float, default=None, help="Promised t, 0 to 1.")
@click.option("--distance", default="equal", show_default=True, help="Distance of t-closeness: equal or ordered.")
@click.option("--swapped", type=NAMES, default="", help="Columns whose values changed places, regions first.")
@click.option("--vital", default=None, metavar="COL=v1,v2", help="Target group whose regions were swapped.")
@click.option("--decoys", type=click.IntRange(min=0), default=0, help="New outlier regions that were asked for.")
@click.option("--policy", default="default", show_default=True, help="Policy: a name or FILE.toml.")
@click.option("--previous", type=click.Path(), default=None, help="Earlier release of the same records.")
@click.option("--first-release", is_flag=True, help="State that these records were never released before.")
@click.option("--accept-k", type=click.IntRange(min=1), default=None, help="Smallest k you accept over known columns.")
@click.option("--keep-order", is_flag=True, help="Accept the order of the rows although it discloses values.")
@click.option("--round-weight", is_flag=True, help="The weights are means of classes.")
@click.option("--shuffled", is_flag=True, help="The rows are in another order on purpose.")
@click.option("--recipe", type=click.Path(), default=None, help="Internal recipe of the run: roles and row order.")
@click.option("--seed", type=int, default=None, help="Seed of the shuffle, if one was typed.")
@click.option("--missing", default="keep", show_default=True, help="Rows of ORIGINAL that miss a value: keep or drop.")
@click.option("--list-policies", is_flag=True, help="List the policies with their justification, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
def command(
    original: str | None,
    release: str | None,
    list_policies: bool,
    as_json: bool,
    groups: str | None,
    recipe: str | None,
    **given: Any,
) -> None:
    """Check RELEASE against the ORIGINAL that it was made from, before you hand it out.

    The exit code is 0 if nothing blocks the release and 1 if something does. Broken guarantees block under every
    policy; everything else warns, unless the policy makes it block.
    """
    if list_policies:
        _list(as_json)
        return
    if original is None or release is None:
        raise UsageError("Two files are needed: shoal check ORIGINAL RELEASE")
    from shoal.gate.check import check
    from shoal.sources.reading import read

    if given["seed"] is not None:
        check_seed(given["seed"])
    reading = {name: given.pop(name) for name in ("delimiter", "encoding", "decimal")}
    roles = take_roles(given)
    if given["l"] is not None:
        given["l"] = given["l"].split(":")
    given["vital"] = None if given["vital"] is None else column_values(given["vital"], "--vital")
    if recipe is not None:
        _from_recipe(recipe, given, roles)
    table = read(original, **roles, **reading)
    found = check(table, release, column_groups=read_groups(groups) if groups else (), **given)
    if as_json:
        print_json(found.facts())
    else:
        _print(found)
    if not found.passed:
        click.get_current_context().exit(1)


def _from_recipe(path: str, given: dict[str, Any], roles: dict[str, Any]) -> None:
    """What the internal recipe says of the run, where the command line does not: the row order, the roles and k."""
    from shoal.running import load_recipe
    from shoal.table.roles import Roles

    known = load_recipe(path)
    if known.output is not None and known.output.shuffle and given["seed"] is None:
        given["seed"] = known.secret if known.secret is not None else known.seed
    stated = known.input.model_dump(
        exclude={"file", "sha256", "delimiter", "encoding", "decimal", "roles"}, exclude_defaults=True
    )
    step = known.steps[-1].arguments
    if "quasi" in step:
        stated["quasi"] = tuple(step["quasi"])
    if roles.get("roles") is None:
        roles["roles"] = Roles(**stated)
    if given["k"] is None and len(known.steps) == 1 and known.steps[0].do in ("microaggregate", "generalize"):
        given["k"] = step.get("k")
    given["within"] = given["within"] or tuple(step.get("within", ()))
    if len(known.steps) == 1 and known.steps[0].do == "mask" and not given["swapped"]:
        given["swapped"] = (step["parameter"], *step.get("along", ()))
        given["vital"] = given["vital"] or tuple(step["vital"])
        given["decoys"] = given["decoys"] or step.get("decoys", 0)
    if known.output is not None:
        for name in ("keep_order", "first_release", "round_weight"):
            given[name] = given[name] or getattr(known.output, name)
        if given["accept_k"] is None:
            given["accept_k"] = known.output.accept_k


def read_groups(text: str) -> list[list[str]]:
    """Column groups from a,b;c,d or from JSON.

    >>> read_groups("a,b;c")
    [['a', 'b'], ['c']]
    """
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"--groups is not valid JSON: {error}.") from None
        if not all(isinstance(group, list) and all(isinstance(name, str) for name in group) for group in found):
            raise UsageError('--groups must be lists of column names, as in [["a","b"],["c"]]')
        return [list(group) for group in found]
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
        click.echo(f"  Also blocks: {', '.join(sorted(policy.blocks)) or 'nothing more than broken guarantees'}")
        for threshold, source in policy.sources.items():
            click.echo(f"  {threshold} = {getattr(policy.thresholds, threshold):g}: {source}")
        click.echo()


def _print(found: Any) -> None:
    from shoal.cli.tables import print_figures, print_table

    rows = [
        [f.status.upper() if f.status in ("warn", "block") else f.status, f.check,
         f.finding + (f". To do: {f.todo}" if f.todo else ""),
         "" if f.figure is None else f.figure, "" if f.threshold is None else f.threshold]
        for f in found
    ]  # fmt: skip
    print_table(f"Release check, policy {found.policy}", ["", "check", "finding", "figure", "threshold"], rows, left=3)
    print_figures(found.figures)
    click.echo(printable(found.verdict))


command = click.command()(with_options(command, (*role_options, order_option, *csv_options)))
