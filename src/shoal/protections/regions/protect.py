"""`shoal.mask_group`: a table in, swaps between regions in the middle, a masked release out.

Group anonymity after Chertov and Tavrov 2017. By default the group is hidden at every alpha and in every signal, and
every choice is drawn from the run's secret (`hiding.py`); settings "published" is the paper's selection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Ints
from shoal.attacks.membership import attack_regions
from shoal.engine.clock import Clock
from shoal.engine.progress import Progress, silent
from shoal.errors import InputError, PromiseError, UsageError, check_choice, unknown
from shoal.gate.asked import Asked, TargetGroup
from shoal.protections.recorded import recorded
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
from shoal.protections.regions.outliers import tau_test
from shoal.protections.regions.protection import ALPHAS, Protection
from shoal.protections.regions.similarity import Influential, influential
from shoal.protections.regions.targets import compatible_bounds
from shoal.protections.regions.task import Answer, Limits, Solution, Task, masking_task
from shoal.release import Release
from shoal.sources.reading import as_table
from shoal.table.columns import coded
from shoal.table.frames import wrap
from shoal.table.table import Table

METHODS = ("flow", "memetic")
FLOW_OPTIONS = ("budget", "steps")
MEMETIC_OPTIONS = (*Settings.__dataclass_fields__, "flow_seeds")
# Compatibility and distortion thresholds, by settings.
THRESHOLDS = {"hiding": (0.95, 0.5), "published": (0.5, 0.3)}


@recorded("mask")
def mask_group(
    data: Any,
    *,
    vital: tuple[str, Sequence[Any]],
    parameter: str,
    influential: Sequence[str],
    ordinal: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    chi: tuple[float, float] = (0.0, 1.0),
    along: Sequence[str] = (),
    settings: str = "hiding",
    method: str = "flow",
    signal: str = "quantity",
    second: tuple[str, Sequence[Any]] | None = None,
    outliers: Sequence[Any] | None = None,
    thresholds: Sequence[float] | None = None,
    nth: int = 1,
    rule: str = "largest",
    restriction: str = "zmf",
    root: bool = False,
    alpha: float = 0.01,
    alphas: Sequence[float] = ALPHAS,
    side: str = "both",
    compatibility: float | None = None,
    sensitivity: float = 0.0,
    distortion: float | None = None,
    decoys: int = 0,
    pick: int | None = None,
    seed: int = 0,
    secret: str | None = None,
    threads: int = 1,
    progress: Progress = silent,
    **options: Any,
) -> GroupRelease:
    """Swap the regions of vital records with those of similar other records, so that the group's outliers are hidden.

    vital: a column and the values that make a record vital. parameter: the column of regions. influential: the columns
    in which swapped records should agree; those in `ordinal` as numbers, the others as categories. along: columns that
    are tied to the regions and are swapped with them. settings: hiding (original outliers are neither outliers nor the
    largest regions at any of `alphas` in any signal, and there is no new outlier) or published (Chertov and Tavrov
    2017: no outliers at `alpha` in one signal). method: flow (least distortion) or memetic (published settings only).
    signal: quantity, concentration, or difference (with `second`, another group): where the outliers are looked for.
    outliers, thresholds: regions to mask and the values to bring them to, found by the tau test at `alpha` and by
    `rule` (largest: the nth largest ordinary value; below: that minus a fifth of the gap) if not given. compatibility,
    sensitivity, distortion: when a solution is feasible. decoys: how many ordinary regions, drawn at random, are made
    to stand out. pick: which of the feasible solutions, by distortion. secret: 128 random bits, hexadecimal, that every
    choice is drawn from; drawn anew if neither a secret nor a seed is given. options: budget, steps (flow); runs,
    generations, population, pairs, tournament, recombination, mutation, p_mem, centre, tau, flow_seeds (memetic).
    """
    check_choice("method", method, METHODS)
    check_choice("settings", settings, THRESHOLDS)
    _check_options(method, settings, options, sensitivity, decoys)
    table = as_table(data)
    clock = Clock()
    along = tuple(along)
    _check_ties(table, parameter, along)
    _check_units(table, parameter)
    labels, district = _numbered(table, parameter, by_label=settings == "published")
    usual = THRESHOLDS[settings]
    limits = Limits(
        usual[0] if compatibility is None else compatibility,
        sensitivity,
        usual[1] if distortion is None else distortion,
        alpha,
        side,
    )
    second_group = None if second is None else _marked(table, second, "second")
    task = masking_task(
        district,
        _marked(table, vital, "vital"),
        _influential(table, tuple(influential), tuple(ordinal), dict(weights or {}), chi, parameter),
        kind=signal,
        second=second_group,
        limits=limits,
        outlying=None if outliers is None else _places(labels, outliers, parameter),
        threshold=None if thresholds is None else _given_thresholds(labels, thresholds, outliers),
        nth=nth,
        rule=rule,
        shape=restriction,
        root=root,
        labels=labels,
    )
    conditions = concealment(task, second_group, alphas, decoys)
    run = _Run(task, conditions, secret, seed, threads, progress)
    if settings == "hiding":
        answer, network = run.hide(options)
        pick = default_pick(answer.solutions) if pick is None and answer.solutions else pick
    else:
        answer, network = run.as_published(method, options)
    solution = _picked(answer, 1 if pick is None else pick, method)
    frame = _swapped(table, (parameter, *along), solution.swaps)
    found = conditions.measure(task, solution.counts)
    facts = _facts(task, labels, method, network, answer, solution, 1 if pick is None else pick, options)
    facts |= {"settings": settings, **_measured(task, conditions, labels, solution, found)}
    facts |= {"attack": _attacked(table, parameter, along, vital[0], task, solution, labels)}
    release = GroupRelease(
        original=table,
        frame=frame,
        changed=(parameter, *along),
        k=None,
        facts={**facts, **clock.read()},
        solution=solution,
        title="Group anonymity",
        extra={"answer": answer, "labels": labels},
        task=task,
        parameter=parameter,
        vital=vital,
        conditions=conditions if settings == "hiding" else None,
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
    kind: ClassVar[str] = "masking"
    draws_at_random: ClassVar[bool] = True

    def verify(self) -> None:
        """Check on the final table: totals, sizes, one swap per record, only swapped pairs changed, outliers hidden."""
        super().verify()
        labels, before = _districts(self.original, self.parameter)
        same, after = _districts(self.protected, self.parameter)
        if labels != same:
            raise PromiseError("the regions of the protected table are not those of the original; nothing is written")
        if (np.bincount(before) != np.bincount(after)).any():
            raise PromiseError("a region's number of records changed; nothing is written")
        swaps = self.solution.swaps
        if np.unique(swaps).size != swaps.size:
            raise PromiseError("a record is in more than one swap; nothing is written")
        expected = Table(_swapped(self.original, self.changed, swaps))
        for name in self.changed:
            if not expected.same_column(self.protected, name):
                raise PromiseError(f"a record outside the swaps changed its {name!r}; nothing is written")
        vital = _marked(self.protected, self.vital, "vital")
        place = {label: number for number, label in enumerate(self.extra["labels"])}
        number = np.array([place[label] for label in labels])
        counts = np.bincount(number[after[vital]], minlength=len(labels))
        if counts.sum() != self.task.signal.counts.sum():
            raise PromiseError("the number of vital records changed; nothing is written")
        self._verify_signal(counts)

    def _verify_signal(self, counts: Ints) -> None:
        """The original outliers are hidden as the settings ask, by the signal of the final table."""
        task, labels = self.task, self.extra["labels"]
        if self.conditions is not None:
            found = self.conditions.measure(task, counts)
            if not found.hidden_but_for(self.solution.decoys):
                raise PromiseError(f"{_headline(task, self.conditions, labels, found)} Nothing is written.")
            return
        values, limits = task.signal.of(counts), task.limits
        hidden = tau_test(values, limits.alpha, limits.side).hides(values, task.outlying)
        if int((~hidden).sum()) > task.unmasked_allowed:
            shown = ", ".join(str(labels[d]) for d in task.outlying[~hidden])
            raise PromiseError(f"the original outliers {shown} are still outliers; nothing is written")

    def asked(self) -> Asked:
        """Only the parameter and the columns along with it changed, and their values only changed places."""
        return replace(
            super().asked(), roles=self.original.roles, quasi=(), swapped=self.changed, promises_k=False,
            targets=(self._target(),),
        )  # fmt: skip

    def _target(self) -> TargetGroup:
        """The group and what the settings guarantee of its signal; the published ones look at one alpha only."""
        labels, conditions = self.extra["labels"], self.conditions
        column, values = self.vital
        target = TargetGroup(column, tuple(values), self.parameter, tuple(_names(labels, self.task.outlying)))
        if conditions is None:
            return target
        return replace(
            target, alphas=conditions.alphas, upper=conditions.side == "upper", decoys=conditions.decoys, promised=True
        )

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


@dataclass(frozen=True, eq=False)
class _Run:
    """One search: what it is about, and what its choices are drawn from."""

    task: Task
    conditions: Concealment
    secret: str | None
    seed: int
    threads: int
    progress: Progress

    def hide(self, options: Mapping[str, Any]) -> tuple[Answer, None]:
        """Solutions that hide the group. Records and regions are numbered at random, so that no choice can depend on
        the order of the file or of the labels."""
        task = self.task
        rng = self._random()
        order, number = rng.permutation(task.district.size), rng.permutation(task.districts)
        mixed, conditions = task.renumbered(number).in_order(order), self.conditions.renumbered(number)
        answer = hide_by_flow(mixed, conditions, rng, progress=self.progress, **options)
        if not answer.solutions:
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
        answer = _answer(mixed, method, network, seed, self.threads, self.progress, options)
        return replace(answer, solutions=[replace(s, swaps=order[s.swaps]) for s in answer.solutions]), network

    def _random(self) -> np.random.Generator:
        if self.secret is not None:
            return np.random.Generator(np.random.Philox(key=int(self.secret, 16)))
        return np.random.Generator(np.random.Philox(np.random.SeedSequence(self.seed)))


def _check_options(method: str, settings: str, options: Mapping[str, Any], sensitivity: float, decoys: int) -> None:
    if settings == "hiding" and method != "flow":
        raise UsageError(
            f"method {method!r} searches as published and does not hide the group at every alpha: add --settings "
            'published (in Python: settings="published") to run it, or take --method flow'
        )
    if settings == "hiding" and sensitivity:
        raise UsageError("sensitivity lets original outliers stay: it belongs to --settings published; leave it out")
    if settings == "published" and decoys:
        raise UsageError("decoys belong to --settings hiding, the default: leave out one of the two options")
    own = FLOW_OPTIONS if method == "flow" else MEMETIC_OPTIONS
    for name in options:
        if name not in own:
            raise unknown(f"option of method {method!r}", name, own)


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
    raw = table.raw(parameter)
    gaps = [i for i, v in enumerate(raw) if v is None or v != v] if raw.dtype.kind in "Of" else []
    if gaps:
        raise InputError(
            f"the parameter column {parameter!r} has {len(gaps)} missing values, the first in row {gaps[0] + 1}: every "
            "record needs a district; leave these records out or give them a district of their own"
        )
    labels, codes = np.unique(raw.astype(str) if raw.dtype.kind == "O" else raw, return_inverse=True)
    return labels.tolist(), codes.reshape(-1).astype(np.int64)


def _marked(table: Table, group: tuple[str, Sequence[Any]], what: str) -> Bools:
    """The records that have one of the values in the group's column."""
    column, values = group
    if column not in table.columns:
        raise unknown("column", column, table.columns)
    if isinstance(values, str) or not list(values):
        raise UsageError(f"{what} needs a column and a list of values, as in (OCC, [551010, 552010]); not {group!r}")
    marked = np.zeros(table.rows, dtype=bool)
    raw = table.raw(column)
    text = np.array([str(v) for v in raw.tolist()], dtype=object) if raw.dtype.kind == "O" else None
    for value in values:
        if text is not None:
            hits = np.asarray(text == str(value), dtype=bool)
        else:
            try:
                hits = np.asarray(raw == float(value), dtype=bool)
            except ValueError:
                raise UsageError(
                    f"the column {column!r} holds numbers, and the {what} value {value!r} is none"
                ) from None
        if not hits.any():
            known = sorted({str(v) for v in raw.tolist()})
            raise unknown(f"{column} value", value, known[:30])
        marked |= hits
    return marked


