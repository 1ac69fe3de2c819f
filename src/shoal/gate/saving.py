"""Saving through the gate: the file is written under another name, read back, checked, and only then put in place."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.data.files import as_polars, write_file
from shoal.data.source import FileSource
from shoal.data.table import Table
from shoal.errors import PromiseError, ShoalWarning
from shoal.gate.asked import Asked
from shoal.gate.case import Case
from shoal.gate.check import examine
from shoal.gate.findings import Findings
from shoal.gate.order import shuffled_order
from shoal.gate.policy import policy_named
from shoal.gate.reading import frame_of, read_written


def save_checked(
    original: Table,
    table: Any,
    asked: Asked,
    target: Path,
    *,
    seed: int,
    shuffle: bool,
    policy: str | os.PathLike[str] | None,
    previous: str | os.PathLike[str] | None,
) -> Findings:
    """Write `table` if the file that was written keeps its promises and, where one is named, the policy's.

    Without a policy only promises are checked. Warnings of a policy are told, blocks leave no file.
    """
    judge = policy_named("default" if policy is None else Path(policy) if isinstance(policy, os.PathLike) else policy)
    before, after, source = frame_of(original.frame), as_polars(table), original.source
    earlier = None if previous is None else read_written(Path(previous), after)
    if shuffle:
        order = shuffled_order(seed, before, asked.changed)
        before, after = before[order], after[order]
        source = None if source is None else source.take(order)
        if earlier is not None and earlier.frame.height == len(order):
            earlier = replace(earlier, frame=earlier.frame[order])
    found: list[Findings] = []

    def gate(temporary: Path) -> None:
        dialect = None if source is None else source.dialect
        given = {} if dialect is None else {"encoding": dialect.encoding}
        written = read_written(temporary, after, name=target.name, **given)
        case = Case(
            before, written, asked, judge, order="shuffled" if shuffle else "kept", expected=after, previous=earlier,
            labels=_labels(source),
        )  # fmt: skip
        found.append(examine(case, promised_only=policy is None and previous is None))
        _stop(found[0], policy)

    write_file(after, target, source, check=gate)
    if policy is not None or previous is not None:
        for finding in found[0].warnings:
            warnings.warn(f"{finding.check}: {finding.finding}; {finding.todo}", ShoalWarning, stacklevel=3)
    return found[0]


def _labels(source: FileSource | None) -> Any:
    return {} if source is None or source.labels is None else source.labels.values


def _stop(found: Findings, policy: str | os.PathLike[str] | None) -> None:
    """An error with everything that blocks."""
    if found.blocking:
        told = "; ".join(f"{f.check}: {f.finding} ({f.todo})" for f in found.blocking)
        what = "breaks a promise" if policy is None else f"does not pass the policy {found.policy!r}"
        raise PromiseError(f"the file {what}, and nothing is written. {told}")
