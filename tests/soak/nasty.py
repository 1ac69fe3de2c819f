"""Tables as nobody should send them, for the driver of random commands: odd names, odd values, every format.

Everything is drawn from one `random.Random`, so that the number of a case repeats it.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

NAMES = (
    "age", "income", "sex", "town", "x", "x ", "X", "1", "Größe", "年", "a,b", 'say "hi"', "[/b]", "[bold]", "q[1]",
    "q*", "^x$", "\x1b[31mred", "two\nlines", "tab\there", "<i id=shoal>", "&amp;", "it's", "=1+1", "-k", "--quasi",
    "a=b", "a;b", "{x}", "%s", "\\n", "null", "\u202egnp", "e\u0301", "é", "name", "id", "*", ".", "a" * 90,
)  # fmt: skip
PLAIN = ("age", "income", "sex", "town", "x", "y", "size", "name", "id", "weight2")
TEXTS = (
    "a", "b", "c", "d", "", " ", "x,y", 'say "hi"', "two\nlines", "=1+1", "-5", "007", "é", "*", "NA", "north; south",
    "a | b", "\t", "'", "NaN", "inf", "true", "2020-01-31", "[1, 2)", "1.0", "1.00", "1e0", "+1", "\x1b[0m",
)  # fmt: skip
ENDINGS = ("csv", "csv", "csv", "csv", "tsv", "csv.gz", "parquet", "parquet", "arrow", "sav", "dta")
TEXT_ENDINGS = ("csv", "tsv", "csv.gz")
DELIMITERS = (",", ";", "\t", "|")


@dataclass
class Nasty:
    """A table in a file, and what a test needs to know of it. cells: the texts of a text file, row by row."""

    path: Path
    ending: str
    frame: pl.DataFrame
    encoding: str = "utf-8"
    delimiter: str = ","
    cells: list[list[str]] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return self.frame.columns

    @property
    def rows(self) -> int:
        return self.frame.height


def make(draw: random.Random, folder: Path) -> Nasty:
    """A table in a new file."""
    ending = draw.choice(ENDINGS)
    plain = ending in ("sav", "dta") or draw.random() < 0.5
    rows = draw.choice((1, 2, 3, 5)) if draw.random() < 0.1 else draw.randint(10, 60)
    names = draw.sample(PLAIN if plain else NAMES, draw.randint(1, 6))
    distinct = draw.randint(1, rows) if draw.random() < 0.2 else rows  # fewer: some records are there twice
    calm = draw.random() < 0.5  # half of the tables hold only values that a method can use
    columns = [_column(draw, name, distinct, ending, calm) for name in names]
    frame = pl.DataFrame(columns)[[draw.randrange(distinct) if distinct < rows else i for i in range(rows)]]
    stem = draw.choice(("in", "in", "in", "d[1]", "s*", "with blank", "[b]x"))
    path = folder / f"{stem}.{ending}"
    return _written(draw, frame, path, ending)


def _column(draw: random.Random, name: str, n: int, ending: str, calm: bool) -> pl.Series:
    kinds = ["whole", "whole", "number", "number", "code", "label", "label", "bool", "constant", "rounded"]
    if not calm:
        kinds += ["offset", "huge", "tiny", "special", "text", "text", "date", "unique text", "missing", "big int"]
        if ending in ("parquet", "arrow"):
            kinds += ["typed", "typed", "typed"]
    kind = draw.choice(kinds)
    values = [_value(draw, kind, i) for i in range(n)]
    share = draw.choice([0.05, 0.3, 1.0]) if not calm and draw.random() < 0.15 else 0.0
    values = [None if draw.random() < share else value for value in values]
    if kind == "typed":
        return _typed(draw, "typed", n).rename(name)  # polars takes ^x$ for a pattern
    if kind == "label" and ending == "parquet" and draw.random() < 0.3:
        return pl.Series(name, values, dtype=pl.Enum([*"abcdefgh", "nobody"]))
    try:
        return pl.Series(name, values)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [None if value is None else str(value) for value in values])


def _value(draw: random.Random, kind: str, i: int) -> Any:
    match kind:
        case "whole":
            return draw.randint(18, 90)
        case "number":
            return draw.gauss(0, 1)
        case "rounded":
            return round(draw.lognormvariate(3, 1), 1)
        case "code":
            return draw.randint(1, 4)
        case "label":
            return draw.choice("abcd")
        case "bool":
            return draw.random() < 0.5
        case "constant":
            return 7
        case "offset":
            return 1e9 + draw.random()
        case "huge":
            return draw.choice([1e300, -1e300, 1.7e308, 0.0, 1e-300])
        case "tiny":
            return draw.choice([5e-324, -0.0, 0.0, 1e-310])
        case "special":
            return draw.choice([1.5, 2.5, 3.5, float("nan"), float("inf"), -float("inf")])
        case "text":
            return draw.choice(TEXTS)
        case "date":
            return datetime.date(2000, 1, 1) + datetime.timedelta(draw.randint(-40000, 9))
        case "unique text":
            return f"person {i}"
        case "big int":
            return draw.choice([2**53, 2**53 + 1, 2**62, -(2**62), 0])
        case _:
            return None


def _typed(draw: random.Random, name: str, n: int) -> pl.Series:
    """A column of a type that only Parquet and Arrow have."""
    whole = pl.Series(name, [draw.randint(0, 100) for _ in range(n)])
    moment = pl.Series([datetime.datetime(2000, 10, 29, 1, 30) + datetime.timedelta(hours=int(v)) for v in whole])
    moment = moment.alias(name)
    kind = draw.randrange(12)
    match kind:
        case 0:
            return whole.cast(pl.UInt64) + 2**63
        case 1:
            return whole.cast(pl.Float32)
        case 2:
            return moment.cast(pl.Datetime("ns"))
        case 3:
            return moment.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
        case 4:
            return moment.dt.time()
        case 5:
            return whole.cast(pl.Duration("ms"))
        case 6:
            return pl.Series(name, [[v, v + 1] for v in whole])
        case 7:
            return pl.Series(name, [{"a": v, "b": None} for v in whole])
        case 8:
            return pl.Series(name, [b"\x00\xff" * (v % 3) for v in whole])
        case 9:
            return pl.Series(name, [None] * n, dtype=pl.Null)
        case 10:
            return pl.Series(name, [decimal.Decimal(v) / 8 for v in whole])
        case _:
            return whole.cast(pl.Int8)


def _written(draw: random.Random, frame: pl.DataFrame, path: Path, ending: str) -> Nasty:
    if ending == "parquet":
        frame.write_parquet(path)
    elif ending == "arrow":
        frame.write_ipc(path, compression="uncompressed")
    elif ending in ("sav", "dta"):
        frame = _labelled(draw, frame, path, ending)
    else:
        return _text(draw, frame, path, ending)
    return Nasty(path, ending, frame)


def _labelled(draw: random.Random, frame: pl.DataFrame, path: Path, ending: str) -> pl.DataFrame:
    """SPSS and Stata: value labels on some codes, labels of columns."""
    import pyreadstat

    plain = [
        frame[name].cast(pl.String) if frame[name].dtype in (pl.Date, pl.Null) else frame[name]
        for name in frame.columns
    ]
    frame = pl.DataFrame([c.cast(pl.Int64) if c.dtype == pl.Boolean else c for c in plain])
    if ending == "dta":  # Stata's numbers end at 8.9e307
        frame = frame.with_columns(pl.col(pl.Float64).clip(-8e307, 8e307))
    labels = {
        c.name: {1: "one", 2: "two", 3: "[/b]"}
        for c in frame
        if c.dtype == pl.Int64 and (c.max() or 0) < 5 and draw.random() < 0.5  # type: ignore[operator]
    }
    heads = [f"about <{name}>" for name in frame.columns]
    write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
    write(frame.to_pandas(), str(path), column_labels=heads, variable_value_labels=labels)
    return frame


def _text(draw: random.Random, frame: pl.DataFrame, path: Path, ending: str) -> Nasty:
    """Text: any delimiter, decimal sign, quoting, line end and encoding; numbers in several spellings."""
    delimiter = "\t" if ending == "tsv" else draw.choice([",", ",", ",", ";", "|"])
    comma = delimiter == ";" and draw.random() < 0.5
    spelled = draw.random() < 0.15
    rows = [[_cell(draw, value, comma, spelled) for value in row] for row in frame.rows()]
    out = io.StringIO()
    quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    ends = draw.choice(["\n", "\n", "\r\n"])
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=ends)
    writer.writerow(frame.columns)
    writer.writerows(rows)
    text = out.getvalue()
    encodings = [e for e in ("utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16") if _fits(text, e)]
    encoding = draw.choice(encodings)
    raw = text.encode(encoding)
    path.write_bytes(gzip.compress(raw) if ending.endswith("gz") else raw)
    return Nasty(path, ending, frame, encoding, delimiter, rows)


def _cell(draw: random.Random, value: Any, comma: bool, spelled: bool) -> str:
    if value is None:
        return ""
    text = str(value)
    if spelled and isinstance(value, int) and not isinstance(value, bool):
        text = draw.choice([f"{value}", f"{value}.0", f"{value}.00", f"+{value}", f"{value}e0"])
    if comma and isinstance(value, float):
        text = text.replace(".", ",")
    return text


def _fits(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
