"""Save a release: write a temporary file, read it back, check it, and give it its final name only if it passes."""

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
from shoal.table.bounds import doubled
from shoal.table.source import FileSource
from shoal.table.table import Table


@dataclass(frozen=True)
class Saving:
    """How to save a release, and what the publisher states about it.

    Attributes:
        shuffle: Write the rows in random order.
        keep_order: Keep the original order although it discloses values.
        policy: A policy's name or a TOML file; a release that it blocks is not written.
        previous: An earlier release of the same records.
        first_release: State that there is no earlier release.
        accept_k: The smallest k over the known columns that is accepted instead of the guaranteed k.
        round_weight: Give each record the mean weight of its equivalence class.
    """

    shuffle: bool = False
    keep_order: bool = False
    policy: str | os.PathLike[str] | None = None
    previous: str | os.PathLike[str] | None = None
    first_release: bool = False
    accept_k: int | None = None
    round_weight: bool = False

    def policy_name(self) -> str | Path:
        """Return the name or the file of the policy that decides, default if none is named."""
        policy = "default" if self.policy is None else self.policy
        return Path(policy) if isinstance(policy, os.PathLike) else policy


def save_checked(
    original: Table,
    table: Any,
    guarantees: Guarantees,
    target: Path,
    saving: Saving,
    key: int | str,
    then: Callable[[Path, Findings], None] | None = None,
) -> Findings:
    """Write `table` to `target`, if the written file keeps its guarantees and the policy does not block it.

    Args:
        original: The input table.
        table: The protected data frame.
        guarantees: What the release check verifies.
        target: The file to write.
        saving: How to save it.
        key: The secret or the seed of the row order.
        then: Called with the checked file before it gets its final name. If it raises, no file is written.

    Returns:
        The findings on the written file. Warnings of a named policy are also shown as notices.

    Raises:
        PromiseError: A guarantee does not hold or the policy blocks the release; nothing is written.
    """
    original = doubled(original, guarantees.bounds)
    judge = policy_named(saving.policy_name())
    before, after, source = frame_of(original.frame), as_polars(table), original.source
    numbers = original.numbering
    earlier = None if saving.previous is None else read_written(Path(saving.previous), after)
    if saving.shuffle:
        order = shuffled_order(key, before, guarantees.changed)
        before, after, numbers = before[order], after[order], numbers[order]
        source = None if source is None else source.take(order)
    results: list[Findings] = []

    def verify(temporary: Path) -> None:
        dialect = None if source is None else source.dialect
        encoding = {} if dialect is None else {"encoding": dialect.encoding}
        written = read_written(temporary, after, name=target.name, **encoding)
        context = CheckContext(
            before, written, guarantees, judge, order="shuffled" if saving.shuffle else "kept",
            aligned=written.frame.height == before.height, expected=after,
            previous=earlier, labels=_labels(source), accept_k=saving.accept_k, first_release=saving.first_release,
            keep_order=saving.keep_order, row_numbers=numbers,
        )  # fmt: skip
        results.append(examine(context))
        stop_if_blocked(results[0], saving.policy)
        if then is not None:
            then(temporary, results[0])

    write_file(after, target, source, protected=(*guarantees.changed, *guarantees.within), check=verify)
    for text in policy_notices(results[0], saving):
        notice(text)
    return results[0]


def policy_notices(findings: Findings, saving: Saving) -> tuple[str, ...]:
    """Return the warnings as notices, if the publisher named a policy or an earlier release."""
    if saving.policy is None and saving.previous is None:
        return ()
    return tuple(f"{finding.check}: {as_sentences(finding)}" for finding in findings.warnings)


def examine_unsaved(original: Table, table: Any, guarantees: Guarantees) -> Findings:
    """Return the findings on a table that is not written, as if it were saved in the original's order."""
    original = doubled(original, guarantees.bounds)
    context = CheckContext(frame_of(original.frame), Written(frame_of(table)), guarantees, policy_named("default"),
                labels=_labels(original.source), row_numbers=original.numbering)  # fmt: skip
    return examine(context)


def verify_unsaved(original: Table, table: Any, guarantees: Guarantees) -> None:
    """Verify every guarantee on a table that is not written.

    Raises:
        PromiseError: A guarantee does not hold; the message names each.
    """
    original, after = doubled(original, guarantees.bounds), frame_of(table)
    context = CheckContext(
        frame_of(original.frame), Written(after), guarantees, policy_named("default"),
        aligned=after.height == original.rows, expected=after, row_numbers=original.numbering,
    )  # fmt: skip
    problems = broken_promises(context)
    if problems:
        raise PromiseError(" ".join(["A guarantee does not hold, so nothing is written.", *problems]))


def known_smallest(original: Table, table: Any, guarantees: Guarantees) -> int:
    """Return k over all columns that an intruder may know, without the other checks."""
    original = doubled(original, guarantees.bounds)
    context = CheckContext(frame_of(original.frame), Written(frame_of(table)), guarantees, policy_named("default"))
    counts = context.unit_counts(context.known)
    return int(counts.min()) if counts.size else 0


def class_weights(frame: pl.DataFrame, weight: str, known: Sequence[str]) -> pl.DataFrame:
    """Return the frame with the mean weight of each equivalence class, which keeps the total."""
    groups = classes(frame, tuple(known))
    sums = groups.reduced(np.add, frame[weight].cast(pl.Float64).to_numpy())
    means = np.array([float(f"{mean:.12g}") for mean in sums / groups.sizes])  # rounded: last bits show a sum's order
    return frame.with_columns(pl.Series(weight, means[groups.labels]))


def _labels(source: FileSource | None) -> Any:
    return {} if source is None or source.labels is None else source.labels.values


def stop_if_blocked(findings: Findings, policy: str | os.PathLike[str] | None) -> None:
    """Raise an error with every blocking finding, if there is one. The error holds all findings.

    Raises:
        PromiseError: A guarantee does not hold, or the policy blocks the release.
    """
    if not findings.blocking:
        return
    head = "Nothing was written."
    if policy is not None:
        head = f"Nothing was written, because the policy {findings.policy!r} blocks it."
    error = PromiseError(" ".join([head, *sentences(findings.blocking)]))
    error.findings = findings
    raise error


def sentences(findings: Sequence[Finding]) -> list[str]:
    """Return findings as sentences, and each piece of advice only once."""
    shown: set[str] = set()
    texts = []
    for finding in findings:
        texts.append(as_sentences(finding if finding.todo not in shown else replace(finding, todo="")))
        shown.add(finding.todo)
    return texts
