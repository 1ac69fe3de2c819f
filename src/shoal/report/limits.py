"""What a release does not guarantee, depending on its protections; docs/explain/guarantees.md explains more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.release import Release

_ALL = [
    (
        "Confidential and as-is columns are released unchanged.",
        "The publisher declares that no intruder knows them. An intruder who does can find records by them.",
    ),
    (
        "Groups can reveal shared confidential values.",
        "If all records of a class have the same confidential value, an intruder learns it without identifying anyone.",
    ),
    (
        "Two releases can be combined.",
        "Another release of the same people with other groups may disclose more than each of the two alone.",
    ),
]
_FILES = (
    "Values are measured, not guaranteed.",
    "This report compares two files. It does not know how the release was made.",
)


def limits(steps: Sequence[Release]) -> list[tuple[str, str]]:
    """The limits of a release with these steps, each once: those that the protections declare, and the general ones."""
    protections = [step.protection for step in steps if step.protection is not None]
    declared = [point for protection in protections for point in protection.limits]
    hides_records = not protections or any(protection.hides_records for protection in protections)
    return list(dict.fromkeys([*declared, *(_ALL if hides_records else [_ALL[0], _ALL[2]])]))


def limits_of_files() -> list[tuple[str, str]]:
    """The limits of a comparison of two files."""
    return [_FILES, *_ALL]
