"""l and t against pycanon (distinct, entropy, t) and against their definitions (recursive)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycanon import anonymity

from reference import generalization as slow
from shoal.measures.diversity import MEASURES, distinct_l, diversity_of, t_closeness


@settings(max_examples=60)
@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_l_and_t(n, groups, width, seed):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, groups, n)
    values = np.unique(rng.integers(0, width, n), return_inverse=True)[1]
    frame = pd.DataFrame({"q": classes.astype(str), "s": [f"v{v}" for v in values], "number": values.astype(float)})
    assert distinct_l(classes, values) == anonymity.l_diversity(frame, ["q"], ["s"])
    assert int(diversity_of(classes, values, "entropy").min() + 1e-9) == pytest.approx(
        anonymity.entropy_l_diversity(frame, ["q"], ["s"]),
        abs=0 if (diversity_of(classes, values, "entropy").min() + 1e-9) % 1 > 1e-6 else 1,
    )
    assert t_closeness(classes, values) == pytest.approx(anonymity.t_closeness(frame, ["q"], ["s"]), abs=1e-9)
    if len(np.unique(values)) > 1:
        theirs = anonymity.t_closeness(frame, ["q"], ["number"])
        assert t_closeness(classes, values, "ordered") == pytest.approx(theirs, abs=1e-9)
    by_class = [values[classes == g].tolist() for g in np.unique(classes)]
    for c in (0.5, 1.0, 2.5):
        assert diversity_of(classes, values, "recursive", c).min() == min(
            slow.class_l(v, "recursive", c) for v in by_class
        )
    assert diversity_of(classes, values, "entropy").min() == pytest.approx(
        min(slow.class_l(v, "entropy", 1.0) for v in by_class)
    )


def test_t_compares_with_the_whole_table_suppressed_records_included():
    """Four kept records of one class, half of them 1; of all eight records, three quarters are 1."""
    column = SimpleNamespace(codes=np.array([0, 1, 0, 1, 1, 1, 1, 1]), ordered=False)
    classes = SimpleNamespace(label=np.zeros(4, np.int64), kept=np.arange(8) < 4)
    t = next(measure for measure in MEASURES if measure.name == "t")
    assert t.compute(SimpleNamespace(classes=classes, confidential={"s": column})) == pytest.approx(0.25)
