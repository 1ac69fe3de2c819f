"""Changed labels and ranks of many files: how an intruder who knows the originals compares them (`shoal.gate.figures`).

Each file has its distinct values; together they tell for each column whether it must agree exactly, is compared by
ranks, or costs 2/G for another label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.gate.cells import comparable, is_number
from shoal.gate.context import CheckContext

MISSING = "\x00"  # stands for a missing cell
OLD, NEW = 0, 1


def values_of_file(
    context: CheckContext, keys: pl.DataFrame, names: Sequence[str], key_names: Sequence[str]
) -> pl.DataFrame:
    """Return the distinct original and released values of these columns in one file.

    Args:
        keys: The canonical cells.
        names: The columns.
        key_names: Their names in `keys`.

    Returns:
        For an original value: its records, its rank, and its only released value, or none if there are several. For a
        released value: its canonical cell, and whether a record that is not suppressed has it.
    """
    parts = []
    for name, key_name in zip(names, key_names, strict=True):
        before, after = context.before[name], context.after[name]
        order = order_of(context, name)
        frame = pl.DataFrame(
            {
                "old": as_text(before, is_number(after)),
                "new": as_text(after, True),
                "old_rank": ranks(before, order),
                "new_rank": ranks(after, order),
                "key": keys[key_name].cast(pl.String).fill_null(MISSING),
                "kept": ~context.starred(name),
            }
        )
        kept = pl.col("new").filter("kept")
        old = frame.group_by(text="old").agg(
            pl.len().cast(pl.Int64).alias("records"), pl.col("old_rank").first().alias("rank"),
            pl.when(kept.n_unique() == 1).then(kept.first()).alias("only"),
            (kept.n_unique() > 1).alias("several"),
        )  # fmt: skip
        new = frame.group_by(text="new").agg(
            pl.len().cast(pl.Int64).alias("records"), pl.col("new_rank").first().alias("rank"),
            pl.col("key").first().alias("only"), pl.col("kept").any().alias("several"),
        )  # fmt: skip
        for what, part in ((OLD, old), (NEW, new)):
            parts.append(part.select(pl.lit(name).alias("column"), pl.lit(what).alias("what"), pl.all()))
    return pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)


SCHEMA = {
    "column": pl.String, "what": pl.Int32, "text": pl.String, "records": pl.Int64, "rank": pl.Float64,
    "only": pl.String, "several": pl.Boolean,
}  # fmt: skip


def has_labels(context: CheckContext, name: str) -> bool:
    """Whether a protected column is compared by labels or ranks, not as numbers."""
    before, after = context.before[name], context.after[name]
    if not (is_number(before) and is_number(after)) or name in context.guarantees.roles.nominal:
        return True
    order = order_of(context, name)
    return order is not None and not any(
        (ranks(column, order).null_count() > column.null_count()) for column in (before, after)
    )


def order_of(context: CheckContext, name: str) -> tuple[str, ...] | None:
    """Return the order of an ordinal column, lowest first."""
    order = context.guarantees.roles.order.get(name)
    dtype = context.before[name].dtype
    return tuple(dtype.categories) if order is None and isinstance(dtype, pl.Enum) else order


def ranks(column: pl.Series, order: Sequence[str] | None) -> pl.Series:
    """Return the ranks of the cells; null for a value that the order does not list."""
    if order is None:
        return pl.Series([None] * column.len(), dtype=pl.Float64)
    rank_of = {value: float(i) for i, value in enumerate(order)}
    text = column.cast(pl.String)
    return text.replace_strict(list(rank_of), list(rank_of.values()), default=None, return_dtype=pl.Float64)


def as_text(column: pl.Series, other_is_number: bool) -> pl.Series:
    """Return cells as text, so that equal values before and after are equal."""
    plain = column if is_number(column) and not other_is_number else comparable(column)
    return plain.cast(pl.String, strict=False).fill_null(MISSING)


@dataclass(frozen=True, eq=False)
class Ranked:
    """A column that is compared by ranks: the rank of each canonical cell, and of each original, in deviations."""

    of_key: Mapping[str, float]
    of_text: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Labelled:
    """A column whose labels cost something if they differ: the code of each canonical cell, and of each original."""

    of_key: Mapping[str, int]
    of_text: Mapping[str, int]
    cost: float

    @property
    def count(self) -> int:
        return 1 + max((*self.of_key.values(), *self.of_text.values()), default=0)


def compared(frames: Sequence[pl.DataFrame]) -> dict[str, Ranked | Labelled]:
    """Return how the changed columns are compared; a column that is not there must agree exactly."""
    whole = pl.concat(frames)
    made: dict[str, Ranked | Labelled] = {}
    for name in whole["column"].unique(maintain_order=True):
        of_column = whole.filter(pl.col("column") == name)
        old, new = (of_column.filter(pl.col("what") == what) for what in (OLD, NEW))
        by_old = old.group_by("text").agg(
            pl.col("records").sum(), pl.col("rank").first(),
            pl.col("only").drop_nulls().unique().alias("released"), pl.col("several").any(),
        ).sort("text")  # fmt: skip
        released = [part for part in by_old["released"].to_list() if part]
        is_function = not bool(by_old["several"].any()) and all(len(part) == 1 for part in released)
        pairs = zip(by_old["text"], by_old["released"].to_list(), strict=True)
        if is_function and set(new["text"]) <= set(old["text"]) and all(new_ in ([], [text]) for text, new_ in pairs):
            continue  # nothing has changed
        texts = [*by_old["text"], *sorted(set(new["text"]) - set(by_old["text"]))]
        key_of = dict(zip(new["only"], new["text"], strict=True))
        rank_of = dict(zip([*old["text"], *new["text"]], [*old["rank"], *new["rank"]], strict=True))
        if all(rank_of[text] is not None or text == MISSING for text in texts):
            made[name] = _ranked(by_old, key_of, rank_of)
            continue
        kept = new.filter("several")["text"]
        if is_function or not set(kept) <= set(old["text"]):
            continue  # the intruder can derive the category of a value
        code = {text: place for place, text in enumerate(texts)}
        share = by_old["records"].to_numpy() / by_old["records"].sum()
        cost = 2.0 / max(float((share * (1 - share)).sum()), 1e-12)
        made[name] = Labelled({key: code[text] for key, text in key_of.items()}, code, cost)
    return made


def _ranked(by_old: pl.DataFrame, key_of: Mapping[str, str], rank_of: Mapping[str, float | None]) -> Ranked:
    """Return the ranks in units of the standard deviation of the originals; a missing cell counts as rank 0."""
    present = by_old.filter(pl.col("rank").is_not_null())
    values, counts = present["rank"].to_numpy(), present["records"].to_numpy()
    mean = float(np.average(values, weights=counts))
    deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
    unit = deviation if deviation > 0 else 1.0
    of_text = {text: (rank or 0.0) / unit for text, rank in rank_of.items()}
    return Ranked({key: of_text[text] for key, text in key_of.items()}, of_text)


def originals_of(column: pl.Series, how: Ranked | Labelled) -> NDArray[Any]:
    """Return the original cells of people as ranks or codes."""
    text = as_text(column, True)
    if not set(text.unique()) <= set(how.of_text):
        text = as_text(column, False)  # numbers that became labels
    dtype = pl.Float64 if isinstance(how, Ranked) else pl.Int64
    return np.asarray(text.replace_strict(list(how.of_text), list(how.of_text.values()), return_dtype=dtype))


def coordinates(cells: pl.Series, of_key: Mapping[str, float]) -> Floats:
    """Return the rank of each canonical cell."""
    return np.asarray(_looked_up(cells, of_key, pl.Float64), dtype=np.float64)


def codes(cells: pl.Series, of_key: Mapping[str, int]) -> Ints:
    """Return the code of each canonical cell."""
    return np.asarray(_looked_up(cells, of_key, pl.Int64), dtype=np.int64)


def _looked_up(cells: pl.Series, of_key: Mapping[str, float], dtype: type[pl.DataType]) -> pl.Series:
    text = cells.cast(pl.String).fill_null(MISSING)
    return text.replace_strict(list(of_key), list(of_key.values()), return_dtype=dtype)
