"""What every release promises: all rows in their order, no identifiers, unchanged columns to the bit, and k, l, t."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Bools
from shoal.gate.case import Case
from shoal.gate.cells import (
    TEXT,
    agreeing,
    codes,
    comparable,
    differing,
    is_number,
    signs_of_zero,
    sorted_rows,
    text_of,
)
from shoal.gate.diversity import diversity, farthest
from shoal.gate.findings import Finding, counted, percent
from shoal.gate.inside import largest_share
from shoal.gate.members import holds_aggregates, misplaced
from shoal.gate.pairing import follows_original
from shoal.gate.policy import stricter

SAMPLE = 2_000  # rows looked at before a whole column is compared with an identifier
CARRIED = 0.9  # share of cells that make a column a copy of an identifier


def rows(case: Case) -> Finding:
    """No row lost, doubled or out of place."""
    lost = case.before.height - case.rows
    if lost:
        what = f"{lost:,} rows are missing" if lost > 0 else f"{-lost:,} rows are too many"
        todo = "release every row once; where rows were left out on purpose, check against the original without them"
        return case.judged(
            "rows", True, f"{what}: {case.rows:,} instead of {case.before.height:,}",
            case.rows, case.before.height, todo, promised=True,
        )  # fmt: skip
    if case.order == "broken":
        return case.judged(
            "rows", True, "the rows are those of the original, but in another order", case.rows, case.before.height,
            "keep the order of the original; if the rows were shuffled on purpose, say so (--shuffled)", promised=True,
        )  # fmt: skip
    if case.policy.order == "shuffled" and case.order == "kept":
        return case.judged(
            "rows", True, f"all {case.rows:,} rows are there, in the order of the original, and the policy asks for "
            "another order", case.rows, case.before.height, "write the release with --shuffle", promised=True,
        )  # fmt: skip
    wrong = misplaced(case) if case.expected is None else 0  # known to the cell otherwise
    if wrong:
        return case.judged(
            "rows", True, f"{wrong:,} groups do not hold the mean or median of the records in their rows, and the "
            "others do: rows are out of place or values are wrong", case.rows, case.before.height,
            "compare the release with the original row by row", promised=True,
        )  # fmt: skip
    if follows_original(case) is False and not holds_aggregates(case):
        return case.judged(
            "rows", True, "the protected values do not follow the original values of their rows, no more than rows in "
            "random order do: each record has the protected values of another one", case.rows, case.before.height,
            "join the protected columns to their own rows again; if the rows were shuffled on purpose, say so "
            "(--shuffled)", promised=True,
        )  # fmt: skip
    how = "shuffled" if case.order == "shuffled" else "in the original's order"
    return case.judged("rows", False, f"all {case.rows:,} rows are there, {how}", case.rows, case.before.height)


def columns(case: Case) -> Finding:
    """The columns of the original without the removed ones, in their order, and no other."""
    removed = set(case.asked.roles.removed)
    expected = [name for name in case.before.columns if name not in removed]
    found = [name for name in case.after.columns if name not in case.asked.identifiers]
    extra, absent = [n for n in found if n not in expected], [n for n in expected if n not in found]
    extra_named = [
        f"{n!r}" + (f" (a copy of the original {case.copies[n]!r})" if n in case.copies else "") for n in extra
    ]
    named = (("new:", extra_named), ("missing:", [repr(n) for n in absent]))
    parts = [f"{what} {', '.join(some)}" for what, some in named if some]
    if not parts and found != expected:
        parts = ["the columns are in another order"]
    return case.judged(
        "columns", bool(parts), "; ".join(parts) or f"the {len(expected)} columns of the original, in their order",
        len(extra) + len(absent), 0,
        "release the original's columns only: a new column may be an index, a group's number or an identifier; name "
        "columns that were left out with --drop",
        promised=True,
    )  # fmt: skip


def identifiers(case: Case) -> Finding:
    """No identifier or unit under its name, and no column that carries one's values under another."""
    secret = (*case.asked.identifiers, *((case.asked.unit,) if case.asked.unit else ()))
    named = [name for name in secret if name in case.after.columns]
    problems = [f"{name!r} is still there" for name in named]
    for identifier in secret:
        carriers = _carriers(case, identifier, [c for c in case.after.columns if c not in named])
        problems += [f"{column!r} holds the values of {identifier!r}" for column in carriers]
        if identifier == case.asked.unit:
            problems += [f"{c!r} links the rows of each unit of {identifier!r}" for c in _renumbered(case, identifier)]
    if problems or secret:
        good = f"{len(secret)} {'column was' if len(secret) == 1 else 'columns were'} removed"
        return case.judged(
            "identifiers", bool(problems), "; ".join(problems) or good, len(problems), 0,
            "drop these columns, or name them as identifiers", promised=True,
        )  # fmt: skip
    return case.judged("identifiers", False, "no identifier was named", 0)


