"""The check of one written file, and what the check of the whole release needs of it.

A class lies in one bucket as a whole: buckets are chosen by the protected columns, which every set of columns contains.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Floats, Ints
from shoal.errors import PromiseError
from shoal.gate.cells import comparable, numbers
from shoal.gate.checks import every_release, exposure, roles, traces
from shoal.gate.context import CheckContext
from shoal.gate.findings import BLOCK, Finding, as_sentences
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import Policy
from shoal.gate.reading import Written, read_written

OF_A_FILE = (
    every_release.rows, every_release.columns, every_release.written, every_release.identifiers,
    every_release.untouched, roles.looks_like_identifier, roles.looks_like_unit, exposure.missing, traces.traces,
    traces.formulas,
)  # fmt: skip
EXACT = 2**53


@dataclass(frozen=True)
class FileCheck:
    """What the check of one file needs besides the file.

    Attributes:
        name: The name of the released file.
        guarantees: The guarantees of the release.
        policy: The policy that decides which findings block.
        released: The released columns.
        buckets: The number of buckets.
        drawn: The rows of this file that are drawn for checks of the whole, counted from 0 in the file.
        encoding: The encoding of a text file.
    """

    name: str
    guarantees: Guarantees
    policy: Policy
    released: tuple[str, ...]
    buckets: int
    drawn: Ints
    encoding: str | None = None


@dataclass(frozen=True, eq=False)
class CheckedFile:
    """The result: findings, the tuples sorted by bucket, the drawn records before and after, and sums."""

    findings: tuple[Finding, ...]
    tuples: pl.DataFrame
    counts: tuple[int, ...]
    before: pl.DataFrame
    after: pl.DataFrame
    keys: pl.DataFrame
    moments: dict[str, tuple[float, float, float]]


def check_file(path: Path, before: pl.DataFrame, expected: pl.DataFrame, check: FileCheck) -> CheckedFile:
    """Read a written file back and check it against its input file and the table that was to be written.

    Raises:
        PromiseError: The file does not hold what was to be released.
    """
    options = {} if check.encoding is None else {"encoding": check.encoding}
    written = read_written(path, expected, name=check.name, **options)
    context = CheckContext(
        before, written, check.guarantees, check.policy, aligned=written.frame.height == before.height,
        expected=expected,
    )  # fmt: skip
    findings: list[Finding] = []
    for part in OF_A_FILE:
        findings.append(part(context))
        if findings[-1].status == BLOCK:
            raise PromiseError(f"Nothing was written. {check.name}: {as_sentences(findings[-1])}")
    keys = canonical(written, check.released)
    bucket = bucket_of(keys, [check.released.index(name) for name in context.columns.protected], check.buckets)
    order = np.argsort(bucket, kind="stable")
    drawn = check.drawn
    return CheckedFile(
        findings=tuple(findings),
        tuples=keys[order],
        counts=tuple(np.bincount(bucket, minlength=check.buckets).tolist()),
        before=before[drawn],
        after=written.frame[drawn],
        keys=keys[drawn],
        moments={name: _moments(before[name]) for name in context.columns.protected if before[name].dtype.is_numeric()},
    )


def key_name(place: int) -> str:
    """Return the staged name of a released column."""
    return f"c{place}"


def canonical(written: Written, released: tuple[str, ...]) -> pl.DataFrame:
    """Return the cells of the released columns so that equal cells of any two files are equal values of one type.

    The cells of a text file are compared as text. Whole numbers and floats that are equal are equal here, too.
    """
    columns = []
    for place, name in enumerate(released):
        cells = written.frame[name] if written.text is None else written.text[name]
        columns.append(_canonical(cells).rename(key_name(place)))
    return pl.DataFrame(columns)


def _canonical(cells: pl.Series) -> pl.Series:
    if cells.dtype.is_integer():
        wide = cells.cast(pl.Float64)
        exact = bool((wide.abs() <= EXACT).fill_null(True).all())
        return _bits(wide) if exact else cells.cast(pl.String)
    return _bits(cells.cast(pl.Float64)) if cells.dtype.is_float() else comparable(cells).cast(pl.String, strict=False)


def _bits(cells: pl.Series) -> pl.Series:
    """Return the bits of floats as whole numbers; NaN and null differ, because some programs show them differently."""
    gaps = cells.is_null()
    values = np.array(cells.fill_null(0.0).to_numpy(), dtype=np.float64)
    values[np.isnan(values)] = np.nan  # one of the many forms of NaN
    bits = pl.Series(cells.name, values.view(np.int64))
    return bits.set(gaps, None) if gaps.any() else bits


def released_numbers(cells: pl.Series) -> Floats:
    """Return the numbers that canonical cells stand for."""
    if cells.dtype == pl.String:
        return numbers(cells.cast(pl.Float64))
    return np.ascontiguousarray(cells.to_numpy()).view(np.float64)


def bucket_of(keys: pl.DataFrame, places: list[int], buckets: int) -> Ints:
    """Return the bucket of each record, by its protected columns."""
    mixed = keys.select([key_name(place) for place in places]).hash_rows(1)
    return (mixed.to_numpy() % np.uint64(buckets)).astype(np.int64)


def _moments(column: pl.Series) -> tuple[float, float, float]:
    """Return the number of values, their mean, and their squared differences from it."""
    values = numbers(column)
    values = values[~np.isnan(values)]
    if not values.size:
        return 0.0, 0.0, 0.0
    mean = float(values.mean())
    return float(values.size), mean, float(((values - mean) ** 2).sum())


def as_facts(findings: tuple[Finding, ...]) -> list[dict[str, Any]]:
    """Return findings as plain values."""
    return [asdict(finding) for finding in findings]
