"""What a release does not guarantee, by the way it was made; docs/limitations.md has more."""

from __future__ import annotations

from collections.abc import Sequence

_ALL = [
    (
        "Confidential and as-is columns are released unchanged.",
        "Whoever knows their values can find records by them; that nobody does is the publisher's statement.",
    ),
    (
        "Groups can reveal shared confidential values.",
        "If all records of a class share a confidential value, it is disclosed without finding anybody.",
    ),
    (
        "Two releases can be combined.",
        "Another release of the same people with other groups may disclose more than either of them.",
    ),
]
_MEANS = [
    (
        "Group means are exact.",
        "All but one member of a group, together, can compute the last one's value.",
    ),
    ("Extremes are pulled in.", "Means are kept; variances shrink, and the largest and smallest values move inwards."),
]
_OWN = {
    "microaggregation": _MEANS,
    "grouping": [
        (
            "k holds within each column group only.",
            "Over all columns together a class may be smaller, even a single record.",
        ),
        *_MEANS,
    ],
    "generalization": [
        (
            "Categories still narrow a value down.",
            "A class of k records hides who is who, not that the value of each lies in its category.",
        ),
    ],
    "masking": [
        (
            "A group is hidden, not a person.",
            "Records keep all their other values; a record that is unique in them can still be found.",
        ),
        (
            "Only this group is masked.",
            "Other groups are as concentrated as before, and other columns may show where this one was.",
        ),
    ],
    "files": [
        ("Measured, not verified.", "This report compares two files; it does not know how the second was made."),
    ],
}


def limits(kinds: Sequence[str]) -> list[tuple[str, str]]:
    """The points for a release with steps of these kinds, each once."""
    own = [point for kind in kinds for point in _OWN[kind]]
    common = [_ALL[0], _ALL[2]] if set(kinds) == {"masking"} else _ALL
    return list(dict.fromkeys([*own, *common]))
