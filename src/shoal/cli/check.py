"""`shoal check`: a release beside its original, every promise and every leak that is looked for."""

from __future__ import annotations

import json
from typing import Any

import click

from shoal.cli.options import NAMES, csv_options, print_json
from shoal.errors import UsageError


@click.command()
@click.argument("original", type=click.Path(), required=False)
@click.argument("release", type=click.Path(), required=False)
@click.option("--quasi", type=NAMES, default="", help="Columns an intruder may know; these were protected.")
@click.option("--identifiers", type=NAMES, default="", help="Columns that name somebody; they must be gone.")
@click.option("--confidential", type=NAMES, default="", help="Columns nobody should learn: their l and t.")
@click.option("--weight", default=None, help="A column of weights, honoured in the groups' means.")
@click.option("-k", type=click.IntRange(min=1), default=None, help="The k that was promised.")
@click.option("--groups", default=None, help="Columns that keep k together: a,b;c,d or JSON (shoal group).")
@click.option("-l", "l", default=None, help="The l that was promised: 3, entropy:3 or recursive:C:L.")
@click.option("-t", "t", type=float, default=None, help="The t that was promised, 0 to 1.")
@click.option("--distance", default="equal", show_default=True, help="Of t-closeness: equal or ordered.")
@click.option("--swapped", type=NAMES, default="", help="Columns whose values changed places (shoal mask).")
@click.option("--policy", default="default", show_default=True, help="A policy's name, or FILE.toml.")
@click.option("--previous", type=click.Path(), default=None, help="An earlier release of the same records.")
@click.option("--shuffled", is_flag=True, help="The rows are in another order on purpose.")
@click.option("--seed", type=int, default=None, help="The seed of the shuffle: rows can be compared again.")
@click.option("--missing", default="keep", show_default=True, help="Rows of ORIGINAL that miss a value: keep or drop.")
@click.option("--list-policies", is_flag=True, help="List the policies with their justification, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
def command(
    original: str | None,
    release: str | None,
    list_policies: bool,
    as_json: bool,
    groups: str | None,
    **given: Any,
) -> None:
    """Check RELEASE against the ORIGINAL that it was made from, before it goes out.

    Ends with 0 if nothing blocks the release and with 1 if something does. What the method promised blocks; everything
    else warns, unless the policy makes it block.
    """
    if list_policies:
        _list(as_json)
        return
    if original is None or release is None:
        raise UsageError("two files are needed: shoal check ORIGINAL RELEASE")
    from shoal.data.table import read
    from shoal.gate.check import check

    reading = {name: given.pop(name) for name in ("delimiter", "encoding", "decimal")}
    roles = {name: given.pop(name) for name in ("quasi", "identifiers", "confidential", "weight")}
    if given["l"] is not None:
        given["l"] = given["l"].split(":")
    table = read(original, **roles, **reading)
    found = check(table, release, column_groups=read_groups(groups) if groups else (), **given)
    if as_json:
        print_json(found.facts())
    else:
        _print(found)
    if not found.passed:
        click.get_current_context().exit(1)


def read_groups(text: str) -> list[list[str]]:
    """Column groups from a,b;c,d or from JSON.

    >>> read_groups("a,b;c")
    [['a', 'b'], ['c']]
    """
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except ValueError as error:
            raise UsageError(f"--groups is not JSON: {error}") from None
        if not all(isinstance(group, list) and all(isinstance(name, str) for name in group) for group in found):
            raise UsageError('--groups must be lists of column names, as in [["a","b"],["c"]]')
        return [list(group) for group in found]
    return [list(NAMES.convert(part, None, None)) for part in text.split(";")]


def _list(as_json: bool) -> None:
    from shoal.gate.policy import names, policy_named

    policies = [policy_named(name) for name in names()]
    if as_json:
        told = ("name", "title", "justification", "order")
        print_json(
            {"policies": [{key: getattr(p, key) for key in told} | {"blocks": sorted(p.blocks)} for p in policies]}
        )
        return
    for policy in policies:
        click.echo(f"{policy.name}: {policy.title}\n  {policy.justification}")
        click.echo(f"  Also blocks: {', '.join(sorted(policy.blocks)) or 'nothing more than broken promises'}\n")


def _print(found: Any) -> None:
    from shoal.cli.tables import print_table

    rows = [
        [f.status.upper() if f.status != "ok" else "ok", f.check, f.finding + (f". To do: {f.todo}" if f.todo else ""),
         "" if f.figure is None else f.figure, "" if f.threshold is None else f.threshold]
        for f in found
    ]  # fmt: skip
    print_table(f"Release gate, policy {found.policy}", ["", "check", "finding", "figure", "threshold"], rows, left=3)
    blocking, warned = len(found.blocking), len(found.warnings)
    verdict = "Nothing blocks the release" if found.passed else f"The release is blocked by {blocking} findings"
    click.echo(f"{verdict}; {warned} warnings.")


for _option in reversed(csv_options):
    command = _option(command)
