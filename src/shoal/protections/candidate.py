"""What `shoal compare` may try of a protection.

The folder of a protection may have a module `candidates` with a function candidates(table, columns, effort, numeric),
which gives a `Candidate` for each method that suits the table, the quickest first, and a `LeftOut` for each that does
not. numeric: every column holds numbers. Where some do not, a release must have its loss, `nwp`, among its facts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Candidate:
    """A method by the name it has in the comparison, and its arguments beside k."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LeftOut:
    """A method that does not suit the table, and the reason."""

    name: str
    why: str
