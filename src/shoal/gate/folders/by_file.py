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

from shoal.arrays import Floats, Ints
from shoal.errors import InputError, PromiseError
from shoal.gate.cells import comparable, differing, is_number, numbers, sorted_rows
from shoal.gate.checks import every_release, exposure, only_stars, roles, traces
from shoal.gate.context import CheckContext
from shoal.gate.earlier.alike import equal_cells
from shoal.gate.findings import BLOCK, Finding, Findings, as_sentences
from shoal.gate.folders.classes import SAME, groups_of, originals
from shoal.gate.folders.labels import has_labels, values_of_file
from shoal.gate.folders.promises import RECORDS, confidential_of, value_name
from shoal.gate.folders.recount import GONE, SETS, UNIT, earlier_name, key_name
from shoal.gate.folders.values import single_columns
from shoal.gate.guarantees import Guarantees
from shoal.gate.inside import few_values
from shoal.gate.policy import Policy
from shoal.gate.promises import OnlyStars
from shoal.gate.reading import Written, read_written

OF_A_FILE = (
    every_release.rows, every_release.columns, every_release.written, every_release.identifiers,
    every_release.untouched, roles.looks_like_identifier, roles.looks_like_unit, exposure.missing, traces.traces,
    traces.formulas,
)  # fmt: skip
EXACT = 2**53
MOST_BITS = 64


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
        shuffled: Whether the rows of each file were shuffled on purpose.
        previous: The file of the same name in an earlier release of the same records.
        counts_classes: Whether the table is so large that the checks of classes count them in all files.
    """

    name: str
    guarantees: Guarantees
    policy: Policy
    released: tuple[str, ...]
    buckets: int
    drawn: Ints
    encoding: str | None = None
    refuses: bool = True
    shuffled: bool = False
    previous: Path | None = None
    counts_classes: bool = False


@dataclass(frozen=True, eq=False)
class Counting:
    """What is staged of a file so that the checks of classes and of single columns count all files.

    Attributes:
        originals: The original values of the protected columns, sorted as the tuples are.
        groups: For each column group, its tuples and original values sorted by bucket, and the records of each bucket.
        weights: The distinct weights, with their records and units, sorted by bucket, and the number in each bucket.
        values: The distinct values of single columns (`shoal.gate.folders.values`).
        facts: What is known of the columns.
    """

    originals: pl.DataFrame
    groups: tuple[tuple[pl.DataFrame, list[int]], ...]
    weights: tuple[pl.DataFrame, list[int]] | None
    values: pl.DataFrame
    facts: dict[str, Any]


@dataclass(frozen=True, eq=False)
class CheckedFile:
    """The result: findings, the tuples sorted by bucket, the drawn records before and after, and sums.

    Attributes:
        new_numbers: The protected columns that hold numbers before and after, some of them changed.
        suppressed: The number of suppressed records.
        labels: The distinct values of the protected columns that are compared by labels or ranks.
        exact: For each protected column, in how many records this release and the earlier one have the original value.
        earlier: The columns of the earlier release that the tuples hold.
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
    exact: dict[str, tuple[int, int]]
    earlier: tuple[str, ...]
    counting: Counting | None


class PartOfAFolder(CheckContext):
    """One of many files. Groups may have records in other files, so no class of the file need hold its own mean."""

    @property
    def aggregated(self) -> dict[str, tuple[Floats, Floats]]:  # type: ignore[override]
        return {}


