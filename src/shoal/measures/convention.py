"""Conventions for measuring loss and risk: the default, and that of the GOMM thesis (docs/explain/conventions.md)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Convention:
    """A convention for measuring loss and risk, and for forming the groups that are measured."""

    name: str
    scaling: str
    thesis_mdav: bool  # L1 distances and a last group that may be smaller than k, instead of Euclidean distances
    relative: bool  # intervals around the protected value, instead of shares of the standard deviation
    strict: bool  # a tie among m records does not count, instead of counting 1/m


CONVENTIONS = {
    "sound": Convention("sound", "standard", thesis_mdav=False, relative=False, strict=False),
    "thesis": Convention("thesis", "minmax", thesis_mdav=True, relative=True, strict=True),
}
