"""An earlier release of the same records, joined to the release under check.

Sweeney (2002) describes two ways in which an intruder joins releases: by the order of the rows (unsorted matching) and
by columns that both hold (complementary releases). Ganta, Kasiviswanathan and Smith (2008) show that the intersection
of the two then protects less than either. To distinguish agreement from chance, records that are alone in their class
estimate how often another record would fit no class at all (Good 1953).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.arrays import Bools, Ints
from shoal.errors import UsageError
from shoal.gate.cells import (
    TEXT,
    classes,
    is_number,
    numbers,
)
from shoal.gate.earlier.alike import ORDER, Match, equal_cells, holds_original, merged_codes
from shoal.gate.earlier.by_columns import by_shared_columns
from shoal.gate.earlier.by_order import equal_columns, order_reason, rows_in_order


@dataclass(frozen=True, eq=False)
class Joined:
    """Two releases, joined as far as an intruder who has both can join them.

    Attributes:
        frame: The rows of the current release, each column in its finest version, and what the earlier release adds;
            null where nothing is certain.
        rows: For each row of the current release, the row of the earlier one, or one that equals it in every column;
            -1 if there is none or several.
        how: "order", "shared columns", or "" if the releases could not be aligned.
        why: The reason, if they could not be aligned.
        columns: The columns of `frame` that come from the earlier release.
        shared_exact: The columns that aligned the releases; all joined rows agree in them.
        origins: The original column of each name in `columns`.
        earlier: The earlier release's columns, in the rows of `frame`.
    """

    frame: pl.DataFrame | None
    rows: Ints | None
    how: str
    why: str
    columns: tuple[str, ...]
    shared_exact: tuple[str, ...]
    origins: Mapping[str, str] = field(default_factory=dict)
    earlier: pl.DataFrame | None = None

    @property
    def records(self) -> int:
        """The number of records that are joined."""
        return 0 if self.rows is None else int((self.rows >= 0).sum())

    def versions(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of `frame` that hold a version of the named original columns."""
        held = () if self.frame is None else self.frame.columns
        return tuple(column for column in held if self.origins.get(column, column) in names)


def join_earlier(
    before: pl.DataFrame,
    after: pl.DataFrame,
    earlier: pl.DataFrame,
    protected: Sequence[str],
    *,
    truth: Ints | None = None,
    keeps_order: bool = True,
) -> Joined:
    """Join the earlier release to the current one, by the order of the rows or by shared columns.

    Args:
        before: The original, with the same records in the same rows as `after`.
        after: The current release.
        earlier: The earlier release.
        protected: The protected columns.
        truth: For each row of `after`, the row of the earlier release with the same record (-1: none), if it is known.
            Wrong pairs are then left out.
        keeps_order: Whether the released file keeps the row order, so that an intruder can use it.

    Raises:
        UsageError: The original and the release have different numbers of rows, or `truth` has another length.
    """
    _check_shapes(before, after, truth)
    earlier = _without_row_numbers(before, earlier)
    common = [name for name in after.columns if name in earlier.columns]
    why = _nothing_to_join(after, earlier, truth)
    if why:
        return _unaligned(why)
    rows = rows_in_order(before, after, earlier, protected, truth) if keeps_order else None
    if rows is not None:
        return _joined(before, after, earlier, Match(rows, ORDER, tuple(equal_columns(after, earlier))))
    match = by_shared_columns(before, after, earlier, common, truth)
    if isinstance(match, str):
        return _unaligned(f"{order_reason(after, earlier, truth, keeps_order)}, and {match}")
    return _joined(before, after, earlier, match)


def exact_again(before: pl.DataFrame, joined: Joined, protected: Sequence[str]) -> dict[str, float]:
    """Return for each protected column the share of records whose original value the earlier release holds exactly.

    The result is empty if the releases could not be aligned.
    """
    if joined.earlier is None or joined.rows is None:
        return {}
    shares = dict.fromkeys(protected, 0.0)
    for name in (name for name in protected if name in joined.earlier.columns and name in before.columns):
        version = joined.earlier[name]
        # A null also means "not joined": only in a joined row does it equal a missing original value.
        known = (joined.rows >= 0) | ~version.is_null().to_numpy()
        shares[name] = float((equal_cells(before[name], version) & known).sum()) / before.height
    return shares


