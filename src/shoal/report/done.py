"""What was asked and what was done; a public report shows only what the release itself shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from shoal.report import charts
from shoal.report.by_protection import described, nothing
from shoal.report.page import Block, Charts, Grid, Text

if TYPE_CHECKING:
    from shoal.release import Release

IN_TABLES = ("method", "k", "quasi", "within")  # arguments that every report shows elsewhere


def settings_section(release: Any, external: bool) -> list[Block]:
    """The guarantee and the options; a public report shows neither a masked group, nor a seed, nor an accepted k."""
    saving = [] if external else _saving(release)
    return [*_steps(release, lambda step: _asked(step, external)), *saving]


def _asked(release: Any, external: bool) -> list[Block]:
    facts = release.facts
    rows: list[list[Any]] = [["method", facts.get("method")], ["k", facts.get("k")]]
    rows += [["groups never cross", ", ".join(release.within) or None]]
    rows += described(release, "settings", nothing)(release, external)
    if not external:
        rows += [[name.replace("_", " "), _words(value)] for name, value in _options(release).items()]
        drawn = "the run's secret, which stands in the recipe" if release.secret is not None else "the seed"
        hides = "row order and random choices" if release.draws_at_random else "row order, if shuffled"
        rows += [["seed of the search", release.seed], [f"{hides}, drawn from", drawn]]
    return [Grid(["", ""], [row for row in rows if row[1] is not None], text=2)]


def _saving(release: Any) -> list[Block]:
    """How the release was saved, and what the publisher stated or accepted for it."""
    output = None if release.recipe is None else release.recipe.output
    given = {} if output is None else output.saving
    names = {
        "accept_k": "accepted k over everything known",
        "keep_order": "kept the original order although it discloses values",
        "first_release": "states that these records were never released before",
        "round_weight": "weights in steps that at least k records share",
        "shuffle": "rows in random order",
        "previous": "earlier release",
    }
    rows = [[names.get(name, name), _words(value)] for name, value in given.items()]
    return [Grid(["", ""], rows, text=2, title="How it was saved")] if rows else []


def done(release: Any, least: int | None) -> list[Block]:
    """The run and its outcome, as charts and figures."""
    return _steps(release, lambda step: _done(step, least))


def _done(release: Any, least: int | None) -> list[Block]:
    blocks = described(release, "done", _summary)(release, least)
    return [*blocks, *([] if least is not None else _run(release))]


def _summary(release: Any, least: int | None) -> list[Block]:
    return [] if release.protection is None else [Text(release.protection.summary)]


def _steps(release: Any, describe: Callable[[Any], list[Block]]) -> list[Block]:
    """The blocks of each step, in a release of several after the step's name."""
    if len(release.parts) == 1:
        return describe(release)
    blocks: list[Block] = []
    for number, step in enumerate(release.parts, start=1):
        blocks += [Text(f"Step {number}, {step.protection.name}: {', '.join(step.changed)}."), *describe(step)]
    return blocks


def _options(release: Any) -> dict[str, Any]:
    """The other arguments in the recipe: those that neither the table of columns nor the settings show."""
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
    """How the search went: its stages, the best so far, and the figures of the run."""
    blocks: list[Block] = []
    curve = charts.evolution(release.trace)
    if curve is not None:
        blocks.append(Charts([("The search: best so far", curve)], wide=True))
    stages = release.facts.get("stages")
    if stages:
        rows = [[s["name"], s["loss_before"], s["loss_after"], s.get("cpu_seconds")] for s in stages]
        heads = ["stage", "loss before, %", "loss after, %", "CPU seconds"]
        blocks.append(Grid(heads, rows, title="Stages of the search"))
    told = {"n", "d", "k", "method", "convention", "stages"}
    rows = [
        [name.replace("_", " "), value]
        for name, value in release.facts.items()
        if name not in told and isinstance(value, int | float | str) and not isinstance(value, bool)
    ]
    return [*blocks, Grid(["", ""], rows, title="Figures of the run")] if rows else blocks
