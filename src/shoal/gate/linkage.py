"""Linkage: an intruder who knows the original quasi-identifiers looks for the record in the release.

By distance: the nearest released record, ties sharing the chance (Pagliuca and Seri 1999). Knowing the method: the
nearest centroid within each column group, then the records that lie in all these classes (Winkler 2004; Nin, Herranz
and Torra 2008). Beyond 20,000 records a sample of 5,000 is linked, and its standard error told.
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

ALL = 20_000  # up to so many records every one is linked
SAMPLE = 5_000
NEAREST = 8  # classes at the same least distance that are told apart
APART = 1e6  # labels that differ lie that many deviations apart: an intruder knows the label of a value


def linkages(case: Case) -> tuple[Finding, ...]:
    """The share of right links of two intruders: by distance alone, and knowing the groups."""
    if not case.aligned:
        return tuple(case.unmeasured(c, UNALIGNED, UNALIGNED_TODO) for c in ("distance-linkage", "group-linkage"))
    rows = np.flatnonzero(case.kept)
    drawn = rows
    if rows.size > ALL:
        drawn = np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))
    plain = _chances(case, [case.joint], drawn)
    knowing = plain if case.class_sets == [case.joint] else _chances(case, case.class_sets, drawn)
    return (
        _linked(case, "distance-linkage", plain, "links a record to the nearest released one"),
        _linked(case, "group-linkage", knowing, "knows the groups and links to the class of the nearest centroid"),
    )


def _chances(case: Case, class_sets: Sequence[Classes], drawn: Ints) -> Floats:
    """For each drawn record the chance that the intruder's link is right."""
    right, candidates = np.ones(drawn.size, dtype=bool), case.joint.sizes[case.joint.labels[drawn]]
    for found in class_sets:
        own, nearest = _nearest(case, found, drawn)
        right &= own
        if len(class_sets) == 1:
            candidates = np.maximum(candidates, nearest)
    return np.asarray(np.where(right, 1.0 / candidates, 0.0))


def _linked(case: Case, check: str, chance: Floats, intruder: str) -> Finding:
    share = float(chance.mean()) if chance.size else 0.0
    told = f"an intruder who {intruder} is right for {share:.2%} of the records"
    records = int(case.kept.sum())
    if chance.size < records:
        error = float(chance.std()) / np.sqrt(chance.size) * np.sqrt(1 - chance.size / records)
        told += f" (standard error {error:.2%}, on {chance.size:,} records)"
    limit = case.policy.thresholds.linkage
    return case.judged(check, limit is not None and share > limit, told, round(share, 6), limit, "take a larger k")


def _nearest(case: Case, found: Classes, drawn: Ints) -> tuple[Bools, Ints]:
    """For each drawn record: whether its own class is among the nearest, and how many records these have."""
    if not drawn.size:
        return np.ones(0, dtype=bool), np.ones(0, dtype=np.int64)
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
            present = before[~np.isnan(before)]
            centre, deviation = (float(present.mean()), float(present.std())) if present.size else (0.0, 0.0)
            scale = deviation if deviation > 0 else 1.0
            sides = (after[found.first] - centre) / scale, (before[drawn] - centre) / scale
        else:
            label = codes(case.after[name]) * APART
            sides = label[found.first], label[drawn]
        points.append(np.nan_to_num(sides[0]))
        records.append(np.nan_to_num(sides[1]))
    return np.column_stack(points), np.column_stack(records)
