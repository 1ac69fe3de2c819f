"""The methods that search: their options, and how a search over partitions becomes a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shoal.arrays import Floats
from shoal.engine.control import Control, current
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.protections.microaggregation.squared_error import SquaredError


@dataclass(frozen=True)
class SearchMethod:
    """A method that minimizes the squared error of the groups by a search."""

    search: Callable[[SquaredError, Control, SearchSettings], KPartition]

    def __call__(
        self,
        values: Floats,
        k: int,
        *,
        weights: Floats | None = None,
        seed: int = 0,
        effort: str = "standard",
        seconds: float | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        control: Control | None = None,
        may_overwrite: bool = False,
    ) -> KPartition:
        """Return the best partition that the search finds.

        Args:
            seconds: The time limit. After it the search returns the best partition so far.
            checkpoint: The file that keeps the state of the search.
            resume: Whether to continue from the checkpoint.
            may_overwrite: Whether the search of a large file may change the array of values, which saves a copy.
        """
        settings = SearchSettings(seed, effort, checkpoint, resume)
        loss = SquaredError(values, k, weights, may_overwrite=may_overwrite)
        return self.search(loss, (control or current()).part(seconds=seconds), settings)
