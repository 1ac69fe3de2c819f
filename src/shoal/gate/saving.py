"""Saving through the gate: the file is written under another name, read back, checked, and only then put in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import PromiseError
from shoal.gate.cells import classes
from shoal.gate.check import broken_promises, examine
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding, Findings, as_sentences
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import policy_named
from shoal.gate.reading import Written, frame_of, read_written
from shoal.gate.row_order import shuffled_order
from shoal.notices import notice
from shoal.sources.files import as_polars, write_file
from shoal.table.source import FileSource
from shoal.table.table import Table


@dataclass(frozen=True)
class Saving:
    """How a release is saved, as the publisher states it.

    shuffle: rows in a random order. keep_order: the original order, although it discloses values. policy: a name or a
    TOML file; what it blocks is not written. previous: an earlier release of the same records; first_release: there is
    none. accept_k: the k over everything known that is accepted instead of the promised one. round_weight: each record
    gets the mean weight of its equivalence class.
    """

    shuffle: bool = False
    keep_order: bool = False
    policy: str | os.PathLike[str] | None = None
    previous: str | os.PathLike[str] | None = None
    first_release: bool = False
    accept_k: int | None = None
    round_weight: bool = False

    def policy_name(self) -> str | Path:
        given = "default" if self.policy is None else self.policy
        return Path(given) if isinstance(given, os.PathLike) else given


def save_checked(
    original: Table,
    table: Any,
    guarantees: Guarantees,
    target: Path,
    saving: Saving,
    key: int | str,
    then: Callable[[Path, Findings], None] | None = None,
) -> Findings:
    """Write `table` if the file that was written keeps its guarantees and, where one is named, the policy's.

    key: the secret or the seed of the rows' order. then: called with the checked file before it is put in place; if it
    raises, there is no file. Warnings of a policy are shown, blocks leave no file.
    """
    judge = policy_named(saving.policy_name())
    before, after, source = frame_of(original.frame), as_polars(table), original.source
    numbers = original.numbering
    earlier = None if saving.previous is None else read_written(Path(saving.previous), after)
    if saving.shuffle:
        order = shuffled_order(key, before, guarantees.changed)
        before, after, numbers = before[order], after[order], numbers[order]
        source = None if source is None else source.take(order)
    found: list[Findings] = []

    def gate(temporary: Path) -> None:
        dialect = None if source is None else source.dialect
        given = {} if dialect is None else {"encoding": dialect.encoding}
        written = read_written(temporary, after, name=target.name, **given)
        context = CheckContext(
            before, written, guarantees, judge, order="shuffled" if saving.shuffle else "kept",
            aligned=written.frame.height == before.height, expected=after,
            previous=earlier, labels=_labels(source), accept_k=saving.accept_k, first_release=saving.first_release,
            keep_order=saving.keep_order, row_numbers=numbers,
        )  # fmt: skip
        found.append(examine(context))
        stop_if_blocked(found[0], saving.policy)
        if then is not None:
            then(temporary, found[0])

    write_file(after, target, source, protected=(*guarantees.changed, *guarantees.within), check=gate)
    for text in policy_notices(found[0], saving):
        notice(text)
    return found[0]


def policy_notices(found: Findings, saving: Saving) -> tuple[str, ...]:
    """The warnings of a policy that was named, or of an earlier release."""
    if saving.policy is None and saving.previous is None:
        return ()
    return tuple(f"{finding.check}: {finding.finding}; {finding.todo}" for finding in found.warnings)


def examine_unsaved(original: Table, table: Any, guarantees: Guarantees) -> Findings:
    """The findings on a table that is not written: as if it were saved in the original's order."""
    context = CheckContext(frame_of(original.frame), Written(frame_of(table)), guarantees, policy_named("default"),
                labels=_labels(original.source), row_numbers=original.numbering)  # fmt: skip
    return examine(context)


def verify_unsaved(original: Table, table: Any, guarantees: Guarantees) -> None:
    """An error that names every guarantee which a table that is not written breaks."""
    after = frame_of(table)
    context = CheckContext(
        frame_of(original.frame), Written(after), guarantees, policy_named("default"),
        aligned=after.height == original.rows, expected=after, row_numbers=original.numbering,
    )  # fmt: skip
    problems = broken_promises(context)
    if problems:
        raise PromiseError(" ".join(["A guarantee does not hold, so nothing is written.", *problems]))


def known_smallest(original: Table, table: Any, guarantees: Guarantees) -> int:
    """k over everything that an intruder may know, without the other checks."""
    context = CheckContext(frame_of(original.frame), Written(frame_of(table)), guarantees, policy_named("default"))
    counts = context.unit_counts(context.known)
    return int(counts.min()) if counts.size else 0


def class_weights(frame: pl.DataFrame, weight: str, known: Sequence[str]) -> pl.DataFrame:
    """The frame with the mean weight of each equivalence class: the total is kept, and no record stands out by it."""
    found = classes(frame, tuple(known))
    sums = found.reduced(np.add, frame[weight].cast(pl.Float64).to_numpy())
    means = np.array([float(f"{mean:.12g}") for mean in sums / found.sizes])  # no residue of the order of a sum
    return frame.with_columns(pl.Series(weight, means[found.labels]))


def _labels(source: FileSource | None) -> Any:
    return {} if source is None or source.labels is None else source.labels.values


def stop_if_blocked(found: Findings, policy: str | os.PathLike[str] | None) -> None:
    """An error with everything that blocks, and the findings beside it."""
    if not found.blocking:
        return
    head = "Nothing was written." if policy is None else f"Nothing was written: the policy {found.policy!r} blocks it."
    error = PromiseError(" ".join([head, *sentences(found.blocking)]))
    error.findings = found
    raise error


def sentences(findings: Sequence[Finding]) -> list[str]:
    """Findings as sentences; what to do is said once."""
    said: set[str] = set()
    made = []
    for finding in findings:
        made.append(as_sentences(finding if finding.todo not in said else replace(finding, todo="")))
        said.add(finding.todo)
    return made
