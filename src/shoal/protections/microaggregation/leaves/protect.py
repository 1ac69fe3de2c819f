"""The driver: one stage after the other, from the input files to the new values of every record."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.control import current
from shoal.errors import InputError, UsageError, check_k
from shoal.folders.columns import check_checksums
from shoal.folders.leaves import (
    LeafUnit,
    Placed,
    Slices,
    batches_of,
    check_leaf,
    leaves_of,
    new_values,
    placed,
    sample_limit,
    slices_of,
    units_of,
)
from shoal.folders.release import StagedResult
from shoal.folders.staging import Facts, Staging, read_staged
from shoal.folders.writing import Rows
from shoal.gate.promises import KAnonymity
from shoal.notices import notice
from shoal.protections.microaggregation.leaves.labels import Values, joined
from shoal.protections.microaggregation.leaves.numbers import (
    BITS,
    EXACT,
    Indicators,
    Scale,
    Scaling,
    gini,
    mean_and_deviation,
    scaled,
    width_of,
)
from shoal.protections.microaggregation.leaves.stages import (
    MEASURED,
    Columns,
    MeasureTask,
    ReadTask,
    RouteTask,
    SearchTask,
    StagedFile,
    column,
    label_suffix,
    look,
    measure,
    read,
    route,
    search,
)
from shoal.protections.microaggregation.leaves.tree import Tree, build_tree
from shoal.sources.scanning import Files
from shoal.table.frames import with_series
from shoal.table.mixed import check_labels, dated
from shoal.table.roles import Roles
from shoal.table.table import Table, all_constant, some_constant, too_wide

METHODS = ("auto", "blocks")
NOT_YET = ("derived",)  # roles that a search by leaves does not support


@dataclass(frozen=True)
class NewColumns:
    """How new values become columns.

    Attributes:
        names: The protected columns.
        kinds: The kind of each.
        whole: The columns of numbers that are rounded.
        integers: Whether these are whole numbers in every file.
        values: The values of each column of labels.
        used: The codes of each column of labels that a group has.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    whole: tuple[str, ...]
    integers: bool
    values: Mapping[str, Values]
    used: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class LeafValues:
    """The new values of one file, in slices of the staged files of the last round."""

    bases: tuple[Path, ...]
    slices: Slices
    first: int
    columns: NewColumns

    def frame(self, table: Table) -> Any:
        """Return the protected data frame of the file."""
        names, kinds = self.columns.names, self.columns.kinds
        new = new_values(self.bases, self.slices, self.first, table.rows, self._columns)
        numbers, series = {}, {}
        for name, kind, made in zip(names, kinds, new, strict=True):
            if kind == "number":
                numbers[name] = made
            elif kind == "date":
                series[name] = dated(table[name].series, made)
            else:
                one = self.columns.values[name].series(name, made, self.columns.used[name])
                series[name] = nw.from_native(one, series_only=True)
        frame = with_series(table.protected(numbers), series)
        kind_of_whole = pl.Int64 if self.columns.integers else pl.Float64
        return frame.with_columns(frame.get_column(name).cast(kind_of_whole) for name in self.columns.whole)

    def _columns(self, number: int | Ints, part: pl.DataFrame) -> list[NDArray[Any]]:
        return [part[column(j)].to_numpy() for j in range(len(self.columns.names))]


@dataclass(frozen=True, eq=False)
class AllLeafValues:
    """The new values of all files."""

    placed: Placed
    first: tuple[int, ...]
    columns: NewColumns

    def of_file(self, number: int) -> LeafValues:
        """Return the new values of one file."""
        bases, slices = self.placed.of_file(number)
        return LeafValues(bases, slices, self.first[number], self.columns)


