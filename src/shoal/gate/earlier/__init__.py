"""An earlier release of the same records, joined to the release under check.

Sweeney (2002) describes two ways in which an intruder joins releases: by the order of the rows (unsorted matching) and
by columns that both hold (complementary releases). Ganta, Kasiviswanathan and Smith (2008) show that the intersection
of the two then protects less than either. To tell agreement from chance, records that are alone in their class estimate
how often another record would fit no class at all (Good 1953).
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
    """Two releases side by side, as far as an intruder who has both can join them.

    frame: the rows of the current release. Each column stands in its finest version; what the earlier release adds
    stands beside it, null where nothing is certain. rows: for each row of the current release, the row of the earlier
    one, or one that equals it in every column; -1: none, or ambiguous. how: "order", "shared columns", or "" if the
    releases could not be aligned; `why` then holds the reason. columns: the columns of `frame` that stem from the
    earlier release. shared_exact: the columns that aligned the releases; all joined rows agree in them.
    origins: the original column of each name in `columns`. earlier: the earlier release's columns beside `frame`.
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
        """The columns of `frame` that hold a version of the named original columns."""
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
    """Join the earlier release to the current one (`after`), by the order of the rows or by shared columns.

    before: the original, its rows beside those of `after`. truth: for each row of `after`, the row of the earlier
    release with the same record (-1: none), if it is known; wrong pairs are then left out. keeps_order: False if the
    released file has its rows in a random order, so that an intruder cannot use the order of `after`.
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
    found = by_shared_columns(before, after, earlier, common, truth)
    if isinstance(found, str):
        return _unaligned(f"{order_reason(after, earlier, truth, keeps_order)}, and {found}")
    return _joined(before, after, earlier, found)


def exact_again(before: pl.DataFrame, joined: Joined, protected: Sequence[str]) -> dict[str, float]:
    """For each protected column, the share of records whose original value the earlier release holds exactly.

    The result is empty if the releases could not be aligned.
    """
    if joined.earlier is None or joined.rows is None:
        return {}
    shares = dict.fromkeys(protected, 0.0)
    for name in (name for name in protected if name in joined.earlier.columns and name in before.columns):
        version = joined.earlier[name]
        # A null also stands for "not joined": only in a joined row does it equal a missing original value.
        known = (joined.rows >= 0) | ~version.is_null().to_numpy()
        shares[name] = float((equal_cells(before[name], version) & known).sum()) / before.height
    return shares


def smallest_intersection(
    after: pl.DataFrame, joined: Joined, names: Sequence[str], kept: Bools | None = None
) -> int | None:
    """The smallest number of records that an intruder with both releases cannot tell apart in the named columns.

    A record that is not joined may have any earlier values: it counts as a candidate for every record of its class, so
    that a file of which a part is joined does not seem to consist of unique records. None if nothing is joined.
    kept: the records that are not suppressed.
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
    """Each record's class in the named columns that the frame has; -1 for records that are not known."""
    held = tuple(name for name in names if name in frame.columns)
    return classes(frame, held, known).labels if held else np.where(known, 0, -1).astype(np.int64)


def _unaligned(why: str) -> Joined:
    return Joined(None, None, "", why, (), ())


def _check_shapes(before: pl.DataFrame, after: pl.DataFrame, truth: Ints | None) -> None:
    if before.height != after.height:
        raise UsageError(
            f"the original has {before.height:,} rows and the release has {after.height:,}, so their rows are not side "
            "by side. Leave out the rows of the original that were not released"
        )
    if truth is not None and truth.shape != (after.height,):
        raise UsageError(
            f"truth must have one row number per row of the release ({after.height:,}), not {truth.size:,}"
        )


def _without_row_numbers(before: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """The earlier release without numbers of its rows that the original does not have: they would join any files."""
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
    """The current release with what the earlier one adds to it."""
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
            # Of two protected versions both stay: a record is in the intersection of both classes.
            added = _free_name(name, {*columns, *past.columns}) if exact is None else name
            version = version if exact is None else exact
        columns[added] = version.rename(added)
        origins[added] = name
    frame = pl.DataFrame(list(columns.values()))
    return Joined(frame, match.rows, match.how, "", tuple(origins), match.shared, origins, past)


def _completed(exact: pl.Series, here: pl.Series, known: Bools) -> pl.Series | None:
    """The exact version, with the current one where the records are not joined; None if one column cannot hold both."""
    if known.all():
        return exact
    if is_number(exact) and is_number(here):
        exact, here = exact.cast(pl.Float64), here.cast(pl.Float64)
    elif exact.dtype in TEXT and here.dtype in TEXT:
        exact, here = exact.cast(pl.String), here.cast(pl.String)
    return exact.zip_with(pl.Series(known), here) if exact.dtype == here.dtype else None


def _taken(column: pl.Series, rows: Ints) -> pl.Series:
    """The cells of a column in other rows; null for -1."""
    if rows.size == column.len() and bool((rows == np.arange(rows.size)).all()):
        return column
    return column.gather(pl.Series(rows).set(pl.Series(rows < 0), None))


def _free_name(name: str, used: set[str]) -> str:
    ways = [f"{name} (earlier)", *(f"{name} (earlier {count})" for count in range(2, len(used) + 3))]
    return next(way for way in ways if way not in used)
