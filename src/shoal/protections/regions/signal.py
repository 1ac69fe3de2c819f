"""Signals: the number or share of target records per region (Chertov and Tavrov 2017).

quantity: the target records of a region. concentration: their share of its records. difference: that share minus the
share of a second group. Swaps keep the size of every region, so all three grow with the number of target records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import UsageError, check_choice
from shoal.gate.promises import SIGNALS


@dataclass(frozen=True)
class Signal:
    """The number of target records per region, and what it means: value = (count - offset) / scale."""

    kind: str
    counts: Ints
    offset: Floats
    scale: Floats

    @property
    def values(self) -> Floats:
        return self.of(self.counts)

    def of(self, counts: Ints) -> Floats:
        """Return the signal of these counts."""
        return np.asarray((counts - self.offset) / self.scale, dtype=np.float64)

    def renumbered(self, number: Ints) -> Signal:
        """Return the same signal with region d called number[d]."""
        back = np.argsort(number)
        return Signal(self.kind, self.counts[back], self.offset[back], self.scale[back])


def goal_signal(
    region: Ints, is_target: NDArray[np.bool_], kind: str = "quantity", second: NDArray[np.bool_] | None = None
) -> Signal:
    """Return the signal of the target records; `region` holds the region of each record, numbered from 0."""
    check_choice("signal", kind, SIGNALS)
    if (second is None) == (kind == "difference"):
        raise UsageError(
            "The signal difference needs a second group. Add --second COLUMN=v1,v2, or use another --signal."
            if second is None
            else f"The signal {kind} does not use a second group. Remove --second, or add --signal difference."
        )
    m = int(region.max()) + 1
    sizes = np.bincount(region, minlength=m)
    counts = np.bincount(region[is_target], minlength=m).astype(np.int64)
    offset = np.zeros(m) if second is None else np.bincount(region[second], minlength=m).astype(np.float64)
    scale = np.ones(m) if kind == "quantity" else sizes.astype(np.float64)
    return Signal(kind, counts, offset, scale)
