"""Conventions of loss and risk: the sound one, and that of the GOMM thesis (docs/explain/conventions.md)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Convention:
    """A way of measuring, and of making the groups that are measured."""

    name: str
    scaling: str
    thesis_mdav: bool  # L1, and a last group that may be smaller than k; rather than Euclidean, and none
    relative: bool  # intervals around the protected value, rather than parts of the column's deviation
    strict: bool  # a tie is no link, rather than 1/m of one


CONVENTIONS = {
    "sound": Convention("sound", "standard", thesis_mdav=False, relative=False, strict=False),
    "thesis": Convention("thesis", "minmax", thesis_mdav=True, relative=True, strict=True),
}
