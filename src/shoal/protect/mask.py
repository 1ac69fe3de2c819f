"""`shoal.mask_group`: a table in, swaps between districts in the middle, a masked release out (spec/4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.data.frames import wrap
from shoal.data.reading import as_table
from shoal.data.table import Table
from shoal.errors import InputError, PromiseError, UsageError, check_choice, unknown
from shoal.evolve.clock import Clock
from shoal.evolve.progress import Progress, silent
from shoal.gate.asked import Asked
from shoal.masking.exact import flow_seeds, mask_by_flow
from shoal.masking.flow import Network
from shoal.masking.memetic import Settings, fitness, mask_by_evolution
from shoal.masking.outliers import tau_test
from shoal.masking.similarity import Influential, influential
from shoal.masking.targets import compatible_bounds
from shoal.masking.task import Answer, Limits, Solution, Task, masking_task
from shoal.protect.recorded import recorded
from shoal.release import Release

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

METHODS = ("flow", "memetic")
FLOW_OPTIONS = ("budget", "steps")
MEMETIC_OPTIONS = (*Settings.__dataclass_fields__, "flow_seeds")


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
    side: str = "both",
    compatibility: float = 0.5,
    sensitivity: float = 0.0,
    distortion: float = 0.3,
    pick: int = 1,
    seed: int = 0,
    secret: str | None = None,
    threads: int = 1,
    progress: Progress = silent,
    **options: Any,
) -> GroupRelease:
    """Swap the parameter values of vital records with similar others until the group's outliers are masked.

    vital: a column and the values that make a record vital. parameter: the column of districts. influential: the
    columns in which swapped records should be alike; those in `ordinal` as numbers, the others as categories.
    method: flow (least distortion, with a lower bound) or memetic (as published). signal: quantity, concentration,
    or difference (with `second`, another group). outliers, thresholds: districts to mask and the values to bring
    them to, found by the tau test and by `rule` (largest: the nth largest ordinary value; below: that minus a fifth
    of the gap) if not given. compatibility, sensitivity, distortion: when a solution is feasible. pick: which of
    the feasible solutions, by distortion. secret: 128 random bits, hexadecimal, that the choices among equals are drawn
    from; drawn anew if neither a secret nor a seed is given. options: budget, steps (flow); runs, generations,
    population, pairs, tournament, recombination, mutation, p_mem, centre, tau, flow_seeds (memetic).
    """
    check_choice("method", method, METHODS)
    _check_options(method, options)
    table = as_table(data)
    clock = Clock()
    labels, district = _districts(table, parameter)
    task = masking_task(
        district,
        _marked(table, vital, "vital"),
        _influential(table, tuple(influential), tuple(ordinal), dict(weights or {}), chi, parameter),
        kind=signal,
        second=None if second is None else _marked(table, second, "second"),
        limits=Limits(compatibility, sensitivity, distortion, alpha, side),
        outlying=None if outliers is None else _places(labels, outliers, parameter),
        threshold=None if thresholds is None else _given_thresholds(thresholds, outliers),
        nth=nth,
        rule=rule,
        shape=restriction,
        root=root,
    )
    order = np.arange(table.rows)
    if secret is not None:  # which of equally good records are swapped must not be predictable
        draw = np.random.Generator(np.random.Philox(key=int(secret, 16)))
        order, seed = draw.permutation(table.rows), int(draw.integers(2**31))
    hidden = task.in_order(order)
    network = Network(hidden)
    answer = _answer(hidden, method, network, seed, threads, progress, options)
    answer = replace(answer, solutions=[replace(s, swaps=order[s.swaps]) for s in answer.solutions])
    solution = _picked(answer, pick, method)
    facts = _facts(task, labels, method, network, answer, solution, pick, options)
    release = GroupRelease(
        original=table,
        frame=_swapped(table, parameter, solution.swaps),
        changed=(parameter,),
        k=None,
        facts={**facts, **clock.read()},
        solution=solution,
        title="Group anonymity",
        extra={"answer": answer, "labels": labels},
        task=task,
        parameter=parameter,
        vital=vital,
    )
    release.verify()
    return release


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupRelease(Release):
    """A release in which swapped records have exchanged their parameter values, and nothing else changed."""

    task: Task
    parameter: str
    vital: tuple[str, Sequence[Any]]
    kind: ClassVar[str] = "masking"
    draws_at_random: ClassVar[bool] = True

    def verify(self) -> None:
        """Check on the final table: totals, sizes, one swap a record, only swapped pairs changed, outliers masked."""
        super().verify()
        labels, before = _districts(self.original, self.parameter)
        same, after = _districts(self.protected, self.parameter)
        if labels != same:
            raise PromiseError("the districts of the protected table are not those of the original; nothing is written")
        if (np.bincount(before) != np.bincount(after)).any():
            raise PromiseError("a district's number of records changed; nothing is written")
        swaps = self.solution.swaps
        if np.unique(swaps).size != swaps.size:
            raise PromiseError("a record is in more than one swap; nothing is written")
        expected = before.copy()
        expected[swaps[:, 0]], expected[swaps[:, 1]] = before[swaps[:, 1]], before[swaps[:, 0]]
        if (expected != after).any():
            raise PromiseError("a record outside the swaps changed its district; nothing is written")
        vital = _marked(self.protected, self.vital, "vital")
        counts = np.bincount(after[vital], minlength=len(labels))
        if counts.sum() != self.task.signal.counts.sum():
            raise PromiseError("the number of vital records changed; nothing is written")
        values = self.task.signal.of(counts)
        limits = self.task.limits
        hidden = tau_test(values, limits.alpha, limits.side).hides(values, self.task.outlying)
        if int((~hidden).sum()) > self.task.unmasked_allowed:
            shown = ", ".join(str(labels[d]) for d in self.task.outlying[~hidden])
            raise PromiseError(f"the original outliers {shown} are still outliers; nothing is written")

    def asked(self) -> Asked:
        """Only the parameter changed, and its values only changed places."""
        return replace(super().asked(), roles=self.original.roles, quasi=(), swapped=self.changed, promises_k=False)

    def swap_list(self) -> list[dict[str, Any]]:
        """The swaps: rows (counted from 1) of the vital record and its partner, their districts, their metric."""
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


def _check_options(method: str, options: Mapping[str, Any]) -> None:
    own = FLOW_OPTIONS if method == "flow" else MEMETIC_OPTIONS
    for name in options:
        if name not in own:
            raise unknown(f"option of method {method!r}", name, own)


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


def _marked(table: Table, group: tuple[str, Sequence[Any]], what: str) -> Flags:
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


def _given_thresholds(thresholds: Sequence[float], outliers: Sequence[Any] | None) -> NDArray[np.float64]:
    if outliers is None or len(outliers) != len(thresholds):
        raise UsageError("thresholds need the districts they are for: give as many outliers as thresholds, in order")
    return np.asarray(thresholds, dtype=np.float64)


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
    network: Network,
    answer: Answer,
    solution: Solution,
    pick: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    optimum = network.target(solution.counts)
    bound = answer.bound
    if bound is None:
        least = network.solve(*compatible_bounds(task))
        bound = 0.0 if least is None else least.metric
    settings = Settings(centre=options.get("centre"))
    cells = task.influential.attributes * task.district.size
    return {
        "n": int(task.district.size),
        "districts": labels,
        "method": method,
        "vital_records": int(task.signal.counts.sum()),
        "signal": _numbers(task, task.signal.counts),
        "modified_signal": _numbers(task, solution.counts),
        "outliers": [labels[d] for d in task.outlying],
        "modified_outliers": [labels[d] for d in solution.verdict.outliers],
        "thresholds": task.restrictions.threshold.tolist(),
        "metric": solution.metric,
        "compatibility": solution.verdict.compatibility,
        "feasible": solution.feasible,
        "swaps": len(solution.swaps),
        "lower_bound": float(bound),
        "flow_optimum": None if optimum is None else optimum.metric,
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
                "outliers": [labels[d] for d in s.verdict.outliers],
                "signal": _numbers(task, s.counts),
            }
            for i, s in enumerate(answer.solutions[:100])
        ],
    }


def _numbers(task: Task, counts: Ints) -> list[Any]:
    numbers: list[Any] = counts.tolist() if task.signal.kind == "quantity" else task.signal.of(counts).tolist()
    return numbers


def _swapped(table: Table, parameter: str, swaps: Ints) -> Any:
    """The frame without identifiers, its parameter column with the swapped pairs exchanged, every bit kept."""
    order = np.arange(table.rows)
    order[swaps[:, 0]], order[swaps[:, 1]] = swaps[:, 1], swaps[:, 0]
    frame = wrap(table.protected({}))
    return frame.with_columns(frame[parameter][order.tolist()].alias(parameter)).to_native()
