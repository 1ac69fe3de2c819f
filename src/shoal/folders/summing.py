"""Sums over files that give the measures of the whole: moments of columns, tables of labels, and covariances.

Sums of two files are put together by the rule of Chan, Golub and LeVeque (1983), which keeps their digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from shoal.arrays import Bools, Floats
from shoal.measures.evidence import ColumnPair
from shoal.measures.loss import Loss, information_loss, nominal_loss
from shoal.measures.relative_change import Spread

Label = str | None


@dataclass(frozen=True, eq=False)
class Sums:
    """The mass, the mean, the products of differences from it, and the range of columns.

    Attributes:
        mass: The sum of the weights; the number of records without weights.
        mean: The mean of each column.
        products: The sums of the products of differences from the means, for each pair of columns.
        low, high: The range of each column.
    """

    mass: float
    mean: Floats
    products: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Floats, weights: Floats | None = None) -> Sums:
        """Return the sums of an n x d array."""
        n, d = values.shape
        weighed = np.ones(n) if weights is None else weights
        mass = float(weighed.sum())
        if not n or mass <= 0:
            infinite = np.full(d, np.inf)
            return cls(0.0, np.zeros(d), np.zeros((d, d)), infinite, -infinite)
        shifted = values - values[0]
        mean = np.average(shifted, axis=0, weights=weighed)
        centred = shifted - mean
        products = centred.T @ (centred * weighed[:, None])
        return cls(mass, values[0] + mean, products, values.min(axis=0), values.max(axis=0))

    def plus(self, other: Sums) -> Sums:
        """Return the sums of both."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        if self.mass == 0 or other.mass == 0:
            return replace(other if self.mass == 0 else self, low=low, high=high)
        mass = self.mass + other.mass
        apart = other.mean - self.mean
        between = np.outer(apart, apart) * (self.mass * other.mass / mass)
        mean = self.mean + apart * (other.mass / mass)
        return Sums(mass, mean, self.products + other.products + between, low, high)

    @property
    def constant(self) -> Bools:
        return np.asarray(self.high == self.low)

    @property
    def spread(self) -> Spread:
        return Spread(self.mean, self.products / self.mass, self.constant)

    def facts(self) -> dict[str, Any]:
        return {name: value if name == "mass" else value.tolist() for name, value in vars(self).items()}

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Sums:
        return cls(float(facts["mass"]), *(np.array(facts[n], float) for n in ("mean", "products", "low", "high")))


def total_sums(facts: Iterable[Mapping[str, Any]]) -> Sums:
    """Return the sums of all files."""
    return reduce(Sums.plus, map(Sums.read, facts))


@dataclass(frozen=True, eq=False)
class ChangeOfColumn:
    """A column of numbers or dates: its sums before, and the sum of its squared changes."""

    before: Sums
    changed: float

    @classmethod
    def of(cls, pair: ColumnPair) -> ChangeOfColumn:
        old, new = (values.astype(np.float64) for values in (pair.before, pair.after))
        squares = (old - new) ** 2
        return cls(
            Sums.of(old[:, None], pair.weights),
            float(squares.sum() if pair.weights is None else (pair.weights * squares).sum()),
        )

    def facts(self) -> dict[str, Any]:
        return {"before": self.before.facts(), "changed": self.changed}

    @classmethod
    def total(cls, facts: Iterable[Mapping[str, Any]]) -> ChangeOfColumn:
        """Return the sums of all files."""
        parts = list(facts)
        return cls(total_sums(part["before"] for part in parts), sum(part["changed"] for part in parts))

    @property
    def loss(self) -> Loss:
        """The loss of the column, as `shoal.measures.loss.information_loss` defines it."""
        if self.before.mass == 0:
            return Loss(0.0, 0.0)
        if bool(self.before.constant[0]):
            return Loss(self.changed / (float(self.before.low[0]) ** 2 or 1.0), 0.0)
        return Loss(self.changed / (float(self.before.products[0, 0]) / self.before.mass), self.before.mass)


