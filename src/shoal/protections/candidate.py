"""The methods of a protection that `shoal compare` tries.

The folder of a protection may have a module `candidates` with a function candidates(table, columns, effort, numeric).
It yields a `Candidate` for each method that suits the table, the quickest first, and a `LeftOut` for each other method.
numeric: every column holds numbers. If not, the module also has a function loss(release): the information loss in
percent, which is then compared instead of that of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Candidate:
    """A method: its name in the comparison, and its arguments except k."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LeftOut:
    """A method that does not suit the table, and the reason."""

    name: str
    why: str
