"""The release of a cell suppression: which cells are starred, and how many records agree by both readings of a star."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoal.arrays import Bools
from shoal.measures.assessment import Assessment, Figure
from shoal.release import Release


@dataclass(frozen=True, eq=False)
class SuppressedRelease(Release):
    """A release whose quasi-identifiers have their original values or stars.

    starred: [record, protected column]. sets: the sets of columns over which k holds, if not over all.
    """

    starred: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    sets: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def assessment(self) -> Assessment:
        """The share of starred cells, and k by both readings."""
        facts, n = self.facts, str(self.original.rows)
        figures = [
            Figure("suppressed_share", facts["suppressed_share"], "0 to 1", "share of the protected cells with a star"),
            Figure("k_value", facts["k_value"], f"1 to {n}", "smallest class, if a star only equals a star"),
            Figure("k_wildcard", facts["k_wildcard"], f"1 to {n}", "smallest count, if a star equals every value"),
        ]
        return Assessment(figures)

    def stars_by_value(self, name: str) -> list[tuple[str, int, int]]:
        """Return each value of a column with its records in the original and its stars, those with most stars first."""
        column = self.original[name]
        codes, starred = column.stored.codes, self.starred[:, self.changed.index(name)]
        stars = np.bincount(codes[starred], minlength=len(column.stored.values))
        rows = [
            ("missing" if value is None else str(value), int(count), int(star))
            for value, count, star in zip(column.stored.values, column.stored.counts, stars, strict=True)
        ]
        return sorted(rows, key=lambda row: (-row[2], row[0]))