def _renumbered(case: Case, unit: str) -> list[str]:
    """The unchanged columns that link the rows of a unit: constant within each, and unlike most other units'."""
    if not case.aligned or case.units is None:
        return []
    count = int(case.units.max(initial=-1)) + 1
    found = []
    for name in case.untouched:
        if name == unit or not 1 < count < case.rows or 2 * case.after[name].n_unique() < count:
            continue
        values = codes(case.after[name])
        pairs = np.unique(np.column_stack([case.units, values]), axis=0)
        holders = np.bincount(pairs[:, 1])
        if pairs.shape[0] == count and 2 * int((holders[pairs[:, 1]] == 1).sum()) >= count:
            found.append(name)
    return found


def _carriers(case: Case, identifier: str, columns: Sequence[str]) -> list[str]:
    """The released columns that carry the values of an identifier, whatever their name and type."""
    secret = case.before[identifier]
    if secret.n_unique() <= secret.len() / 2 or secret.n_unique() < 3:
        return []  # it tells few records apart: other columns may well hold the same words
    place = np.unique(np.linspace(0, case.rows - 1, SAMPLE).astype(np.int64)) if case.rows else np.array([], np.int64)
    text, unique = text_of(secret), secret.n_unique() >= CARRIED * secret.len()
    found = []
    for name in (name for name in columns if case.after[name].n_unique() > CARRIED * secret.n_unique()):
        few = text_of(case.after[name].gather(place))
        if case.aligned and agreeing(few == text.gather(place)) >= CARRIED:
            if agreeing(text_of(case.after[name]) == text) >= CARRIED:
                found.append(name)
        elif unique and (case.after[name].dtype in TEXT or case.after[name].n_unique() == case.rows):
            # Names of many do not meet by chance; numbers do, unless each of them is somebody's number.
            met = text.filter(text.is_in(few.unique().implode())).unique()
            if agreeing(few.is_in(met.implode())) >= CARRIED:
                found.append(name)
    return found


def untouched(case: Case) -> Finding:
    """Every column that is neither dropped nor protected is as it was, bit for bit."""
    if case.before.height != case.rows:
        return case.judged(
            "untouched", True, "not measured: the rows are not those of the original", todo="see rows", promised=True
        )
    if not case.aligned:
        same = sorted_rows(case.before, case.untouched).equals(sorted_rows(case.after, case.untouched))
        how = "are as they were, row for row in another order" if same else "are not those of the original"
        return case.judged(
            "untouched", not same, f"{len(case.untouched)} columns {how}", int(not same), 0,
            "write the release again: nothing but the protected columns may change", promised=True,
        )  # fmt: skip
    cells_of = case.changed_cells
    gone = ~case.kept  # in suppressed rows, columns without a role are suppressed too
    starred = {name: case.starred(name) & gone for name in case.columns.unassigned} if gone.any() else {}
    cells_of = {name: cells & ~starred[name] if name in starred else cells for name, cells in cells_of.items()}
    changed = {name: cells for name, cells in cells_of.items() if cells.any()}
    told = [_how_changed(case, name, cells) for name, cells in changed.items()]
    return case.judged(
        "untouched", bool(told), "; ".join(told) or f"{counted(len(case.untouched), 'column')} unchanged, bit for bit",
        int(sum(cells.sum() for cells in changed.values())), 0,
        "write the release again: nothing but the protected columns may change", promised=True,
    )  # fmt: skip


