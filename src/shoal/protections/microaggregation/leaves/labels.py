"""Ordinal and nominal columns of many files: one code per value, whichever file it is in.

Each file has codes of its own. The driver joins the values of all files in the order that one file with all records
would have, and every code is replaced before the first use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Indices
from shoal.errors import InputError
from shoal.table.kinds import CODES, Labels
from shoal.table.table import Table


@dataclass(frozen=True, eq=False)
class Values:
    """The values of one column in all files.

    Attributes:
        kind: ordinal or nominal.
        texts: The text of each code; None for missing values.
        stored: The stored value of each code, in one type.
        present: Whether any record has the code.
    """

    kind: str
    texts: tuple[str | None, ...]
    stored: pl.Series
    present: tuple[bool, ...]

    @property
    def count(self) -> int:
        return len(self.texts)

    def series(self, name: str, codes: Indices, used: Sequence[int]) -> pl.Series:
        """Return a column with these codes. An Enum has only the categories that a group of any file has."""
        made = self.stored.gather(codes).alias(name)
        if isinstance(made.dtype, pl.Enum):
            kept = self.stored.gather(list(used)).drop_nulls().cast(pl.String).to_list()
            return made.cast(pl.Enum([text for text in made.dtype.categories if text in set(kept)]))
        return made


def staged_values(table: Table, labels: Labels) -> pl.DataFrame:
    """Return the values of a column in one file: the text, the stored value and the number of records of each code."""
    native = table[labels.name].series.to_polars()
    present = labels.rows >= 0
    stored = native.gather(np.where(present, labels.rows, 0)).alias("stored")
    stored = stored.set(pl.Series(~present), None) if not present.all() else stored
    counts = np.bincount(labels.codes, minlength=len(labels.texts))
    return pl.DataFrame([pl.Series("text", labels.texts, dtype=pl.String), stored, pl.Series("records", counts)])


def joined(
    name: str, kind: str, frames: Sequence[pl.DataFrame], files: Sequence[str], order: Mapping[str, Any], is_text: bool
) -> tuple[Values, list[Indices]]:
    """Return the values of a column in all files, and for each file the new code of each of its own.

    Args:
        frames: What `staged_values` returned for each file.
        order: The orders that the roles name.
        is_text: Whether the files are text files, in which a column may look like numbers in some files only.
    """
    frames = _in_one_type(name, frames, files, is_text)
    whole = pl.concat(frames)
    if kind == "ordinal" and list(order.get(name, ())) not in ([], [CODES]):
        texts: list[str | None] = frames[0]["text"].to_list()
    elif kind == "ordinal" and not whole["stored"].dtype.is_numeric():
        texts = frames[0]["text"].to_list()
        for file, frame in zip(files, frames, strict=True):
            if frame["text"].to_list() != texts:
                raise InputError(
                    f"The categories of the column {name!r} in {file} are not those in {files[0]}, or have another "
                    f"order. State the order with --order {name}=… (lowest first)."
                )
    else:
        distinct = whole.unique("text").drop_nulls("text")
        key = "stored" if whole["stored"].dtype.is_numeric() else "text"
        texts = distinct.sort(key)["text"].to_list()
        texts += [None] if whole["text"].null_count() else []
    place = {text: code for code, text in enumerate(texts)}
    maps = [np.array([place[text] for text in frame["text"]], dtype=np.int32) for frame in frames]
    records = np.zeros(len(texts), dtype=np.int64)
    for codes, frame in zip(maps, frames, strict=True):
        np.add.at(records, codes, frame["records"].to_numpy())
    first = whole.filter(pl.col("records") > 0).unique("text", keep="first", maintain_order=True)
    row_of = {text: row for row, text in enumerate(first["text"])}
    stored = first["stored"].gather(pl.Series([row_of.get(text) for text in texts], dtype=pl.UInt32))
    return Values(kind, tuple(texts), stored, tuple((records > 0).tolist())), maps


def _in_one_type(
    name: str, frames: Sequence[pl.DataFrame], files: Sequence[str], is_text: bool
) -> Sequence[pl.DataFrame]:
    types = [frame["stored"].dtype for frame in frames]
    if all(isinstance(kind, pl.Categorical) for kind in types) or len(set(types)) == 1:
        return frames
    if is_text:
        return [frame.with_columns(stored=pl.col("text")) for frame in frames]
    if all(kind.is_integer() for kind in types):
        return [frame.with_columns(pl.col("stored").cast(pl.Int64)) for frame in frames]
    other = next(i for i, kind in enumerate(types) if kind != types[0])
    raise InputError(
        f"The column {name!r} has the type {types[other]} in {files[other]} and the type {types[0]} in {files[0]}. "
        "Convert it to one type in all files."
    )
