"""Classes of records that look alike, against counting rows in a dictionary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.measures import anonymity
from shoal.table.roles import Roles
from shoal.table.table import Table

VALUES = st.sampled_from([0.0, 1.0, -1.0, 1e9, 1e9 + 1, float("nan"), 5e-324, float("inf")])
TEXTS = st.sampled_from(["", "a", "b", None])


@given(st.lists(st.tuples(VALUES, VALUES, TEXTS, st.integers(-2, 2)), min_size=1, max_size=60))
def test_class_sizes_equal_counting(rows: list[tuple[float, float, str | None, int]]) -> None:
    columns = [np.array([r[0] for r in rows]), np.array([r[1] for r in rows])]
    columns += [np.array([r[2] for r in rows], dtype=object), np.array([r[3] for r in rows])]
    expected = Counter(tuple(str(v) for v in row) for row in rows)
    assert sorted(anonymity.class_sizes(columns)) == sorted(expected.values())
    assert anonymity.k_anonymity(columns) == min(expected.values())
    labels = anonymity.classes(columns)
    keys = [tuple(str(v) for v in row) for row in rows]
    assert len(set(zip(keys, labels.tolist(), strict=True))) == len(expected)


def test_a_collision_of_hashes_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [np.array([1.0, 2.0, 1.0, 3.0])]
    monkeypatch.setattr(anonymity, "finalized", lambda key: key * np.uint64(0))
    assert sorted(anonymity.class_sizes(columns)) == [1, 1, 2]


def test_a_unit_counts_once_in_its_class() -> None:
    """Person 1 is alone in class a with two records; persons 2 and 3 share class b, with four records."""
    table = Table(pl.DataFrame({"quasi": list("aabbbb")}), Roles(quasi=("quasi",)))
    units = np.array([1, 1, 2, 2, 2, 3])
    classes = anonymity.equivalence_classes(table, ["quasi"], units=units)
    assert classes.records.tolist() == [2, 4] and classes.persons.tolist() == [1, 2]
    assert (classes.smallest, classes.unique_records) == (1, 2)
    assert classes.average_risk == pytest.approx(100 * (2 * 1 + 4 * 0.5) / 6)
    without = anonymity.equivalence_classes(table, ["quasi"])
    assert (without.smallest, without.unique_records) == (2, 0)
    assert without.average_risk == pytest.approx(100 * 2 / 6)


def test_a_suppressed_row_has_a_star_in_every_column() -> None:
    frame = pl.DataFrame({"a": ["*", "*", "x", "*"], "b": ["*", "y", "*", "*"], "n": [1, 2, 3, 4]})
    table = Table(frame, Roles(quasi=("a", "b")))
    assert anonymity.suppressed_rows(table, ["a", "b"]).tolist() == [True, False, False, True]
    assert not anonymity.suppressed_rows(table, ["a", "n"]).any()
