"""Generalization of many files: distinct tuples, counted file by file, one search, and categories file by file.

look, group   the columns and the tuples of each file (`shoal.protections.tuples`)
search        the driver: the categories of the tuples of all files, exactly those of one file with all records
write         a file: each value gets its category, and the records of suppressed tuples get stars
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.atomic import atomically
from shoal.engine.clock import Clock
from shoal.errors import ArgumentError
from shoal.folders.release import StagedResult
from shoal.folders.staging import Facts, StagedOutput, Staging, read_staged
from shoal.protections.class_release import class_promises
from shoal.protections.class_rules import Confidentiality
from shoal.protections.generalization.columns import DomainOptions
from shoal.protections.generalization.mapping import mapping_of, read_mapping
from shoal.protections.generalization.nsga2 import Nsga2Settings
from shoal.protections.generalization.protect import (
    Answer,
    Goal,
    Searching,
    facts_of,
    search_categories,
    stays,
)
from shoal.protections.tuples import (
    Grouped,
    TuplesTask,
    among,
    cells_of,
    column,
    grouped,
    of_values,
    staged_cells,
    table_of,
    tuples_task,
    typed,
)
from shoal.protections.values import is_finer, suppressed_beside
from shoal.sources.scanning import Files
from shoal.table.labels import SUPPRESSED
from shoal.table.roles import Roles
from shoal.table.table import Table

STARRED = "-suppressed"


def protect_files(files: Files, staging: Staging, arguments: Mapping[str, Any], seed: int) -> StagedResult:
    """Search for the categories of all files together, and stage them."""
    started = time.perf_counter()
    if arguments["missing"] == "drop":
        raise ArgumentError(
            "In a folder of files, missing must be category, alone or error: each released file has the rows of its "
            "input file.",
            "missing",
        )
    confidentiality = Confidentiality(arguments["l"], arguments["t"], arguments["distance"])
    has_rules = confidentiality.l is not None or confidentiality.t is not None
    gaps = "error" if arguments["missing"] == "error" else "category"
    known = grouped(
        files, staging, "generalize", arguments["quasi"] or (), also="confidential" if has_rules else "", gaps=gaps
    )
    goal = Goal(
        int(arguments["k"]), arguments["sets"], tuple(arguments["prefer"]), arguments["weights"],
        float(arguments["suppress"]), arguments["pick"], arguments["labels"] == "full",
    )  # fmt: skip
    goal.check(known.rows.total)
    task = SearchTask(
        tuples_task(known), known.all_names, known.names, known.roles, goal, _options(arguments), confidentiality,
        _searching(arguments, seed), tuple(name for name in known.names if known.any("negative_zero", name)),
    )  # fmt: skip
    suffixes = (*(f"-{j}" for j in range(len(known.names))), STARRED)
    [facts] = staging.run("search", search, [task], suffixes, on_driver=True)
    [base] = staging.bases("search")
    k = int(facts["facts"]["k"])
    rules = dict.fromkeys(known.roles.confidential, confidentiality.rule()) if has_rules else {}
    return StagedResult(
        rows=known.rows,
        roles=known.roles,
        columns=known.columns,
        changed=known.names,
        k=k,
        facts={
            "n": known.rows.total, **facts["facts"], "files": len(files.paths), "tuples": facts["tuples"],
            "seconds": round(time.perf_counter() - started, 4),
        },
        promises=class_promises(known.names, tuple(map(tuple, goal.sets or ())), k, rules),
        new=_new_values(known, base, facts),
        also={"mapping": facts["mapping"]},
    )  # fmt: skip


def save_mapping(also: Mapping[str, Any], path: Path) -> None:
    """Write the mapping of a release of many files."""
    with atomically(path) as temporary:
        read_mapping(also["mapping"]).save(temporary)


def save_legend(also: Mapping[str, Any], path: Path) -> None:
    """Write the legend of a release of many files."""
    with atomically(path) as temporary:
        read_mapping(also["mapping"]).save_legend(temporary)


def _options(arguments: Mapping[str, Any]) -> DomainOptions:
    names = ("granularity", "cuts", "order", "taxonomy", "free_cuts", "show_extremes", "missing")
    return DomainOptions(*(arguments[name] for name in names))


def _searching(arguments: Mapping[str, Any], seed: int) -> Searching:
    names = ("population", "evaluations", "crossover", "mutation", "published")
    settings = Nsga2Settings(*(arguments[name] for name in names))
    return Searching(arguments["method"], arguments["effort"], settings, seed)


@dataclass(frozen=True)
class SearchTask:
    """The tuples of all files, and what the categories must reach.

    Attributes:
        tuples: Where the tuples are.
        all_names: Their columns.
        names: The protected ones of them.
        roles: The roles of the columns.
        goal: What the categories must reach.
        options: The options on the values.
        confidentiality: The required l and t.
        searching: The method, its options and its seed.
        signed: The columns that hold -0.0 in some file.
    """

    tuples: TuplesTask
    all_names: tuple[str, ...]
    names: tuple[str, ...]
    roles: Roles
    goal: Goal
    options: DomainOptions
    confidentiality: Confidentiality
    searching: Searching
    signed: tuple[str, ...]


def search(task: SearchTask, output: StagedOutput) -> Facts:
    """Stage the category of each value, and the suppressed tuples."""
    tuples = task.tuples.joined()
    table, repeats = table_of(tuples, task.all_names, task.names, task.roles)
    clock = Clock()
    answer = search_categories(
        table, task.names, task.goal, task.options, task.confidentiality, task.searching, repeats
    )
    point, offset = answer.front.best, answer.labels.offset
    mapping = mapping_of(answer.domains, point.labels[offset:], point.k, answer.labels.full)
    starred = answer.suppression.rows(point)
    for j, _ in enumerate(answer.domains):
        codes = answer.values[task.names[j]].codes
        cells = np.array(mapping.columns[j].labels_of(codes.values), dtype=object)[codes.codes]
        output.write(of_values(tuples, j, cells), f"-{j}")
    rows = np.zeros(tuples.height, dtype=bool) if starred is None else starred
    keys = [column(j) for j in range(len(task.names))]
    output.write(tuples.filter(pl.Series(rows)).select(keys).unique(), STARRED)
    kept = [name for j, name in enumerate(task.names) if stays(answer, j, starred is not None)]
    finer = [name for name in kept if name in task.signed or _is_finer(table, answer, name)]
    facts = {**facts_of(answer), **clock.read()}
    return {
        "facts": json.loads(json.dumps(facts, default=lambda value: value.tolist())),
        "tuples": tuples.height,
        "stays": kept,
        "finer": finer,
        "suppressed": starred is not None,
        "mapping": mapping.as_dict(),
    }


def _is_finer(table: Table, answer: Answer, name: str) -> bool:
    return is_finer(table, name, answer.values[name].codes)


def _new_values(known: Grouped, base: Path, facts: Facts) -> AllCategories:
    kinds = known.kinds[: len(known.names)]
    return AllCategories(
        Categories(base, known.names, kinds, tuple(facts["stays"]), tuple(facts["finer"]), facts["suppressed"])
    )


@dataclass(frozen=True)
class Categories:
    """The categories of the values, staged.

    Attributes:
        base: The staged files.
        names: The protected columns.
        kinds: Their types in all files.
        stays: The columns that stay unchanged.
        finer: Those of them that become plain floats, because the search cannot distinguish some of their values.
        suppressed: Whether records are suppressed.
    """

    base: Path
    names: tuple[str, ...]
    kinds: tuple[pl.DataType, ...]
    stays: tuple[str, ...]
    finer: tuple[str, ...]
    suppressed: bool

    def frame(self, table: Table) -> Any:
        """Return the protected data frame of a file."""
        keys = typed(staged_cells(table, self.names), self.kinds)
        starred = among(keys, read_staged(self.base, STARRED)) if self.suppressed else None
        new: dict[str, Any] = {}
        for j, name in enumerate(self.names):
            if name in self.stays:
                if name in self.finer:
                    new[name] = np.array(keys[column(j)].cast(pl.Float64).to_numpy()) + 0.0
                continue
            new[name] = cells_of(keys[column(j)], read_staged(self.base, f"-{j}"), name)
            if starred is not None:
                new[name][starred] = SUPPRESSED
        beside = table.without_role() if starred is not None and table.roles.quasi else ()
        return suppressed_beside(table.protected(new), beside, starred)


@dataclass(frozen=True)
class AllCategories:
    """The categories of the values, which are the same in every file."""

    categories: Categories

    def of_file(self, number: int) -> Categories:
        """Return the categories."""
        return replace(self.categories)
