"""Linkage: an intruder who knows the original quasi-identifiers looks for the record in the release.

By distance: the nearest released record, ties sharing the chance (Pagliuca and Seri 1999). Knowing the method: the
nearest centroid within each column group, then the records that lie in all these classes (Winkler 2004; Nin, Herranz
and Torra 2008). Beyond 20,000 records a sample is linked, and its standard error told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.gate.case import UNALIGNED, UNALIGNED_TODO, Case
from shoal.gate.cells import Bools, Classes, Floats, Ints, codes
from shoal.gate.findings import Finding

SAMPLE = 20_000
NEAREST = 8  # classes at the same least distance that are told apart
APART = 1e6  # labels that differ lie that many deviations apart: an intruder knows the label of a value


def distance_linkage(case: Case) -> Finding:
    """The share of records whose nearest released record is their own."""
    return _linked(case, "distance-linkage", [case.joint], "links a record to the nearest released one")


def group_linkage(case: Case) -> Finding:
    """The share of right links of an intruder who knows the groups."""
    return _linked(
        case,
        "group-linkage",
        case.class_sets,
        "knows the groups and links a record to the class of the nearest centroid",
    )


def _linked(case: Case, check: str, class_sets: Sequence[Classes], intruder: str) -> Finding:
    if not case.aligned:
        return case.unmeasured(check, UNALIGNED, UNALIGNED_TODO)
    rows = np.flatnonzero(case.kept)
    if not rows.size:
        return case.judged(check, False, "no row is left to be linked", 0.0, case.policy.thresholds.linkage)
    drawn = rows
    if rows.size > SAMPLE:
        drawn = np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))
    right, tied = np.ones(drawn.size, dtype=bool), np.ones(drawn.size, dtype=np.int64)
    for found in class_sets:
        own, candidates = _nearest(case, found, drawn)
        right &= own
        tied = np.maximum(tied, candidates)
    size = case.joint.sizes[case.joint.labels[drawn]]
    chance = np.where(right, 1.0 / (np.maximum(size, tied) if len(class_sets) == 1 else size), 0.0)
    share = float(chance.mean())
    told = f"an intruder who {intruder} is right for {share:.2%} of the records"
    if drawn.size < rows.size:
        error = float(chance.std()) / np.sqrt(drawn.size) * np.sqrt(1 - drawn.size / rows.size)
        told += f" (standard error {error:.2%}, on {drawn.size:,} records)"
    limit = case.policy.thresholds.linkage
    return case.judged(check, limit is not None and share > limit, told, round(share, 6), limit, "take a larger k")


def _nearest(case: Case, found: Classes, drawn: Ints) -> tuple[Bools, Ints]:
    """For each drawn record: whether its own class is among the nearest, and how many records these have."""
    points, records = _space(case, found, drawn)
    most = min(NEAREST, found.sizes.size)
    distance, place = cKDTree(points).query(records, k=most)
    distance, place = distance.reshape(-1, most), place.reshape(-1, most)
    level = distance <= distance[:, :1] * (1 + 1e-9)
    own = (place == found.labels[drawn][:, None]) & level
    return own.any(axis=1), np.where(level, found.sizes[place], 0).sum(axis=1)


def _space(case: Case, found: Classes, drawn: Ints) -> tuple[Floats, Floats]:
    """The classes and the drawn records as points: standardised numbers, labels far apart."""
    points, records = [], []
    sides: tuple[NDArray[Any], NDArray[Any]]
    for name in found.columns:
        if name in case.aggregated:
            before, after = case.aggregated[name]
            centre, deviation = float(np.nanmean(before)), float(np.nanstd(before))
            scale = deviation if deviation > 0 else 1.0
            sides = (after[found.first] - centre) / scale, (before[drawn] - centre) / scale
        else:
            label = codes(case.after[name]) * APART
            sides = label[found.first], label[drawn]
        points.append(np.nan_to_num(sides[0]))
        records.append(np.nan_to_num(sides[1]))
    return np.column_stack(points), np.column_stack(records)
