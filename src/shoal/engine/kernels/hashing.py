"""Hash tables of whole numbers with open addressing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engine.kernels.compiling import inner

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 divided by the golden ratio: a product with it mixes all bits


@inner
def slot_of(keys: NDArray[Any], used: NDArray[np.uint8], key: Any) -> Any:
    """Return the slot that holds a key, or the one where it belongs; the size of the table is a power of two."""
    mask = keys.size - 1
    slot = np.int64((np.uint64(key) * GOLDEN) >> np.uint64(24)) & mask
    while used[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot
