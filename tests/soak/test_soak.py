"""Odd tables through every method, option and format: each ends with a verified file or a refusal in plain words.

A short run is part of the tests; `make soak` (SHOAL_SOAK=10000) takes the long one.
"""

from __future__ import annotations

import datetime
import os
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import odd_records
import shoal
from shoal.errors import ShoalError
from shoal.protections.microaggregation import MICROAGGREGATE

CASES = int(os.environ.get("SHOAL_SOAK") or 60)
TEXTS = (
    "a", "b", "", " ", "x,y", 'say "hi"', "two\nlines", "=1+1", "-5", "007", "é", "*",
    "NA", "north; south", "a | b", "\t",
    "'",
)  # fmt: skip
NAMES = ("x", "y", "two words", "a,b", "Größe", "z9", "Id", "1")
KINDS = ("polars", "pandas", "pyarrow", "comma", "semicolon")
ENDINGS = ("csv", "csv", "parquet", "tsv", "arrow", "csv.gz", "sav", "dta", "xpt")
QUICK: dict[str, dict[str, Any]] = {
    "auto": {"effort": "quick"},
    "anneal": {"effort": "quick"},
    "memetic": {"effort": "quick"},
    "blocks": {"effort": "quick"},
    "genetic": {"generations": 20, "population": 20},
    "hybrid": {"generations": 20},
    "exact": {"seconds": 1.0},
}