def _how_changed(case: Case, name: str, cells: Bools) -> str:
    """What became of a column, in words; shifted columns and codes for labels are told as such."""
    before, after = case.before[name], case.after[name]
    for other in case.before.columns:
        if other != name and cells.mean() > 0.5 and before.n_unique() > 1:
            same = differing(case.before[other], after, blanks=case.written.blanks)
            if not same.any():
                return f"{name!r} holds the values of {other!r}: the columns are shifted"
    if before.dtype in TEXT and _numeric(after) and not _numeric(before):
        return f"{name!r} held text and holds numbers: labels were written as codes"
    return f"{name!r} differs in {int(cells.sum()):,} cells, the first in row {int(cells.argmax()) + 1}"


def _numeric(column: pl.Series) -> bool:
    """Whether a column holds numbers, be it as text."""
    if column.dtype not in TEXT:
        return column.dtype.is_numeric()
    return column.cast(pl.String).cast(pl.Float64, strict=False).null_count() == column.null_count() < column.len()


def swapped(case: Case) -> Finding:
    """A column whose values changed places has each value as often as before."""
    told = []
    for name in case.asked.swapped:
        if name not in case.after.columns or case.before.height != case.rows:
            continue
        one, two = (
            column if is_number(column) else comparable(column) for column in (case.before[name], case.after[name])
        )
        if differing(one.sort(), two.sort(), blanks=case.written.blanks, tolerance=case.written.tolerance).any():
            told.append(f"{name!r} has other values than before, or some more often")
    good = f"each value of {', '.join(case.asked.swapped)} occurs as often as before"
    return case.judged(
        "swapped", bool(told), "; ".join(told) or good, len(told), 0, "swap values, never change them", promised=True
    )


def written(case: Case) -> Finding:
    """The file holds the table that was verified before it was written."""
    expected = case.expected if case.expected is not None else case.after
    ways: dict[str, Any] = {"blanks": case.written.blanks, "tolerance": case.written.tolerance}
    same_shape = expected.height == case.rows and expected.columns == case.after.columns
    wrong = [n for n in expected.columns if same_shape and differing(expected[n], case.after[n], **ways).any()]
    bad = not same_shape or bool(wrong)
    told = "the file holds the table that was verified"
    if bad:
        told = f"the file differs from the table in {', '.join(wrong)}" if wrong else "the file has another shape"
    return case.judged(
        "written", bad, told, len(wrong), 0, "the format cannot hold these values: take .parquet", promised=True
    )


def within_groups(case: Case) -> Finding:
    """k within each column group."""
    k = case.asked.k
    smallest = {found.columns: int(case.unit_counts(found).min(initial=case.rows)) for found in case.class_sets}
    least = min(smallest.values())
    worst = min(smallest, key=lambda names: smallest[names])
    bad = k is not None and least < k
    text = f"the smallest class within a column group has {counted(least, 'record')}"
    if bad:
        below = sum(int((case.unit_counts(c) < (k or 0)).sum()) for c in case.class_sets)
        text += f": {', '.join(worst)}; {below:,} classes in all are below k"
    return case.judged(
        "k-within-groups", bad, text, least, k, "protect the file again: a class below k is not a group", promised=True
    )


