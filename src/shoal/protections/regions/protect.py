"""The work of `shoal.mask_group`: check the columns, search for swaps between regions, and make the release.

Group anonymity after Chertov and Tavrov 2017. By default the target group is hidden at every alpha in every signal, and
every choice is drawn from the secret of the run (`hiding.py`). The settings "published" select solutions as the
publication does.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Ints
from shoal.attacks.membership import attack_regions
from shoal.engine.clock import Clock
from shoal.engine.control import current, shielded
from shoal.errors import InputError, PromiseError, UsageError, counted, unknown
from shoal.gate.promises import Masked, Promise, SameValues
from shoal.measures.assessment import Figure
from shoal.protections.regions import MASK
from shoal.protections.regions.by_evolution import MemeticSettings, fitness, mask_by_evolution
from shoal.protections.regions.by_flow import flow_seeds, mask_by_flow
from shoal.protections.regions.dependence import tie
from shoal.protections.regions.flow import Network
from shoal.protections.regions.hiding import (
    Concealment,
    concealment,
    default_pick,
    hide_by_flow,
    limited_regions,
    nearest_choices,
)
from shoal.protections.regions.protection import MeasuredProtection
from shoal.protections.regions.restriction import AutomaticThreshold
from shoal.protections.regions.signal_search import compatible_bounds
from shoal.protections.regions.similarity import MatchingValues, matching_values
from shoal.protections.regions.task import COMPATIBILITY, Answer, MaskingLimits, Solution, Task, TaskNames, masking_task
from shoal.release import Release
from shoal.sources.files import atomically
from shoal.sources.reading import as_table
from shoal.table.column import Column, ColumnCodes
from shoal.table.frames import wrap
from shoal.table.table import Table


@dataclass(frozen=True)
class Target:
    """The target group, the column of the regions, and the columns that are swapped together with it (along)."""

    vital: tuple[str, Sequence[Any]]
    parameter: str
    along: tuple[str, ...]
    signal: str
    second: tuple[str, Sequence[Any]] | None


@dataclass(frozen=True)
class Matching:
    """The matching columns, their weights, and the cost of equal and unequal categories (chi)."""

    columns: tuple[str, ...]
    ordinal: tuple[str, ...]
    weights: dict[str, float]
    chi: tuple[float, float]


@dataclass(frozen=True)
class OutlierChoice:
    """The regions to mask and their thresholds, or the rule by which Shoal finds them."""

    outliers: Sequence[Any] | None
    thresholds: Sequence[float] | None
    nth: int
    rule: str
    restriction: str
    root: bool


@dataclass(frozen=True)
class Aim:
    """The aim of the search, and the solution to take."""

    settings: str
    alphas: Sequence[float]
    decoys: int
    pick: int | None


@dataclass(frozen=True)
class Searching:
    """The search method, its options, and the seed or secret of its choices."""

    method: str
    options: dict[str, Any]
    seed: int
    secret: str | None


def protect(
    data: Any,
    target: Target,
    matching: Matching,
    outlier_choice: OutlierChoice,
    limits: MaskingLimits,
    aim: Aim,
    searching: Searching,
) -> GroupRelease:
    """Return the release of a table in which the target group is hidden by swaps between regions."""
    vital, parameter, along, settings, pick = target.vital, target.parameter, target.along, aim.settings, aim.pick
    method, options = searching.method, searching.options
    _check_settings(method, aim, limits.sensitivity)
    table = as_table(data)
    clock = Clock()
    _check_columns(table, target, matching)
    _check_ties(table, parameter, along)
    _check_units(table, parameter)
    labels, region = _numbered(table, parameter, by_label=settings == "published")
    second_group = None if target.second is None else _marked(table, target.second, "second")
    outliers, thresholds = outlier_choice.outliers, outlier_choice.thresholds
    task = masking_task(
        region,
        _marked(table, vital, "vital"),
        _matching_values(table, matching),
        kind=target.signal,
        second=second_group,
        limits=limits,
        outlying=None if outliers is None else _places(labels, outliers, parameter),
        threshold=(
            AutomaticThreshold(outlier_choice.nth, outlier_choice.rule)
            if thresholds is None
            else _given_thresholds(labels, thresholds, outliers)
        ),
        shape=outlier_choice.restriction,
        root=outlier_choice.root,
        names=TaskNames(parameter, vital[0], labels),
    )
    conditions = concealment(task, second_group, aim.alphas, aim.decoys)
    run = _Run(task, conditions, searching.secret, searching.seed)
    if settings == "hiding":
        answer, network = run.hide(options)
        pick = default_pick(answer.solutions) if pick is None and answer.solutions else pick
    else:
        answer, network = run.as_published(method, options)
    solution = _picked(answer, 1 if pick is None else pick, method)
    frame = _swapped(table, (parameter, *along), solution.swaps)
    measured = conditions.measure(task, solution.counts)
    about = (task, labels, method, network, answer, solution, 1 if pick is None else pick, options)
    facts = shielded(lambda: _facts(*about))  # a stopped search has them too
    facts |= {"settings": settings, **_measured(task, conditions, labels, solution, measured)}
    facts |= {"attack": _attacked(table, parameter, along, vital[0], task, solution, labels)}
    release = GroupRelease(
        original=table,
        frame=frame,
        changed=(parameter, *along),
        k=None,
        facts={**facts, **clock.read()},
        solution=solution,
        title=MASK.title,
        extra={"answer": answer, "labels": labels},
        task=task,
        parameter=parameter,
        vital=vital,
        conditions=conditions if settings == "hiding" else None,
        promises=_promises(
            task,
            SameValues((parameter, *along), swaps=_swapped_rows(table, solution.swaps)),
            vital,
            target.second,
            conditions if settings == "hiding" else None,
            labels,
        ),
    )
    release.verify()
    return release


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupRelease(Release):
    """A release in which swapped records have exchanged their regions, and nothing else changed."""

    task: Task
    parameter: str
    vital: tuple[str, Sequence[Any]]
    conditions: Concealment | None = None

    @property
    def step_figures(self) -> list[Figure]:
        """The distortion and the compatibility. Swaps hide no record, so there are no equivalence classes."""
        meaning = "distortion: how much the swaps change the matching columns"
        cost = Figure("metric", self.facts["metric"], "0 and more", meaning)
        return [
            cost,
            Figure(
                "compatibility",
                self.facts["compatibility"],
                "0 to 1",
                "how far the outlier regions came down to their thresholds",
            ),
        ]

    def save_swaps(self, path: str | os.PathLike[str]) -> None:
        """Write the list of swaps as CSV; an error leaves no partial file."""
        with atomically(Path(path)) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["vital_row", "from", "partner_row", "to", "metric"])
            writer.writeheader()
            writer.writerows(self.swap_list())

    def swap_list(self) -> list[dict[str, Any]]:
        """Return the swaps: rows of target record and partner, counted from 1, their regions, and the distortion."""
        labels = self.extra["labels"]
        swaps, region = self.solution.swaps, self.task.region
        distortion = self.task.matching.between(swaps[:, 0], swaps[:, 1])
        return [
            {
                "vital_row": int(v) + 1,
                "from": labels[region[v]],
                "partner_row": int(u) + 1,
                "to": labels[region[u]],
                "metric": float(c),
            }
            for (v, u), c in zip(swaps, distortion, strict=True)
        ]


def _promises(
    task: Task,
    same_values: SameValues,
    vital: tuple[str, Sequence[Any]],
    second: tuple[str, Sequence[Any]] | None,
    conditions: Concealment | None,
    labels: list[Any],
) -> tuple[Promise, ...]:
    """Return the guarantees: values only change places, and the signal shows no more than the settings allow.

    conditions: those of the settings hiding, else None.
    """
    outliers = tuple(_names(labels, task.outlying))
    second_group = None if second is None else (second[0], tuple(second[1]))
    masked = Masked(same_values.columns[:1], vital[0], tuple(vital[1]), second_group, outliers)
    if conditions is not None:
        signals = tuple(signal.kind for signal in conditions.signals)
        upper, decoys = conditions.side == "upper", conditions.decoys
        hidden = replace(masked, signals=signals, alphas=conditions.alphas, upper=upper, decoys=decoys)
        return same_values, hidden
    limits = task.limits
    published = replace(
        masked, signals=(task.signal.kind,), alphas=(limits.alpha,), upper=limits.side == "upper",
        allowed=task.unmasked_allowed, outliers_only=True,
    )  # fmt: skip
    return same_values, replace(masked, promised=False), published  # the rest is measured only


@dataclass(frozen=True, eq=False)
class _Run:
    """One search: the task, the conditions, and the seed or secret of its choices."""

    task: Task
    conditions: Concealment
    secret: str | None
    seed: int

    def hide(self, options: Mapping[str, Any]) -> tuple[Answer, None]:
        """Return solutions that hide the group.

        Records and regions are numbered at random, so that no choice depends on the order of the file or of the labels.
        """
        task = self.task
        rng = self._random()
        order, number = rng.permutation(task.region.size), rng.permutation(task.region_count)
        mixed, conditions = task.renumbered(number).in_order(order), self.conditions.renumbered(number)
        answer = hide_by_flow(mixed, conditions, rng, **options)
        if not answer.solutions:
            current().check()
            raise PromiseError(nearest_choices(mixed, conditions, answer, rng))
        back = np.argsort(number)

        def returned(solution: Solution) -> Solution:
            counts = solution.counts[number]
            verdict, swaps = task.judge(counts, solution.distortion), order[solution.swaps]
            decoys = np.sort(back[solution.decoys])
            return replace(solution, swaps=swaps, counts=counts, verdict=verdict, decoys=decoys)

        return replace(answer, solutions=[returned(s) for s in answer.solutions], drawn_solutions=[]), None

    def as_published(self, method: str, options: dict[str, Any]) -> tuple[Answer, Network]:
        """Return solutions as Chertov and Tavrov 2017 select them; with a secret, the records are in a random order."""
        order, seed = np.arange(self.task.region.size), self.seed
        if self.secret is not None:  # which of equally good records are swapped must not be predictable
            draw = self._random()
            order, seed = draw.permutation(order.size), int(draw.integers(2**31))
        mixed = self.task.in_order(order)
        network = Network(mixed)
        answer = _answer(mixed, method, network, seed, options)
        return replace(answer, solutions=[replace(s, swaps=order[s.swaps]) for s in answer.solutions]), network

    def _random(self) -> np.random.Generator:
        if self.secret is not None:
            return np.random.Generator(np.random.Philox(key=int(self.secret, 16)))
        return np.random.Generator(np.random.Philox(np.random.SeedSequence(self.seed)))


def _check_settings(method: str, aim: Aim, sensitivity: float) -> None:
    """Raise an error for an option that the settings do not use."""
    if aim.settings == "hiding" and method != "flow":
        raise UsageError(
            f"The method {method} searches as published, and does not hide the group at every alpha. To run it, add "
            "--settings published; else use --method flow."
        )
    if aim.settings == "hiding" and sensitivity:
        raise UsageError("--sensitivity lets original outliers stay, so it needs --settings published. Remove it.")
    if aim.settings == "published" and aim.decoys:
        raise UsageError("--decoys needs --settings hiding, the default. Remove --decoys or --settings published.")


def _check_columns(table: Table, target: Target, matching: Matching) -> None:
    """Refuse an unknown column, and a column with two parts that exclude each other."""
    parameter, along, group = target.parameter, target.along, target.vital[0]
    for name in (parameter, group, *along, *matching.columns):
        if name not in table.columns:
            raise unknown("column", name, table.columns)
    for name in (*matching.ordinal, *matching.weights):
        if name not in matching.columns:
            raise unknown("matching column", name, matching.columns)
    if group == parameter:
        raise UsageError(
            f"The column {group!r} cannot be both that of the target group (--vital) and that of the regions "
            "(--parameter)."
        )
    for option, columns in (("--influential", matching.columns), ("--along", along)):
        if group in columns:
            why = "target records always differ from their partners in it" if option == "--influential" else _NOT_ALONG
            raise UsageError(
                f"{option} must not name {group!r}, the column of the target group (--vital): {why}. Remove it from "
                f"{option}."
            )
    if parameter in matching.columns:
        raise UsageError(
            f"--influential must not name {parameter!r}, the column of the regions (--parameter): swapped records "
            "exchange it. Remove it from --influential."
        )


_NOT_ALONG = "if it moved with the region, the number of target records per region would not change"


def _check_ties(table: Table, parameter: str, along: tuple[str, ...]) -> None:
    """Refuse a released column that would show which records were swapped."""
    if parameter in table.roles.removed:
        raise UsageError(
            f"The role of the column of the regions, {parameter!r}, removes it, so there is nothing to mask. Give it "
            "another role."
        )
    if parameter in along or set(along) & set(table.roles.removed):
        raise UsageError(
            f"--along must name released columns other than {parameter!r}, the column of the regions, not "
            f"{', '.join(along)}."
        )
    regions = _column_codes(table, parameter)
    tied: dict[str, str] = {}
    for name in table.columns:
        if name != parameter and name not in along and name not in table.roles.removed:
            how = tie(regions, _column_codes(table, name))
            if how is not None:
                tied[name] = how
    if not tied:
        return
    words = {
        "follows": f"each region of {parameter!r} has one value of it",
        "fixes": f"each of its values lies in one region of {parameter!r}",
    }
    shown = "; ".join(f"{name!r} ({words[how]})" for name, how in tied.items())
    names = ",".join(tied)
    raise PromiseError(
        f"Other released columns would show which records were swapped: {shown}. Swap them together with {parameter!r} "
        f"(--along {names}), leave them out (--drop {names}), or name the column of households or persons with --unit."
    )


def _check_units(table: Table, parameter: str) -> None:
    """Refuse a file in which a swap would take one row of a household or person to another region."""
    unit = table.roles.unit
    if not isinstance(unit, str):
        return
    codes = _column_codes(table, unit)
    largest = int(np.bincount(codes).max(initial=0))
    if largest > 1:
        several = int((np.bincount(codes) > 1).sum())
        raise PromiseError(
            f"{counted(several, 'unit')} of {unit!r} {'has' if several == 1 else 'have'} more than one row, the "
            f"largest {largest}. A swap would move one of these rows to another region of {parameter!r} and split "
            "the unit. Mask a file with one row per unit, then join the other rows to it."
        )


def _numbered(table: Table, parameter: str, *, by_label: bool) -> tuple[list[Any], Ints]:
    """Return the labels of the regions, and the region of each record, numbered from 0 by label or by first appearance.

    If regions are numbered by appearance, no choice can depend on their labels.
    """
    labels, region = _regions(table, parameter)
    if by_label:
        return labels, region
    appearance = np.argsort(np.unique(region, return_index=True)[1])
    number = np.argsort(appearance)
    return [labels[d] for d in appearance], number[region]


def _regions(table: Table, parameter: str) -> tuple[list[Any], Ints]:
    """Return the labels of the regions in order, and the region of each record, numbered from 0."""
    labels, coded = _labelled(table[parameter])
    missing = np.flatnonzero(coded.missing)
    if missing.size:
        raise InputError(
            f"The column of the regions, {parameter!r}, has {counted(missing.size, 'missing value')}, the first in row "
            f"{table[parameter].row(int(missing[0]))}. Every record needs a region. Leave these records out, or give "
            "them a region of their own."
        )
    return labels, coded.codes.astype(np.int64)


def _labelled(column: Column) -> tuple[list[Any], ColumnCodes]:
    """Return the values of a column as people name them, and its codes; a code that is declared missing is a value."""
    if column.kind != "number":
        coded = column.codes
        return [value == "True" for value in coded.values] if column.kind == "bool" else coded.values, coded
    if column.series.dtype.is_integer() or column.series.dtype.is_float():
        return column.stored.values, column.stored
    return [column.cell(int(row)) for row in column.stored.first_rows()], column.stored


_FLAGS = {"1": "True", "0": "False", "true": "True", "false": "False"}  # other texts of a bool


def _marked(table: Table, group: tuple[str, Sequence[Any]], what: str) -> Bools:
    """Return which records have one of the values in the column of the group; what: the name of the argument."""
    column, values = group
    if column not in table.columns:
        raise unknown("column", column, table.columns)
    if isinstance(values, str) or not list(values):
        raise UsageError(f"{what} must be a column and a list of values, such as ('job', ['guard']), not {group!r}.")
    labels, coded = _labelled(table[column])
    is_flag = table[column].kind == "bool"
    numeric = not is_flag and not any(isinstance(label, str) for label in labels)
    hits: set[int] = set()
    for value in values:
        try:
            wanted = float(value) if numeric else _FLAGS.get(str(value), str(value)) if is_flag else str(value)
        except ValueError:
            raise UsageError(
                f"The column {column!r} has numbers, and the value {value!r} of --{what} is not a number."
            ) from None
        codes = [i for i, label in enumerate(labels) if (label if numeric else str(label)) == wanted]
        if not codes:
            raise unknown(f"{column} value", value, sorted(map(str, labels))[:30])
        hits.update(codes)
    return np.isin(coded.codes, sorted(hits))


def _matching_values(table: Table, matching: Matching) -> MatchingValues:
    """Return the values of the matching columns as arrays; a missing value is NaN or -1."""
    columns, ordinal, weights = matching.columns, matching.ordinal, matching.weights
    nominal = [name for name in columns if name not in ordinal]
    for name in ordinal:
        cells = table[name].cells
        if cells.bad:
            raise UsageError(
                f"The ordinal matching column {name!r} needs numbers, but row {table[name].row(cells.first_bad)} has "
                f"{table[name].cell(cells.first_bad)!r}. Leave it out of --ordinal, so that its values are categories."
            )
    numbers = table.numbers(ordinal, missing="keep", allow_constant=True) if ordinal else np.empty((table.rows, 0))
    codes = np.empty((table.rows, len(nominal)), dtype=np.int32)
    for j, name in enumerate(nominal):
        coded = _labelled(table[name])[1]
        codes[:, j] = np.where(coded.missing, -1, coded.codes)
    return matching_values(
        numbers,
        codes,
        np.array([weights.get(name, 1.0) for name in ordinal]),
        np.array([weights.get(name, 1.0) for name in nominal]),
        matching.chi,
        (*ordinal, *nominal),
        table.numbering,
    )


def _column_codes(table: Table, name: str) -> Ints:
    """Return a code from 0 per value of a column, numbers in ascending order; missing is a value of its own."""
    return _labelled(table[name])[1].codes.astype(np.int64)


def _places(labels: list[Any], wanted: Sequence[Any], parameter: str) -> Ints:
    """Return the numbers of the regions with these labels."""
    names = [str(label) for label in labels]
    for label in wanted:
        if str(label) not in names:
            raise unknown(f"region in {parameter!r}", label, names)
    if len(set(map(str, wanted))) < len(wanted):
        raise UsageError(f"--outliers names a region of {parameter!r} twice: {', '.join(map(str, wanted))}.")
    return np.array([names.index(str(label)) for label in wanted], dtype=np.int64)


def _given_thresholds(
    labels: list[Any], thresholds: Sequence[float], outliers: Sequence[Any] | None
) -> NDArray[np.float64]:
    """Return the thresholds in the order of the numbers of the regions."""
    if outliers is None or len(outliers) != len(thresholds):
        raise UsageError(
            f"--thresholds has {counted(len(thresholds), 'value')} and --outliers "
            f"{counted(len(outliers or ()), 'region')}. Give one threshold per region, in the same order."
        )
    if not np.isfinite(thresholds).all():
        raise UsageError(f"--thresholds must be finite numbers, not {', '.join(map(str, thresholds))}.")
    names = [str(label) for label in labels]
    places = [names.index(str(label)) if str(label) in names else -1 for label in outliers]
    return np.asarray(thresholds, dtype=np.float64)[np.argsort(places, kind="stable")]


def _answer(
    task: Task,
    method: str,
    network: Network,
    seed: int,
    options: dict[str, Any],
) -> Answer:
    if method == "flow":
        return mask_by_flow(task, network=network, **options)
    rest = {name: value for name, value in options.items() if name != "flow_seeds"}
    seeds = flow_seeds(task, network) if options.get("flow_seeds") else ()
    return mask_by_evolution(task, MemeticSettings(**rest), seed=seed, seeds=seeds, network=network)


def _picked(answer: Answer, pick: int, method: str) -> Solution:
    if not answer.solutions:
        current().check()
        hint = "Use --method flow" if method == "memetic" else "Lower --compatibility or --alpha, or raise --distortion"
        raise PromiseError(
            f"None of the {counted(answer.candidates, 'solution')} masks the outlier regions within the limits. {hint}."
        )
    if not 1 <= pick <= len(answer.solutions):
        raise UsageError(
            f"--pick must be between 1 and {len(answer.solutions)} (the number of feasible solutions), not {pick}."
        )
    return answer.solutions[pick - 1]


def _facts(
    task: Task,
    labels: list[Any],
    method: str,
    network: Network | None,
    answer: Answer,
    solution: Solution,
    pick: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Return the measures of the run, with regions in the order of their labels.

    network: None if every solution has the lowest distortion for its signal.
    """
    optimum: float | None = solution.distortion
    if network is not None:
        flow = network.reach(solution.counts)
        optimum = None if flow is None else flow.distortion
    bound, bound_kind = answer.bound, answer.bound_kind
    if bound is None and network is not None:
        flow = network.solve(*compatible_bounds(task))
        bound, bound_kind = 0.0 if flow is None else flow.distortion, COMPATIBILITY
    settings = MemeticSettings(centre=options.get("centre"))
    cells = task.matching.column_count * task.region.size
    return {
        "n": int(task.region.size),
        "districts": [labels[d] for d in _by_label(labels)],
        "method": method,
        "vital_records": int(task.signal.counts.sum()),
        "signal": _numbers(task, labels, task.signal.counts),
        "modified_signal": _numbers(task, labels, solution.counts),
        "outliers": _names(labels, task.outlying),
        "modified_outliers": _names(labels, solution.verdict.outliers),
        "thresholds": task.restrictions.threshold.tolist(),
        "metric": solution.distortion,
        "compatibility": solution.verdict.compatibility,
        "feasible": solution.feasible,
        "swaps": len(solution.swaps),
        "lower_bound": float(bound or 0.0),
        "lower_bound_kind": bound_kind,
        "flow_optimum": optimum,
        "distortion": solution.distortion / cells,
        "worst": task.worst,
        "picked": pick,
        "candidates": answer.candidates,
        **({"stopped": True} if answer.stopped else {}),
        "feasible_solutions": [
            {
                "number": i + 1,
                "fitness": fitness(task, settings, s),
                "metric": s.distortion,
                "compatibility": s.verdict.compatibility,
                "swaps": len(s.swaps),
                **({"candidate_regions": int(s.facts["candidates"])} if "candidates" in s.facts else {}),
                "outliers": _names(labels, s.verdict.outliers),
                "signal": _numbers(task, labels, s.counts),
            }
            for i, s in enumerate(answer.solutions[:100])
        ],
    }


