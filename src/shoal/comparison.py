"""`shoal.compare`: which method is better for these data? Those that suit them, side by side on loss and risk.

Each runs on the same table and is measured in the same way. Labels of a generalization count as the mean of the
values they stand for, so that they stand on the same scale; where a column is text only generalization fits,
and then loss is the share of detail lost and risk the mean chance that a record is picked from its class.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from shoal.arrays import Floats, cores
from shoal.candidates import Candidate, LeftOut, candidates
from shoal.engine.nsga2 import ranked
from shoal.engine.progress import Progress, silent
from shoal.errors import ShoalWarning, UsageError, check_choice, check_k
from shoal.measures.anonymity import class_sizes
from shoal.measures.full import measure_all
from shoal.protections.generalization.protect import generalize
from shoal.protections.grouping.protect import group_attributes
from shoal.protections.microaggregation.effort import EFFORTS
from shoal.protections.microaggregation.protect import microaggregate
from shoal.protections.values import warn_of_codes, warn_of_identifiers
from shoal.release import Release
from shoal.sources.files import check_place
from shoal.sources.reading import as_table
from shoal.studies.reproduce.result import Result
from shoal.table.table import Table

FUNCTIONS: dict[str, Callable[..., Release]] = {
    "microaggregate": microaggregate,
    "group": group_attributes,
    "generalize": generalize,
}

ON_FRONT, BEATEN = "#0b7285", "#8a94a6"  # colours of the map
CROWD = (0.08, 0.12)  # shares of its width and height within which points have one label
# The measures' names where a table has little room.
SHORT = {
    "information_loss": "loss %",
    "il": "IL %",
    "interval_disclosure": "interval %",
    "distance_linkage": "linkage %",
    "disclosure_risk": "risk %",
    "detail_lost": "loss %",
    "class_risk": "risk %",
    "score": "score",
}


@dataclass(frozen=True)
class Run:
    """One method on the data. loss and risk are what the map shows; `measures` has all figures."""

    name: str
    command: str
    arguments: dict[str, Any]
    loss: float
    risk: float
    score: float
    k: int  # over all columns together
    keeps_k: bool
    cpu_seconds: float
    measures: dict[str, float]
    on_front: bool = False


@dataclass(frozen=True)
class Comparison:
    """The runs that were made, those that did not suit the data, and the answer in plain words."""

    n: int
    d: int
    k: int
    runs: tuple[Run, ...]
    left_out: tuple[LeftOut, ...]
    stopped: bool

    @property
    def front(self) -> tuple[Run, ...]:
        """The runs that no other beats in both loss and risk."""
        return tuple(run for run in self.runs if run.on_front)

    @property
    def ordered(self) -> list[Run]:
        """The runs, the least loss first."""
        return sorted(self.runs, key=_by_loss)

    @property
    def answer(self) -> str:
        """Which method is better for these data."""
        keeping = [run for run in self.runs if run.keeps_k]
        if not keeping:
            return f"None of the methods left every record with {self.k - 1} others that look alike in all columns."
        least, balanced = (min(keeping, key=key) for key in (_by_loss, _by_score))
        others = [run for run in self.runs if not run.keeps_k]
        weaker = (
            f" {_list([run.name for run in others])} kept k = {self.k} only within groups of columns." if others else ""
        )
        told = f"{least.name} loses least at k = {self.k} ({least.loss:.2f} %)"
        if balanced is least:
            return f"Better for these data: {told} and has the best balance of loss and risk.{weaker}"
        return (
            f"Better for these data: {told}; the best balance of loss and risk has {balanced.name} "
            f"(score {balanced.score:.2f} against {least.score:.2f}).{weaker}"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "d": self.d,
            "k": self.k,
            "runs": [
                {**{n: v for n, v in asdict(run).items() if n != "measures"}, **run.measures} for run in self.runs
            ],
            "front": [run.name for run in self.front],
            "left_out": [asdict(left) for left in self.left_out],
            "stopped": self.stopped,
            "answer": self.answer,
        }

    def rows(self) -> tuple[list[str], list[list[Any]]]:
        """Headers and rows of the runs, the least loss first; a * marks those that no other beats in both."""
        measures = list(self.runs[0].measures)
        headers = ["method", *(SHORT[name] for name in measures), "k", "CPU s", ""]
        rows = [
            [r.name, *(r.measures[m] for m in measures), r.k, r.cpu_seconds, "*" if r.on_front else ""]
            for r in self.ordered
        ]
        return headers, rows

    def report(self, path: str | Path) -> Path:
        """Write an HTML page with the risk-utility map and the table; it works offline."""
        headers, rows = self.rows()
        rows = [[f"{number}. {name}", *figures] for number, (name, *figures) in enumerate(rows, start=1)]
        note = (
            f"{self.answer} A * marks the methods that no other beats in both loss and risk; the map has the numbers."
        )
        if self.stopped:
            note += " The comparison was stopped before its end."
        left = [[item.name, item.why] for item in self.left_out]
        commands = [[run.name, run.command] for run in self.runs]
        result = Result(
            f"Which method? {self.n:,} records, {self.d} columns, k = {self.k}",
            [
                {"title": "Loss and risk", "columns": headers, "rows": rows, "note": note},
                {"title": "What was run", "columns": ["method", "command"], "rows": commands, "note": ""},
                {"title": "Left out", "columns": ["method", "why"], "rows": left, "note": ""},
            ],
            risk_utility_maps(self),
        )
        return result.write_page(check_place(path))


def compare(
    data: Any,
    k: int,
    *,
    quasi: Sequence[str] = (),
    effort: str = "standard",
    missing: str = "error",
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Run the methods that suit the data and show their loss and risk side by side.

    effort: the most that a search may spend (quick, standard, thorough). missing: error, drop or median.
    Ctrl-C ends it with what was done so far.
    """
    check_choice("effort", effort, EFFORTS)
    table = as_table(data, quasi=quasi)
    columns = table.quasi_columns(to_protect=True)
    numeric = all(table.kinds[name] == "number" for name in columns)
    warn_of_identifiers(table, table.roles.quasi)
    if numeric:
        table = table.with_missing(missing, columns)
        warn_of_codes(table, columns)
    elif missing != "error":
        raise UsageError(
            f"missing={missing!r} is for columns of numbers; in text a missing value is a value: leave it out"
        )
    k = check_k(k, table.rows)
    suitable, left_out = candidates(table, columns, k, effort, numeric)
    runs: list[Run] = []
    stopped = False
    for i, candidate in enumerate(suitable):
        try:
            release = _release(candidate, table, k, seed, threads, _part(progress, i, len(suitable), candidate.name))
            stopped = bool(release.facts.get("stopped"))
            if not stopped:
                runs.append(_measured(candidate, release, columns, k, numeric, threads or cores(), seed))
        except KeyboardInterrupt:
            stopped = True
        if stopped:
            break
    if not runs:
        raise KeyboardInterrupt
    progress(len(suitable), len(suitable), None, "done")
    return Comparison(table.rows, len(columns), k, _with_front(runs), tuple(left_out), stopped)


