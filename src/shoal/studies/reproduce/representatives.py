"""The number of kinds of candidate partitions, and their probability (Solanas et al. 2006, Solanas 2008)."""

from __future__ import annotations

from pathlib import Path

from shoal.studies.counting import candidate_probability, mu, published_bound
from shoal.studies.counting import representatives as count
from shoal.studies.reproduce.printed import EXAMPLE, REPRESENTATIVES
from shoal.studies.reproduce.result import Result, ResultTable

SIZES = (11, 20, 30, 40, 50, 100)


def representatives(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """a(n,k) as published and as counted, and the published bound next to the exact probability."""
    sizes: ResultTable = {
        "title": "Table 2, Table I: a(n,k), ways to write n as a sum of sizes k..2k-1",
        "columns": ["n", *(f"k={k}{whose}" for k in (3, 4, 5) for whose in (" printed", ""))],
        "rows": [
            [row["n"], *(cell for k in (3, 4, 5) for cell in (row[f"k{k}"], count(row["n"], k)))]
            for row in REPRESENTATIVES
        ],
        "note": "",
    }
    chances: ResultTable = {
        "title": "Example 2, Example 1: the probability that a random chromosome is a candidate, k = 3",
        "columns": ["n", "a(n,k)", "mu printed", "mu", "a mu / G^n printed", "a mu / G^n", "exact chance"],
        "rows": [
            [
                n,
                count(n, 3),
                *(_digits(cell) for cell in (EXAMPLE["mu"] if n == EXAMPLE["n"] else None, mu(n, 3))),
                *(_digits(cell) for cell in (EXAMPLE["bound"] if n == EXAMPLE["n"] else None, published_bound(n, 3))),
                _digits(candidate_probability(n, 3)),
            ]
            for n in SIZES
        ],
        "note": "The publications call a(n,k) mu / G^n an upper bound. It divides partitions without group names by "
        "chromosomes with group names, so it is not a bound. The exact probability counts chromosomes.",
    }
    convention = (
        "Integers, counted without rounding. G = floor(n/k), and mu uses group sizes that are as equal as possible."
    )
    return Result("Candidate partitions and random chromosomes", [sizes, chances], convention=convention)


def _digits(value: object) -> str | None:
    return None if value is None else f"{float(value):.15g}"  # type: ignore[arg-type]