def protect_files(files: Files, staging: Staging, arguments: Mapping[str, Any], seed: int) -> StagedResult:
    """Search for groups of at least k records in all files together, and stage the new values."""
    if arguments["method"] not in METHODS:
        raise UsageError(
            f"In a folder of files, the method must be {' or '.join(METHODS)}, not {arguments['method']!r}. Protect "
            "one file to use another method."
        )
    started, k = time.perf_counter(), int(arguments["k"])
    leaf = check_leaf(int(arguments["leaf"]), k)
    [first] = staging.run("look", look, [(files.for_workers, tuple(arguments["quasi"]))], ())
    roles, names, kinds = Roles(**first["roles"]), tuple(first["names"]), tuple(first["kinds"])
    _check_roles(roles, arguments["aggregate"])
    tasks = [ReadTask(files.for_workers, path, tuple(first["columns"]), roles, names, kinds, k) for path in files.paths]
    labels = [j for j, kind in enumerate(kinds) if kind not in MEASURED]
    read_facts = staging.run("read", read, tasks, ("", *(label_suffix(j) for j in labels)))
    rows = Rows(tuple(f["rows"] for f in read_facts), tuple(f["sha256"] for f in read_facts))
    check_checksums(files, rows.sha256)
    check_k(k, rows.total)
    search_ = _Search(files, staging, arguments, seed, rows, roles, names, kinds, k, leaf, read_facts, first["is_text"])
    facts, stage, last = search_.run()
    whole = tuple(name for name, rounded in zip(names, search_.whole, strict=True) if rounded)
    integers = all(f["integers"][names.index(n)] for n in whole for f in read_facts)
    used = {names[j]: tuple(sorted(set().union(*(f["used"][j] for f in last)))) for j in labels}
    values = {names[j]: search_.labels[j][0] for j in labels}
    columns = NewColumns(names, kinds, whole, integers, values, used)
    return StagedResult(
        rows=rows,
        roles=roles,
        columns=tuple(first["columns"]),
        changed=names,
        k=k,
        facts={**facts, "files": len(files.paths), "seconds": round(time.perf_counter() - started, 4)},
        promises=(KAnonymity(names, k),),
        new=AllLeafValues(placed(staging, stage, last, rows.counts), rows.first, columns),
        settings={"leaf": leaf, "rounds": int(arguments["rounds"])},
    )


def _check_roles(roles: Roles, aggregate: str) -> None:
    for role in NOT_YET:
        if getattr(roles, role):
            raise UsageError(
                f"In a folder of files, microaggregate does not support --{role} yet. Remove it, or protect one file."
            )
    if aggregate == "median" and roles.weight is not None:
        raise UsageError(
            f"The median of a group does not support the weights in {roles.weight!r}. Use --aggregate mean, or no "
            "--weight."
        )