def check_file(path: Path, before: pl.DataFrame, expected: pl.DataFrame | None, check: FileCheck) -> CheckedFile:
    """Read a written file back and check it against its input file and the table that was to be written, if known.

    Raises:
        PromiseError: The file does not hold what was to be released. The error has the findings.
    """
    options = {} if check.encoding is None else {"encoding": check.encoding}
    written = read_written(path, before if expected is None else expected, name=check.name, **options)
    context = PartOfAFolder(
        before, written, check.guarantees, check.policy, aligned=written.frame.height == before.height,
        expected=expected, order="shuffled" if check.shuffled else "kept",
    )  # fmt: skip
    findings: list[Finding] = []
    for part in checks_of_a_file(check.guarantees, expected is not None):
        findings.append(part(context))
        if findings[-1].status == BLOCK and check.refuses:
            raise PromiseError(f"Nothing was written. {check.name}: {as_sentences(findings[-1])}")
    if not context.aligned or any(name not in written.frame.columns for name in check.released):
        error = PromiseError(f"{check.name}: {as_sentences(next(f for f in findings if f.status == BLOCK))}")
        error.findings = Findings(findings, check.policy.name)
        raise error
    keys = canonical(written, check.released)
    bucket = bucket_of(keys, [check.released.index(name) for name in context.columns.protected], check.buckets)
    order = np.argsort(bucket, kind="stable")
    drawn = check.drawn
    values = [value_of(written.frame[name]).alias(value_name(name)) for name in confidential_of(check.guarantees)]
    units = [] if check.guarantees.unit is None else [units_in(before[check.guarantees.unit])]
    earlier, exact = (pl.DataFrame(), {}) if check.previous is None else _earlier(context, check.previous)
    labels = [name for name in context.columns.protected if name in before.columns and has_labels(context, name)]
    gone = suppressed_in(context)
    with_bits = keys.with_columns(gone, *units)
    counting = _counting(context, with_bits, units, order, check) if check.counts_classes else None
    return CheckedFile(
        findings=tuple(findings),
        tuples=keys.with_columns(gone, *values, *units, *earlier)[order],
        counts=tuple(np.bincount(bucket, minlength=check.buckets).tolist()),
        before=before[drawn],
        after=written.frame.select(check.released)[drawn],
        keys=keys.with_columns(gone, *units)[drawn],
        moments={name: _moments(before[name]) for name in context.columns.protected if before[name].dtype.is_numeric()},
        new_numbers=tuple(n for n in context.columns.protected if n not in labels and _is_new_number(context, n)),
        suppressed=int((~context.kept).sum()),
        labels=values_of_file(context, keys, labels, [key_name(check.released.index(name)) for name in labels]),
        exact=exact,
        earlier=tuple(earlier.columns),
        counting=counting,
    )


def _counting(
    context: CheckContext, keys: pl.DataFrame, units: list[pl.Series], order: Ints, check: FileCheck
) -> Counting:
    """Return what the checks of classes and of single columns need of the file."""
    before = originals(context)
    names = {name: key_name(i) for i, name in enumerate(check.released)}
    confidential = [names[name] for name in context.columns.confidential]
    groups = []
    for group in groups_of(check.guarantees, check.released):
        columns = [names[name] for name in group]
        of_group = before.select(name for name in before.columns if name.removeprefix(SAME) in group)
        whole = pl.DataFrame([*keys.select(*dict.fromkeys((*columns, *confidential)), GONE), *units, *of_group])
        groups.append(_by_bucket(whole, columns, check.buckets))
    weights = None
    if context.columns.weight:
        of_weight = [names[context.columns.weight[0]]]
        by = [*of_weight, *(unit.name for unit in units)]
        weights = _by_bucket(keys.group_by(by).agg(pl.len().cast(pl.Int64).alias(RECORDS)), of_weight, check.buckets)
    values, streams, largest = single_columns(context, units)
    plain = CheckContext(context.before, context.written, context.guarantees, context.policy)
    hidden = units[0].filter(~context.kept).unique().sort() if units else pl.Series([], dtype=pl.UInt64)
    facts = {
        "rows": context.rows,
        "numbers": [name for name in check.released if is_number(context.after[name])],
        "whole": [name for name in plain.aggregated if plain.is_whole(name)],
        "domains": {name: _domain(before_) for name, (before_, _) in plain.aggregated.items()},
        "aggregated": list(plain.aggregated),
        "streams": streams,
        "largest": largest,
        "hidden": hidden.head(context.wanted_k).to_list(),
        "groups": [counts for _, counts in groups],
        "weights": None if weights is None else weights[1],
    }
    return Counting(before[order], tuple(groups), weights, values, facts)