def _measured(
    task: Task, conditions: Concealment, labels: list[Any], solution: Solution, measured: MeasuredProtection
) -> dict[str, Any]:
    """Return what the new signal still shows, where target records went, and which regions could receive only few."""
    receiving = task.region[solution.swaps[:, 1]]
    arrivals = np.bincount(receiving, minlength=task.region_count)
    return {
        "headline": _headline(task, conditions, labels, measured),
        "hidden": measured.hidden_but_for(solution.decoys),
        "alphas": list(conditions.alphas),
        "outliers_left": _names(labels, measured.left),
        "new_outliers": _names(labels, measured.new),
        "still_largest": _names(labels, measured.largest),
        "decoys": _names(labels, solution.decoys),
        "ranks": {
            kind: {str(labels[d]): int(rank) for d, rank in zip(task.outlying, ranks, strict=True)}
            for kind, ranks in measured.ranks.items()
        },
        "candidate_regions": int(solution.facts["candidates"]) if "candidates" in solution.facts else None,
        "limited_regions": _names(labels, limited_regions(task, conditions, solution)),
        "arrivals": arrivals[_by_label(labels)].tolist(),
        "tests": [
            {
                "signal": view.signal,
                "alpha": view.alpha,
                "outliers_before": _names(labels, np.flatnonzero(view.before)),
                "outliers_after": _names(labels, np.flatnonzero(view.after)),
            }
            for view in measured.views
        ],
    }


