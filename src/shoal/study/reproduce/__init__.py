"""The papers' tables, made again: one file an entry. An entry is a line in ENTRIES."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import unknown

if TYPE_CHECKING:
    from shoal.study.reproduce.result import Result

# name: (module in this folder, whose function has the module's name; what it is, in a line)
ENTRIES: dict[str, tuple[str, str]] = {
    "representatives": (
        "representatives",
        "a(n,k), and how rarely a random chromosome is a candidate (Solanas et al.)",
    ),
    "sme": (
        "sme",
        "exhaustive search, MDAV and the genetic algorithm on eleven companies (Solanas et al. 2008, Table 3)",
    ),
    "ga-small": ("ga_small", "the genetic algorithm on small random sets (Solanas et al. 2008, Tables 4 to 6)"),
    "hybrid": ("hybrid", "the two-step hybrid (Solanas et al. 2008, Table 7)"),
    "gomm": ("gomm", "attribute grouping by GOMM and D-GOMM (the thesis's Tables 3.1, 5.1 to 5.4, Figure 5.1)"),
    "adult": ("adult", "k-anonymity of Adult by NSGA-II, four experiments (Dewri et al.)"),
    "military": ("military", "hiding military bases by swaps (Chertov and Tavrov, Table 3)"),
    "sensitivity": ("sensitivity", "the best ranges of the rates and the population (Solanas et al. 2006, Table V)"),
}


def reproduce(name: str, data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """The tables and charts of an entry."""
    if name not in ENTRIES:
        raise unknown("entry", name, ENTRIES)
    module = ENTRIES[name][0]
    result: Result = getattr(importlib.import_module(f"shoal.study.reproduce.{module}"), module)(
        data_folder=data_folder, quick=quick, seed=seed
    )
    return result
