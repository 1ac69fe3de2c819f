"""Whether every record agrees with at least k - 1 others, for both readings of a star.

As a value, a star only agrees with a star: the count that a reader gets from a table of frequencies. As a wildcard, it
agrees with every value: the intruder knows that it hides one. A missing cell is a value in both.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Bools, Ints
from shoal.errors import counted
from shoal.gate.cells import TEXT, classes, codes
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding
from shoal.gate.promises import KOfStars

PROMISE = KOfStars
MOST_COMPARED = 50_000_000  # classes times patterns of stars; above it, only the guaranteed reading is counted
LARGEST_KEY = 2**62


def check(context: CheckContext) -> tuple[Finding, ...]:
    """One finding per guarantee."""
    return tuple(_finding(context, promise) for promise in context.guarantees.of(KOfStars, every_step=True))


def _finding(context: CheckContext, promise: KOfStars) -> Finding:
    columns = tuple(name for name in promise.columns if name in context.after.columns)
    groups = classes(context.seen, columns)
    counts = context.unit_counts(groups)
    as_value = int(counts.min()) if counts.size else 0
    first = groups.first
    cells = np.column_stack([codes(context.seen[name])[first] for name in columns]).astype(np.int64)
    starred = np.column_stack([_stars(context, name) for name in columns])[first]
    patterns = np.unique(starred, axis=0).shape[0]
    by_wildcard = promise.reading == "wildcard"
    as_wildcard = None
    if by_wildcard or (context.units is None and patterns * first.size <= MOST_COMPARED):
        as_wildcard = int(compatible(cells, starred, groups.sizes).min(initial=context.rows))
    size = as_wildcard if by_wildcard else as_value
    bad = (size or 0) < promise.k
    who = "record" if context.units is None else "unit"
    texts = [f"{counted(as_value, who)} if a star is read as a value"]
    if as_wildcard is not None:
        texts.append(f"{counted(as_wildcard, 'record')} if a star matches every value")
    text = f"each record agrees with at least {' and '.join(texts)}, itself included"
    if bad:
        text += f"; guaranteed are {promise.k}, read as a {promise.reading}"
    return context.make_finding(
        "k-of-stars", bad, text, size, promise.k, "protect the file again with shoal suppress",
        promised=promise.promised,
    )  # fmt: skip


def _stars(context: CheckContext, name: str) -> Bools:
    """The stars of a column; a column that is not text has none."""
    return context.starred(name) if context.after[name].dtype in TEXT else np.zeros(context.rows, dtype=bool)


def compatible(cells: Ints, starred: Bools, sizes: Ints) -> Ints:
    """Return with how many records each class agrees if a star matches every value.

    For each two patterns of stars, the classes are counted over the columns that neither stars.

    Args:
        cells: [class, column], codes of the values.
        starred: [class, column].
        sizes: The number of records of each class.
    """
    patterns, of_class = np.unique(starred, axis=0, return_inverse=True)
    members = [np.flatnonzero(of_class.reshape(-1) == p) for p in range(patterns.shape[0])]
    total = np.zeros(sizes.size, dtype=np.int64)
    for p, one in enumerate(members):
        for q, two in enumerate(members[: p + 1]):
            common = np.flatnonzero(~patterns[p] & ~patterns[q])
            keys = _keys(np.concatenate((cells[one], cells[two]))[:, common])
            records = np.bincount(keys[one.size :], weights=sizes[two], minlength=int(keys.max(initial=0)) + 1)
            total[one] += records[keys[: one.size]].astype(np.int64)
            if p != q:
                back = np.bincount(keys[: one.size], weights=sizes[one], minlength=int(keys.max(initial=0)) + 1)
                total[two] += back[keys[one.size :]].astype(np.int64)
    return total


def _keys(cells: Ints) -> Ints:
    """Return the number of each row among the distinct rows."""
    key, largest = np.zeros(cells.shape[0], dtype=np.int64), 1
    for column in cells.T:
        width = int(column.max(initial=0)) + 1
        if largest * width >= LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
            largest = int(key.max(initial=0)) + 1
        key, largest = key * width + column, largest * width
    return np.unique(key, return_inverse=True)[1].reshape(-1)
