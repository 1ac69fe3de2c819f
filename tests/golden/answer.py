"""What of a release is golden: a hash of the protected columns' values, and the facts that say what changed.

Numbers count as float64, least significant byte first and with the sign of zero; all else as text in UTF-8. The type
of the frame and of its columns does not count, so that every kind of frame and of file has the same hash.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl


def answer_of(frame: Any, columns: Sequence[str], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The golden entry of a protected frame: floats by their `repr`, lists and tables of facts by a hash."""
    return {"values": values_hash(frame, columns), **{name: _fact(value) for name, value in facts.items()}}


def values_hash(frame: Any, columns: Sequence[str]) -> str:
    """The SHA-256 of the columns' names and values.

    >>> values_hash(pl.DataFrame({"a": [0.0]}), ["a"]) == values_hash(pl.DataFrame({"a": [-0.0]}), ["a"])
    False
    >>> values_hash(pl.DataFrame({"a": [1, 2]}), ["a"]) == values_hash(pl.DataFrame({"a": [1.0, 2.0]}), ["a"])
    True
    """
    data = nw.from_native(frame, eager_only=True)
    digest = hashlib.sha256()
    for name in columns:
        for part in (name.encode(), *_bytes(data[name])):
            digest.update(len(part).to_bytes(8, "little") + part)  # the length first: no two columns run together
    return digest.hexdigest()


def read_back(path: Path) -> pl.DataFrame:
    """What polars reads from a written file."""
    name = path.name
    if name.endswith(".parquet"):
        return pl.read_parquet(path)
    if name.endswith((".arrow", ".feather")):
        return pl.read_ipc(path)
    text = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    return pl.read_csv(text, separator="\t" if ".tsv" in name else ",")


def _bytes(series: nw.Series[Any]) -> Iterator[bytes]:
    if series.dtype.is_numeric():
        if series.is_null().any():
            raise ValueError(f"the protected column {series.name!r} has missing values")
        yield np.ascontiguousarray(series.to_numpy(), dtype="<f8").tobytes()
    else:
        yield from (b"missing" if value is None else b"=" + str(value).encode() for value in series.to_list())


def _fact(value: Any) -> Any:
    if isinstance(value, list | dict):
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
    return repr(float(value)) if isinstance(value, float) else value
