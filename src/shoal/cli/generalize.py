"""`shoal generalize`: one generalization of every quasi-identifier, every class with at least k records."""

from __future__ import annotations

import inspect
from typing import Any

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


@click.command()
@input_options
@click.option("-k", type=int, default=None, help="The least number of records in a class.")
@click.option("--set", "sets", type=NAMES, multiple=True, help="Columns k-anonymous together; once a set.")
@click.option("--granularity", multiple=True, help="Of a number: age=5, or age=5:0:100 (step, low, high).")
@click.option("--cuts", multiple=True, help="Cut points of a number: age=18,30,65.")
@click.option("--order", multiple=True, help="auto, alphabetical, frequency, taxonomy; or education=low,middle,high.")
@click.option("--taxonomy", multiple=True, help="A file: country=regions.csv (also .json, .toml).")
@click.option("--prefer", default="0.2,1.0", show_default=True, help="The preferred LOSS,BIAS.")
@click.option("--weights", multiple=True, help="Of columns in the loss: age=2,sex=1.")
@click.option("--suppress", type=float, default=0.0, show_default=True, help="The share of rows that may be starred.")
@click.option("-l", "l", default=None, help="l-diversity of --confidential: 3, entropy:3 or recursive:C:L.")
@click.option("-t", "t", type=float, default=None, help="t-closeness of --confidential, 0 to 1.")
@click.option("--distance", default="equal", show_default=True, help="Of t-closeness: equal or ordered.")
@click.option("--method", default="search", show_default=True, help="search, nsga2 or exact.")
@click.option("--effort", default=None, help="search: quick, standard or thorough.")
@click.option("--population", type=int, default=None, help="nsga2: its size, 100 by default.")
@click.option("--evaluations", type=int, default=None, help="nsga2: how many, 50,000 by default.")
@click.option("--pick", type=int, default=None, help="Take this point of the front, counted from 1.")
@click.option("--missing", default="category", show_default=True, help="Missing values: category, drop or error.")
@click.option("--mapping", type=click.Path(), default=None, help="Write the mapping of values to labels as JSON here.")
@click.option("--apply", "applied", type=click.Path(), default=None, help="Apply such a mapping instead of searching.")
@output_options
def command(
    mapping: str | None,
    applied: str | None,
    k: int | None,
    **given: Any,
) -> None:
    """Replace the values of FILE's quasi-identifiers by groups of values: intervals, nodes, joined names.

    Every record then looks like at least k - 1 others in the columns named by --quasi.
    """

    say_when_compiling()
    if applied is not None:
        _refuse_with_apply(click.get_current_context())
    elif k is None:
        raise UsageError("k is missing: give -k K, the least number of records in a class")
    files = {f"--taxonomy {text}": text.partition("=")[2] for text in given["taxonomy"]}
    delivery = Delivery(given, written={"--mapping": mapping}, read={"--apply": applied, **files})
    from shoal.protections.generalization.protect import apply_mapping, generalize

    order = given.pop("order")  # of this method: it may also be a rule for all columns
    table = read_table(given)
    given["order"] = order
    if applied is not None:
        release = apply_mapping(table, applied, **{name: given[name] for name in ("seed",) if name in given})
    else:
        with progress_bar("generalizing") as progress:
            release = generalize(table, k or 0, progress=progress, **_arguments(given))
    delivery.write(release, show, also={} if mapping is None else {mapping: release.save_mapping})


def _refuse_with_apply(context: click.Context) -> None:
    """With a given mapping nothing is searched: an option of the search would be ignored, so it is an error."""
    from shoal.protections.generalization.protect import apply_mapping, generalize

    own, of_search = (inspect.signature(function).parameters for function in (apply_mapping, generalize))
    for name in ("mapping", *of_search):
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if given and (name == "mapping" or name not in own):
            option = next(p.opts[0] for p in context.command.params if p.name == name)
            raise UsageError(f"{option} cannot be used with --apply: the mapping decides. Remove {option}.")


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    """The function's arguments from the command line's text."""
    step = {name: [_number(p, "granularity") for p in text.split(":")] for name, text in _pairs(given, "granularity")}
    given["granularity"] = {name: parts[0] if len(parts) == 1 else parts for name, parts in step.items()} or None
    cuts = {name: [_number(p, "cuts") for p in text.split(",")] for name, text in _pairs(given, "cuts")}
    given["cuts"] = cuts or None
    given["taxonomy"] = dict(_pairs(given, "taxonomy")) or None
    given["order"] = _order(given["order"])
    weights = [pair for text in given["weights"] for pair in text.split(",")]
    given["weights"] = {n: _number(v, "weights") for n, v in _pairs({"weights": weights}, "weights")} or None
    prefer = [_number(p, "prefer") for p in given["prefer"].split(",")]
    if len(prefer) != 2:
        raise UsageError(f"prefer must be LOSS,BIAS, such as 0.2,1.0, not {given['prefer']!r}")
    given["prefer"] = tuple(prefer)
    if given["l"] is not None:
        parts = given["l"].split(":")
        given["l"] = parts if len(parts) > 1 else _number(parts[0], "l")
    given["sets"] = list(given["sets"]) or None
    return given


def _order(texts: tuple[str, ...]) -> Any:
    plain = [text for text in texts if "=" not in text]
    by_column = dict(_pairs({"order": [text for text in texts if "=" in text]}, "order"))
    if plain and (by_column or len(plain) > 1):
        raise UsageError("give one order for all columns, or an order for each column by name, not both")
    if plain:
        return plain[0]
    named = ("auto", "alphabetical", "frequency", "taxonomy")
    return {name: text if text in named else text.split(",") for name, text in by_column.items()} or None


def _pairs(given: dict[str, Any], option: str) -> list[tuple[str, str]]:
    found = []
    for text in given[option]:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise UsageError(f"--{option} takes COLUMN=VALUE, not {text!r}")
        found.append((name, value))
    return found


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"--{option} takes numbers, not {text!r}") from error


def show(release: Any) -> None:
    """Figures, groups and front as tables."""
    from shoal.cli.tables import print_assessment, print_table

    facts = release.facts
    names = ("n", "d", "k", "method", "evaluations", "optimal", "cpu_seconds")
    print_table(release.title, ["", ""], [[name.replace("_", " "), facts[name]] for name in names if name in facts])
    if "cuts" in facts:
        rows = [[name, "; ".join(labels), len(labels)] for name, labels in facts["cuts"].items()]
        print_table("Groups", ["column", "labels", "groups"], rows, left=2)
        keys = ("effective_k", "nwp", "necd", "achievement", "suppressed")
        front = [[i, *(p[key] for key in keys)] for i, p in enumerate(facts["front"], start=1)]
        print_table(f"The front (taken: {facts['pick']})", ["pick", *keys], front[:30], left=0)
    print_assessment(release.assessment)
