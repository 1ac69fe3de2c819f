"""Renews some pages of "Published results", as `shoal reproduce all --quick -o docs/published` does for all of them.

Usage: python docs/make_published.py NAME...; a test fails when a page is behind.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from shoal.arrays import cores
from shoal.engine.clock import Clock
from shoal.engine.control import Control
from shoal.studies.reproduce import ENTRIES, reproduce
from shoal.studies.reproduce.pages import write_index, write_page

PAGES = Path(__file__).parent / "published"


def main(names: Sequence[str]) -> None:
    """Write the pages of the entries, and the index."""
    if unknown := sorted(set(names) - set(ENTRIES)):
        sys.exit(f"Unknown name: {', '.join(unknown)}. Names: {', '.join(ENTRIES)}.")
    for name in names:
        clock = Clock()
        result = Control(threads=cores()).call(partial(reproduce, name, quick=True))
        spent = clock.read()["cpu_seconds"]
        write_page(PAGES, name, result, f"shoal reproduce {name} --quick", spent)
        print(f"{name}: {spent:.0f} CPU seconds", flush=True)
    write_index(PAGES, "shoal reproduce all --quick")


if __name__ == "__main__":
    main(sys.argv[1:])
