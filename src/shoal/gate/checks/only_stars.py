"""Whether every cell of the suppressed columns has its original value or a star.

A column with stars is text in the release. Each of its other cells must name the original value: the same text, number
or date, or the value's label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Bools
from shoal.errors import counted
from shoal.gate.cells import TEXT, comparable, differing
from shoal.gate.context import STAR, CheckContext
from shoal.gate.findings import Finding
from shoal.gate.promises import OnlyStars

PROMISE = OnlyStars


def check(context: CheckContext) -> Finding:
    """No cell of the suppressed columns has a value that is not the record's own."""
    promises = context.guarantees.of(OnlyStars, every_step=True)
    names = list(dict.fromkeys(name for promise in promises for name in promise.columns))
    released = [name for name in names if name in context.after.columns and name in context.before.columns]
    promised = any(promise.promised for promise in promises)
    if not context.aligned:
        return _unaligned(context, released, promised)
    wrong = {name: wrong_cells(context, name) for name in released}
    problems = [
        f"{name!r} has {counted(int(cells.sum()), 'cell')} with another value, the first in row "
        f"{int(cells.argmax()) + 1}"
        for name, cells in wrong.items()
        if cells.any()
    ]
    text = "; ".join(problems) or "every protected cell has its original value or a star"
    number = int(sum(cells.sum() for cells in wrong.values()))
    return context.make_finding(
        "only-stars", bool(problems), text, number, 0,
        "write the release again: cells may only be starred", promised=promised,
    )  # fmt: skip


def _unaligned(context: CheckContext, names: list[str], promised: bool) -> Finding:
    """Without the order of the rows, each value must occur at most as often as in the original."""
    problems = []
    for name in names:
        before, after = _named(context.before[name], context.labels.get(name, {})), _texts(context.after[name])
        counts = [column.drop_nulls().filter(column.drop_nulls() != STAR).value_counts() for column in (before, after)]
        joined = counts[1].rename({counts[1].columns[0]: "v", "count": "new"}).join(
            counts[0].rename({counts[0].columns[0]: "v", "count": "old"}), on="v", how="left"
        )  # fmt: skip
        if (joined["new"] > joined["old"].fill_null(0)).any():
            problems.append(f"{name!r} has a value more often than the original")
    text = "; ".join(problems) or "no protected value occurs more often than in the original"
    return context.make_finding(
        "only-stars", bool(problems), text, len(problems), 0,
        "write the release again: cells may only be starred", promised=promised,
    )  # fmt: skip


def wrong_cells(context: CheckContext, name: str) -> Bools:
    """Return the cells of a column that have neither their original value nor a star."""
    before, after = context.before[name], context.after[name]
    if after.dtype not in TEXT or before.dtype in TEXT:
        stars = context.starred(name) if after.dtype in TEXT else np.zeros(after.len(), dtype=bool)
        precision: dict[str, Any] = {"blanks": context.written.blanks, "tolerance": context.written.tolerance}
        if before.dtype in TEXT and after.dtype in TEXT:  # in a text file, an empty text is a missing one
            before, after = (column.cast(pl.String).fill_null("") for column in (before, after))
        return differing(before, after, signed_zero=False, **precision) & ~stars
    pairs = pl.DataFrame([comparable(before).rename("old"), _texts(after).rename("new")])
    held = pl.DataFrame([before.rename("value")]).with_columns(pairs["new"], pairs["old"])
    distinct = held.unique(["old", "new"], maintain_order=True)
    labels = context.labels.get(name, {})
    right = [
        text == STAR or _is_same(value, text, labels)
        for value, text in zip(distinct["value"].to_list(), distinct["new"].to_list(), strict=True)
    ]
    verdict = distinct.select("old", "new").with_columns(pl.Series("right", right, dtype=pl.Boolean))
    joined = pairs.join(verdict, on=["old", "new"], how="left", nulls_equal=True, maintain_order="left")
    return ~np.asarray(joined["right"].to_numpy(), dtype=bool)


def _texts(column: pl.Series) -> pl.Series:
    return column.cast(pl.String)


def _named(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """Return a column as the texts that a release with stars would have."""
    values = [None if value is None else _text_of(value, labels) for value in column.to_list()]
    return pl.Series("v", values, dtype=pl.String)


def _text_of(value: Any, labels: Mapping[Any, str]) -> str:
    if value in labels:
        return labels[value]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _is_same(value: Any, text: str | None, labels: Mapping[Any, str]) -> bool:
    """Return whether a text names an original value."""
    is_missing = value is None or (isinstance(value, float) and np.isnan(value))
    if is_missing or text is None or text == "":
        return is_missing and not text
    if value in labels:
        return text in (labels[value], f"{labels[value]} ({_text_of(value, {})})")
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, int | float) or hasattr(value, "as_tuple"):  # the last is a decimal number
        try:
            return int(text) == value if isinstance(value, int) else float(text) == float(value)
        except ValueError:
            return False
    return text in (str(value), getattr(value, "isoformat", lambda: "")())
