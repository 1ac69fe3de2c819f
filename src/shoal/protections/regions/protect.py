"""The work of `shoal.mask_group`: a table in, swaps between regions in the middle, a masked release out.

Group anonymity after Chertov and Tavrov 2017. By default the group is hidden at every alpha and in every signal, and
every choice is drawn from the run's secret (`hiding.py`); settings "published" is the paper's selection.
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
from shoal.errors import InputError, PromiseError, UsageError, unknown
from shoal.gate.promises import Masked, Promise, SameValues
from shoal.measures.assessment import Figure
from shoal.protections.regions import MASK
from shoal.protections.regions.by_evolution import Settings, fitness, mask_by_evolution
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
from shoal.protections.regions.protection import Protection
from shoal.protections.regions.restriction import AutomaticThreshold
from shoal.protections.regions.similarity import Influential, influential
from shoal.protections.regions.targets import compatible_bounds
from shoal.protections.regions.task import Answer, Limits, Solution, Task, masking_task
from shoal.release import Release
from shoal.sources.files import atomically
from shoal.sources.reading import as_table
from shoal.table.column import Column, ColumnCodes
from shoal.table.frames import wrap
from shoal.table.table import Table


@dataclass(frozen=True)
class Target:
    """The group to hide, and where it is concentrated. along: columns that are swapped with the regions."""

    vital: tuple[str, Sequence[Any]]
    parameter: str
    along: tuple[str, ...]
    signal: str
    second: tuple[str, Sequence[Any]] | None


@dataclass(frozen=True)
class Matching:
    """The columns in which swapped records should agree, and what a difference costs."""

    columns: tuple[str, ...]
    ordinal: tuple[str, ...]
    weights: dict[str, float]
    chi: tuple[float, float]


@dataclass(frozen=True)
class OutlierChoice:
    """The regions to mask and what to bring them to, where they are given; else how that is found."""

    outliers: Sequence[Any] | None
    thresholds: Sequence[float] | None
    nth: int
    rule: str
    restriction: str
    root: bool


@dataclass(frozen=True)
class Aim:
    """What a solution must keep, and which of several is taken."""

    settings: str
    alphas: Sequence[float]
    decoys: int
    pick: int | None


@dataclass(frozen=True)
class Searching:
    """How solutions are found, and what the choices are drawn from."""

    method: str
    options: dict[str, Any]
    seed: int
    secret: str | None


def protect(
    data: Any,
    target: Target,
    matching: Matching,
    outlier_choice: OutlierChoice,
    limits: Limits,
    aim: Aim,
    searching: Searching,
) -> GroupRelease:
    """The release of a table in which a group is hidden by swaps between regions."""
    vital, parameter, along, settings, pick = target.vital, target.parameter, target.along, aim.settings, aim.pick
    method, options = searching.method, searching.options
    _check_settings(method, aim, limits.sensitivity)
    table = as_table(data)
    clock = Clock()
    _check_ties(table, parameter, along)
    _check_units(table, parameter)
    labels, district = _numbered(table, parameter, by_label=settings == "published")
    second_group = None if target.second is None else _marked(table, target.second, "second")
    outliers, thresholds = outlier_choice.outliers, outlier_choice.thresholds
    task = masking_task(
        district,
        _marked(table, vital, "vital"),
        _influential(table, matching, parameter),
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
        labels=labels,
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
    facts = shielded(lambda: _facts(*about))  # a search that was stopped has them too
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
    """A release in which swapped records have exchanged their parameter values, and nothing else changed."""

    task: Task
    parameter: str
    vital: tuple[str, Sequence[Any]]
    conditions: Concealment | None = None

    @property
    def step_figures(self) -> list[Figure]:
        """What the swaps cost: they hide no record, so no class is counted."""
        meaning = "distortion: how much the swaps change the matching columns"
        cost = Figure("metric", self.facts["metric"], "0 and more", meaning)
        return [cost, Figure("compatibility", self.facts["compatibility"], "0 to 1", "how far the signal is masked")]

    def save_swaps(self, path: str | os.PathLike[str]) -> None:
        """Write the list of swaps as CSV, all or nothing."""
        with atomically(Path(path)) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["vital_row", "from", "partner_row", "to", "metric"])
            writer.writeheader()
            writer.writerows(self.swap_list())

    def swap_list(self) -> list[dict[str, Any]]:
        """The swaps: rows (counted from 1) of the vital record and its partner, their regions, their metric."""
        labels = self.extra["labels"]
        swaps, district = self.solution.swaps, self.task.district
        metric = self.task.influential.between(swaps[:, 0], swaps[:, 1])
        return [
            {
                "vital_row": int(v) + 1,
                "from": labels[district[v]],
                "partner_row": int(u) + 1,
                "to": labels[district[u]],
                "metric": float(c),
            }
            for (v, u), c in zip(swaps, metric, strict=True)
        ]


def _promises(
    task: Task,
    same_values: SameValues,
    vital: tuple[str, Sequence[Any]],
    second: tuple[str, Sequence[Any]] | None,
    conditions: Concealment | None,
    labels: list[Any],
) -> tuple[Promise, ...]:
    """Values only change places, and the settings decide what the signal may show; conditions: of settings hiding."""
    outliers = tuple(_names(labels, task.outlying))
    beside = None if second is None else (second[0], tuple(second[1]))
    masked = Masked(same_values.columns[:1], vital[0], tuple(vital[1]), beside, outliers)
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
    return same_values, replace(masked, promised=False), published  # what else shows is measured


@dataclass(frozen=True, eq=False)
class _Run:
    """One search: what it is about, and what its choices are drawn from."""

    task: Task
    conditions: Concealment
    secret: str | None
    seed: int

    def hide(self, options: Mapping[str, Any]) -> tuple[Answer, None]:
        """Solutions that hide the group. Records and regions are numbered at random, so that no choice can depend on
        the order of the file or of the labels."""
        task = self.task
        rng = self._random()
        order, number = rng.permutation(task.district.size), rng.permutation(task.districts)
        mixed, conditions = task.renumbered(number).in_order(order), self.conditions.renumbered(number)
        answer = hide_by_flow(mixed, conditions, rng, **options)
        if not answer.solutions:
            current().check()
            raise PromiseError(nearest_choices(mixed, conditions, answer, rng))
        back = np.argsort(number)

        def returned(solution: Solution) -> Solution:
            counts = solution.counts[number]
            verdict, swaps = task.judge(counts, solution.metric), order[solution.swaps]
            decoys = np.sort(back[solution.decoys])
            return replace(solution, swaps=swaps, counts=counts, verdict=verdict, decoys=decoys)

        return replace(answer, solutions=[returned(s) for s in answer.solutions], beyond=[]), None

    def as_published(self, method: str, options: dict[str, Any]) -> tuple[Answer, Network]:
        """Solutions as Chertov and Tavrov 2017 select them; with a secret the records are put in a random order."""
        order, seed = np.arange(self.task.district.size), self.seed
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
    """An error for what the settings have no use for."""
    if aim.settings == "hiding" and method != "flow":
        raise UsageError(
            f"method {method!r} searches as published and does not hide the group at every alpha: add --settings "
            'published (in Python: settings="published") to run it, or take --method flow'
        )
    if aim.settings == "hiding" and sensitivity:
        raise UsageError("sensitivity lets original outliers stay: it belongs to --settings published; leave it out")
    if aim.settings == "published" and aim.decoys:
        raise UsageError("decoys belong to --settings hiding, the default: leave out one of the two options")


def _check_ties(table: Table, parameter: str, along: tuple[str, ...]) -> None:
    """Refuse while a released column beside the regions would show which records were swapped."""
    for name in (parameter, *along):
        if name not in table.columns:
            raise unknown("column", name, table.columns)
    if parameter in table.roles.removed:
        raise UsageError(
            f"The regions {parameter!r} are removed by their role, so there is nothing to mask. Give it another role."
        )
    if parameter in along or set(along) & set(table.roles.removed):
        raise UsageError(f"--along names columns that are released beside {parameter!r}, not {', '.join(along)}")
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
        "follows": f"each value of {parameter!r} has one value of it",
        "fixes": f"each of its values lies in one value of {parameter!r}",
    }
    shown = "; ".join(f"{name!r} ({words[how]})" for name, how in tied.items())
    names = ",".join(tied)
    raise PromiseError(
        f"Other released columns would show which records were swapped: {shown}. Swap them together with {parameter!r} "
        f"(--along {names}), leave them out (--drop {names}), or name the column of households or persons with --unit"
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
            f"{several:,} units of {unit!r} have more than one row, the largest {largest}. A swap would move one row "
            f"of them to another {parameter!r} and split the unit. Mask a file with one row per unit, then join the "
            "other rows to it"
        )


def _numbered(table: Table, parameter: str, *, by_label: bool) -> tuple[list[Any], Ints]:
    """The regions' labels, and each record's region numbered from 0: by label, or by first appearance.

    By appearance, other labels for the same regions give the same numbers, so no choice can depend on them.
    """
    labels, district = _districts(table, parameter)
    if by_label:
        return labels, district
    appearance = np.argsort(np.unique(district, return_index=True)[1])
    number = np.argsort(appearance)
    return [labels[d] for d in appearance], number[district]


def _districts(table: Table, parameter: str) -> tuple[list[Any], Ints]:
    """The districts' labels in order, and each record's district numbered from 0."""
    if parameter not in table.columns:
        raise unknown("column", parameter, table.columns)
    labels, coded = _labelled(table[parameter])
    missing = np.flatnonzero(coded.missing)
    if missing.size:
        raise InputError(
            f"the parameter column {parameter!r} has {missing.size} missing values, the first in row "
            f"{table[parameter].row(int(missing[0]))}: every record needs a district; leave these records out or give "
            "them a district of their own"
        )
    return labels, coded.codes.astype(np.int64)


def _labelled(column: Column) -> tuple[list[Any], ColumnCodes]:
    """A column's codes, and its values as people name them; a code that the file declares missing is a value."""
    if column.kind != "number":
        coded = column.codes
        return [value == "True" for value in coded.values] if column.kind == "bool" else coded.values, coded
    if column.series.dtype.is_integer() or column.series.dtype.is_float():
        return column.stored.values, column.stored
    return [column.cell(int(row)) for row in column.stored.first_rows()], column.stored