@dataclass(frozen=True, eq=False)
class _Search:
    files: Files
    staging: Staging
    arguments: Mapping[str, Any]
    seed: int
    rows: Rows
    roles: Roles
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    k: int
    leaf: int
    read_facts: Sequence[Facts]
    is_text: bool

    def run(self) -> tuple[Facts, str, Sequence[Facts]]:
        """Return the facts of the release, the stage with the new values, and the facts of its searches."""
        n, staging = self.rows.total, self.staging
        raw = self._range()
        leaves = leaves_of(n, self.leaf)
        limit = sample_limit(n, leaves)
        largest = max(f["largest_weight"] for f in self.read_facts)
        files = self._files()
        measured = staging.run(
            "measure", measure, [MeasureTask(file, raw, largest, self.seed, limit) for file in files]
        )
        columns = self._columns(raw, measured, largest)
        sample = pl.concat([read_staged(base) for base in staging.bases("measure")])
        points = scaled([sample[column(j)].to_numpy() for j in range(len(self.names))], columns.scales)
        rounds = int(self.arguments["rounds"]) if leaves > 1 else 0
        trees = [build_tree(points, leaves, self.seed, turn) for turn in range(rounds + 1)]
        tasks_of = [
            RouteTask(tuple(files[batch.files]), columns.scales, trees[0]) for batch in batches_of(self.rows.counts)
        ]
        routed = staging.run("route", route, tasks_of)
        staging.drop("read")
        facts, stage = routed, "route"
        total: list[Facts] = []
        totals = _Totals.of(self, columns, measured, largest)
        for turn in range(rounds + 1):
            tree = trees[turn + 1] if turn < rounds else None
            units = units_of(np.sum([f["counts"] for f in facts], axis=0).tolist(), self.leaf)
            tasks = self._tasks(units, slices_of(units, facts), turn, columns, tree, staging.bases(stage))
            name = f"search-{turn}"
            before, stage = stage, name
            facts = staging.run(name, search, tasks)
            staging.drop(before)
            total += facts
            current().show(len(facts), len(facts), totals.searched(facts), name)
        return self._facts(totals, facts, total, len(units), rounds), stage, facts

    @cached_property
    def labels(self) -> dict[int, tuple[Values, list[Indices]]]:
        """The values of each column of labels, and the common codes of the codes of each file."""
        made = {}
        for j, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
            if kind not in MEASURED:
                frames = [read_staged(base, label_suffix(j)) for base in self.staging.bases("read")]
                made[j] = joined(name, kind, frames, self.files.names, self.roles.order, self.is_text)
        return made

    @cached_property
    def whole(self) -> tuple[bool, ...]:
        """Whether the new values of each column are rounded."""
        rounded = bool(self.arguments["round"])
        return tuple(rounded and all(f["whole"][j] for f in self.read_facts) for j in range(len(self.names)))

    def _files(self) -> list[StagedFile]:
        return [
            StagedFile(base, first, tuple(self.labels[j][1][i] if j in self.labels else None
                                          for j in range(len(self.names))))
            for i, (base, first) in enumerate(zip(self.staging.bases("read"), self.rows.first, strict=True))
        ]  # fmt: skip

    def _range(self) -> tuple[Scaling, ...]:
        """Return the range of each column, as a scale without mean and factor; nominal columns have indicators."""
        lowest = np.min([f["lowest"] for f in self.read_facts], axis=0)
        highest = np.max([f["highest"] for f in self.read_facts], axis=0)
        for j, (values, _) in self.labels.items():
            present = np.flatnonzero(values.present)
            lowest[j], highest[j] = present[0], present[-1]
            check_labels(self.names[j], values.kind, sum(text is not None for text in values.texts), self.rows.total)
        with np.errstate(over="ignore"):
            wide = ~np.isfinite(highest - lowest)
        if wide.any():
            raise InputError(too_wide(self.names[int(wide.argmax())]))
        constant = [name for name, low, high in zip(self.names, lowest, highest, strict=True) if not high > low]
        if len(constant) == len(self.names):
            raise InputError(all_constant(self.names))
        if constant:
            notice(some_constant(constant))
        return tuple(
            Indicators(self.labels[j][0].count, 1.0)
            if kind == "nominal"
            else Scale(float(a), float(b - a) if b > a else 1.0, 0.0, 1.0)
            for j, (kind, a, b) in enumerate(zip(self.kinds, lowest, highest, strict=True))
        )

    def _columns(self, raw: Sequence[Scaling], measured: Sequence[Facts], largest: float) -> Columns:
        """Return the scaling of each column, and what the new values depend on."""
        importance = self.arguments["importance"] or {}
        for name, weight in importance.items():
            if name not in self.names:
                raise UsageError(
                    f"The importance names {name!r}, which is not a protected column. The protected columns are: "
                    f"{', '.join(self.names)}."
                )
            if not 0.0 < weight < math.inf:
                raise UsageError(f"The importance of {name!r} must be a positive number, not {weight!r}.")
        scaling = self.arguments["scaling"]
        if scaling == "none" and self.labels:
            listed = ", ".join(self.names[j] for j in self.labels)
            raise UsageError(
                f"The columns {listed} hold labels, which must be scaled. Use --scaling standard or --scaling minmax, "
                "or protect only the columns of numbers."
            )
        mass = _mass(measured, self.rows.total)
        scales: list[Scaling] = []
        masses: list[Floats | None] = []
        for j, (name, scale) in enumerate(zip(self.names, raw, strict=True)):
            factor = math.sqrt(importance.get(name, 1.0))
            if isinstance(scale, Indicators):
                of_codes = [sum(part) for part in zip(*(f["masses"][j] for f in measured), strict=True)]
                spread = gini(of_codes) if scaling == "standard" else 2.0
                scales.append(Indicators(scale.count, factor / math.sqrt(spread) if spread > 0 else 0.0))
                unit = 1.0 if measured[0]["mass"] is None else largest / 2.0**BITS
                masses.append(np.array([x * unit for x in of_codes]))
                continue
            total = sum(int(f["totals"][j]) for f in measured)
            squares = sum(int(f["squares"][j]) for f in measured)
            mean, deviation = mean_and_deviation(total, squares, mass)
            if scaling == "standard":
                scales.append(Scale(scale.lowest, scale.width, mean, factor / deviation if deviation > 0 else 0.0))
            else:
                width = scale.width if scaling == "none" else 1.0
                scales.append(Scale(scale.lowest, scale.width, mean, factor * width))
            masses.append(None)
        return Columns(
            self.kinds, tuple(scales), self._digits(), self.whole, tuple(masses), self.arguments["aggregate"]
        )

    def _tasks(
        self,
        units: Sequence[LeafUnit],
        slices: Sequence[Slices],
        turn: int,
        columns: Columns,
        tree: Tree | None,
        bases: Sequence[Path],
    ) -> list[SearchTask]:
        return [
            SearchTask(
                unit, number, tuple(bases), part, turn, columns, tree, self.k, self.rows.total,
                self.arguments["effort"], self.seed, self._starts if tree is None else (),
            )
            for number, (unit, part) in enumerate(zip(units, slices, strict=True))
        ]  # fmt: skip

    @property
    def _starts(self) -> tuple[int, ...]:
        """The row number of the first record of each batch of files."""
        return tuple(batch.start for batch in batches_of(self.rows.counts))

    def _digits(self) -> tuple[int | None, ...]:
        """Return the decimals of each column, if sums of a group are exact in units of the last one."""
        columns: list[int | None] = []
        for j in range(len(self.names)):
            digits = [f["digits"][j] for f in self.read_facts]
            most = None if None in digits else max(digits)
            largest = max(max(abs(f["lowest"][j]), abs(f["highest"][j])) for f in self.read_facts)
            fits = most is not None and largest * 10.0**most * 4 * self.k < EXACT
            columns.append(most if fits else None)
        return tuple(columns)

    def _facts(self, totals: _Totals, last: Sequence[Facts], every: Sequence[Facts], leaves: int, rounds: int) -> Facts:
        """Return the facts of the release. Sums are added in the order of the leaves, which no split changes."""
        shares, per_column = totals.per_column(last)
        varying = [share for share in shares if share is not None]
        loss = 100.0 * math.fsum(varying) / len(varying)
        sse, sst = math.fsum(varying) * totals.weight, totals.weight * len(varying)
        if self.labels:  # what the search minimized, as on one machine
            sse, sst = totals.squares(last)
        facts: Facts = {
            "n": self.rows.total,
            "d": len(self.names),
            "k": self.k,
            "method": self.arguments["method"],
            "chosen": "blocks",
            "sse": sse,
            "sst": sst,
            "information_loss": loss,
            "groups": sum(f["groups"] for f in last),
            "smallest_group": min(f["smallest"] for f in last),
            "largest_group": max(f["largest"] for f in last),
            "per_column": per_column,
            "leaves": leaves,
            "rounds": rounds,
            "effort": self.arguments["effort"],
            "cpu_seconds": round(sum(f["cpu_seconds"] for f in every), 4),
        }
        if isinstance(self.roles.unit, str):
            facts["smallest_group_units"] = min(f["smallest_units"] for f in last)
        if self.labels:
            facts["dimensions"] = width_of(totals.columns.scales)
        if not self.arguments["quasi"] and not self.files.named_roles.get("quasi"):
            facts["columns"] = list(self.names)
        return facts