@st.composite
def tables(draw: Any, plain: bool) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A frame with odd columns, and roles for some of them; with plain names where the format has no others."""
    n = draw(st.integers(1, 40)) if draw(st.integers(0, 9)) == 0 else draw(st.integers(12, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = draw(st.lists(st.sampled_from(["v1", "v2", "v3"] if plain else NAMES), min_size=2, max_size=6, unique=True))
    columns = [column(draw, rng, name, n) for name in names]
    frame = pl.DataFrame(columns)
    quasi = [c.name for c in columns if c.dtype.is_numeric() and draw(st.integers(0, 4))]
    if not quasi or draw(st.integers(0, 9)) == 0:
        quasi = names[:2]
    rest = [name for name in names if name not in quasi]
    roles = {"quasi": quasi}
    for role in ("identifiers", "confidential"):
        if rest and draw(st.booleans()):
            roles[role] = [rest.pop()]
    if draw(st.integers(0, 4)) == 0:
        frame, roles["weight"] = frame.with_columns(pl.Series("weight", rng.uniform(0.5, 2, n))), "weight"
    return frame, roles


def districts(rng: np.random.Generator) -> pl.DataFrame:
    """Records of which a group is concentrated in one district, as group anonymity needs them."""
    n = 160
    where = rng.integers(0, 8, n)
    vital = (rng.random(n) < 0.1) | ((where == 0) & (rng.random(n) < 0.7))
    return pl.DataFrame(
        {"job": vital.astype(int), "where": where, "age": rng.integers(18, 80, n), "name": rng.random(n)}
    )


def column(draw: Any, rng: np.random.Generator, name: str, n: int) -> pl.Series:
    kind = draw(
        st.sampled_from([*odd_records.KINDS, "whole", "small", "single", "text", "bool", "date", "huge", "category"])
    )
    if kind in odd_records.KINDS:
        with np.errstate(all="ignore"):
            made = pl.Series(name, odd_records.make(kind, n, 1, rng)[:, 0])
    elif kind == "huge":
        made = pl.Series(name, rng.choice([1e300, -1e300, 0.0, 1e-300, 5e-324, -0.0], n))
    elif kind == "date":
        made = pl.Series(name, [datetime.date(2000, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 9, n)])
    elif kind in ("text", "category"):
        made = pl.Series(name, rng.choice(TEXTS, n).tolist(), dtype=pl.String)
        made = made if kind == "text" else made.cast(pl.Categorical)
    elif kind == "bool":
        made = pl.Series(name, rng.integers(0, 2, n).astype(bool))
    else:
        dtype = {"whole": pl.Int64, "small": pl.UInt8, "single": pl.Float32}[kind]
        made = pl.Series(name, rng.integers(0, 120, n)).cast(dtype)
    if draw(st.integers(0, 9)) == 0:
        made = made.set(pl.Series(rng.random(n) < 0.2), None) if n > 1 else made
    return made


def native(frame: pl.DataFrame, kind: str, folder: str) -> Any:
    """The same data as another kind of frame, or as a text file."""
    if kind in ("comma", "semicolon"):
        path = Path(folder) / "in.csv"
        frame.write_csv(path, separator="," if kind == "comma" else ";", decimal_comma=kind == "semicolon")
        return path
    return frame.to_pandas() if kind == "pandas" else frame.to_arrow() if kind == "pyarrow" else frame


def protect(draw: Any, method: str, data: Any, k: int, seed: int) -> Any:
    """A release by one of the methods, with some of its options."""
    missing = draw(st.sampled_from(["error", "drop", "median"]))
    if method in MICROAGGREGATE.method_names:
        options = {
            "aggregate": draw(st.sampled_from(["mean", "median"])),
            "round": draw(st.booleans()),
            "scaling": draw(st.sampled_from(["standard", "minmax", "none"])),
            "refine": draw(st.integers(0, 4)) == 0,
        }
        return shoal.microaggregate(
            data, k, method=method, seed=seed, missing=missing, threads=1, **options, **QUICK.get(method, {})
        )
    if method == "group":
        how = draw(st.sampled_from(["memetic", "all", "univariate", "correlated"]))
        more: dict[str, Any] = {"effort": "quick", **({"size": 2} if how == "correlated" else {})}
        more |= {"evaluations": 20} if how == "memetic" else {}
        return shoal.group_attributes(
            data, k, method=how, missing=missing, round=draw(st.booleans()), seed=seed, threads=1, **more
        )
    if method == "generalize":
        how = draw(st.sampled_from(["search", "nsga2"]))
        options = {"effort": "quick"} if how == "search" else {"population": 10, "evaluations": 60}
        if data.roles.confidential and draw(st.booleans()):
            options |= {"l": draw(st.sampled_from([2, ("entropy", 1.2), ("recursive", 3, 2)])), "t": 0.8}
        return shoal.generalize(
            data, k, method=how, suppress=draw(st.sampled_from([0.0, 0.2])), seed=seed,
            missing=draw(st.sampled_from(["category", "drop"])), **options,
        )  # fmt: skip
    columns = data.columns
    return shoal.mask_group(
        data, vital=(columns[0], [1]), parameter=columns[1], influential=columns[2:3] or columns[:1], seed=seed,
        compatibility=0.1, distortion=1.0, budget=20, steps=5,
    )  # fmt: skip


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_verified_file_or_a_clear_refusal(data: Any) -> None:
    draw = data.draw
    ending = draw(st.sampled_from(ENDINGS))
    frame, roles = draw(tables(ending in ("sav", "dta", "xpt")))
    method = draw(
        st.sampled_from(
            [*MICROAGGREGATE.method_names, "group", "group", "generalize", "generalize", "generalize", "mask"]
        )
    )
    k = draw(st.integers(2, 6))
    saving: dict[str, Any] = {"shuffle": draw(st.booleans())}
    if draw(st.integers(0, 3)) == 0:
        saving["policy"] = draw(st.sampled_from(["default", "public", "scientific"]))
    if method == "mask":
        roles = {"identifiers": roles.get("identifiers", [])}
        if draw(st.integers(0, 4)):
            frame, roles = districts(np.random.default_rng(draw(st.integers(0, 99)))), {"identifiers": ["name"]}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as source:
        warnings.simplefilter("ignore")
        target = Path(folder) / f"out.{ending}"
        before = frame.clone()
        try:
            table = shoal.read(native(frame, draw(st.sampled_from(KINDS)), source), **roles)
            release = protect(draw, method, table, k, draw(st.integers(0, 3)))
            release.save(target, **saving)
        except ShoalError as refusal:
            event(f"{method}: refused")
            assert len(str(refusal)) > 20
            assert os.listdir(folder) == []
            return
        event(f"{method}: written")
        assert os.listdir(folder) == [target.name]
        assert frame.equals(before)
        verify(release, target, k, method)


def verify(release: Any, target: Path, k: int, method: str) -> None:
    """The promises on the file, counted with plain Python."""
    dialect = release.original.source.dialect if release.original.source and target.name.startswith("out.csv") else None
    written = shoal.read(target, delimiter=None if dialect is None else dialect.delimiter)
    assert written.rows == release.original.rows
    assert not set(written.columns) & set(release.original.roles.identifiers)
    if method == "mask":
        return
    groups = release.column_groups if method == "group" else [release.changed]
    for group in groups:
        cells = [[repr(v) for v in pl.Series(written.frame[name]).to_list()] for name in group]
        rows = [row for row in zip(*cells, strict=True) if set(row) != {"'*'"}]
        assert not rows or min(Counter(rows).values()) >= k