def _marked(table: Table, group: tuple[str, Sequence[Any]], what: str) -> Bools:
    """The records that have one of the values in the group's column."""
    column, values = group
    if column not in table.columns:
        raise unknown("column", column, table.columns)
    if isinstance(values, str) or not list(values):
        raise UsageError(f"{what} needs a column and a list of values, as in (OCC, [551010, 552010]); not {group!r}")
    labels, coded = _labelled(table[column])
    numeric = not any(isinstance(label, str) for label in labels)
    hits: set[int] = set()
    for value in values:
        try:
            wanted = float(value) if numeric else str(value)
        except ValueError:
            raise UsageError(f"the column {column!r} holds numbers, and the {what} value {value!r} is none") from None
        codes = [i for i, label in enumerate(labels) if (label if numeric else str(label)) == wanted]
        if not codes:
            raise unknown(f"{column} value", value, sorted(map(str, labels))[:30])
        hits.update(codes)
    return np.isin(coded.codes, sorted(hits))


def _influential(table: Table, matching: Matching, parameter: str) -> Influential:
    """The values of the matching columns as arrays; a missing cell is NaN or -1."""
    columns, ordinal, weights = matching.columns, matching.ordinal, matching.weights
    for name in (*ordinal, *weights):
        if name not in columns:
            raise unknown("matching column", name, columns)
    if parameter in columns:
        raise UsageError(f"the parameter {parameter!r} cannot be influential: it is what the swaps exchange")
    for name in columns:
        if name not in table.columns:
            raise unknown("column", name, table.columns)
    nominal = [name for name in columns if name not in ordinal]
    numbers = table.numbers(ordinal, missing="keep", allow_constant=True) if ordinal else np.empty((table.rows, 0))
    codes = np.empty((table.rows, len(nominal)), dtype=np.int32)
    for j, name in enumerate(nominal):
        coded = _labelled(table[name])[1]
        codes[:, j] = np.where(coded.missing, -1, coded.codes)
    return influential(
        numbers,
        codes,
        np.array([weights.get(name, 1.0) for name in ordinal]),
        np.array([weights.get(name, 1.0) for name in nominal]),
        matching.chi,
    )


