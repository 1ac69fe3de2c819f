"""The paper's Table 3: what our readings give of it, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.protections.regions.outliers import outliers
from shoal.protections.regions.restriction import zmf
from shoal.studies.alpha import _published as alpha_study_published
from shoal.studies.reproduce.published_signals import ROWS, TOTAL


def product(row) -> float:
    return float(zmf(row.signal[4], 10, 97) * zmf(row.signal[28], 10, 45))


@pytest.mark.parametrize("number", range(24))
def test_every_printed_outlier_set_comes_out(number: int) -> None:
    row = ROWS[number]
    assert tuple(outliers(row.signal, alpha=0.01) + 1) == row.outliers


def test_numpy_quartiles_would_miss_three_sets() -> None:
    from scipy.stats import t as student

    def found(signal) -> tuple[int, ...]:
        left = list(range(len(signal)))
        while True:
            values = np.array([signal[i] for i in left], dtype=float)
            m = values.size
            t = student.ppf(0.995, m - 2)
            tau = t * (m - 1) / (np.sqrt(m) * np.sqrt(m - 2 + t * t))
            low, high = np.quantile(values, [0.25, 0.75])
            away = np.abs(values - np.median(values))
            if away.max() <= tau * (high - low) / 1.349:
                return tuple(i + 1 for i in range(len(signal)) if i not in left)
            del left[int(away.argmax())]

    assert sum(found(row.signal) == row.outliers for row in ROWS) == 21


def test_every_signal_keeps_the_total() -> None:
    assert {sum(row.signal) for row in ROWS} == {TOTAL}


def test_zmf_values_of_the_first_rows() -> None:
    assert float(zmf(14, 10, 97)) == pytest.approx(1 - 2 * (4 / 87) ** 2)
    assert float(zmf(13, 10, 45)) == pytest.approx(1 - 2 * (3 / 35) ** 2)
    assert float(zmf(97, 10, 97)) == 0.0
    assert float(zmf(10, 10, 97)) == 1.0


def test_printed_compatibility_is_the_root_in_22_rows_and_the_product_in_18() -> None:
    root = [abs(np.sqrt(product(row)) - row.compatibility) <= 0.0005 + 1e-12 for row in ROWS]
    plain = [abs(product(row) - row.compatibility) <= 0.0005 + 1e-12 for row in ROWS]
    assert sum(root) == 22
    assert sum(plain) == 18


def test_penalty_centre_130_gives_the_fitness_of_row_5_and_the_printed_25_does_not() -> None:
    from shoal.protections.regions.by_evolution import penalty

    row = ROWS[4]
    rows = 142 - row.signal[4] - row.signal[28]
    left = 1 - row.metric / 1846
    assert left * row.compatibility * penalty(rows, 130) == pytest.approx(row.fitness, abs=0.001)
    assert left * row.compatibility * penalty(rows, 25) < 1e-6


def test_threshold_10_is_not_the_largest_ordinary_value() -> None:
    """43 records are left for 36 districts: were one of them to hold 10, the test would call it an outlier."""
    best = [10] + [3] * 11  # the widest quartiles that 43 records allow around a 10
    signal = [97, 45, *best, *([0] * 24)]
    assert sum(signal) == 185
    assert 2 in outliers(signal)


def test_a_published_signal_is_feasible_at_an_alpha_if_no_original_outlier_is_one_there():
    for alpha, mean, again, feasible in alpha_study_published((0.01, 0.02, 0.05)):
        outlying = [set(outliers(row.signal, alpha).tolist()) for row in ROWS]
        hidden = sum(4 not in regions and 28 not in regions for regions in outlying)
        assert (feasible, again) == (hidden, 24 - hidden)
        assert mean == sum(map(len, outlying)) / 24
    assert [row[3] for row in alpha_study_published((0.01, 0.05))] == [24, 7]