def _headline(task: Task, conditions: Concealment, labels: list[Any], measured: MeasuredProtection) -> str:
    """Return what was measured, in one or two sentences."""
    kinds = " and ".join(signal.kind for signal in conditions.signals)
    lowest, highest = conditions.alphas[0], conditions.alphas[-1]
    alphas = f"alpha {lowest:g}" if lowest == highest else f"alpha {lowest:g} to {highest:g}"
    every = task.outlying.size
    left, largest, new = (_names(labels, part) for part in (measured.left, measured.largest, measured.new))
    parts = []
    if left:
        parts.append(f"{', '.join(map(str, left))} still outliers ({len(left)} of {every} original ones)")
    if largest:
        parts.append(f"{', '.join(map(str, largest))} still the largest or smallest")
    if not (left or largest):
        one = "the original outlier is neither an outlier nor the largest region"
        parts.append(
            one if every == 1 else f"none of the {every} original outliers is an outlier or the largest region"
        )
    parts.append(f"new outliers: {', '.join(map(str, new))}" if new else "no new outlier")
    rank = f"Best rank of an original outlier: {measured.first_rank} of {task.region_count}."
    return f"Measured in {kinds} at {alphas}: {'; '.join(parts)}. {rank}"


def _attacked(
    table: Table, parameter: str, along: tuple[str, ...], vital: str, task: Task, solution: Solution, labels: list[Any]
) -> dict[str, Any] | None:
    """Return how well an intruder guesses the original regions of moved records from the other released columns."""
    left_out = {parameter, vital, *along, *table.roles.removed}
    columns = [_column_codes(table, name) for name in table.columns if name not in left_out]
    if not columns:
        return None
    one, two = solution.swaps[:, 0], solution.swaps[:, 1]
    released = task.region.copy()
    released[one], released[two] = task.region[two], task.region[one]
    attack = attack_regions(columns, released, task.region, task.is_target, task.outlying, regions=task.region_count)
    return {
        "moved_guessed": attack.guessed,
        "moved_guessed_base": attack.guessed_base,
        "others_guessed": attack.learnt,
        "others_guessed_base": attack.learnt_base,
        "ranks": {str(labels[d]): rank for d, rank in zip(task.outlying, attack.ranks, strict=True)},
        "finds_outliers": attack.finds,
    }


