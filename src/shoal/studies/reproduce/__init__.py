"""Published tables and figures, recomputed: one file and one line in ENTRIES per entry.

`catalogue` lists the published values.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import check_seed, unknown

if TYPE_CHECKING:
    from shoal.studies.reproduce.result import Result

# name: (module in this folder, whose function has the name of the module; description)
ENTRIES: dict[str, tuple[str, str]] = {
    "representatives": ("representatives", "the probability that a random chromosome is a candidate partition"),
    "sme": ("sme", "exhaustive search, MDAV and the genetic algorithm on eleven companies"),
    "ga-small": ("ga_small", "the genetic algorithm on small random sets"),
    "sensitivity": ("sensitivity", "the rates and the population of the genetic algorithm"),
    "hybrid": ("hybrid", "the two-step hybrid against MDAV"),
    "gomm": ("gomm", "attribute grouping by GOMM and D-GOMM"),
    "operators": ("operators", "the operators of GOMM, alone and together"),
    "adult": ("adult", "k-anonymity of Adult by NSGA-II, four experiments"),
    "military": ("military", "hiding military bases by swaps"),
}


def reproduce(name: str, data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """The tables and charts of an entry."""
    check_seed(seed)
    if name not in ENTRIES:
        raise unknown("reproduction", name, [*ENTRIES, "all"])
    module = ENTRIES[name][0]
    result: Result = getattr(importlib.import_module(f"shoal.studies.reproduce.{module}"), module)(
        data_folder=data_folder, quick=quick, seed=seed
    )
    return result
