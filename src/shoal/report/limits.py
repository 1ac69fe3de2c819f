"""What a release does not guarantee, by the way it was made; docs/explain/guarantees.md has more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.release import Release

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
_FILES = ("Measured, not verified.", "This report compares two files; it does not know how the second was made.")


def limits(steps: Sequence[Release]) -> list[tuple[str, str]]:
    """The points for a release with these steps, each once: those that the protections declare, and those of all."""
    protections = [step.protection for step in steps if step.protection is not None]
    own = [point for protection in protections for point in protection.limits]
    hides_records = not protections or any(protection.hides_records for protection in protections)
    return list(dict.fromkeys([*own, *(_ALL if hides_records else [_ALL[0], _ALL[2]])]))


def limits_of_files() -> list[tuple[str, str]]:
    """The points for two files."""
    return [_FILES, *_ALL]
