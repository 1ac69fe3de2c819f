"""The 6 x 3 table of cell suppression, of which every set of cells was tried: the fewest stars for both readings."""

from __future__ import annotations

import polars as pl
import pytest

import shoal

SIX = pl.DataFrame({"a": [1, 1, 1, 2, 2, 2], "b": [1, 1, 2, 2, 1, 2], "c": [1, 2, 2, 2, 1, 1]})


@pytest.mark.parametrize("k, star, fewest", [(2, "value", 6), (3, "value", 12), (2, "wildcard", 3), (3, "wildcard", 4)])
def test_the_fewest_stars_of_six_records(k: int, star: str, fewest: int) -> None:
    facts = shoal.suppress(shoal.read(SIX, quasi=["a", "b", "c"]), k, star=star, effort="quick").facts
    assert facts["suppressed_cells"] == fewest
    assert facts["lower_bound"] == (fewest if star == "value" else None)
