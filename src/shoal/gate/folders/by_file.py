"""The check of one written file, and what the check of the whole release needs of it.

A class lies in one bucket as a whole: buckets are chosen by the protected columns, which every set of columns contains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Ints
from shoal.errors import PromiseError
from shoal.gate.cells import comparable, differing, is_number, numbers
from shoal.gate.checks import every_release, exposure, only_stars, roles, traces
from shoal.gate.context import CheckContext
from shoal.gate.findings import BLOCK, Finding, as_sentences
from shoal.gate.folders.labels import has_labels, values_of_file
from shoal.gate.folders.promises import confidential_of, value_name
from shoal.gate.folders.recount import GONE, SETS, key_name
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import Policy
from shoal.gate.promises import OnlyStars
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
        refuses: Whether a finding that blocks is an error at once. Otherwise all findings are returned.
    """

    name: str
    guarantees: Guarantees
    policy: Policy
    released: tuple[str, ...]
    buckets: int
    drawn: Ints
    encoding: str | None = None
    refuses: bool = True


@dataclass(frozen=True, eq=False)
class CheckedFile:
    """The result: findings, the tuples sorted by bucket, the drawn records before and after, and sums.

    Attributes:
        new_numbers: The protected columns that hold numbers before and after, some of them changed.
        suppressed: The number of suppressed records.
        labels: The distinct values of the protected columns that are compared by labels or ranks.
    """

    findings: tuple[Finding, ...]
    tuples: pl.DataFrame
    counts: tuple[int, ...]
    before: pl.DataFrame
    after: pl.DataFrame
    keys: pl.DataFrame
    moments: dict[str, tuple[float, float, float]]
    new_numbers: tuple[str, ...]
    suppressed: int
    labels: pl.DataFrame


def check_file(path: Path, before: pl.DataFrame, expected: pl.DataFrame | None, check: FileCheck) -> CheckedFile:
    """Read a written file back and check it against its input file and the table that was to be written, if known.

    Raises:
        PromiseError: The file does not hold what was to be released.
    """
    options = {} if check.encoding is None else {"encoding": check.encoding}
    written = read_written(path, before if expected is None else expected, name=check.name, **options)
    context = CheckContext(
        before, written, check.guarantees, check.policy, aligned=written.frame.height == before.height,
        expected=expected,
    )  # fmt: skip
    findings: list[Finding] = []
    for part in checks_of_a_file(check.guarantees, expected is not None):
        findings.append(part(context))
        if findings[-1].status == BLOCK and check.refuses:
            raise PromiseError(f"Nothing was written. {check.name}: {as_sentences(findings[-1])}")
    if not context.aligned or any(name not in written.frame.columns for name in check.released):
        raise PromiseError(f"{check.name}: {as_sentences(next(f for f in findings if f.status == BLOCK))}")
    keys = canonical(written, check.released)
    bucket = bucket_of(keys, [check.released.index(name) for name in context.columns.protected], check.buckets)
    order = np.argsort(bucket, kind="stable")
    drawn = check.drawn
    values = [value_of(written.frame[name]).alias(value_name(name)) for name in confidential_of(check.guarantees)]
    labels = [name for name in context.columns.protected if name in before.columns and has_labels(context, name)]
    return CheckedFile(
        findings=tuple(findings),
        tuples=keys.with_columns(suppressed_in(context), *values)[order],
        counts=tuple(np.bincount(bucket, minlength=check.buckets).tolist()),
        before=before[drawn],
        after=written.frame[drawn],
        keys=keys[drawn],
        moments={name: _moments(before[name]) for name in context.columns.protected if before[name].dtype.is_numeric()},
        new_numbers=tuple(n for n in context.columns.protected if n not in labels and _is_new_number(context, n)),
        suppressed=int((~context.kept).sum()),
        labels=values_of_file(context, keys, labels, [key_name(check.released.index(name)) for name in labels]),
    )


def checks_of_a_file(guarantees: Guarantees, has_expected: bool) -> tuple[Callable[[CheckContext], Finding], ...]:
    """Return the checks of one file, with those of guarantees that compare records one by one."""
    stars = (only_stars.check,) if guarantees.of(OnlyStars) else ()
    return (*(part for part in OF_A_FILE if has_expected or part is not every_release.written), *stars)


def suppressed_in(context: CheckContext) -> pl.Series:
    """Return for each record a bit per set of columns: whether it is suppressed in the set, and not in its classes."""
    bits = np.zeros(context.rows, dtype=np.uint8)
    for place, name in enumerate(SETS):
        bits[~context.kept_over(getattr(context.columns, name))] |= np.uint8(1 << place)
    return pl.Series(GONE, bits)


def value_of(column: pl.Series) -> pl.Series:
    """Return confidential cells so that equal values are equal, and numbers keep their order."""
    if is_number(column) or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).fill_nan(None)
    return comparable(column).cast(pl.String, strict=False)


def _is_new_number(context: CheckContext, name: str) -> bool:
    before, after = context.before[name], context.after[name]
    return is_number(before) and is_number(after) and bool(differing(before, after, signed_zero=False).any())


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
