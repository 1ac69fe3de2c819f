"""What was asked and what was done, by kind of release; an external page shows only what the release itself shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.report import charts
from shoal.report.page import Block, Charts, Grid, Text
from shoal.report.swaps import swap_headline
from shoal.table.labels import SUPPRESSED

if TYPE_CHECKING:
    from shoal.release import Release

MOST_POINTS = 25  # of a front, and of feasible solutions, in a table


def asked(release: Any, external: bool) -> list[Block]:
    """The guarantee and the options; an external page shows neither a masked group, nor a seed, nor an accepted k."""
    saving = [] if external else _saving(release)
    if release.kind == "composed":
        return [*(block for step in _steps(release, lambda step: asked(step, external)) for block in step), *saving]
    facts = release.facts
    rows: list[list[Any]] = [["method", facts.get("method")], ["k", facts.get("k")]]
    rows += [["groups never cross", ", ".join(release.within) or None]]
    rows += [[name, facts.get(name)] for name in ("convention",)]
    for name, rule in getattr(release, "rules", {}).items():
        if rule.l > 1:
            rows.append([f"l of {name} ({rule.kind})", rule.l])
        if rule.t is not None:
            rows.append([f"t of {name} ({rule.distance})", rule.t])
    for chosen in getattr(release, "sets", ()):
        rows.append(["k holds over", ", ".join(chosen)])
    if release.kind == "masking" and not external:
        column, values = release.vital
        limits = release.task.limits
        rows += [
            ["group to hide", f"{column} is {' or '.join(map(str, values))}"],
            ["districts", release.parameter],
            ["districts that stand out", ", ".join(map(str, facts["outliers"]))],
            ["to be brought down to", ", ".join(f"{t:g}" for t in facts["thresholds"])],
            ["least compatibility", limits.compatibility],
            ["level of the tau test", limits.alpha],
        ]
    if not external:
        rows += [[name.replace("_", " "), _words(value)] for name, value in _options(release).items()]
        drawn = "the run's secret, which stands in the recipe" if release.secret is not None else "the seed"
        hides = "row order and swaps" if release.kind == "masking" else "row order, if shuffled"
        rows += [["seed of the search", release.seed], [f"{hides}, drawn from", drawn]]
    return [Grid(["", ""], [row for row in rows if row[1] is not None], text=2), *saving]


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
    if release.kind == "composed":
        return [block for step in _steps(release, lambda step: done(step, least)) for block in step]
    own = {"grouping": _grouping, "generalization": _generalization, "masking": _masking}
    blocks = own.get(release.kind, _microaggregation)(release, least)
    return blocks if least is not None else [*blocks, *_run(release)]


def _steps(release: Any, told: Callable[[Any], list[Block]]) -> Iterator[list[Block]]:
    """What is told of each step of a release of several, after the step's name."""
    for number, (name, step) in enumerate(zip(release.names, release.steps, strict=True), start=1):
        yield [Text(f"Step {number}, {name}: {', '.join(step.changed)}."), *told(step)]


def _options(release: Any) -> dict[str, Any]:
    """What else was asked for, by the recipe, if it is not in the table of columns or told already."""
    given = release.recipe.steps[0].arguments if release.recipe is not None else {}
    told = {"method", "k", "quasi", "convention", "vital", "parameter", "compatibility", "alpha", "sets", "l", "t"}
    told |= {"mapping", "within"}  # what a mapping holds is in the recipe, at the page's end
    return {name: value for name, value in given.items() if name not in told and value is not None}


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


def _microaggregation(release: Any, least: int | None) -> list[Block]:
    facts = release.facts
    if least is not None:
        number = f"{facts['groups']:,} groups" if facts.get("groups", 0) >= least else "groups"
        each = f"of at least {facts.get('k')} {_members(release)}"
        return [Text(f"Shoal put the records into {number} {each} and replaced each record's values by its group's.")]
    solution = release.solution
    if not hasattr(solution, "sizes"):
        return []
    size, count = np.unique(solution.sizes, return_counts=True)
    counts = dict(zip(size.tolist(), count.tolist(), strict=True))
    drawn = charts.sizes(counts, "records in a group", "groups")
    bound = ""
    if facts.get("lower_bound") is not None:
        bound = f" No groups of at least {facts['k']} lose less than {facts['lower_bound']:.4g} %."
    sizes = f"{size[0]} to {size[-1]}" if len(size) > 1 else f"{size[0]} each"
    text = f"{facts['n']:,} records in {facts['groups']:,} groups of {sizes}. {_replacement(release)}{bound}"
    if "units" in facts:
        text += (
            f" The records belong to {facts['units']:,} persons or households; every group has at least "
            f"{facts['smallest_group_units']:,} of them."
        )
    return [Text(text), *([Charts([("Groups by their size", drawn)], wide=True)] if len(counts) > 1 else [])]


def _members(release: Any) -> str:
    return "persons or households" if isinstance(release.original.roles.unit, str) else "records"