@dataclass(frozen=True, eq=False)
class Crosstab:
    """The records, or the weight, of each pair of an original and a released label of a column.

    order: the values of an ordinal column, lowest first.
    """

    pairs: Mapping[tuple[Label, Label], float]
    order: tuple[str, ...] | None

    def facts(self) -> dict[str, Any]:
        return {"pairs": [[old, new, mass] for (old, new), mass in self.pairs.items()], "order": self.order}

    @classmethod
    def total(cls, facts: Iterable[Mapping[str, Any]]) -> Crosstab:
        """Return the pairs of all files."""
        pairs: dict[tuple[Label, Label], float] = {}
        order: dict[str, None] = {}
        is_ordinal = True
        for part in facts:
            is_ordinal &= part["order"] is not None
            order |= dict.fromkeys(part["order"] or ())
            for old, new, mass in part["pairs"]:
                pairs[old, new] = pairs.get((old, new), 0.0) + mass
        return cls(pairs, tuple(order) if is_ordinal else None)

    @property
    def loss(self) -> Loss | None:
        """The loss of the column; None if it has released values that no record had, such as categories."""
        old_values = {old for old, _ in self.pairs}
        if not {new for _, new in self.pairs} <= old_values:
            return None
        mass = np.array(list(self.pairs.values()))
        if self.order is None:
            place = {text: i for i, text in enumerate(sorted(old_values, key=lambda text: (text is None, text)))}
            codes = np.array([place[old] for old, _ in self.pairs])
            changed = np.array([old != new for old, new in self.pairs])
            return nominal_loss(codes, changed, mass)
        present = [(old, new) for old, new in self.pairs if old is not None and new is not None]
        if not present:
            return Loss(0.0, 0.0)
        rank = {text: float(i) for i, text in enumerate(self.order)}
        old_ranks, new_ranks = (np.array([[rank[pair[side]]] for pair in present]) for side in (0, 1))
        return information_loss(old_ranks, new_ranks, np.array([self.pairs[pair] for pair in present]))


@dataclass(frozen=True, eq=False)
class ChangeOfNumbers:
    """All columns of numbers: weighted sums before and after, sums without weights, and relative changes.

    Attributes:
        before, after: The weighted sums.
        plain: The sums of the original without weights.
        relative: The weighted sum of abs(x - x') / abs(x), the weight of these cells, and the cells with x = 0.
    """

    before: Sums
    after: Sums
    plain: Sums
    relative: tuple[float, float, int]

    @classmethod
    def of(cls, old: Floats, new: Floats, weights: Floats | None) -> ChangeOfNumbers:
        usable = old != 0
        mass = np.broadcast_to(np.ones(len(old))[:, None] if weights is None else weights[:, None], old.shape)[usable]
        change = mass * (np.abs(old[usable] - new[usable]) / np.abs(old[usable]))
        relative = (float(change.sum()), float(mass.sum()), int(old.size - usable.sum()))
        return cls(Sums.of(old, weights), Sums.of(new, weights), Sums.of(old), relative)

    def facts(self) -> dict[str, Any]:
        sums = {name: getattr(self, name).facts() for name in ("before", "after", "plain")}
        return {**sums, "relative": list(self.relative)}

    @classmethod
    def total(cls, facts: Iterable[Mapping[str, Any]]) -> ChangeOfNumbers:
        """Return the sums of all files."""
        parts = list(facts)
        before, after, plain = (total_sums(part[name] for part in parts) for name in ("before", "after", "plain"))
        change, mass, left_out = (sum(part["relative"][i] for part in parts) for i in range(3))
        return cls(before, after, plain, (float(change), float(mass), int(left_out)))

    @property
    def il1(self) -> tuple[float, int]:
        """The mean relative change of a cell, and the cells that are left out because the original is 0."""
        change, mass, left_out = self.relative
        return (change / mass if mass > 0 else 0.0), left_out

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each original column, without weights."""
        return np.asarray(np.sqrt(np.diag(self.plain.products) / self.plain.mass))
