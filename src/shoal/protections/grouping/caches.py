"""What the cost of column groupings keeps between evaluations, each within a limit on memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from shoal.arrays import Indices, Ints


class DistanceTables:
    """Distances of some records to the centroids of column groups, one slot per column group.

    The tables stand in one array, so that a column grouping is a few slots of it. A new column group takes the slot
    that was not used for the longest time.
    """

    def __init__(self, records: Ints, n: int, width: int, memory: int, min_slots: int) -> None:
        """As many slots as the memory allows, but `min_slots` at least: a grouping needs one per column group."""
        size = records.size * (8 * width + 1) + 4 * n
        slots = max(min_slots, min(memory // size, 1 << 16))
        self.records = records
        self.distances = np.empty((slots, records.size, width))
        self.surely = np.empty((slots, records.size), np.bool_)
        self.labels = np.empty((slots, n), np.int32)
        self.widths = [0] * slots
        self._slots: OrderedDict[int, int] = OrderedDict()

    def find(self, group: int) -> int | None:
        """The slot of a column group, or None."""
        slot = self._slots.get(group)
        if slot is not None:
            self._slots.move_to_end(group)
        return slot

    def take(self, group: int, width: int, labels: Indices) -> int:
        """A slot for a column group: a free one, or the one that was not used for the longest time."""
        slot = self._slots.pop(group, None)
        if slot is None and len(self._slots) < len(self.widths):
            slot = len(self._slots)
        elif slot is None:
            slot = self._slots.popitem(last=False)[1]
        self._slots[group] = slot
        self.widths[slot] = width
        self.labels[slot] = labels
        return slot


class LruCache:
    """Least-recently-used cache with a size limit in bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._items: OrderedDict[int, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: int) -> Any:
        """The value of a key, or None."""
        with self._lock:
            item = self._items.get(key)
            if item is None:
                return None
            self._items.move_to_end(key)
            return item[0]

    def put(self, key: int, value: Any, size: int) -> None:
        """Keep a value, and drop the values that were not used for the longest time."""
        with self._lock:
            if key in self._items:
                self._used -= self._items.pop(key)[1]
            self._items[key] = (value, size)
            self._used += size
            while self._used > self._limit and len(self._items) > 1:
                self._used -= self._items.popitem(last=False)[1][1]
