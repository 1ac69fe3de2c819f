"""MDAV's published information losses: standardised columns, Euclidean distance (docs/explain/conventions.md)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.protections.microaggregation.sums_of_squares import sse_of, total_squares
from shoal.table.scaling import scale

CENSUS = {3: 5.6922, 4: 7.4947, 5: 9.0884, 10: 14.1559}
EIA = {3: 0.4829, 4: 0.6713, 5: 1.6667, 10: 3.8397}
EIA_COLUMNS = (
    "UTILITYID RESREVENUE RESSALES COMREVENUE COMSALES INDREVENUE INDSALES OTHREVENUE OTHRSALES TOTREVENUE TOTSALES"
)

# The eleven companies of Solanas et al.: surface, employees, turnover, net profit.
COMPANIES = [
    (790, 55, 3212334, 313250),
    (710, 44, 2283340, 299876),
    (730, 32, 1989233, 200213),
    (810, 17, 984983, 143211),
    (950, 3, 194232, 51233),
    (510, 25, 119332, 20333),
    (400, 45, 3012444, 501233),
    (330, 50, 4233312, 777882),
    (510, 5, 159999, 60388),
    (760, 52, 5333442, 1001233),
    (50, 12, 645223, 333010),
]


def information_loss(values, k: int, engine: str) -> float:
    scaled = scale(values)
    return 100 * sse_of(mdav(scaled, k, engine=engine).check(k), scaled) / total_squares(scaled)


@pytest.mark.parametrize("engine", ["brute", "tree"])
@pytest.mark.parametrize("k", CENSUS)
def test_census_standardised(shared_data: Path, k: int, engine: str) -> None:
    values = pl.read_csv(shared_data / "census.csv").to_numpy().astype(float)
    assert round(information_loss(values, k, engine), 4) == CENSUS[k]


@pytest.mark.parametrize("engine", ["brute", "tree"])
@pytest.mark.parametrize("k", EIA)
def test_eia_utilityid_and_ten_columns_standardised(shared_data: Path, k: int, engine: str) -> None:
    values = pl.read_csv(shared_data / "eia.csv").select(EIA_COLUMNS.split()).to_numpy().astype(float)
    assert round(information_loss(values, k, engine), 4) == EIA[k]


@pytest.mark.parametrize("engine", ["brute", "tree"])
@pytest.mark.parametrize(
    ("remainder", "sse"), [("standard", 18.2921), ("solanas", 18.2921), ("thesis", 18.2921), ("distribute", 20.94)]
)
def test_eleven_companies_population_deviation(remainder: str, sse: float, engine: str) -> None:
    scaled = scale(np.array(COMPANIES, dtype=float))
    found = sse_of(mdav(scaled, 3, remainder=remainder, engine=engine), scaled)
    assert round(found, 4 if sse == 18.2921 else 2) == sse