def risk_utility_maps(comparison: Comparison) -> dict[str, Any]:
    """Loss against risk, a point a method; where some lie far out, the others close up as well."""
    runs = comparison.ordered
    numbers = {run.name: number for number, run in enumerate(runs, start=1)}
    least = min([run.loss for run in runs if run.keeps_k], default=0.0)
    near = [run for run in runs if least / 2 <= run.loss <= 2 * least]
    if len(near) < 3 or len(near) == len(runs):
        return {"Risk-utility map": _map(runs, numbers)}
    return {
        "Risk-utility map": _map(runs, numbers),
        "Risk-utility map, the crowd close up": _map(near, numbers),
    }


def _map(runs: Sequence[Run], numbers: Mapping[str, int]) -> Any:
    figure = go.Figure()
    labels = _labels(runs, numbers)
    for on_front, label, color in ((True, "no other is better in both", ON_FRONT), (False, "beaten in both", BEATEN)):
        shown = sorted((run for run in runs if run.on_front == on_front), key=_by_loss)
        figure.add_scatter(
            x=[run.loss for run in shown],
            y=[run.risk for run in shown],
            text=[labels.get(run.name, "") for run in shown],
            customdata=[f"{numbers[run.name]}. {run.name}" for run in shown],
            textposition="top right",
            mode="lines+markers+text" if on_front else "markers+text",
            line={"shape": "hv", "dash": "dot"},
            marker={"size": 11 if on_front else 8, "color": color, "symbol": "diamond" if on_front else "circle"},
            name=label,
            hovertemplate="%{customdata}<br>loss %{x:.2f} %<br>risk %{y:.2f} %<extra></extra>",
        )
    figure.update_layout(
        xaxis={"title": "loss (%)", "range": _with_room([run.loss for run in runs], 0.08, 0.08)},
        yaxis={"title": "disclosure risk (%)", "range": _with_room([run.risk for run in runs], 0.1, 0.25)},
    )
    return figure