@dataclass(frozen=True, eq=False)
class _Totals:
    """What the loss of a release is compared with. weight: of all records; their number without weights."""

    names: tuple[str, ...]
    columns: Columns
    weight: float
    rows: int

    @classmethod
    def of(cls, of: _Search, columns: Columns, measured: Sequence[Facts], largest: float) -> _Totals:
        mass = _mass(measured, of.rows.total)
        weight = mass / 2.0**BITS * (1.0 if measured[0]["mass"] is None else largest)
        return cls(of.names, columns, weight, of.rows.total)

    def squares(self, facts: Sequence[Facts]) -> tuple[float, float]:
        """Return the squared error of the search and the total sum of squares, in all dimensions."""
        within = math.fsum(x for f in facts for x in f["within"])
        total = [math.fsum(f["total"][j] for f in facts) for j in range(len(self.names))]
        for j, (scale, mass) in enumerate(zip(self.columns.scales, self.columns.masses, strict=True)):
            if isinstance(scale, Indicators):
                total[j] = self.weight * scale.factor**2 * _gini(mass)
        return within, math.fsum(total)

    def searched(self, facts: Sequence[Facts]) -> float | None:
        """Return the loss so far in percent."""
        within, total = self.squares(facts)
        return 100.0 * within / total if total > 0 else None

    def per_column(self, last: Sequence[Facts]) -> tuple[list[float | None], dict[str, dict[str, Any]]]:
        """Return the lost share of each column, None for a constant one, and the facts of each."""
        shares: list[float | None] = []
        per_column: dict[str, dict[str, Any]] = {}
        for j, (name, kind, scale) in enumerate(zip(self.names, self.columns.kinds, self.columns.scales, strict=True)):
            lost = math.fsum(f["lost"][j] for f in last)
            facts: dict[str, Any] = {"kind": kind}
            if isinstance(scale, Indicators):
                spread = _gini(self.columns.masses[j])
                share = 2.0 * lost / spread / self.weight if spread > 0 else None
                within = math.fsum(f["within"][j] for f in last)
                impure = within / scale.factor**2 / self.weight / spread if spread > 0 else 0.0
                facts["impurity"] = 100.0 * impure
            else:
                total = math.fsum(f["total"][j] for f in last)
                share = lost / total if total > 0 else None
            facts["loss"] = 100.0 * (share or 0.0)
            if kind not in MEASURED:
                facts["changed"] = sum(f["moved"][j] for f in last) / self.rows
            if kind == "ordinal":
                facts["changed_by_more_than_one"] = sum(f["far"][j] for f in last) / self.rows
            shares.append(share)
            per_column[name] = facts
        return shares, per_column


def _mass(measured: Sequence[Facts], rows: int) -> int:
    """Return the sum of the weights in units of the largest, as a whole sum; the number of rows without weights."""
    masses = [f["mass"] for f in measured]
    return rows << BITS if masses[0] is None else sum(masses)


def _gini(masses: Floats | None) -> float:
    assert masses is not None
    shares = masses / masses.sum()
    return float((shares * (1.0 - shares)).sum())
