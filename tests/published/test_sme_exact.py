"""The eleven companies (Solanas et al. 2006): the optimum at k = 3 is 14.8273, printed truncated as 14.82.

Convention: the four columns standardised by the population's deviation.
"""

from __future__ import annotations

import numpy as np
import pytest

from shoal.protections.microaggregation.methods.exact import exact
from shoal.protections.microaggregation.sums_of_squares import sse_of
from shoal.table.scaling import scale

# surface, employees, turnover, net profit of the companies A&A to K&K
COMPANIES = np.array(
    [
        [790, 55, 3212334, 313250],
        [710, 44, 2283340, 299876],
        [730, 32, 1989233, 200213],
        [810, 17, 984983, 143211],
        [950, 3, 194232, 51233],
        [510, 25, 119332, 20333],
        [400, 45, 3012444, 501233],
        [330, 50, 4233312, 777882],
        [510, 5, 159999, 60388],
        [760, 52, 5333442, 1001233],
        [50, 12, 645223, 333010],
    ],
    dtype=float,
)


def test_optimum_of_the_eleven_companies_is_printed_as_14_82_by_truncation():
    values = scale(COMPANIES)
    partition = exact(values, 3).check(3)
    assert sse_of(partition, values) == pytest.approx(14.8273, abs=5e-5)