def joint_k(case: Case) -> Finding:
    """k over all protected columns together: promised, unless it is so within column groups only."""
    promised = case.asked.k if not case.asked.column_groups else None
    counts = case.unit_counts(case.joint)
    least = int(counts.min()) if counts.size else 0
    threshold = stricter(case.asked.k, case.policy.thresholds.k)
    broken = promised is not None and least < promised
    bad = threshold is not None and least < threshold
    text = f"the smallest class over all protected columns has {counted(least, 'record')}"
    if bad:
        text += f"; {int((counts < (threshold or 0)).sum()):,} classes are smaller than {threshold:g}"
        zeros = [name for name in case.quasi if signs_of_zero(case.after[name])]
        text += f". 0.0 and -0.0 count as two values in {', '.join(map(repr, zeros))}" if zeros else ""
    if bad and case.asked.column_groups and not broken:
        text += ". Within each column group every record shares its values with others, over all columns it does not"
    todo = "protect all columns together (shoal microaggregate), or with a larger k"
    return case.judged("joint-k", bad, text, least, promised if broken else threshold, todo, promised=broken)


def least_l(case: Case) -> Finding:
    """The fewest confidential values in a class: a single value is disclosed without any link."""
    asked, threshold = case.asked.diversity, case.policy.thresholds.l
    names = [name for name in case.asked.confidential if name in case.after.columns]
    if not names or not case.class_sets:
        return _without_confidential(case, "l")
    found = {name: min(diversity(c, case.after[name], asked) for c in case.class_sets) for name in names}
    worst = min(found, key=lambda name: found[name])
    value = found[worst]
    broken = asked is not None and value < asked.l - 1e-9
    bad = broken or (threshold is not None and value < threshold - 1e-9)
    kind = "distinct" if asked is None else asked.kind
    text = f"the least diverse class has l = {value:g} ({kind}) in {worst!r}"
    text += _largest_share(case, worst)
    return case.judged(
        "l", bad, text, value, asked.l if asked is not None and broken else threshold,
        "ask the method for l (shoal generalize -l), or take a larger k", promised=broken,
    )  # fmt: skip


def _largest_share(case: Case, name: str) -> str:
    """Which value the homogeneous classes disclose, and of how many records; else the largest share of one value."""
    if is_number(case.after[name]):
        return ""  # numbers are judged by their spread
    shares = [largest_share(found, case.after[name], case.units) for found in case.class_sets]
    found = [share for share in shares if share is not None]
    if not found:
        return ""
    worst = max(found, key=lambda share: (share.homogeneous_records, share.share))
    if not worst.homogeneous_classes:
        return f": at most {percent(worst.share)} of a class have one value ({worst.value!r})"
    one = worst.homogeneous_classes == 1
    value = "missing" if worst.frequent_value is None else worst.frequent_value
    return (
        f": {worst.homogeneous_records:,} records stand in {worst.homogeneous_classes:,} "
        f"{'class' if one else 'classes'} with a single value, {worst.frequent_records:,} of them with {value!r}"
    )


def greatest_t(case: Case) -> Finding:
    """How far a class's confidential values lie from those of the whole table."""
    asked, threshold = case.asked.t, case.policy.thresholds.t
    names = [name for name in case.asked.confidential if name in case.after.columns]
    if not names or not case.class_sets:
        return _without_confidential(case, "t")
    way = case.asked.distance
    found = {name: max(farthest(c, case.after[name], way) for c in case.class_sets) for name in names}
    worst = max(found, key=lambda name: found[name])
    value = found[worst]
    broken = asked is not None and value > asked + 1e-9
    bad = broken or (threshold is not None and value > threshold + 1e-9)
    text = f"the values of {worst!r} in a class lie at most {value:.4g} ({way}) from those of the whole table"
    return case.judged(
        "t", bad, text, round(value, 6), asked if broken else threshold,
        "ask the method for t (shoal generalize -t), or take a larger k", promised=broken,
    )  # fmt: skip


def _without_confidential(case: Case, check: str) -> Finding:
    """Not measured: fine only where the publisher states that no column is confidential."""
    if case.asked.roles.no_confidential:
        return case.judged(check, False, "the publisher states that no column is confidential")
    if check not in case.policy.blocks:
        return case.judged(check, False, "not measured: no confidential column is named")
    return case.unmeasured(
        check, "no confidential column is named",
        "name the confidential columns (--confidential), or state that there is none (--no-confidential)",
    )  # fmt: skip
