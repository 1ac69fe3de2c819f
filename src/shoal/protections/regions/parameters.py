"""The parameters of `shoal.mask_group`, grouped by what they are for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Target:
    """The target group, the column of the regions, and the columns that are swapped together with it (along)."""

    vital: tuple[str, Sequence[Any]]
    parameter: str
    along: tuple[str, ...]
    signal: str
    second: tuple[str, Sequence[Any]] | None


@dataclass(frozen=True)
class Matching:
    """The matching columns, their weights, and the cost of equal and unequal categories (chi)."""

    columns: tuple[str, ...]
    ordinal: tuple[str, ...]
    weights: dict[str, float]
    chi: tuple[float, float]


@dataclass(frozen=True)
class OutlierChoice:
    """The regions to mask and their thresholds, or the rule by which Shoal finds them."""

    outliers: Sequence[Any] | None
    thresholds: Sequence[float] | None
    nth: int
    rule: str
    restriction: str
    root: bool


@dataclass(frozen=True)
class Aim:
    """The aim of the search, and the solution to take."""

    settings: str
    alphas: Sequence[float]
    decoys: int
    pick: int | None


@dataclass(frozen=True)
class Searching:
    """The search method, its options, and the seed or secret of its choices."""

    method: str
    options: dict[str, Any]
    seed: int
    secret: str | None