def _domain(values: Floats) -> list[float] | None:
    domain = few_values(values)
    return None if domain is None else domain.tolist()


def _by_bucket(frame: pl.DataFrame, columns: list[str], buckets: int) -> tuple[pl.DataFrame, list[int]]:
    """Return rows sorted by the bucket of some columns, and the number in each bucket."""
    mixed = frame.select(columns).hash_rows(1).to_numpy() % np.uint64(buckets)
    bucket = mixed.astype(np.int64)
    return frame[np.argsort(bucket, kind="stable")], np.bincount(bucket, minlength=buckets).tolist()


def units_in(column: pl.Series) -> pl.Series:
    """Return the unit of each record as a number that is the same in every file, whatever type its column has."""
    if is_number(column):
        values = column.cast(pl.Float64)
        whole = bool((values == values.round()).fill_null(True).all()) and bool((values.abs() <= EXACT).all())
        column = values.cast(pl.Int64, strict=False) if whole else values
    return comparable(column).cast(pl.String, strict=False).hash(1).rename(UNIT)


def _earlier(context: CheckContext, path: Path) -> tuple[pl.DataFrame, dict[str, tuple[int, int]]]:
    """Return the earlier release's cells of the columns that an intruder may know, and how many are exact.

    An intruder is assumed to join every record, which is the most that row order and shared columns allow.
    """
    if not path.is_file():
        raise InputError(
            f"The earlier release has no file {path.name}. Name a folder with a file of the same name and the same "
            "rows for each file."
        )
    written = read_written(path, context.before)
    before, earlier = context.before, written.frame
    if earlier.height != before.height:
        raise InputError(
            f"{path} has {earlier.height:,} rows, and the original {before.height:,}. The files of an earlier release "
            "need the same rows in the same order."
        )
    shared = [name for name in context.untouched if name in earlier.columns]
    for name in shared:
        same = sorted_rows(before, [name]).equals(sorted_rows(earlier, [name]))
        if same and differing(before[name], earlier[name]).any():
            raise InputError(
                f"{path} has its rows in another order than the original (see {name!r}). Compare with an earlier "
                "release whose rows are in the order of the original."
            )
    names = [name for name in context.columns.known if name in earlier.columns]
    cells = canonical(written, tuple(names))
    exact = {}
    for name in (name for name in context.columns.protected if name in before.columns):
        again = int(equal_cells(before[name], earlier[name]).sum()) if name in earlier.columns else 0
        exact[name] = int((~differing(before[name], context.after[name])).sum()), again
    return cells.rename({key_name(i): earlier_name(name) for i, name in enumerate(names)}), exact


def checks_of_a_file(guarantees: Guarantees, has_expected: bool) -> tuple[Callable[[CheckContext], Finding], ...]:
    """Return the checks of one file, with those of guarantees that compare records one by one."""
    stars = (only_stars.check,) if guarantees.of(OnlyStars) else ()
    return (*(part for part in OF_A_FILE if has_expected or part is not every_release.written), *stars)


def suppressed_in(context: CheckContext) -> pl.Series:
    """Return for each record a bit per set of columns and column group: whether it is suppressed there.

    A suppressed record is in no class of the set.
    """
    bits = np.zeros(context.rows, dtype=np.uint64)
    sets = [getattr(context.columns, name) for name in SETS]
    sets += groups_of(context.guarantees, context.after.columns)[: MOST_BITS - len(SETS)]
    for place, columns in enumerate(sets):
        bits[~context.kept_over(columns)] |= np.uint64(1 << place)
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
