"""The driver: one stage after the other, from the input files to the new values of every record."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.engine.control import current
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.errors import ArgumentError, UsageError, check_k
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
from shoal.measures.diversity import broken_classes
from shoal.notices import notice
from shoal.protections.class_release import class_promises
from shoal.protections.class_rules import NOT_DIVERSE, Confidentiality, Rules, group_rules
from shoal.protections.recoding.columns import ColumnOptions
from shoal.protections.recoding.leaves.domains import Domains, ValuesTask, values
from shoal.protections.recoding.leaves.stages import (
    SAMPLE,
    CodeTask,
    LabelTask,
    RouteTask,
    SearchTask,
    code,
    cover_suffix,
    label,
    route,
    search,
)
from shoal.protections.recoding.leaves.tree import CutTree, build_tree
from shoal.protections.recoding.protect import is_kept
from shoal.protections.recoding.release import write_legend
from shoal.protections.recoding.task import RecodingTask
from shoal.protections.tuples import Grouped, column, grouped, read, staged_cells, typed
from shoal.protections.values import is_finer
from shoal.sources.scanning import Files
from shoal.table.table import Table
from shoal.table.taxonomy import read_taxonomy

METHODS, STYLES = ("search",), ("text", "mean")


def protect_files(files: Files, staging: Staging, arguments: Mapping[str, Any], seed: int) -> StagedResult:
    """Search for groups of at least k records in all files together, and stage what they cover."""
    started, k = time.perf_counter(), int(arguments["k"])
    _check(arguments)
    leaf = check_leaf(int(arguments["leaf"]), k)
    options = _options(arguments)
    gaps = "error" if arguments["missing"] == "error" else "category"
    known = grouped(files, staging, "recode", arguments["quasi"] or (), also="confidential", gaps=gaps, by=read)
    check_k(k, known.rows.total)
    options.check(known.names)
    confidentiality = Confidentiality(arguments["l"], arguments["t"], arguments["distance"])
    searching = _Search(staging, arguments, seed, k, leaf, known, _domains(known, staging, options), confidentiality)
    facts, last, stage = searching.run()
    by_name = dict(zip(searching.domains.confidential, searching.rules.rules, strict=False))
    new, legend = _new_values(searching, last, stage)
    if legend:
        facts["legend"] = legend
    return StagedResult(
        rows=known.rows,
        roles=known.roles,
        columns=known.columns,
        changed=known.names,
        k=k,
        facts={**facts, "files": len(files.paths), "seconds": round(time.perf_counter() - started, 4)},
        promises=class_promises(known.names, (), k, by_name),
        new=new,
        settings={"leaf": leaf, "rounds": int(arguments["rounds"])},
        also={"legend": legend},
    )


def save_legend(also: Mapping[str, Any], path: Path) -> None:
    """Write the legend of a release of many files."""
    write_legend(also["legend"], path)


def _check(arguments: Mapping[str, Any]) -> None:
    if arguments["method"] not in METHODS:
        raise UsageError(
            f"In a folder of files, the method must be search, not {arguments['method']!r}. Protect one file to use "
            "another method."
        )
    if arguments["style"] not in STYLES:
        raise UsageError(
            f"In a folder of files, the style must be text or mean, not {arguments['style']!r}. Protect one file to "
            "use another style."
        )
    if arguments["missing"] == "drop":
        raise ArgumentError(
            "In a folder of files, missing must be category or error: each released file has the rows of its input "
            "file.",
            "missing",
        )


def _options(arguments: Mapping[str, Any]) -> ColumnOptions:
    """Return the options on the values; a worker need not have the files of the taxonomies."""
    trees = {name: read_taxonomy(source, name) for name, source in (arguments["taxonomy"] or {}).items()}
    kind = arguments["loss"] or ("nodes" if trees or arguments["steps"] else "sets")
    return ColumnOptions(kind, trees or None, *(arguments[name] for name in ("steps", "round_ends", "importance")))


def _domains(known: Grouped, staging: Staging, options: ColumnOptions) -> Domains:
    """Join the values of each column over all files."""
    bases = tuple(staging.bases("read"))
    nested = [name for name, kind in zip(known.all_names, known.kinds, strict=True) if kind.is_nested()]
    confidential = tuple(name for name in known.all_names[len(known.names) :] if name not in nested)
    chosen = [known.all_names.index(name) for name in (*known.names, *confidential)]
    tasks = [ValuesTask(known.all_names[j], j, known.kinds[j], bases, known.rows.first) for j in chosen]
    staging.run("values", values, tasks)
    kinds = tuple(known.kinds[j] for j in chosen)
    return Domains(tuple(staging.bases("values")), known.names, confidential, kinds, known.roles, options)


@dataclass(frozen=True, eq=False)
class _Search:
    staging: Staging
    arguments: Mapping[str, Any]
    seed: int
    k: int
    leaf: int
    known: Grouped
    domains: Domains
    confidentiality: Confidentiality

    @property
    def rules(self) -> Rules:
        """The required l and t, by confidential column."""
        has_rules = self.confidentiality.l is not None or self.confidentiality.t is not None
        if has_rules and not self.domains.confidential:
            raise UsageError("l and t need confidential columns. Add --confidential COLUMN, or remove l and t.")
        return self.confidentiality.rules(self.domains.confidential_codes if has_rules else {})

    def run(self) -> tuple[Facts, Sequence[Facts], str]:
        """Return the facts of the release, those of the last searches, and their stage, which has the new values."""
        n, staging = self.known.rows.total, self.staging
        rules, leaves, first = self.rules, leaves_of(self.known.rows.total, self.leaf), self.known.rows.first
        files = list(zip(staging.bases("read"), first, strict=True))
        limit = sample_limit(n, leaves)
        staging.run(
            "code", code, [CodeTask(base, row, self.domains, self.seed, limit) for base, row in files], ("", SAMPLE)
        )
        staging.drop("read")
        trees = self._trees(leaves)
        has_rules = bool(rules.rules)
        facts = staging.run(
            "route", route,
            [RouteTask(tuple(staging.bases("code")[batch.files]), batch.start, self.domains, trees[0], has_rules)
             for batch in batches_of(self.known.rows.counts)],
        )  # fmt: skip
        staging.drop("code")
        every: list[Facts] = []
        stage = "route"
        for turn, _ in enumerate(trees):
            tree = trees[turn + 1] if turn + 1 < len(trees) else None
            units = units_of(np.sum([f["counts"] for f in facts], axis=0).tolist(), self.leaf)
            if has_rules and turn == 0:
                units = _diverse(units, facts, rules)
            tasks = self._tasks(units, slices_of(units, facts), turn, tree, rules, staging.bases(stage))
            name = f"search-{turn}"
            before, stage = stage, name
            facts = staging.run(name, search, tasks, self._suffixes(is_last=tree is None))
            staging.drop(before)
            every += facts
            current().show(len(facts), len(facts), 100.0 * math.fsum(f["loss"] for f in facts) / n, name)
        return self._facts(facts, every, len(units), len(trees) - 1), facts, stage

    def _suffixes(self, *, is_last: bool) -> tuple[str, ...]:
        has_covers = is_last and self.arguments["style"] == "text"
        return ("", *(cover_suffix(j) for j in range(len(self.known.names)))) if has_covers else ("",)

    def _trees(self, leaves: int) -> list[CutTree]:
        """Return the tree of the first search and that of each round."""
        sample = pl.concat([read_staged(base, SAMPLE) for base in self.staging.bases("code")])
        points, columns = self.domains.points(sample), self.domains.columns_of(sample)
        settings = SearchSettings(self.seed, self.arguments["effort"])
        kind = self.domains.options.loss
        loss = RecodingTask(columns, self.k, kind, group_rules({}, self._no_rules, sample.height), settings).loss
        trees: list[CutTree] = []
        for turn in range(int(self.arguments["rounds"]) + 1 if leaves > 1 else 1):
            avoided = trees[-1].columns_cut_first()[: max(1, len(columns) // 2)] if trees else ()
            trees.append(build_tree(columns, points, loss, leaves, self.seed, turn, avoided))
        return trees

    @property
    def _no_rules(self) -> Rules:
        return Confidentiality(None, None, "equal").rules({})

    def _tasks(
        self,
        units: Sequence[LeafUnit],
        slices: Sequence[Slices],
        turn: int,
        tree: CutTree | None,
        rules: Rules,
        bases: Sequence[Path],
    ) -> list[SearchTask]:
        rows = self.known.rows
        return [
            SearchTask(
                unit, number, tuple(bases), part, turn, self.domains, tree, rules, self.domains.options.loss,
                self.arguments["style"], self.k, rows.total, self.arguments["effort"], self.seed,
                tuple(batch.start for batch in batches_of(rows.counts)) if tree is None else (),
            )
            for number, (unit, part) in enumerate(zip(units, slices, strict=True))
        ]  # fmt: skip

    def _facts(self, last: Sequence[Facts], every: Sequence[Facts], leaves: int, rounds: int) -> Facts:
        """Return the facts of the release, as for one file. Sums are added in the order of the leaves."""
        n, columns = self.known.rows.total, self.domains.columns
        losses = np.array([math.fsum(f["lost"][j] for f in last) / n for j in range(len(columns))])
        weights = np.array([one.weight for one in columns])
        counts = np.array([1.0 - 1.0 / max(1, one.leaves) for one in columns])
        fewest = [f["smallest_units"] for f in last if "smallest_units" in f]
        return {
            "n": n,
            "d": len(columns),
            "k": self.k,
            "method": self.arguments["method"],
            "loss": float((weights * losses).sum() / weights.sum()),
            "granularity": 1.0 - float((counts * losses).sum() / counts.sum()) if counts.sum() else 1.0,
            "l": min((f["l"] for f in last if f.get("l") is not None), default=None),
            "t": max((f["t"] for f in last if f.get("t") is not None), default=None),
            "groups": sum(f["groups"] for f in last),
            "smallest_group": min(f["smallest"] for f in last if f["records"]),
            "largest_group": max(f["largest"] for f in last if f["records"]),
            **({"smallest_group_units": min(fewest)} if fewest else {}),
            "unchanged_rows": sum(f["unchanged"] for f in last),
            "suppressed": 0,
            "per_column": {
                one.name: {"kind": one.kind, "loss": float(loss)} for one, loss in zip(columns, losses, strict=True)
            },
            "effort": self.arguments["effort"],
            "leaves": leaves,
            "rounds": rounds,
            "cpu_seconds": round(sum(f["cpu_seconds"] for f in every), 4),
        }


def _diverse(units: Sequence[LeafUnit], facts: Sequence[Facts], rules: Rules) -> list[LeafUnit]:
    """Return the units so that each of them reaches l and t as one group: others join a neighbour."""
    counts = [np.sum([f["values"][c] for f in facts], axis=0).reshape(-1, w) for c, w in enumerate(rules.widths)]
    runs = sorted({(unit.first, unit.last) for unit in units})
    before, parts = len(runs), {(unit.first, unit.last): unit.parts for unit in units}
    while (broken := _broken(runs, counts, rules)) is not None:
        if len(runs) == 1:
            raise UsageError(NOT_DIVERSE)
        place = min(broken, len(runs) - 2)  # the last run joins the one before
        runs[place : place + 2] = [(runs[place][0], runs[place + 1][1])]
    if len(runs) < before:
        notice(
            f"Leaves that do not reach l or t by themselves were joined: {len(runs)} of {before} are left, so some "
            "workers need more memory."
        )
    return [
        LeafUnit(first, last, part, number)
        for first, last in runs
        for number in [parts.get((first, last), 1)]
        for part in range(number)
    ]


def _broken(runs: Sequence[tuple[int, int]], counts: Sequence[Ints], rules: Rules) -> int | None:
    """Return the first run of leaves that does not reach l or t as one group."""
    broken = np.zeros(len(runs), dtype=bool)
    for rule, by_leaf in zip(rules.rules, counts, strict=True):
        of_run = np.array([by_leaf[first : last + 1].sum(axis=0) for first, last in runs])
        classes, codes = np.indices(of_run.shape)
        broken |= broken_classes(
            classes.ravel(), codes.ravel(), rule.l, rule.kind, rule.c, rule.t, rule.distance, of_run.ravel()
        )
    return int(broken.argmax()) if broken.any() else None


# -- new values -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecodedValues:
    """The new values of one file, in slices of the staged files of the last search.

    Attributes:
        names: The protected columns.
        kinds: Their types in all files.
        labels: The staged texts of each column; None if the values are staged themselves, as means.
        offsets: For each staged file, the number of the first text of each column.
        stays: The columns that stay unchanged.
        finer: Those of them that become plain floats, because the search cannot distinguish some of their values.
    """

    bases: tuple[Path, ...]
    slices: Slices
    first: int
    names: tuple[str, ...]
    kinds: tuple[pl.DataType, ...]
    labels: tuple[Path, ...] | None
    offsets: tuple[tuple[int, ...], ...]
    stays: tuple[str, ...]
    finer: tuple[str, ...]

    def frame(self, table: Table) -> Any:
        """Return the protected data frame of the file."""
        made = new_values(self.bases, self.slices, self.first, table.rows, self._columns)
        new: dict[str, Any] = {}
        for j, (name, values_) in enumerate(zip(self.names, made, strict=True)):
            if name not in self.stays:
                texts = None if self.labels is None else read_staged(self.labels[j])["text"]
                new[name] = values_ if texts is None else np.array(texts.gather(values_).to_list(), dtype=object)
        if self.finer:
            cells = typed(staged_cells(table, self.names), self.kinds)
            numbers = {name: cells[column(self.names.index(name))].cast(pl.Float64) for name in self.finer}
            new |= {name: np.array(series.to_numpy()) + 0.0 for name, series in numbers.items()}
        return table.protected(new)

    def _columns(self, number: int | Ints, part: pl.DataFrame) -> list[NDArray[Any]]:
        values_ = [part[column(j)].to_numpy() for j in range(len(self.names))]
        if self.labels is None:
            return values_
        offsets = np.array(self.offsets).reshape(-1, len(self.names))
        return [v + offsets[number, j] for j, v in enumerate(values_)]


@dataclass(frozen=True, eq=False)
class AllRecodedValues:
    """The new values of all files."""

    values: RecodedValues
    placed: Placed
    first: tuple[int, ...]

    def of_file(self, number: int) -> RecodedValues:
        """Return the new values of one file."""
        bases, slices = self.placed.of_file(number)
        return replace(self.values, bases=bases, slices=slices, first=self.first[number])


def _new_values(
    searching: _Search, last: Sequence[Facts], stage: str
) -> tuple[AllRecodedValues, dict[str, dict[str, list[str]]]]:
    """Return the new values of all files, and the legend of cut labels."""
    domains, known, staging = searching.domains, searching.known, searching.staging
    bases, names = tuple(staging.bases(stage)), known.names
    covers = np.array([f["covers"] for f in last], dtype=np.int64)
    labels, legend, stays = None, {}, []
    if searching.arguments["style"] == "text":
        full = searching.arguments["labels"] == "full"
        tasks = [LabelTask(j, bases, tuple(covers[:, j].tolist()), domains, full) for j in range(len(names))]
        facts = staging.run("label", label, tasks)
        labels = tuple(staging.bases("label"))
        legend = {name: one["legend"] for name, one in zip(names, facts, strict=True) if one["legend"]}
        stays = [
            one.name for j, one in enumerate(domains.columns) if all(f["all_exact"][j] for f in last) and is_kept(one)
        ]
    signed = [name for name in stays if known.any("negative_zero", name)]
    finer = [
        one.name
        for j, one in enumerate(domains.columns)
        if one.name in stays and (one.name in signed or is_finer(domains.table(j), one.name, one.codes))
    ]
    offsets = np.cumsum(np.vstack([np.zeros_like(covers[:1]), covers[:-1]]), axis=0)
    of_files = RecodedValues(
        (), (), 0, names, domains.kinds[: len(names)], labels, tuple(map(tuple, offsets.tolist())), tuple(stays),
        tuple(finer),
    )  # fmt: skip
    where = placed(staging, stage, last, known.rows.counts)
    return AllRecodedValues(of_files, where, known.rows.first), legend