def _replacement(release: Any) -> str:
    """What each record's values were replaced by, for the kinds of columns that there are."""
    kinds = {about["kind"] for about in release.facts.get("per_column", {}).values()} or {"number"}
    given = {} if release.recipe is None else release.recipe.steps[0].arguments
    aggregates = {
        "number": given.get("aggregate", "mean"),
        "date": given.get("aggregate", "mean"),
        "ordinal": "median",
        "nominal": "most frequent value",
    }
    names = {"number": "numeric"}
    parts = [f"{value} of {names.get(kind, kind)} columns" for kind, value in aggregates.items() if kind in kinds]
    return f"Each record got its group's values: the {', the '.join(parts)}."


def _grouping(release: Any, least: int | None) -> list[Block]:
    facts = release.facts
    rows = [[i, ", ".join(group)] for i, group in enumerate(release.column_groups, start=1)]
    blocks: list[Block] = [
        Text(
            "The columns of each column group were microaggregated together: within them every record shares its "
            f"values with at least {facts['k'] - 1} others."
        ),
        Grid(["group", "columns"], rows, text=2, title="Column groups"),
    ]
    if release.front and least is None:
        points = [
            (c["information_loss"], c["risk"], " | ".join(", ".join(group) for group in c["groups"]))
            for c in release.front
        ]
        taken = (facts["information_loss"], (facts["interval_disclosure"] + facts["distance_linkage"]) / 2)
        drawn = charts.choices(points, taken, "information loss, %", "disclosure risk, %")
        blocks.append(Charts([("Pareto front: no other choice is better in both loss and risk", drawn)], wide=True))
    return blocks


def _generalization(release: Any, least: int | None) -> list[Block]:
    facts = release.facts
    cuts: Mapping[str, Sequence[str]] = facts.get("cuts", {})
    text = Text("Values were replaced by categories: the same category for every record that has the value.")
    if least is not None:
        return [text]
    blocks: list[Block] = [text]
    if cuts:
        rows = [[name, "; ".join(found), len(found)] for name, found in cuts.items()]
        blocks.append(Grid(["column", "categories", "how many"], rows, text=2, title="Categories"))
    drawn = []
    for name in release.changed:
        found, counts = release.label_counts(name)
        drawn.append((name, charts.labels(["* (suppressed)" if v == SUPPRESSED else v for v in found], counts)))
    blocks.append(Charts(drawn, note="Records of each category."))
    if "front" in facts:
        blocks += _front(facts)
    return blocks


def _front(facts: Mapping[str, Any]) -> list[Block]:
    """What a higher k would cost, as charts and as a table around the point that was taken."""
    front, pick = facts["front"], facts["pick"]
    names = [f"pick {i}: k = {p['effective_k']}" for i, p in enumerate(front, start=1)]
    pairs = (
        ("What a higher k would cost", "effective_k", "nwp", "smallest class (k)", "loss (NWP)"),
        ("Loss against bias", "nwp", "necd", "loss (NWP)", "bias (NECD)"),
    )
    drawn = []
    for title, x, y, x_title, y_title in pairs:
        points = [(p[x], p[y], name) for p, name in zip(front, names, strict=True)]
        taken = (front[pick - 1][x], front[pick - 1][y])
        drawn.append((title, charts.choices(points, taken, x_title, y_title, log=x == "effective_k")))
    keys = ("effective_k", "nwp", "necd", "achievement", "suppressed")
    start = max(0, min(pick - 1 - MOST_POINTS // 2, len(front) - MOST_POINTS))
    near = list(enumerate(front, start=1))[start : start + MOST_POINTS]
    rows = [[f"{i} (taken)" if i == pick else str(i), *(p[key] for key in keys)] for i, p in near]
    note = f"{len(front)} points in all." if len(front) > len(near) else ""
    heads = ["pick", "smallest class", "NWP", "NECD", "achievement", "suppressed"]
    return [Charts(drawn), Grid(heads, rows, title="The front", note=note)]


def _masking(release: Any, least: int | None) -> list[Block]:
    facts = release.facts
    if least is not None:
        return [
            Text(
                f"{swap_headline(release, external=True)} Nothing else changed. The report does not name the group, "
                "the regions or the number of pairs: that would undo the protection."
            )
        ]
    signals = charts.signal_chart(
        facts["districts"],
        {
            "before": (facts["signal"], facts["outliers"]),
            "after": (facts["modified_signal"], facts["modified_outliers"]),
        },
    )
    signal = zip(facts["districts"], facts["signal"], facts["modified_signal"], strict=True)
    changed = sorted(
        ([str(d), old, new] for d, old, new in signal if old != new), key=lambda row: -abs(row[2] - row[1])
    )
    solutions = [
        [s["number"], " ".join(map(str, s["outliers"])) or "none", s["metric"], s["compatibility"], s["swaps"]]
        for s in facts["feasible_solutions"][:MOST_POINTS]
    ]
    more = len(facts["feasible_solutions"]) - len(solutions)
    return [
        Text(f"{facts['swaps']:,} pairs of records exchanged their districts; nothing else changed."),
        Charts([("The group's signal over the districts, outliers marked", signals)], wide=True),
        Grid(
            ["district", "before", "after"],
            changed[:MOST_POINTS],
            title="Where the signal changed most",
            note=f"{len(changed) - MOST_POINTS} more changed." if len(changed) > MOST_POINTS else "",
        ),
        Grid(
            ["number", "outliers left", "metric", "compatibility", "swaps"],
            solutions,
            text=2,
            title="Feasible solutions, by distortion",
            note=f"{more} more." if more > 0 else "",
        ),
    ]
