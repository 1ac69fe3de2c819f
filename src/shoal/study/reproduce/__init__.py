"""The papers' tables, made again: one file an entry. An entry is a line in ENTRIES."""

from __future__ import annotations

# name: (module in this folder, whose function has the module's name; what it is, in a line)
ENTRIES: dict[str, tuple[str, str]] = {
    "representatives": ("representatives", "a(n,k), and how rarely a random chromosome is a candidate (Solanas et al.)"),
    "sme": ("sme", "exhaustive search, MDAV and the genetic algorithm on eleven companies (Solanas et al. 2008, Table 3)"),
    "ga-small": ("ga_small", "the genetic algorithm on small random sets (Solanas et al. 2008, Tables 4 to 6)"),
    "hybrid": ("hybrid", "the two-step hybrid (Solanas et al. 2008, Table 7)"),
    "sensitivity": ("sensitivity", "the best ranges of the rates and the population (Solanas et al. 2006, Table V)"),
}