def smallest_intersection(
    after: pl.DataFrame, joined: Joined, names: Sequence[str], kept: Bools | None = None
) -> int | None:
    """Return the smallest class of both releases together, over the named columns; None if nothing is joined.

    A record that is not joined may have any earlier values. It counts as a member of every intersection of its class,
    so that records do not seem unique only because others are not joined. `kept` marks records that are not suppressed.
    """
    if joined.earlier is None or joined.rows is None:
        return None
    shown = np.ones(after.height, dtype=bool) if kept is None else kept
    here, past = _class_labels(after, names, shown), _class_labels(joined.earlier, names, joined.rows >= 0)
    here, past = here[shown], past[shown]
    both = merged_codes([here, past + 1]) if here.size else here
    unknown = np.bincount(here, weights=past < 0)[here]
    alike = np.where(past < 0, unknown, np.bincount(both)[both] + unknown)
    return int(alike.min()) if alike.size else 0


def _class_labels(frame: pl.DataFrame, names: Sequence[str], known: Bools) -> Ints:
    """Return each record's class over those of the named columns that the frame has; -1 for unknown records."""
    present = tuple(name for name in names if name in frame.columns)
    return classes(frame, present, known).labels if present else np.where(known, 0, -1).astype(np.int64)


def _unaligned(why: str) -> Joined:
    return Joined(None, None, "", why, (), ())


def _check_shapes(before: pl.DataFrame, after: pl.DataFrame, truth: Ints | None) -> None:
    if before.height != after.height:
        raise UsageError(
            f"The original has {before.height:,} rows and the release has {after.height:,}, so their rows cannot be "
            "compared. Leave out the rows of the original that were not released."
        )
    if truth is not None and truth.shape != (after.height,):
        raise UsageError(
            f"truth must have one row number per row of the release ({after.height:,}), not {truth.size:,}."
        )


def _without_row_numbers(before: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """Return the earlier release without row numbers that the original does not have: they would join any files."""
    added = [name for name in earlier.columns if name not in before.columns and is_number(earlier[name])]
    numbered = [name for name in added if earlier.height > 1 and (np.diff(numbers(earlier[name])) == 1).all()]
    return earlier.drop(numbered) if len(numbered) < earlier.width else earlier


def _nothing_to_join(after: pl.DataFrame, earlier: pl.DataFrame, truth: Ints | None) -> str:
    if not after.height:
        return "this release has no rows"
    if not earlier.height:
        return "the earlier release has no rows"
    return "the two releases have no record in common" if truth is not None and (truth < 0).all() else ""


def _joined(before: pl.DataFrame, after: pl.DataFrame, earlier: pl.DataFrame, match: Match) -> Joined:
    """Return the current release with what the earlier one adds to it."""
    past = pl.DataFrame([_taken(earlier[name], match.of(name)) for name in earlier.columns])
    columns = {name: after[name] for name in after.columns}
    origins: dict[str, str] = {}
    for name in past.columns:
        known = match.of(name) >= 0
        version, added = past[name], name
        if name in after.columns:
            here = after[name]
            if holds_original(before, here, np.ones_like(known)) or equal_cells(here, version)[known].all():
                continue
            exact = _completed(version, here, known) if holds_original(before, version, known) else None
            # Both protected versions are kept: a record is in the intersection of both classes.
            added = _free_name(name, {*columns, *past.columns}) if exact is None else name
            version = version if exact is None else exact
        columns[added] = version.rename(added)
        origins[added] = name
    frame = pl.DataFrame(list(columns.values()))
    return Joined(frame, match.rows, match.how, "", tuple(origins), match.shared, origins, past)


def _completed(exact: pl.Series, here: pl.Series, known: Bools) -> pl.Series | None:
    """Return the exact version, with the current one for records that are not joined; None if types differ."""
    if known.all():
        return exact
    if is_number(exact) and is_number(here):
        exact, here = exact.cast(pl.Float64), here.cast(pl.Float64)
    elif exact.dtype in TEXT and here.dtype in TEXT:
        exact, here = exact.cast(pl.String), here.cast(pl.String)
    return exact.zip_with(pl.Series(known), here) if exact.dtype == here.dtype else None


def _taken(column: pl.Series, rows: Ints) -> pl.Series:
    """Return the cells of a column in these rows; null for -1."""
    if rows.size == column.len() and bool((rows == np.arange(rows.size)).all()):
        return column
    return column.gather(pl.Series(rows).set(pl.Series(rows < 0), None))


def _free_name(name: str, used: set[str]) -> str:
    candidates = [f"{name} (earlier)", *(f"{name} (earlier {count})" for count in range(2, len(used) + 3))]
    return next(candidate for candidate in candidates if candidate not in used)
