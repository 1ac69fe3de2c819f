"""How many kinds of candidate partitions there are (Solanas et al. 2006, Table I; 2008, Table 2)."""

from __future__ import annotations

from pathlib import Path

from shoal.partition.counting import candidate_probability, published_bound
from shoal.partition.counting import representatives as count
from shoal.study.reproduce.printed import REPRESENTATIVES
from shoal.study.reproduce.result import Result, Table


def representatives(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """a(n,k) as printed and as counted, and the printed bound beside the exact probability."""
    sizes: Table = {
        "title": "a(n,k): ways to write n as a sum of sizes k..2k-1",
        "columns": ["n", *(f"k={k}{whose}" for k in (3, 4, 5) for whose in (" printed", ""))],
        "rows": [
            [row["n"], *(cell for k in (3, 4, 5) for cell in (row[f"k{k}"], count(row["n"], k)))]
            for row in REPRESENTATIVES
        ],
        "note": "",
    }
    chances: Table = {
        "title": "The chance that a random chromosome is a candidate, k = 3",
        "columns": ["n", "printed expression a(n,k) mu / G^n", "exact"],
        "rows": [
            [n, f"{float(published_bound(n, 3)):.4g}", f"{float(candidate_probability(n, 3)):.4g}"] for n in _SIZES
        ],
        "note": "The papers call the expression an upper bound and print 1.32977212023656e-11 for n = 30. It divides "
        "partitions without group names by chromosomes with them, so it is none; the exact figure counts chromosomes.",
    }
    return Result("Candidate partitions and random chromosomes", [sizes, chances])


_SIZES = (11, 20, 30, 40, 50, 100)
