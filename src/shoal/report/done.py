"""The sections on settings and on the result; a public report shows only what the release itself shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from shoal.report import charts
from shoal.report.by_protection import described, nothing
from shoal.report.page import Block, Charts, Grid, Text

if TYPE_CHECKING:
    from shoal.release import Release

IN_TABLES = ("method", "k", "quasi", "within")  # arguments that every report shows elsewhere
# Values of a run whose key is not a phrase that a reader understands; other keys are shown with blanks.
FACTS = {
    "sse": "sum of squared errors (SSE)",
    "sst": "total sum of squares (SST)",
    "information_loss": "information loss, %",
    "cpu_seconds": "CPU seconds",
    "nwp": "generalization loss (NWP)",
    "chosen": "number of the chosen solution",
    "front": "solutions of the Pareto front",
}


def settings_section(release: Any, external: bool) -> list[Block]:
    """The guarantee and the options; a public report does not show a target group, a seed or an accepted k."""
    saving = [] if external else _saving(release)
    return [*_steps(release, lambda step: _settings(step, external)), *saving]


def _settings(release: Any, external: bool) -> list[Block]:
    facts = release.facts
    rows: list[list[Any]] = [["method", facts.get("method")], ["k", facts.get("k")]]
    rows += [["columns that are constant in every group", ", ".join(release.within) or None]]
    rows += described(release, "settings", nothing)(release, external)
    if not external:
        rows += [[name.replace("_", " "), _words(value)] for name, value in _options(release).items()]
        source = "the secret of the run, which only the recipe holds" if release.secret is not None else "the seed"
        drawn = "row order and random choices" if release.draws_at_random else "row order, if shuffled"
        rows += [["seed of the search", release.seed], [f"source of {drawn}", source]]
    return [Grid(["", ""], [row for row in rows if row[1] is not None], text=2)]


def _saving(release: Any) -> list[Block]:
    """How the release was saved, and what the publisher declared or accepted."""
    output = None if release.recipe is None else release.recipe.output
    options = {} if output is None else output.saving
    names = {
        "accept_k": "accepted k over all columns that an intruder may know",
        "keep_order": "original row order kept although it discloses values",
        "first_release": "declared as the first release of these records",
        "round_weight": "weights rounded so that at least k records share each",
        "shuffle": "rows in random order",
        "previous": "earlier release",
    }
    rows = [[names.get(name, name), _words(value)] for name, value in options.items()]
    return [Grid(["", ""], rows, text=2, title="Options of saving")] if rows else []


def result_section(release: Any, min_records: int | None) -> list[Block]:
    """The run and its result, as charts and tables."""
    return _steps(release, lambda step: _done(step, min_records))


def _done(release: Any, min_records: int | None) -> list[Block]:
    blocks = described(release, "done", _summary)(release, min_records)
    return [*blocks, *([] if min_records is not None else _run(release))]


def _summary(release: Any, min_records: int | None) -> list[Block]:
    return [] if release.protection is None else [Text(release.protection.summary)]


def _steps(release: Any, describe: Callable[[Any], list[Block]]) -> list[Block]:
    """The blocks of each step; in a release of several steps, the name of the step comes first."""
    if len(release.parts) == 1:
        return describe(release)
    blocks: list[Block] = []
    for number, step in enumerate(release.parts, start=1):
        blocks += [Text(f"Step {number}, {step.protection.name}: {', '.join(step.changed)}."), *describe(step)]
    return blocks


def _options(release: Any) -> dict[str, Any]:
    """The arguments of the recipe that neither the table of columns nor the settings show."""
    arguments = release.recipe.steps[0].arguments if release.recipe is not None else {}
    shown = {*IN_TABLES, *described(release, "IN_SETTINGS", ())}
    return {name: value for name, value in arguments.items() if name not in shown and value is not None}


def _words(value: Any) -> Any:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_words(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(str(_words(part)) for part in value)
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _run(release: Release) -> list[Block]:
    """The course of the search, its stages, and the values of the run."""
    blocks: list[Block] = []
    curve = charts.evolution(release.trace)
    if curve is not None:
        blocks.append(Charts([("Best result during the search", curve)], wide=True))
    stages = release.facts.get("stages")
    if stages:
        rows = [[s["name"], s["loss_before"], s["loss_after"], s.get("cpu_seconds")] for s in stages]
        heads = ["stage", "loss before, %", "loss after, %", "CPU seconds"]
        blocks.append(Grid(heads, rows, title="Stages of the search"))
    shown_elsewhere = {"n", "d", "k", "method", "convention", "stages"}
    rows = [
        [FACTS.get(name, name.replace("_", " ")), value]
        for name, value in release.facts.items()
        if name not in shown_elsewhere and isinstance(value, int | float | str) and not isinstance(value, bool)
    ]
    return [*blocks, Grid(["", ""], rows, title="Values of the run")] if rows else blocks
