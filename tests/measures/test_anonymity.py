"""Classes of records that look alike, against counting rows in a dictionary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.measures import anonymity

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
    monkeypatch.setattr(anonymity, "_mix", lambda key: key * np.uint64(0))
    assert sorted(anonymity.class_sizes(columns)) == [1, 1, 2]