def _by_label(labels: list[Any]) -> Ints:
    """Return the numbers of the regions in the order of their labels."""
    return np.asarray(sorted(range(len(labels)), key=lambda d: labels[d]), dtype=np.int64)


def _names(labels: list[Any], regions: Ints) -> list[Any]:
    return sorted(labels[d] for d in regions)


def _numbers(task: Task, labels: list[Any], counts: Ints) -> list[Any]:
    values = counts if task.signal.kind == "quantity" else task.signal.of(counts)
    numbers: list[Any] = values[_by_label(labels)].tolist()
    return numbers


def _swapped_rows(table: Table, swaps: Ints) -> tuple[tuple[int, int], ...]:
    """Return the pairs of swapped rows, as row numbers of the input counted from 1."""
    return tuple((int(one), int(two)) for one, two in table.numbering[swaps])


def _swapped(table: Table, columns: Sequence[str], swaps: Ints) -> Any:
    """Return the frame without removed columns, with the values of swapped records exchanged in these columns."""
    order = np.arange(table.rows)
    order[swaps[:, 0]], order[swaps[:, 1]] = swaps[:, 1], swaps[:, 0]
    frame = wrap(table.protected({}))
    return frame.with_columns(*(frame[name][order.tolist()].alias(name) for name in columns)).to_native()