def _labels(runs: Sequence[Run], numbers: Mapping[str, int]) -> dict[str, str]:
    """The numbers to write above points, by the method they stand at: those of points too near to tell apart as one."""
    wide, high = (max(values) - min(values) or 1.0 for values in ([r.loss for r in runs], [r.risk for r in runs]))
    crowds: list[list[Run]] = []
    for run in runs:
        touched = [
            crowd
            for crowd in crowds
            if any(abs(run.loss - o.loss) < CROWD[0] * wide and abs(run.risk - o.risk) < CROWD[1] * high for o in crowd)
        ]
        crowds = [crowd for crowd in crowds if crowd not in touched] + [[o for crowd in touched for o in crowd] + [run]]
    return {
        max(crowd, key=lambda run: run.risk).name: _ranges([numbers[run.name] for run in crowd]) for crowd in crowds
    }


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in short.

    >>> _ranges([3, 1, 2, 7, 9])
    '1–3, 7, 9'
    """
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{p[0]}–{p[-1]}" if len(p) > 2 else ", ".join(map(str, p)) for p in parts)


def _with_room(values: Sequence[float], below: float, above: float) -> list[float]:
    """The range of an axis, with room for the points' numbers."""
    low, high = min(values), max(values)
    width = (high - low) or 1.0
    return [low - below * width, high + above * width]


def _part(progress: Progress, number: int, methods: int, name: str) -> Progress:
    """The progress of one method as a part of the whole."""

    def tell(done: float, total: float, best: float | None = None, what: str = "") -> None:
        progress(number + (min(done / total, 1.0) if total else 0.0), methods, best, name)

    tell(0, 1)
    return tell


def _release(candidate: Candidate, table: Table, k: int, seed: int, threads: int | None, progress: Progress) -> Release:
    given: dict[str, Any] = {**candidate.arguments, "seed": seed, "progress": progress}
    if candidate.do != "generalize":
        given["threads"] = threads
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # on the data, once for each method
        return FUNCTIONS[candidate.do](table, k, **given)


def _measured(
    candidate: Candidate, release: Release, columns: Sequence[str], k: int, numeric: bool, threads: int, seed: int
) -> Run:
    sizes = class_sizes([release.protected.raw(name) for name in columns])
    if numeric:
        before = release.original.numbers(columns, allow_constant=True)
        after = np.column_stack([_as_numbers(release, name, before[:, j]) for j, name in enumerate(columns)])
        found = measure_all(before, after, weights=release.original.weights(), threads=threads, seed=seed)
        loss, risk, score = found.information_loss, found.risk, found.score
        measures = {
            "information_loss": loss,
            "il": found.parts.il,
            "interval_disclosure": found.interval,
            "distance_linkage": found.distance.percent,
            "disclosure_risk": risk,
            "score": score,
        }
    else:
        loss, risk = 100.0 * float(release.facts["nwp"]), 100.0 * len(sizes) / release.original.rows
        score = (loss + risk) / 2
        measures = {"detail_lost": loss, "class_risk": risk, "score": score}
    smallest, cpu = int(sizes.min()), float(release.facts["cpu_seconds"])
    return Run(
        candidate.name,
        candidate.command(k),
        candidate.arguments,
        loss,
        risk,
        score,
        smallest,
        smallest >= k,
        cpu,
        measures,
    )


def _as_numbers(release: Release, name: str, before: Floats) -> Floats:
    """A protected column as numbers; a label is the mean of the values it stands for."""
    if release.protected.kinds[name] == "number":
        return release.protected.numbers([name], allow_constant=True)[:, 0]
    codes = np.unique(release.protected.raw(name).astype(str), return_inverse=True)[1].reshape(-1)
    weights = release.original.weights()
    weigh = np.ones(before.size) if weights is None else weights
    means: Floats = np.bincount(codes, weigh * before) / np.bincount(codes, weigh)
    return means[codes]


def _with_front(runs: Sequence[Run]) -> tuple[Run, ...]:
    rank = ranked(np.array([[run.loss, run.risk] for run in runs])).rank
    return tuple(replace(run, on_front=bool(r == 0)) for run, r in zip(runs, rank, strict=True))


def _by_loss(run: Run) -> tuple[float, float]:
    return round(run.loss, 9), run.cpu_seconds


def _by_score(run: Run) -> tuple[float, float, float]:
    return round(run.score, 9), run.loss, run.cpu_seconds


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
