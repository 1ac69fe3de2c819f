"""The driver: one stage after the other, from the input files to the new values of every record."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Ints
from shoal.engine.control import current
from shoal.errors import ArgumentError, InputError, UsageError, check_k
from shoal.folders.columns import check_checksums
from shoal.folders.release import StagedResult
from shoal.folders.staging import Facts, Staging, read_staged
from shoal.folders.writing import Rows
from shoal.gate.promises import KAnonymity
from shoal.notices import notice
from shoal.protections.microaggregation.leaves.numbers import EXACT, Scale, mean_and_deviation, scaled
from shoal.protections.microaggregation.leaves.stages import (
    LeafUnit,
    MeasureTask,
    ReadTask,
    RouteTask,
    SearchTask,
    column,
    look,
    measure,
    new_values,
    read,
    route,
    search,
    units_of,
)
from shoal.protections.microaggregation.leaves.tree import Tree, build_tree
from shoal.sources.scanning import Files
from shoal.table.roles import Roles
from shoal.table.table import Table, all_constant, some_constant, too_wide

METHODS = ("auto", "blocks")
FEWEST = 20  # records of a leaf, in units of k
SAMPLE_PER_LEAF, SAMPLE_AT_LEAST, SAMPLE_AT_MOST = 1_000, 20_000, 400_000
NOT_YET = ("weight", "unit", "derived")  # roles that a search by leaves does not support


@dataclass(frozen=True)
class LeafValues:
    """The new values of one file, in slices of the staged files of the last round."""

    bases: tuple[Path, ...]
    slices: tuple[tuple[int, int], ...]
    first: int
    names: tuple[str, ...]
    whole: tuple[str, ...]
    integers: bool

    def frame(self, table: Table) -> Any:
        """Return the protected data frame of the file."""
        values = new_values(self.bases, self.slices, self.first, table.rows, len(self.names))
        frame = table.protected(dict(zip(self.names, values, strict=True)))
        kind = pl.Int64 if self.integers else pl.Float64
        return frame.with_columns(frame.get_column(name).cast(kind) for name in self.whole)


@dataclass(frozen=True, eq=False)
class AllLeafValues:
    """The new values of all files. ends: where the records of each file end in each staged file."""

    bases: tuple[Path, ...]
    ends: Ints
    first: tuple[int, ...]
    names: tuple[str, ...]
    whole: tuple[str, ...]
    integers: bool

    def of_file(self, number: int) -> LeafValues:
        """Return the new values of one file."""
        starts = self.ends[:, number - 1].tolist() if number else [0] * len(self.bases)
        slices = tuple(zip(starts, self.ends[:, number].tolist(), strict=True))
        return LeafValues(self.bases, slices, self.first[number], self.names, self.whole, self.integers)


def protect_files(files: Files, staging: Staging, arguments: Mapping[str, Any], seed: int) -> StagedResult:
    """Search for groups of at least k records in all files together, and stage the new values."""
    if arguments["method"] not in METHODS:
        raise UsageError(
            f"In a folder of files, the method must be {' or '.join(METHODS)}, not {arguments['method']!r}. Protect "
            "one file to use another method."
        )
    for name, usual in (("missing", "error"), ("aggregate", "mean")):
        if arguments[name] != usual:
            raise ArgumentError(f"In a folder of files, {name} must be {usual}. Or protect one file.", name)
    started, k = time.perf_counter(), int(arguments["k"])
    leaf = int(arguments["leaf"])
    if leaf < FEWEST * k:
        raise UsageError(f"leaf must be at least {FEWEST} k = {FEWEST * k}, not {leaf}. Use a larger --leaf.")
    [first] = staging.run("look", look, [(files.for_workers, tuple(arguments["quasi"]))], ())
    roles, names = Roles(**first["roles"]), tuple(first["names"])
    for role in NOT_YET:
        if getattr(roles, role):
            raise UsageError(
                f"In a folder of files, microaggregate does not support --{role} yet. Remove it, or protect one file."
            )
    tasks = [ReadTask(files.for_workers, path, tuple(first["columns"]), roles, names, k) for path in files.paths]
    read_facts = staging.run("read", read, tasks)
    rows = Rows(tuple(f["rows"] for f in read_facts), tuple(f["sha256"] for f in read_facts))
    check_checksums(files, rows.sha256)
    check_k(k, rows.total)
    search_ = _Search(files, staging, arguments, seed, rows, names, k, leaf, read_facts)
    facts, bases, ends = search_.run()
    whole = tuple(n for j, n in enumerate(names) if arguments["round"] and all(f["whole"][j] for f in read_facts))
    integers = all(f["integers"][names.index(n)] for n in whole for f in read_facts)
    return StagedResult(
        rows=rows,
        roles=roles,
        columns=tuple(first["columns"]),
        changed=names,
        k=k,
        facts={**facts, "files": len(files.paths), "seconds": round(time.perf_counter() - started, 4)},
        promises=(KAnonymity(names, k),),
        new=AllLeafValues(tuple(bases), np.array(ends), rows.first, names, whole, integers),
        settings={"leaf": leaf, "rounds": int(arguments["rounds"])},
    )


@dataclass(frozen=True, eq=False)
class _Search:
    files: Files
    staging: Staging
    arguments: Mapping[str, Any]
    seed: int
    rows: Rows
    names: tuple[str, ...]
    k: int
    leaf: int
    read_facts: Sequence[Facts]

    def run(self) -> tuple[Facts, list[Path], list[list[int]]]:
        """Return the facts, the staged files with the new values, and where each input file ends in them."""
        n, staging = self.rows.total, self.staging
        raw = self._range()
        leaves = max(1, round(n / self.leaf))
        size = min(max(SAMPLE_AT_LEAST, SAMPLE_PER_LEAF * leaves), SAMPLE_AT_MOST)
        below = min(2**64 - 1, int(2**64 * (size / n))) if size < n else 2**64 - 1
        measured = staging.run(
            "measure", measure,
            [MeasureTask(base, first, raw, self.seed, below)
             for base, first in zip(staging.bases("read"), self.rows.first, strict=True)],
        )  # fmt: skip
        scales = self._scales(raw, measured)
        sample = pl.concat([read_staged(base) for base in staging.bases("measure")])
        points = scaled([sample[column(j)].to_numpy() for j in range(len(self.names))], scales)
        rounds = int(self.arguments["rounds"]) if leaves > 1 else 0
        trees = [build_tree(points, leaves, self.seed, turn) for turn in range(rounds + 1)]
        routed = staging.run(
            "route", route,
            [RouteTask(base, first, scales, trees[0])
             for base, first in zip(staging.bases("read"), self.rows.first, strict=True)],
        )  # fmt: skip
        staging.drop("read")
        facts, stage = routed, "route"
        total: list[Facts] = []
        for turn in range(rounds + 1):
            tree = trees[turn + 1] if turn < rounds else None
            units, slices = self._units(facts)
            tasks = self._tasks(units, slices, turn, scales, tree, staging.bases(stage))
            name = f"search-{turn}"
            before, stage = stage, name
            facts = staging.run(name, search, tasks)
            staging.drop(before)
            total += facts
            self._show(facts, name)
        return self._facts(facts, total, len(units), rounds), staging.bases(stage), [f["ends"] for f in facts]

    def _range(self) -> tuple[Scale, ...]:
        """Return the range of each column, as a scale without mean and factor."""
        lowest = np.min([f["lowest"] for f in self.read_facts], axis=0)
        highest = np.max([f["highest"] for f in self.read_facts], axis=0)
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
            Scale(float(a), float(b - a) if b > a else 1.0, 0.0, 1.0) for a, b in zip(lowest, highest, strict=True)
        )

    def _scales(self, raw: Sequence[Scale], measured: Sequence[Facts]) -> tuple[Scale, ...]:
        """Return the scaling of each column."""
        importance = self.arguments["importance"] or {}
        for name, weight in importance.items():
            if name not in self.names:
                raise UsageError(f"The importance names {name!r}, which is not a protected column.")
            if not 0.0 < weight < math.inf:
                raise UsageError(f"The importance of {name!r} must be a positive number, not {weight!r}.")
        scales = []
        for j, (name, scale) in enumerate(zip(self.names, raw, strict=True)):
            total = sum(int(f["totals"][j]) for f in measured)
            squares = sum(int(f["squares"][j]) for f in measured)
            mean, deviation = mean_and_deviation(total, squares, self.rows.total)
            factor = math.sqrt(importance.get(name, 1.0))
            if self.arguments["scaling"] == "standard":
                scales.append(Scale(scale.lowest, scale.width, mean, factor / deviation if deviation > 0 else 0.0))
            else:
                width = scale.width if self.arguments["scaling"] == "none" else 1.0
                scales.append(Scale(scale.lowest, scale.width, mean, factor * width))
        return tuple(scales)

    def _units(self, facts: Sequence[Facts]) -> tuple[list[LeafUnit], list[tuple[tuple[int, int], ...]]]:
        """Return the units of the next search, and where each lies in the staged files."""
        counts = np.array([f["counts"] for f in facts])
        units = units_of(counts.sum(axis=0).tolist(), self.leaf)
        ends = np.concatenate([np.zeros((len(facts), 1), dtype=np.int64), np.cumsum(counts, axis=1)], axis=1)
        return units, [tuple((int(e[u.first]), int(e[u.last + 1])) for e in ends) for u in units]

    def _tasks(
        self,
        units: Sequence[LeafUnit],
        slices: Sequence[tuple[tuple[int, int], ...]],
        turn: int,
        scales: tuple[Scale, ...],
        tree: Tree | None,
        bases: Sequence[Path],
    ) -> list[SearchTask]:
        digits = self._digits()
        whole = tuple(
            bool(self.arguments["round"]) and all(f["whole"][j] for f in self.read_facts)
            for j in range(len(self.names))
        )
        return [
            SearchTask(
                unit, number, tuple(bases), part, turn, scales, tree, digits, whole, self.k, self.rows.total,
                self.arguments["effort"], self.seed, self.rows.first if tree is None else (),
            )
            for number, (unit, part) in enumerate(zip(units, slices, strict=True))
        ]  # fmt: skip

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

    def _show(self, facts: Sequence[Facts], name: str) -> None:
        within = sum(sum(f["within"]) for f in facts)
        total = sum(sum(f["total"]) for f in facts)
        if total > 0:
            current().show(len(facts), len(facts), 100.0 * within / total, name)

    def _facts(self, last: Sequence[Facts], every: Sequence[Facts], leaves: int, rounds: int) -> Facts:
        """Return the facts of the release. Sums are added in the order of the leaves, which no split changes."""
        totals = [math.fsum(f["total"][j] for f in last) for j in range(len(self.names))]
        lost = [math.fsum(f["lost"][j] for f in last) for j in range(len(self.names))]
        weigh = [
            (self.arguments["importance"] or {}).get(name, 1.0) if self.arguments["importance"] else 1.0
            for name in self.names
        ]
        sse, sst = math.fsum(lost), math.fsum(totals)
        shares = [100.0 * a / b if b > 0 else 0.0 for a, b in zip(lost, totals, strict=True)]
        plain = [100.0 * a / w for a, w in zip(lost, weigh, strict=True)]
        whole = math.fsum(b / w for b, w in zip(totals, weigh, strict=True))
        loss = math.fsum(plain) / whole if whole > 0 else 0.0
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
            "per_column": {n: {"kind": "number", "loss": s} for n, s in zip(self.names, shares, strict=True)},
            "leaves": leaves,
            "rounds": rounds,
            "effort": self.arguments["effort"],
            "cpu_seconds": round(sum(f["cpu_seconds"] for f in every), 4),
        }
        if not self.arguments["quasi"] and not self.files.named_roles.get("quasi"):
            facts["columns"] = list(self.names)
        return facts