def _influential(
    table: Table,
    columns: tuple[str, ...],
    ordinal: tuple[str, ...],
    weights: dict[str, float],
    chi: tuple[float, float],
    parameter: str,
) -> Influential:
    """The influential values as arrays; a missing cell is NaN or -1."""
    for name in (*ordinal, *weights):
        if name not in columns:
            raise unknown("influential attribute", name, columns)
    if parameter in columns:
        raise UsageError(f"the parameter {parameter!r} cannot be influential: it is what the swaps exchange")
    for name in columns:
        if name not in table.columns:
            raise unknown("column", name, table.columns)
    nominal = [name for name in columns if name not in ordinal]
    numbers = table.numbers(ordinal, missing="keep", allow_constant=True) if ordinal else np.empty((table.rows, 0))
    codes = np.empty((table.rows, len(nominal)), dtype=np.int32)
    for j, name in enumerate(nominal):
        codes[:, j] = _codes(table.raw(name))
    return influential(
        numbers,
        codes,
        np.array([weights.get(name, 1.0) for name in ordinal]),
        np.array([weights.get(name, 1.0) for name in nominal]),
        chi,
    )


def _column_codes(table: Table, name: str) -> Ints:
    """A code from 0 for each value of any column, numbers in rising order; missing is a value of its own."""
    if table.kinds[name] in ("text", "category", "bool", "date", "time"):
        return coded(table, name).codes.astype(np.int64)
    raw = table.raw(name)
    if table.kinds[name] == "other":  # lists and the like: by what they look like
        raw = np.array([str(value) for value in raw.tolist()], dtype=object)
    codes = _codes(raw)
    codes[codes < 0] = codes.max(initial=-1) + 1
    return codes


