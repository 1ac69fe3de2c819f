"""Goal signals: how a group is spread over the districts (Chertov and Tavrov 2017).

quantity: vital records of a district; concentration: their share of its records; difference: that share
minus the share of a second group. Swaps keep the districts' sizes, so all three grow with the count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import UsageError, check_choice

KINDS = ("quantity", "concentration", "difference")


@dataclass(frozen=True)
class Signal:
    """Counts of vital records by district and what a count means: value = (count - offset) / scale."""

    kind: str
    counts: Ints
    offset: Floats
    scale: Floats

    @property
    def values(self) -> Floats:
        return self.of(self.counts)

    def of(self, counts: Ints) -> Floats:
        """The signal that these counts would give."""
        return np.asarray((counts - self.offset) / self.scale, dtype=np.float64)

    def renumbered(self, number: Ints) -> Signal:
        """The same signal with district d called number[d]."""
        back = np.argsort(number)
        return Signal(self.kind, self.counts[back], self.offset[back], self.scale[back])


def goal_signal(
    district: Ints, vital: NDArray[np.bool_], kind: str = "quantity", second: NDArray[np.bool_] | None = None
) -> Signal:
    """The signal of the records marked `vital`; `district` holds each record's district, numbered from 0."""
    check_choice("signal", kind, KINDS)
    if (second is None) == (kind == "difference"):
        raise UsageError(
            "signal 'difference' needs a second group (its vital values), and no other signal takes one; "
            f"signal is {kind!r}, and a second group was {'not ' if second is None else ''}given"
        )
    m = int(district.max()) + 1
    sizes = np.bincount(district, minlength=m)
    counts = np.bincount(district[vital], minlength=m).astype(np.int64)
    offset = np.zeros(m) if second is None else np.bincount(district[second], minlength=m).astype(np.float64)
    scale = np.ones(m) if kind == "quantity" else sizes.astype(np.float64)
    return Signal(kind, counts, offset, scale)
