"""Files as two other programs see them: pandas and DuckDB, by their defaults, as text and as values.

`check_no_finer` counts on what they see: records with equal protected values must be equal to every reader.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
from pyarrow import feather

Rows = list[tuple[Any, ...]]

TEXT_FILES = ("csv", "tsv", "txt")
ARROW_FILES = ("arrow", "feather", "ipc")
MOST_RECORDS = 2_000  # larger files are not read again: they differ in size alone


def sights(
    path: Path, columns: Sequence[str], delimiter: str = ",", encoding: str = "utf-8"
) -> Iterator[tuple[str, Rows]]:
    """The records of a file over some columns, as each reader sees them: as text, and as values."""
    ending = path.name.lower().removesuffix(".gz").rsplit(".", 1)[1]
    if ending in TEXT_FILES:
        yield from _sights_of_text(path, list(columns), delimiter, encoding)
    elif ending in ("parquet", "pq", *ARROW_FILES):
        yield from _sights_of_columns(path, list(columns), ending)
    elif ending in ("sav", "zsav", "dta"):  # DuckDB reads none of these
        for words in (True, False):
            # pandas refuses labels that two codes share
            with contextlib.suppress(ValueError):
                frame = pd.read_stata(path, convert_categoricals=words) if ending == "dta" else _spss(path, words)
                yield f"pandas, {'labels' if words else 'values'}", cells(frame[list(columns)])
                yield f"pandas, {'labels' if words else 'values'} as text", cells(frame[list(columns)].astype(str))


def cells(frame: pd.DataFrame) -> Rows:
    """Rows as tuples; what is missing is None, and cells that cannot be counted are text."""
    return plain(frame.itertuples(index=False, name=None))


def plain(rows: Iterable[Iterable[Any]]) -> Rows:
    return [tuple(map(_plain, row)) for row in rows]


def smallest(rows: Iterable[tuple[Any, ...]]) -> int:
    return min(Counter(rows).values())


def check_no_finer(
    path: Path, frame: pl.DataFrame, columns: Sequence[str], delimiter: str = ",", encoding: str = "utf-8"
) -> None:
    """Every reader sees every record, and no difference between records whose values are equal in `frame`."""
    own = plain(pl.DataFrame([frame.get_column(name) for name in columns]).iter_rows())
    for reader, rows in sights(path, columns, delimiter, encoding):
        assert len(rows) == len(own), (reader, path.name)
        seen: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for value, sight in zip(own, rows, strict=True):
            assert seen.setdefault(value, sight) == sight, (reader, path.name, value, sight)


def _plain(cell: Any) -> Any:
    if isinstance(cell, (list, dict)) or type(cell).__name__ == "ndarray":
        return repr(cell)
    if cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
        return None
    return cell


def _spss(path: Path, words: bool) -> pd.DataFrame:
    return pd.read_spss(path, convert_categoricals=words)


def _sights_of_text(path: Path, columns: list[str], delimiter: str, encoding: str) -> Iterator[tuple[str, Rows]]:
    options: dict[str, Any] = {"sep": delimiter, "encoding": encoding}
    frame = pd.read_csv(path, **options)
    yield "pandas, values", cells(frame[columns])
    yield "pandas, text", cells(pd.read_csv(path, **options, dtype=str, keep_default_na=False)[columns])
    if encoding.startswith("utf-8"):  # DuckDB reads no other encoding by default
        for form, options in (("values", {}), ("text", {"all_varchar": True})):
            with contextlib.suppress(duckdb.Error):  # a file that DuckDB cannot read shows it nothing
                yield f"DuckDB, {form}", _duckdb_rows(path, list(frame.columns), columns, delimiter, **options)


def _duckdb_rows(path: Path, header: list[str], columns: list[str], delimiter: str, **options: Any) -> Rows:
    """With DuckDB's defaults; where it does not find the header or the delimiter by itself, it is given them.

    The quote is always given: a few cells that hold one apostrophe are enough for DuckDB to take it for the quote of
    the file, and then it joins all records between two of them.
    """
    options |= {"quotechar": '"', "escapechar": '"'}
    try:
        found = duckdb.read_csv(_one_file(path), **options)
        if found.columns[:1] == header[:1] and len(found.columns) == len(header):
            return plain(_chosen(found, header, columns).fetchall())
    except duckdb.Error:
        pass
    found = duckdb.read_csv(_one_file(path), header=True, sep=delimiter, **options)
    return plain(_chosen(found, header, columns).fetchall())


def _sights_of_columns(path: Path, columns: list[str], ending: str) -> Iterator[tuple[str, Rows]]:
    is_arrow = ending in ARROW_FILES
    frame = pd.read_feather(path) if is_arrow else pd.read_parquet(path)
    yield "pandas, values", cells(frame[columns])
    with contextlib.suppress(UnicodeDecodeError):  # bytes that are not text
        yield "pandas, text", cells(frame[columns].astype(str))
    found = duckdb.from_arrow(feather.read_table(path)) if is_arrow else duckdb.read_parquet(_one_file(path))
    header = list(frame.columns)
    yield "DuckDB, values", plain(_chosen(found, header, columns).fetchall())
    yield "DuckDB, text", plain(_chosen(found, header, columns, "cast({} as varchar)").fetchall())


def _one_file(path: Path) -> str:
    """The path without signs that DuckDB takes for a pattern."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path))


def _chosen(
    found: duckdb.DuckDBPyRelation, header: list[str], columns: list[str], form: str = "{}"
) -> duckdb.DuckDBPyRelation:
    """Columns by their places: to DuckDB, 'x' and 'X' are one name."""
    return found.project(", ".join(form.format(f"#{header.index(name) + 1}") for name in columns))