def _column_codes(table: Table, name: str) -> Ints:
    """A code from 0 for each value of any column, numbers in rising order; missing is a value of its own."""
    return _labelled(table[name])[1].codes.astype(np.int64)


def _places(labels: list[Any], wanted: Sequence[Any], parameter: str) -> Ints:
    names = [str(label) for label in labels]
    for label in wanted:
        if str(label) not in names:
            raise unknown(f"region in {parameter!r}", label, names)
    return np.array([names.index(str(label)) for label in wanted], dtype=np.int64)


def _given_thresholds(
    labels: list[Any], thresholds: Sequence[float], outliers: Sequence[Any] | None
) -> NDArray[np.float64]:
    """The thresholds in the order of the regions' numbers."""
    if outliers is None or len(outliers) != len(thresholds):
        raise UsageError("thresholds need the districts they are for: give as many outliers as thresholds, in order")
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
    return mask_by_evolution(task, Settings(**rest), seed=seed, seeds=seeds, network=network)


def _picked(answer: Answer, pick: int, method: str) -> Solution:
    if not answer.solutions:
        current().check()
        way = "take --method flow" if method == "memetic" else "lower --compatibility, raise --distortion or --alpha"
        raise PromiseError(
            f"none of the {answer.candidates} solutions that were tried masks the outliers within the thresholds; {way}"
        )
    if not 1 <= pick <= len(answer.solutions):
        raise UsageError(f"pick must be between 1 and {len(answer.solutions)} (the feasible solutions), not {pick}")
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
    """The measures of the run, regions in the order of their labels; network: None where every solution is a flow."""
    optimum: float | None = solution.metric
    if network is not None:
        flow = network.target(solution.counts)
        optimum = None if flow is None else flow.metric
    bound = answer.bound
    if bound is None and network is not None:
        least = network.solve(*compatible_bounds(task))
        bound = 0.0 if least is None else least.metric
    settings = Settings(centre=options.get("centre"))
    cells = task.influential.attributes * task.district.size
    return {
        "n": int(task.district.size),
        "districts": [labels[d] for d in _by_label(labels)],
        "method": method,
        "vital_records": int(task.signal.counts.sum()),
        "signal": _numbers(task, labels, task.signal.counts),
        "modified_signal": _numbers(task, labels, solution.counts),
        "outliers": _names(labels, task.outlying),
        "modified_outliers": _names(labels, solution.verdict.outliers),
        "thresholds": task.restrictions.threshold.tolist(),
        "metric": solution.metric,
        "compatibility": solution.verdict.compatibility,
        "feasible": solution.feasible,
        "swaps": len(solution.swaps),
        "lower_bound": float(bound or 0.0),
        "flow_optimum": optimum,
        "distortion": solution.metric / cells,
        "worst": task.worst,
        "picked": pick,
        "candidates": answer.candidates,
        **({"stopped": True} if answer.stopped else {}),
        "feasible_solutions": [
            {
                "number": i + 1,
                "fitness": fitness(task, settings, s),
                "metric": s.metric,
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
    task: Task, conditions: Concealment, labels: list[Any], solution: Solution, measured: Protection
) -> dict[str, Any]:
    """What the new signal still shows, where the moved vital records went, and which regions could take only few."""
    moved = task.district[solution.swaps[:, 1]]
    arrivals = np.bincount(moved, minlength=task.districts)
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


def _headline(task: Task, conditions: Concealment, labels: list[Any], measured: Protection) -> str:
    """What was measured, in one or two sentences."""
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
    rank = f"Best rank of an original outlier: {measured.first_rank} of {task.districts}."
    return f"Measured in {kinds} at {alphas}: {'; '.join(parts)}. {rank}"


def _attacked(
    table: Table, parameter: str, along: tuple[str, ...], vital: str, task: Task, solution: Solution, labels: list[Any]
) -> dict[str, Any] | None:
    """How well an intruder guesses the moved records' regions from the other released columns."""
    left_out = {parameter, vital, *along, *table.roles.removed}
    columns = [_column_codes(table, name) for name in table.columns if name not in left_out]
    if not columns:
        return None
    one, two = solution.swaps[:, 0], solution.swaps[:, 1]
    released = task.district.copy()
    released[one], released[two] = task.district[two], task.district[one]
    attack = attack_regions(columns, released, task.district, task.vital, task.outlying, regions=task.districts)
    return {
        "moved_guessed": attack.guessed,
        "moved_guessed_base": attack.guessed_base,
        "others_guessed": attack.learnt,
        "others_guessed_base": attack.learnt_base,
        "ranks": {str(labels[d]): rank for d, rank in zip(task.outlying, attack.ranks, strict=True)},
        "finds_outliers": attack.finds,
    }


def _by_label(labels: list[Any]) -> Ints:
    """The regions' numbers in the order of their labels."""
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
    """The frame without identifiers, the columns with the swapped pairs exchanged, every bit kept."""
    order = np.arange(table.rows)
    order[swaps[:, 0]], order[swaps[:, 1]] = swaps[:, 1], swaps[:, 0]
    frame = wrap(table.protected({}))
    return frame.with_columns(*(frame[name][order.tolist()].alias(name) for name in columns)).to_native()