def _codes(raw: NDArray[Any]) -> Ints:
    missing = np.array([v is None for v in raw.tolist()]) if raw.dtype.kind == "O" else np.zeros(raw.size, dtype=bool)
    codes = np.full(raw.size, -1, dtype=np.int64)
    present = raw[~missing].astype(str) if raw.dtype.kind == "O" else raw[~missing]
    codes[~missing] = np.unique(present, return_inverse=True)[1].reshape(-1)
    return codes


def _places(labels: list[Any], wanted: Sequence[Any], parameter: str) -> Ints:
    names = [str(label) for label in labels]
    for label in wanted:
        if str(label) not in names:
            raise unknown(f"district in {parameter!r}", label, names)
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
    threads: int,
    progress: Progress,
    options: dict[str, Any],
) -> Answer:
    if method == "flow":
        return mask_by_flow(task, network=network, progress=progress, **options)
    rest = {name: value for name, value in options.items() if name != "flow_seeds"}
    seeds = flow_seeds(task, network) if options.get("flow_seeds") else ()
    return mask_by_evolution(
        task, Settings(**rest), seed=seed, seeds=seeds, threads=threads, network=network, progress=progress
    )


def _picked(answer: Answer, pick: int, method: str) -> Solution:
    if not answer.solutions:
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
    task: Task, conditions: Concealment, labels: list[Any], solution: Solution, found: Protection
) -> dict[str, Any]:
    """What the new signal still shows, where the moved vital records went, and which regions could take only few."""
    moved = task.district[solution.swaps[:, 1]]
    arrivals = np.bincount(moved, minlength=task.districts)
    return {
        "headline": _headline(task, conditions, labels, found),
        "hidden": found.hidden_but_for(solution.decoys),
        "alphas": list(conditions.alphas),
        "outliers_left": _names(labels, found.left),
        "new_outliers": _names(labels, found.new),
        "still_largest": _names(labels, found.largest),
        "decoys": _names(labels, solution.decoys),
        "ranks": {
            kind: {str(labels[d]): int(rank) for d, rank in zip(task.outlying, ranks, strict=True)}
            for kind, ranks in found.ranks.items()
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
            for view in found.views
        ],
    }


