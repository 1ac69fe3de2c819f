"""Selection: put the smaller half of some records first without sorting them."""

from __future__ import annotations

from typing import Any

from shoal.arrays import Floats
from shoal.engine.kernels.compiling import inner


@inner
def select_middle(key: Floats, order: Any, first: int, last: int, middle: int) -> None:
    """Put the records of order[first:last] with the smaller keys before `middle` (quickselect, Hoare 1961)."""
    low, high = first, last - 1
    while low < high:
        pivot = key[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return
