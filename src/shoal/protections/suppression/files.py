"""Cell suppression of many files: tuples counted file by file, one search, and stars file by file.

    look, group   the columns, the tuples of each file and the tuple of each row (`shoal.protections.tuples`)
    search        the driver: the stars of all records, exactly those of one file with all records
    write         a file: its cells as text in the columns with stars, and its stars

The search holds the codes of all records, some ten bytes per record and column, and never the files.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Indices
from shoal.engine.clock import Clock
from shoal.engine.control import current
from shoal.errors import ArgumentError, check_k
from shoal.folders.release import StagedResult
from shoal.folders.staging import Facts, StagedOutput, Staging, read_staged
from shoal.protections.suppression.protect import (
    Keys,
    StarGoal,
    check_options,
    chosen_columns,
    kept_k,
    promises_of,
    value_texts,
)
from shoal.protections.tuples import (
    ROW,
    TUPLE,
    TuplesTask,
    cells_of,
    column,
    grouped,
    of_values,
    staged_cells,
    table_of,
    tuples_task,
    typed,
)
from shoal.protections.values import one_zero
from shoal.sources.files import as_polars
from shoal.sources.scanning import Files
from shoal.table.labels import SUPPRESSED
from shoal.table.roles import Roles
from shoal.table.table import Table


def protect_files(files: Files, staging: Staging, arguments: Mapping[str, Any], seed: int) -> StagedResult:
    """Search for the stars of all files together, and stage them."""
    started = time.perf_counter()
    missing = arguments["missing"]
    if missing == "drop":
        raise ArgumentError(
            "In a folder of files, missing must be value or error: each released file has the rows of its input file.",
            "missing",
        )
    within = tuple(dict.fromkeys(arguments["within"]))
    goal = StarGoal(
        int(arguments["k"]), arguments["sets"], arguments["star"], arguments["subsets"], within,
        arguments["importance"] or {}, missing,
    )  # fmt: skip
    known = grouped(
        files, staging, "suppress", arguments["quasi"] or (), within=within,
        gaps="error" if missing == "error" else "category", by_row=True,
    )  # fmt: skip
    k = check_k(goal.k, known.rows.total)
    task = SearchTask(
        tuples_task(known), known.all_names, known.names, known.roles, goal, arguments["effort"], seed,
    )  # fmt: skip
    suffixes = (*(f"-text-{j}" for j in range(len(known.names))), *(f"-stars-{i}" for i in range(len(files.paths))))
    [facts] = staging.run("search", search, [task], suffixes, on_driver=True)
    [base] = staging.bases("search")
    sets = tuple(tuple(chosen) for chosen in goal.sets or ())
    both = tuple(name for name in known.all_names if known.any("nan", name) and known.any("null", name))
    return StagedResult(
        rows=known.rows,
        roles=known.roles,
        columns=known.columns,
        changed=known.names,
        k=kept_k(goal, k),
        facts={
            **facts["facts"], "files": len(files.paths), "tuples": facts["tuples"],
            "seconds": round(time.perf_counter() - started, 4),
        },
        promises=promises_of(known.names, within, goal, k, sets),
        new=AllStars(base, known.all_names, known.names, known.kinds, tuple(facts["starred"]), both),
    )  # fmt: skip


@dataclass(frozen=True)
class SearchTask:
    """The tuples of all files, and what the stars must reach.

    Attributes:
        tuples: Where the tuples are.
        all_names: Their columns.
        names: The protected ones of them.
        roles: The roles of the columns.
        goal: What the stars must reach.
        effort: The search budget.
        seed: The seed of the search.
    """

    tuples: TuplesTask
    all_names: tuple[str, ...]
    names: tuple[str, ...]
    roles: Roles
    goal: StarGoal
    effort: str
    seed: int


def search(task: SearchTask, output: StagedOutput) -> Facts:
    """Stage the stars of each record, file by file, and the texts of the values of each column with stars."""
    tuples = task.tuples.joined()
    table, _ = table_of(tuples, task.all_names, task.names, task.roles)
    clock = Clock()
    names, within = chosen_columns(table, task.goal)
    check_options(table, names, task.goal)
    row_of, ends = _rows(task.tuples, tuples)
    keys = Keys(table, names, within, task.goal, task.goal.k, row_of)
    keys.check()
    stars = keys.search(task.effort, task.seed)
    starred = stars.starred
    for j, name in enumerate(names):
        texts = np.array(value_texts(table[name]), dtype=object)[table[name].stored.codes]
        output.write(of_values(tuples, j, texts), f"-text-{j}")
    for i, (start, stop) in enumerate(pairwise(ends)):
        part = starred[start:stop]
        output.write(pl.DataFrame({column(j): part[:, j] for j in range(len(names))}), f"-stars-{i}")
    facts = {**keys.facts(stars), **current().facts, **clock.read()}
    return {
        "facts": json.loads(json.dumps(facts, default=lambda value: value.tolist())),
        "tuples": tuples.height,
        "starred": [name for j, name in enumerate(names) if starred[:, j].any()],
    }


def _rows(task: TuplesTask, tuples: pl.DataFrame) -> tuple[Indices, list[int]]:
    """Return the tuple of each record in the order of the files, and where the records of each file end."""
    numbered = tuples.select(*task.keys, pl.int_range(pl.len(), dtype=pl.Int32).alias(TUPLE))
    parts, ends = [], [0]
    for number, base in enumerate(task.bases):
        part = task.of_file(number).drop(ROW)
        whole = part.join(numbered, on=task.keys, how="left", nulls_equal=True, maintain_order="left")[TUPLE].to_numpy()
        parts.append(whole[read_staged(base, "-rows")[TUPLE].to_numpy()].astype(np.int32))
        ends.append(ends[-1] + parts[-1].size)
    return np.concatenate(parts), ends


@dataclass(frozen=True)
class Stars:
    """The stars of one file, staged.

    Attributes:
        base: The staged files.
        number: The number of the file.
        all_names: The columns of the tuples.
        names: The protected ones of them.
        kinds: The types of the columns of the tuples in all files.
        starred: The columns that have a star in some file.
        both: The columns that have NaN and null, which become one missing value.
    """

    base: Path
    number: int
    all_names: tuple[str, ...]
    names: tuple[str, ...]
    kinds: tuple[pl.DataType, ...]
    starred: tuple[str, ...]
    both: tuple[str, ...]

    def frame(self, table: Table) -> Any:
        """Return the protected data frame of the file."""
        cells = typed(staged_cells(table, self.all_names), self.kinds)
        stars = read_staged(self.base, f"-stars-{self.number}")
        table = one_zero(table, self.all_names)
        if self.both:
            frame = as_polars(table.frame)
            floats = [pl.col(name).fill_nan(None) for name in self.both if frame[name].dtype.is_float()]
            table = table.with_frame(frame.with_columns(floats))
        new: dict[str, Any] = {}
        for j, name in enumerate(self.names):
            if name in self.starred:
                new[name] = cells_of(cells[column(j)], read_staged(self.base, f"-text-{j}"), name)
                new[name][stars[column(j)].to_numpy()] = SUPPRESSED
        return table.protected(new)


@dataclass(frozen=True)
class AllStars:
    """The stars of all files; see `Stars` for the attributes."""

    base: Path
    all_names: tuple[str, ...]
    names: tuple[str, ...]
    kinds: tuple[pl.DataType, ...]
    starred: tuple[str, ...]
    both: tuple[str, ...]

    def of_file(self, number: int) -> Stars:
        """Return the stars of one file."""
        return Stars(self.base, number, self.all_names, self.names, self.kinds, self.starred, self.both)