def _headline(task: Task, conditions: Concealment, labels: list[Any], found: Protection) -> str:
    """What was measured, in one or two sentences."""
    kinds = " and ".join(signal.kind for signal in conditions.signals)
    lowest, highest = conditions.alphas[0], conditions.alphas[-1]
    alphas = f"alpha {lowest:g}" if lowest == highest else f"alpha {lowest:g} to {highest:g}"
    every = task.outlying.size
    left, largest, new = (_names(labels, part) for part in (found.left, found.largest, found.new))
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
    rank = f"Best rank of an original outlier: {found.first_rank} of {task.districts}."
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
    found = attack_regions(columns, released, task.district, task.vital, task.outlying, regions=task.districts)
    return {
        "moved_guessed": found.guessed,
        "moved_guessed_base": found.guessed_base,
        "others_guessed": found.learnt,
        "others_guessed_base": found.learnt_base,
        "ranks": {str(labels[d]): rank for d, rank in zip(task.outlying, found.ranks, strict=True)},
        "finds_outliers": found.finds,
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


def _swapped(table: Table, columns: Sequence[str], swaps: Ints) -> Any:
    """The frame without identifiers, the columns with the swapped pairs exchanged, every bit kept."""
    order = np.arange(table.rows)
    order[swaps[:, 0]], order[swaps[:, 1]] = swaps[:, 1], swaps[:, 0]
    frame = wrap(table.protected({}))
    return frame.with_columns(*(frame[name][order.tolist()].alias(name) for name in columns)).to_native()
