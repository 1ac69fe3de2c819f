"""Benchmark data sets: descriptions, sources of their files, and generators.

Shoal looks for a file in the folder SHOAL_DATA, then in the data folder of the user. The files are not part of the
package. To add a data set, add an entry to KNOWN.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Floats
from shoal.errors import InputError, UsageError, unknown
from shoal.sources.files import write_file
from shoal.sources.reading import read
from shoal.studies import solanas
from shoal.studies.microfile import military_microfile
from shoal.studies.survey import KEYS, survey
from shoal.table.roles import Roles
from shoal.table.table import Table

Generator = Callable[..., pl.DataFrame]


@dataclass(frozen=True)
class Dataset:
    """A known data set. Shoal generates it, or its owner publishes a file.

    `used`: the columns that benchmarks use; empty for all columns. `options`: the arguments of the generator besides
    the seed, with their defaults.
    """

    name: str
    about: str
    origin: str
    rows: int | None = None
    columns: int | None = None
    complete: int | None = None
    used: tuple[str, ...] = ()
    generator: Generator | None = None
    options: Mapping[str, int] = field(default_factory=dict)


def find(name: str) -> Path | None:
    """Return the file of a data set, or None if no folder has it."""
    known(name)
    for folder in folders():
        for ending in (".csv", ".parquet"):
            if (folder / f"{name}{ending}").is_file():
                return folder / f"{name}{ending}"
    return None


def load(name: str, seed: int = 0, **options: int) -> Table:
    """Read or generate a data set; its used columns are quasi-identifiers."""
    about = known(name)
    if about.generator is not None:
        frame = generate(name, seed, **options)
        return Table(frame, Roles(quasi=about.used or tuple(frame.columns)))
    if options:
        raise UsageError(f"Data set {name!r} is read from a file. Remove --{next(iter(options))}.")
    path = find(name)
    if path is None:
        raise InputError(missing(name))
    table = read(path)
    return table.with_roles(Roles(quasi=about.used or tuple(table.columns)))


def numbers(name: str, seed: int = 0, **options: int) -> Floats:
    """Return the used columns of the complete records of a data set, as float64."""
    values = load(name, seed, **options).numbers(missing="keep")
    return np.ascontiguousarray(values[~np.isnan(values).any(axis=1)])


def generate(name: str, seed: int = 0, **options: int) -> pl.DataFrame:
    """Generate a data set. The same seed and options give the same rows."""
    about = known(name)
    if about.generator is None:
        synthetic = ", ".join(n for n, d in KNOWN.items() if d.generator)
        raise UsageError(
            f"{name!r} cannot be generated; download it from its source ({about.origin}). Data sets that can be "
            f"generated: {synthetic}."
        )
    for option, value in options.items():
        if option not in about.options:
            raise UsageError(f"Data set {name!r} does not have the option --{option}. Remove it.")
        if isinstance(value, bool) or int(value) != value or value < 1:
            raise UsageError(f"{option} must be a whole number of at least 1, not {value!r}.")
    if seed < 0:
        raise UsageError(f"seed must be a whole number of at least 0, not {seed}.")
    return about.generator(np.random.default_rng(seed), **{**about.options, **options})


def make(name: str, path: str | os.PathLike[str], seed: int = 0, **options: int) -> pl.DataFrame:
    """Write a generated data set to a file and return it."""
    frame = generate(name, seed, **options)
    write_file(frame, path)
    return frame


def listing() -> list[dict[str, Any]]:
    """Return one row per data set, for a table or JSON."""
    rows = []
    for name, about in KNOWN.items():
        path = find(name) if about.generator is None else None
        rows.append(
            {
                "name": name,
                "about": about.about,
                "rows": about.rows if about.rows is not None else about.options.get("rows"),
                "columns": about.columns if about.columns is not None else about.options.get("columns"),
                "complete_rows": about.complete,
                "columns_used": list(about.used) or "all",
                "origin": about.origin,
                "made": about.generator is not None,
                "options": dict(about.options),
                "found": None if path is None else str(path),
            }
        )
    return rows


def known(name: str) -> Dataset:
    """Return a data set by its name."""
    if name not in KNOWN:
        raise unknown("data set", name, KNOWN)
    return KNOWN[name]


def missing(name: str) -> str:
    """Return the message for a data set whose file is missing."""
    places = " or ".join(str(folder / f"{name}.csv") for folder in folders())
    hint = "" if os.environ.get("SHOAL_DATA") else " (or set SHOAL_DATA to the folder that has it)"
    return f"Data set {name!r} is not on this machine. Put it at {places}{hint}. Source: {KNOWN[name].origin}."


def folders() -> list[Path]:
    """Return the folders that are searched for data sets, in this order."""
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    folder = os.environ.get("SHOAL_DATA")
    return ([Path(folder)] if folder else []) + [Path(home) / "shoal"]


def _companies(rng: np.random.Generator) -> pl.DataFrame:
    """Return the eleven companies: name, surface, employees, turnover, net profit. They are always the same."""
    rows = [
        ("A&A Ltd", 790, 55, 3212334, 313250),
        ("B&B SpA", 710, 44, 2283340, 299876),
        ("C&C Inc", 730, 32, 1989233, 200213),
        ("D&D BV", 810, 17, 984983, 143211),
        ("E&E SL", 950, 3, 194232, 51233),
        ("F&F GmbH", 510, 25, 119332, 20333),
        ("G&G AG", 400, 45, 3012444, 501233),
        ("H&H SA", 330, 50, 4233312, 777882),
        ("I&I LLC", 510, 5, 159999, 60388),
        ("J&J Co", 760, 52, 5333442, 1001233),
        ("K&K Sarl", 50, 12, 645223, 333010),
    ]
    return pl.DataFrame(rows, schema=["company", "surface", "employees", "turnover", "net_profit"], orient="row")


def _normal(rng: np.random.Generator, rows: int, columns: int) -> pl.DataFrame:
    return _frame(rng.standard_normal((rows, columns)))


def _mixture(rng: np.random.Generator, rows: int, columns: int, clusters: int) -> pl.DataFrame:
    """Return normal clusters of unequal width. Their centres are normal too, with ten times the width."""
    centres = 10 * rng.standard_normal((clusters, columns))
    width = rng.uniform(0.5, 2.0, clusters)
    which = rng.integers(0, clusters, rows)
    return _frame(centres[which] + width[which, None] * rng.standard_normal((rows, columns)))


def _random(rng: np.random.Generator, rows: int, columns: int) -> pl.DataFrame:
    return _frame(rng.random((rows, columns)))


def _military(rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame(military_microfile(int(rng.integers(2**31))))


def _frame(values: Floats) -> pl.DataFrame:
    digits = len(str(values.shape[1]))
    return pl.DataFrame({f"x{j + 1:0{digits}d}": np.ascontiguousarray(column) for j, column in enumerate(values.T)})


_SALES = tuple(f"{who}{what}" for who in ("RES", "COM", "IND") for what in ("REVENUE", "SALES"))
_SALES += ("OTHREVENUE", "OTHRSALES", "TOTREVENUE", "TOTSALES")
_WATER = (
    "Q-E ZN-E PH-E DBO-E DQO-E SS-E SSV-E SED-E COND-E PH-P DBO-P SS-P SSV-P SED-P COND-P PH-D DBO-D DQO-D SS-D "
    "SSV-D SED-D COND-D PH-S DBO-S DQO-S SS-S SSV-S SED-S COND-S RD-DBO-P RD-SS-P RD-SED-P RD-DBO-S RD-DQO-S "
    "RD-DBO-G RD-DQO-G RD-SS-G RD-SED-G"
)
_ADULT = "age workclass education marital_status occupation race sex native_country salary"
_CASC = "one of the reference sets of the European CASC project (Computational Aspects of Statistical Confidentiality)"
_UCI = "in the UCI Machine Learning Repository"
_SIZE = {"rows": 1000, "columns": 10}

KNOWN: dict[str, Dataset] = {
    d.name: d
    for d in (
        Dataset("census", "incomes and taxes of persons, US Census Bureau 1995", _CASC, 1080, 13, 1080),
        Dataset(
            "eia", "sales of electricity by utility and month, 1996", _CASC, 4092, 15, 4092, ("UTILITYID", *_SALES)
        ),
        Dataset(
            "water",
            "daily measures of a waste water plant",
            f"Water Treatment Plant {_UCI}",
            527,
            39,
            380,
            tuple(_WATER.split()),
        ),
        Dataset("adult", "persons of the 1994 US census", f"Adult {_UCI}", 32561, 15, 30162, tuple(_ADULT.split())),
        Dataset(
            "sme",
            "eleven companies, the example of Solanas 2008",
            "Solanas 2008, Table 1",
            11,
            5,
            11,
            ("surface", "employees", "turnover", "net_profit"),
            _companies,
        ),
        Dataset("normal", "independent standard normal columns", "synthetic", generator=_normal, options=_SIZE),
        Dataset(
            "mixture",
            "a mixture of 50 normal clusters",
            "synthetic",
            generator=_mixture,
            options={**_SIZE, "clusters": 50},
        ),
        Dataset("random", "independent uniform columns between 0 and 1", "synthetic", generator=_random, options=_SIZE),
        Dataset(
            "survey",
            "persons with numbers, labels and levels that depend on each other",
            "synthetic",
            columns=11,
            used=KEYS,
            generator=survey,
            options={"rows": 3000},
        ),
        Dataset(
            "military",
            "persons by region, with military bases in regions 5 and 29",
            "synthetic, after the file of Chertov and Tavrov 2017",
            91398,
            15,
            91398,
            ("PWPUMA00",),
            _military,
        ),
        Dataset(
            "scattered",
            "uniform values without clusters",
            "synthetic, after Solanas 2008",
            generator=solanas.scattered,
            options={"rows": 1000, "columns": 2},
        ),
        Dataset(
            "clustered",
            "uniform values moved in clusters of three to five records",
            "synthetic, after Solanas 2008",
            generator=solanas.clustered,
            options={"rows": 1000, "columns": 2},
        ),
    )
}
