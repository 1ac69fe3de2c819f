"""Whether values only changed places.

Each combination of values in the columns must occur as often as in the original. If the swapped pairs of rows are
known, each row is compared: a swapped row must hold its partner's values, and every other row its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.arrays import Bools, Ints
from shoal.errors import counted
from shoal.gate.cells import codes, comparable, differing, is_number
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding
from shoal.gate.promises import SameValues, Step

PROMISE = SameValues


def check(context: CheckContext) -> Finding:
    """Each value of the swapped columns, and each combination that moves together, occurs as often as before."""
    promises = context.guarantees.of(SameValues, every_step=True)
    names = list(dict.fromkeys(name for promise in promises for name in promise.columns))
    problems = [text for promise in promises for text in _changed_values(context, promise.columns)]
    text = f"each value of {', '.join(names)} occurs as often as in the original"
    swaps = _known_swaps(context, promises) if not problems else None
    if swaps is not None:
        problems = [text for name in names for text in _wrong_rows(context, name, swaps[name])]
        rows = {row for pairs in swaps.values() for row in pairs.ravel().tolist()}
        text += f", and of the rows only the {len(rows):,} swapped ones changed, to their partners' values"
    return context.make_finding(
        "swapped", bool(problems), "; ".join(problems) or text, len(problems), 0,
        "write the release again: values may only be exchanged between the swapped records", promised=True,
    )  # fmt: skip


def _changed_values(context: CheckContext, columns: tuple[str, ...]) -> list[str]:
    """Values or combinations of values that do not occur as often as in the original."""
    released = [name for name in columns if name in context.after.columns]
    if not released or context.before.height != context.rows:
        return []
    problems = [
        f"{name!r} has other values than the original, or has them more often"
        for name in released
        if _differs(context, name)
    ]
    if problems or len(released) == 1:
        return problems
    # Codes over both tables, so that equal values have equal codes.
    both = [codes(pl.concat(_as_same_type(context, name))) for name in released]
    half = context.rows
    if (_sorted_rows(both, slice(None, half)) != _sorted_rows(both, slice(half, None))).any():
        return [f"the values of {', '.join(released)} did not change places together"]
    return []


def _differs(context: CheckContext, name: str) -> bool:
    one, two = (
        column if is_number(column) else comparable(column) for column in (context.before[name], context.after[name])
    )
    return bool(_unequal(context, one.sort(), two.sort()).any())


def _unequal(context: CheckContext, one: pl.Series, two: pl.Series) -> Bools:
    return differing(one, two, blanks=context.written.blanks, tolerance=context.written.tolerance)


def _as_same_type(context: CheckContext, name: str) -> list[pl.Series]:
    """The column before and after as the same type."""
    one, two = comparable(context.before[name]), comparable(context.after[name])
    if one.dtype == two.dtype:
        return [one, two]
    kind = pl.Float64 if is_number(one) and is_number(two) else pl.String
    return [one.cast(kind), two.cast(kind)]


def _sorted_rows(columns: list[Ints], rows: slice) -> Ints:
    chosen = np.column_stack([column[rows] for column in columns])
    return chosen[np.lexsort(chosen.T[::-1])]


def _known_swaps(context: CheckContext, promises: Sequence[SameValues]) -> dict[str, Ints] | None:
    """The swapped pairs of each column as positions in the file, in the order of the steps; None if not all are known.

    Two steps may swap the same column: the pairs of the second exchange what the first left.
    """
    if context.row_numbers is None or not context.aligned:
        return None
    order = np.argsort(context.row_numbers)
    ranked = context.row_numbers[order]
    swaps: dict[str, list[Ints]] = {}
    for promise in sorted(promises, key=lambda promise: promise.step or Step(0, "")):
        if promise.swaps is None:
            return None
        pairs = np.array(promise.swaps, dtype=np.int64).reshape(-1, 2)
        places = order[np.searchsorted(ranked, pairs).clip(max=ranked.size - 1)] if ranked.size else pairs[:0]
        if pairs.size and (context.row_numbers[places] != pairs).any():
            return None  # a later step left out a swapped row
        for name in promise.columns:
            swaps.setdefault(name, []).append(places)
    return {name: np.concatenate(parts) for name, parts in swaps.items()}


def _wrong_rows(context: CheckContext, name: str, swaps: Ints) -> list[str]:
    """Rows that do not hold the value which the swaps give them."""
    if name not in context.after.columns or context.row_numbers is None:
        return []
    source = np.arange(context.rows)
    for one, two in swaps:
        source[[one, two]] = source[[two, one]]
    wrong = _unequal(context, context.before[name].gather(source), context.after[name])
    if not wrong.any():
        return []
    first = int(context.row_numbers[int(wrong.argmax())])
    return [
        f"{counted(int(wrong.sum()), 'row')} of {name!r} differ from the list of swaps, the first of them is row "
        f"{first:,} of the original"
    ]
