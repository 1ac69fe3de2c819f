"""What an equivalence class discloses about a confidential column: l-diversity and t-closeness.

Classes and confidential values are codes, one per record. The l of a table is that of its worst class: distinct values,
the exponential of the entropy, or recursive with a given c (Machanavajjhala et al. 2007). The t of a table is the
largest distance of the distribution in a class from that in the whole table (Li, Li and Venkatasubramanian 2007). The
distance of two values is 1 (equal), or the share of the range between their ranks (ordered).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Codes, Floats, Ints
from shoal.errors import UsageError, check_choice
from shoal.measures.measure import Measure

if TYPE_CHECKING:
    from shoal.measures.evidence import Evidence

CELLS = 4_000_000  # most cells of a table of classes by values in memory


def distinct_l(classes: Codes, values: Codes) -> int:
    """The smallest number of distinct confidential values in a class."""
    label = np.unique(classes, return_inverse=True)[1].reshape(-1)
    width = int(values.max()) + 1
    pairs = np.unique(label * width + values)
    return int(np.bincount(pairs // width).min())


def t_closeness(classes: Codes, values: Codes, distance: str = "equal", reference: Ints | None = None) -> float:
    """The largest distance of a class from the whole table, or from `reference` (counts of all values).

    Classes are processed in blocks, so that a large file does not need a table of all classes by all values.
    """
    whole = np.bincount(values).astype(np.int64) if reference is None else reference
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    step = max(1, CELLS // whole.size)
    ends = [*starts[::step].tolist(), len(order)]
    blocks = [order[a:b] for a, b in pairwise(ends)]
    return max(float(distances(classes[rows], values[rows], distance, whole).max()) for rows in blocks)


def diversity_of(classes: Codes, values: Codes, kind: str, c: float = 1.0, repeats: Ints | None = None) -> Floats:
    """The l of each class: distinct, entropy, or recursive with c (0 if no l holds)."""
    check_choice("kind of l-diversity", kind, ("distinct", "entropy", "recursive"))
    counts = class_counts(classes, values, repeats=repeats)
    if kind == "distinct":
        return np.asarray((counts > 0).sum(axis=1), dtype=np.float64)
    if kind == "entropy":
        share = counts / counts.sum(axis=1, keepdims=True)
        terms = np.where(share > 0, share * np.log(np.where(share > 0, share, 1.0)), 0.0)
        return np.asarray(np.exp(-terms.sum(axis=1)))
    if not c > 0:
        raise UsageError(f"c must be above 0, not {c!r}.")
    ordered = -np.sort(-counts, axis=1)
    tails = np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]
    return np.asarray((ordered[:, :1] < c * tails).sum(axis=1), dtype=np.float64)


def distances(
    classes: Codes,
    values: Codes,
    distance: str = "equal",
    reference: Ints | None = None,
    repeats: Ints | None = None,
) -> Floats:
    """The earth mover's distance of each class from the whole table, or from `reference`."""
    check_choice("distance", distance, ("equal", "ordered"))
    counts = class_counts(classes, values, None if reference is None else reference.size, repeats)
    whole = counts.sum(axis=0) if reference is None else reference
    difference = counts / counts.sum(axis=1, keepdims=True) - whole / whole.sum()
    if distance == "equal":
        return np.asarray(np.abs(difference).sum(axis=1) / 2)
    if difference.shape[1] < 2:
        return np.zeros(len(difference))
    return np.asarray(np.abs(np.cumsum(difference, axis=1)).sum(axis=1) / (difference.shape[1] - 1))


def broken_classes(
    classes: Codes,
    values: Codes,
    least: float,
    kind: str,
    c: float,
    t: float | None,
    distance: str,
    repeats: Ints | None = None,
) -> NDArray[np.bool_]:
    """Which classes do not have l or t, up to a rounding error of 1e-12.

    repeats: the number of records that each row stands for; one by default.
    """
    short = np.zeros(int(np.max(classes)) + 1, dtype=bool)
    if least > 1 or kind == "recursive":
        short |= diversity_of(classes, values, kind, c, repeats) < least - 1e-12
    if t is not None:
        short |= distances(classes, values, distance, repeats=repeats) > t + 1e-12
    return short


def class_counts(classes: Codes, values: Codes, width: int | None = None, repeats: Ints | None = None) -> Ints:
    """The number of records per class and confidential value."""
    label = np.unique(classes, return_inverse=True)[1].reshape(-1)
    width = int(values.max()) + 1 if width is None else width
    pairs = np.bincount(label * width + values.astype(np.int64), repeats, minlength=(int(label.max()) + 1) * width)
    return pairs.reshape(-1, width).astype(np.int64)


def _fewest_values(evidence: Evidence) -> int | None:
    """The l of the worst confidential column."""
    classes = evidence.classes
    if classes is None or not classes.label.size or not evidence.confidential:
        return None
    return min(distinct_l(classes.label, column.codes[classes.kept]) for column in evidence.confidential.values())


def _farthest(evidence: Evidence) -> float | None:
    """The t of the worst confidential column; the distribution of the whole table includes suppressed records."""
    classes = evidence.classes
    if classes is None or not classes.label.size or not evidence.confidential:
        return None
    return max(
        t_closeness(
            classes.label,
            column.codes[classes.kept],
            "ordered" if column.ordered else "equal",
            np.bincount(column.codes).astype(np.int64),
        )
        for column in evidence.confidential.values()
    )


MEASURES = (
    Measure(
        name="l",
        kind="risk",
        needs=("classes", "confidential"),
        range="1 and more",
        unit="",
        better="higher",
        meaning="fewest different confidential values in a class",
        formula="distinct l-diversity of the worst class and confidential column",
        compute=_fewest_values,
    ),
    Measure(
        name="t",
        kind="risk",
        needs=("classes", "confidential"),
        range="0 to 1",
        unit="",
        better="lower",
        meaning="largest distance of the confidential values of a class from those of all records",
        formula="largest earth mover's distance of a class from the table; numbers by their rank",
        compute=_farthest,
        costly=True,
    ),
)
