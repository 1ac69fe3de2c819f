"""What a release does not promise, by the way it was made; docs/limitations.md has more."""

from __future__ import annotations

from collections.abc import Sequence

_ALL = [
    (
        "Only the named columns are protected.",
        "A column that was not named is released as it is; if an intruder can know it, it must be named.",
    ),
    (
        "Alike is not the same as secret.",
        "If all records of a class share a confidential value, nobody needs to know who is who.",
    ),
    (
        "Two releases can be intersected.",
        "Another release of the same people with other groups may tell more than either of them.",
    ),
]
_MEANS = [
    (
        "Group means are exact.",
        "All but one member of a group, pooling what they know, can work out the last one's value.",
    ),
    ("Extremes are pulled in.", "Means are kept; variances shrink, and the largest and smallest values move inwards."),
]
_OWN = {
    "microaggregation": _MEANS,
    "grouping": [
        (
            "k holds within each group of columns only.",
            "Over all columns together fewer records may look alike, even a single one.",
        ),
        *_MEANS,
    ],
    "generalization": [
        (
            "Labels still narrow a value down.",
            "A class of k records hides who is who, not that each of them lies in the group of its label.",
        ),
    ],
    "masking": [
        (
            "A group is hidden, not a person.",
            "Records keep all their other values; a record that is unique in them can still be found.",
        ),
        (
            "Only these outliers are masked.",
            "The districts where this group is concentrated no longer stand out; other groups are as they were.",
        ),
    ],
    "files": [
        ("Measured, not verified.", "This page compares two files; it does not know how the second was made."),
    ],
}


def limits(kinds: Sequence[str]) -> list[tuple[str, str]]:
    """The points that hold for a release with steps of these kinds, each once."""
    own = [point for kind in kinds for point in _OWN[kind]]
    common = [_ALL[0], _ALL[2]] if set(kinds) == {"masking"} else _ALL
    return list(dict.fromkeys([*own, *common]))
