"""`shoal.compare`: the methods that suit a table, side by side on information loss and risk.

Each method runs on the same table and is measured in the same way. A category of a generalization counts as the mean
of its values, so that all methods have the same scale. If a column is text, only methods that form categories suit;
then the loss is the share of detail that cells lose, and the risk is the average re-identification risk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.engine.control import Control, control_of
from shoal.engine.nsga2 import ranked
from shoal.engine.progress import Progress
from shoal.errors import Stopped, UsageError, check_choice, check_k, counted
from shoal.measures.anonymity import class_sizes
from shoal.measures.assessment import assess_evidence
from shoal.measures.evidence import evidence_of_numbers
from shoal.measures.measure import declared_measures
from shoal.protections import register
from shoal.protections.candidate import Candidate, LeftOut
from shoal.protections.parameters import EFFORTS
from shoal.protections.protection import Protection
from shoal.protections.recorded import input_of
from shoal.protections.values import warn_of_codes, warn_of_identifiers
from shoal.recipe import Recipe, Step
from shoal.release import Release
from shoal.report.charts import Chart, Series, series_chart
from shoal.report.repeat import command
from shoal.sources.files import check_place
from shoal.sources.reading import as_table
from shoal.studies.reproduce.result import Result
from shoal.table.table import Table

WIDE_RANGE = 10.0  # from this ratio of the largest to the smallest loss on, the loss axis is logarithmic
LABEL_MERGE_DISTANCE = (0.08, 0.12)  # shares of the chart's width and height within which points share a label
# The measures of the comparison if a column is text, with the heads of their columns; see `Measure.short` for numbers.
OF_CATEGORIES = {"detail_lost": "loss %", "class_risk": "risk %", "score": "score"}


@dataclass(frozen=True)
class Run:
    """The result of one method. The map shows `loss` and `risk`; `measures` has all values."""

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
    """The results of the methods, the methods that were not run, and the answer in a sentence.

    Attributes:
        n: The number of records.
        d: The number of protected columns.
        k: The smallest allowed class size.
        runs: The result of each method.
        left_out: The methods that were not run, with the reason.
        stopped: Whether the comparison was stopped before all methods had run.
    """

    n: int
    d: int
    k: int
    runs: tuple[Run, ...]
    left_out: tuple[LeftOut, ...]
    stopped: bool

    @property
    def front(self) -> tuple[Run, ...]:
        """The Pareto front: the runs that no other run beats in both loss and risk."""
        return tuple(run for run in self.runs if run.on_front)

    @property
    def ordered(self) -> list[Run]:
        """The runs, sorted by loss."""
        return sorted(self.runs, key=_by_loss)

    @property
    def answer(self) -> str:
        """The method with the lowest loss and the one with the best balance of loss and risk, in a sentence."""
        keeping = [run for run in self.runs if run.keeps_k]
        if not keeping:
            return f"No method reached k = {self.k} over all columns together."
        lowest, balanced = (min(keeping, key=key) for key in (_by_loss, _by_score))
        others = [run for run in self.runs if not run.keeps_k]
        weaker = (
            f" {_list([run.name for run in others])} reached k = {self.k} only within column groups." if others else ""
        )
        start = f"{lowest.name} loses the least information at k = {self.k} ({lowest.loss:.2f} %)"
        if balanced is lowest:
            return f"{start} and has the best balance of loss and risk.{weaker}"
        return (
            f"{start}. {balanced.name} has the best balance of loss and risk "
            f"(score {balanced.score:.2f}; {lowest.name}: {lowest.score:.2f}).{weaker}"
        )

    @property
    def explanation(self) -> str:
        """Why the method with the lowest loss does not have the best score; empty if it has."""
        keeping = [run for run in self.runs if run.keeps_k]
        if not keeping:
            return ""
        lowest, balanced = (min(keeping, key=key) for key in (_by_loss, _by_score))
        if balanced is lowest:
            return ""
        if "il" not in balanced.measures:
            return (
                f"Loss and score differ because the score also counts the risk: it is the mean of loss and risk. "
                f"{balanced.name} has a loss of {_both(balanced, lowest, 'detail_lost')} and a risk of "
                f"{_both(balanced, lowest, 'class_risk')}."
            )
        reason = (
            "its lower risk outweighs its higher IL"
            if balanced.measures["il"] >= lowest.measures["il"]
            else "its IL is lower although its loss is higher: IL also counts changes of single values, means and "
            "correlations"
        )
        return (
            "Loss and score differ because they measure different things: the loss is the share of variance that was "
            "lost, and the score is the mean of IL and disclosure risk. "
            f"{balanced.name} has IL {_both(balanced, lowest, 'il')} and risk "
            f"{_both(balanced, lowest, 'disclosure_risk')}; {reason}."
        )

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as plain values, for JSON."""
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
            "explanation": self.explanation,
        }

    def rows(self) -> tuple[list[str], list[list[Any]]]:
        """Return the headers and the rows of a table, sorted by loss; * marks the Pareto front."""
        measures = list(self.runs[0].measures)
        heads = {measure.name: measure.short for measure in declared_measures()} | OF_CATEGORIES
        headers = ["method", *(heads[name] for name in measures), "k", "CPU s", ""]
        rows = [
            [r.name, *(r.measures[m] for m in measures), r.k, r.cpu_seconds, "*" if r.on_front else ""]
            for r in self.ordered
        ]
        return headers, rows

    def report(self, path: str | Path) -> Path:
        """Write an HTML report with the risk-utility map and the table; it works offline.

        Args:
            path: The HTML file to write.

        Returns:
            The path of the report.
        """
        headers, rows = self.rows()
        rows = [[f"{number}. {name}", *figures] for number, (name, *figures) in enumerate(rows, start=1)]
        note = (
            f"{' '.join(filter(None, (self.answer, self.explanation)))} * marks the Pareto front: methods that no "
            "other method beats in both loss and risk. The numbers are those of the map."
        )
        if _is_wide(self.runs):
            note += " The loss axis of the map is logarithmic, so that it shows all methods."
        if self.stopped:
            note += " The comparison was stopped before all methods had run."
        left = [[item.name, item.why] for item in self.left_out]
        commands = [[run.name, run.command] for run in self.runs]
        result = Result(
            f"Comparison of methods: {counted(self.n, 'record')}, {counted(self.d, 'column')}, k = {self.k}",
            [
                {"title": "Loss and risk", "columns": headers, "rows": rows, "note": note},
                {"title": "Commands", "columns": ["method", "command"], "rows": commands, "note": ""},
                {"title": "Methods not run", "columns": ["method", "reason"], "rows": left, "note": ""},
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
    progress: Progress | None = None,
    control: Control | None = None,
) -> Comparison:
    """Run the methods that suit the data and compare their information loss and disclosure risk.

    Args:
        data: A `Table`, a data frame or a file.
        k: Smallest allowed class size, 2 or more.
        quasi: Quasi-identifiers, if the table does not name them.
        effort: Largest search budget: quick, standard or thorough. Smaller budgets run too.
        missing: Missing quasi-identifiers: error, drop or median.
        seed: Random seed. The same seed gives the same result.
        threads: Largest number of threads; all cores by default.
        progress: A function that is called with the progress.
        control: An object for threads, progress and stopping, instead of `threads` and `progress`.

    Returns:
        The comparison. If it was stopped, it has the methods that had run.

    Raises:
        UsageError: An argument is invalid.
        InputError: The data cannot be used.
    """
    table, whole = as_table(data, quasi=quasi), control_of(control, threads, progress)
    return whole.call(lambda: _compare(table, k, effort, missing, seed, whole))


def _compare(table: Table, k: int, effort: str, missing: str, seed: int, control: Control) -> Comparison:
    check_choice("effort", effort, EFFORTS)
    read, columns = table, table.quasi_columns(to_protect=True)
    numeric = all(table.kinds[name] == "number" for name in columns)
    warn_of_identifiers(table, table.roles.quasi)
    if numeric:
        table = table.with_missing(missing, columns)
        warn_of_codes(table, columns)
    elif missing != "error":
        raise UsageError(
            f"--missing {missing} needs numeric columns: in a text column a missing value is a category. Remove "
            "--missing."
        )
    k = check_k(k, table.rows)
    suitable, left_out = candidates(table, columns, effort, numeric)
    runs: list[Run] = []
    with suppress(Stopped):
        for i, (protection, candidate) in enumerate(suitable):
            part = _part(control, i, len(suitable), candidate.name)
            arguments = {**({"k": k} if "k" in protection.parameters else {}), **candidate.arguments}
            release: Release = protection.function(table, **arguments, seed=seed, control=part)
            control.check()
            line = _command(protection, arguments, seed, read, table, missing)
            runs.append(_measured(candidate, line, release, columns, k, numeric, control.threads, seed))
    if not runs:
        control.check()
    control.show(len(suitable), len(suitable), None, "done")
    return Comparison(table.rows, len(columns), k, _with_front(runs), tuple(left_out), control.stopped)


def candidates(
    table: Table, columns: Sequence[str], effort: str, numeric: bool
) -> tuple[list[tuple[Protection, Candidate]], list[LeftOut]]:
    """What the protections suggest for a table, and what does not suit it."""
    suitable: list[tuple[Protection, Candidate]] = []
    left_out: list[LeftOut] = []
    for protection in register().values():
        module = None if protection.part_of else protection.module("candidates")
        for candidate in () if module is None else module.candidates(table, columns, effort, numeric):
            if isinstance(candidate, LeftOut):
                left_out.append(candidate)
            else:
                suitable.append((protection, candidate))
    return suitable, left_out


def _command(
    protection: Protection, arguments: Mapping[str, Any], seed: int, read: Table, used: Table, missing: str
) -> str:
    """The command line that does the same; it names no file if no command can make this table from one."""
    source, more = read, {}
    if used is not read:
        parameter = protection.parameters.get("missing")
        if parameter is not None and missing in parameter.choices:
            more = {"missing": missing}
        else:
            source = used
    recipe = Recipe(seed=seed, input=input_of(source), steps=(Step(do=protection.name, **arguments, **more),))
    return command(recipe.in_folder(Path.cwd()) if recipe.input.file else recipe, protection)


def risk_utility_maps(comparison: Comparison) -> dict[str, Chart]:
    """Return the chart of loss against risk, with one point per method.

    If some losses are much larger than others, the loss axis is logarithmic: no method is left out, and methods with
    similar losses stay apart.
    """
    runs = comparison.ordered
    return {"Risk-utility map": _map(runs, {run.name: number for number, run in enumerate(runs, start=1)})}


def _is_wide(runs: Sequence[Run]) -> bool:
    """Return whether the losses need a logarithmic axis, and can have one: a loss of 0 has no place on it."""
    losses = [run.loss for run in runs]
    return min(losses) > 0.0 and max(losses) > WIDE_RANGE * min(losses)


def _map(runs: Sequence[Run], numbers: Mapping[str, int]) -> Chart:
    labels = _labels(runs, numbers)
    series = []
    for on_front, name in ((True, "Pareto front"), (False, "other methods")):
        shown = sorted((run for run in runs if run.on_front == on_front), key=_by_loss)
        series.append(
            Series(
                name,
                [run.loss for run in shown],
                [run.risk for run in shown],
                line=on_front,
                dots=True,
                steps=True,
                titles=[f"{numbers[run.name]}. {run.name}" for run in shown],
                texts=[labels.get(run.name, "") for run in shown],
                look=1 if on_front else 0,
                size=5.5 if on_front else 4,
                shape="diamond" if on_front else "circle",
            )
        )
    return series_chart(series, "loss, %", "disclosure risk, %", log_x=_is_wide(runs), height=300)


def _labels(runs: Sequence[Run], numbers: Mapping[str, int]) -> dict[str, str]:
    """Return the number to write above each point, by method; points close to each other share one label."""
    losses = {run.name: math.log10(run.loss) if _is_wide(runs) else run.loss for run in runs}
    wide, high = (max(values) - min(values) or 1.0 for values in (losses.values(), [r.risk for r in runs]))
    near_x, near_y = LABEL_MERGE_DISTANCE
    crowds: list[list[Run]] = []
    for run in runs:
        touched = [
            crowd
            for crowd in crowds
            if any(
                abs(losses[run.name] - losses[o.name]) < near_x * wide and abs(run.risk - o.risk) < near_y * high
                for o in crowd
            )
        ]
        crowds = [crowd for crowd in crowds if crowd not in touched] + [[o for crowd in touched for o in crowd] + [run]]
    return {
        max(crowd, key=lambda run: run.risk).name: _ranges([numbers[run.name] for run in crowd]) for crowd in crowds
    }


def _ranges(numbers: Sequence[int]) -> str:
    """Join numbers, with ranges for three or more in a row.

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


def _part(control: Control, number: int, methods: int, name: str) -> Control:
    """Return the control of one method; its progress is a part of the whole."""

    def show(done: float, total: float, best: float | None = None, what: str = "") -> None:
        control.show(number + (min(done / total, 1.0) if total else 0.0), methods, best, name)

    show(0, 1)
    part = control.part(progress=show)
    part.notices = []  # they are about the data: the comparison shows them once
    return part


def _measured(
    candidate: Candidate,
    line: str,
    release: Release,
    columns: Sequence[str],
    k: int,
    numeric: bool,
    threads: int,
    seed: int,
) -> Run:
    sizes = class_sizes([release.protected[name].exact_codes for name in columns])
    if numeric:
        before = release.original.numbers(columns, allow_constant=True)
        after = np.column_stack([_as_numbers(release, name, before[:, j]) for j, name in enumerate(columns)])
        evidence = evidence_of_numbers(before, after, weights=release.original.weights(), threads=threads, seed=seed)
        compared = tuple(measure.name for measure in declared_measures() if measure.short)
        measures = {name: float(value or 0.0) for name, value in assess_evidence(evidence, compared).items()}
        loss, risk, score = (measures[name] for name in ("information_loss", "disclosure_risk", "score"))
    else:
        loss, risk = loss_of_categories(release), 100.0 * len(sizes) / release.original.rows
        score = (loss + risk) / 2
        measures = dict(zip(OF_CATEGORIES, (loss, risk, score), strict=True))
    smallest, cpu = int(sizes.min()), float(release.facts["cpu_seconds"])
    return Run(
        candidate.name,
        line,
        candidate.arguments,
        loss,
        risk,
        score,
        smallest,
        smallest >= k,
        cpu,
        measures,
    )


def loss_of_categories(release: Release) -> float:
    """Return the information loss in percent as the protection measures it, for columns that are not all numbers."""
    assert release.protection is not None
    module: Any = release.protection.module("candidates")
    return float(module.loss(release))


def _as_numbers(release: Release, name: str, before: Floats) -> Floats:
    """Return a protected column as numbers; a category counts as the mean of its values."""
    if release.protected.kinds[name] == "number":
        return release.protected.numbers([name], allow_constant=True)[:, 0]
    codes = release.protected[name].codes.codes
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


def _both(run: Run, other: Run, measure: str) -> str:
    """Return a measure of a run in percent, next to that of another run."""
    return f"{run.measures[measure]:.2f} % ({other.name}: {other.measures[measure]:.2f} %)"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
