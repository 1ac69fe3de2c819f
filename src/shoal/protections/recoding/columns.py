"""The columns of a recoding: their values, what a group of records covers in each, and what that costs.

A column is ordered (numbers, dates, names with an order), a column of names, or, with the loss of nodes, a tree. A
missing value is a value of its own: it may share a group with others, and its label says so.

The loss of a cell is 0 for an exact value and 1 for everything: the width of the interval divided by the range; (values
- 1) / (values of the column - 1); or (leaves - 1) / (leaves of the tree - 1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Indices, Ints
from shoal.errors import InputError, UsageError, unknown
from shoal.protections.recoding.losses import NodeColumn, SetColumn
from shoal.protections.recoding.trees import Tree, interval_tree, taxonomy_tree
from shoal.table.coded_values import ColumnValues, matched_to_leaves, number_or_text, values_of
from shoal.table.column import ColumnCodes
from shoal.table.domain import Domain
from shoal.table.kinds import CODES
from shoal.table.labels import SUPPRESSED, group_name, missing_name, number
from shoal.table.table import Table
from shoal.table.taxonomy import read_taxonomy

MISSING_SHARE = 0.05  # what a missing value beside numbers costs, at least


@dataclass(frozen=True, eq=False)
class Cover:
    """What each group covers in a column.

    label: the number of the text of each group. texts: the texts. losses: by text. legend: the values of texts that
    were cut. is_exact: by text, whether it is a single value.
    """

    label: Ints
    texts: list[str]
    losses: Floats
    is_exact: Bools
    legend: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RecodedColumn(ABC):
    """A column, its values, and its weight in the loss."""

    name: str
    values: ColumnValues
    weight: float

    @property
    def codes(self) -> ColumnCodes:
        return self.values.codes

    @property
    def kind(self) -> str:
        """The kind of the column in the results."""
        return "date" if self.values.is_date else "number" if self.codes.numeric else "nominal"

    @property
    def has_missing(self) -> bool:
        return bool(self.codes.values) and self.codes.values[-1] is None

    @property
    def present(self) -> int:
        """The number of values without the missing one."""
        return len(self.codes.values) - self.has_missing

    def with_codes(self, codes: Indices) -> Self:
        """Return the column of other records with the same values."""
        counts = np.bincount(codes, minlength=len(self.codes.values)).astype(np.int64)
        return replace(self, values=replace(self.values, codes=replace(self.codes, codes=codes, counts=counts)))

    @property
    @abstractmethod
    def leaves(self) -> int:
        """The number of values that the share of a cell counts: m in ARX's granularity."""

    @property
    def is_bounded(self) -> bool:
        """Whether two columns can bound its values: numbers and dates."""
        return self.codes.numeric

    @abstractmethod
    def cover(self, labels: Ints, groups: int, full: bool) -> Cover:
        """Return what each group covers. full: whether long texts are written in full."""

    def bounds(self, labels: Ints, groups: int) -> tuple[Floats, Floats]:
        """Return the lower and the upper bound of each group, of numbers or days.

        They are NaN if a value of the group is missing: bounds would not be true of it.
        """
        low, high = self._group_ends(labels, groups)
        values = np.append(np.array(self.codes.values[: self.present], dtype=np.float64), np.nan)
        first, last = _extremes(self.codes.codes, labels, groups, self.present)
        low, high = np.fmin(low, values[first]), np.fmax(high, values[last])  # rounding may have moved an end inward
        gap = _has(labels, self.codes.missing, groups)
        return np.where(gap, np.nan, low), np.where(gap, np.nan, high)

    def _group_ends(self, labels: Ints, groups: int) -> tuple[Floats, Floats]:
        """Return the ends of the interval of each group, missing values aside."""
        raise NotImplementedError(f"{self.name} has no intervals")


@dataclass(frozen=True, eq=False)
class OrderedColumn(RecodedColumn):
    """Numbers, days or ranks: a group covers an interval.

    positions: by value. step: the ends are rounded outward to its multiples; 0 for exact ends. names: of ranks.
    """

    positions: Floats
    step: float = 0.0
    names: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return "ordinal" if self.names else super().kind

    @property
    def leaves(self) -> int:
        return len(self.codes.values)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """The lower and the upper end that each value gives an interval."""
        if not self.step:
            return self.positions, self.positions
        low = np.floor(self.positions / self.step) * self.step
        whole = bool((self.positions == np.floor(self.positions)).all()) and self.step == int(self.step)
        return low, low + self.step - whole

    @cached_property
    def _missing_share(self) -> float:
        return max(MISSING_SHARE, 1.0 / self.present) if self.has_missing and self.present else 0.0

    def set_columns(self, part: float) -> list[SetColumn]:
        """Return the positions, and whether a value is missing as a second column, for costs of `part` in all."""
        scale = part * (1.0 - self._missing_share)
        low, high = self._ends
        width = float(high.max() - low.min()) if low.size else 0.0
        at = np.rint((low - low.min()) / width * scale) if width > 0 else np.zeros(low.size)
        codes = np.append(at, -1).astype(np.int64)[self.codes.codes]  # missing values have the last code
        columns = [SetColumn(codes)]
        if self.has_missing:
            columns.append(SetColumn((codes < 0).astype(np.int64), int(part * self._missing_share), 2))
        return columns

    def cover(self, labels: Ints, groups: int, full: bool) -> Cover:
        first, last = _extremes(self.codes.codes, labels, groups, self.present)
        gap = _has(labels, self.codes.missing, groups)
        pairs, label = np.unique(np.column_stack([first, last, gap]), axis=0, return_inverse=True)
        low, high = self._ends
        width = float(high.max() - low.min()) if low.size else 0.0
        lowest, highest = np.append(low, np.nan)[pairs[:, 0]], np.append(high, np.nan)[pairs[:, 1]]
        wide = (highest - lowest) / width if width > 0 else np.zeros(len(pairs))
        has_values = pairs[:, 1] >= 0
        losses = np.where(has_values, wide * (1 - self._missing_share) + pairs[:, 2] * self._missing_share, 0.0)
        texts = [self._text(*pair.tolist()) for pair in pairs]
        exact = np.where(has_values, (lowest == highest) & (pairs[:, 2] == 0), True)
        return Cover(label.reshape(-1), _distinct(texts, []), losses, np.asarray(exact, dtype=bool))

    def _group_ends(self, labels: Ints, groups: int) -> tuple[Floats, Floats]:
        first, last = _extremes(self.codes.codes, labels, groups, self.present)
        low, high = self._ends
        return np.append(low, np.nan)[first], np.append(high, np.nan)[last]

    def _text(self, first: int, last: int, gap: int) -> str:
        missing = [missing_name(self.domain)] * bool(gap)
        if last < 0:
            return missing[0]
        if self.names:
            ends = [self.names[first], self.names[last]]
            return " or ".join([ends[0] if first == last else " to ".join(ends), *missing])
        if not self.step:
            return group_name(self.domain, [first, *([last] if last > first else []), *([self.present] if gap else [])])
        low, high = float(self._ends[0][first]), float(self._ends[1][last])
        outer = Domain(self.name, True, tuple(sorted({low, high})), (), np.arange(float(len({low, high}))))
        if self.step != int(self.step) or low == high or not self.domain.whole:
            text = number(low) if low == high else f"[{number(low)}{' to ' if low < 0 else '-'}{number(high)})"
        else:
            text = group_name(outer, range(outer.size))
        return " or ".join([text, *missing])

    @cached_property
    def domain(self) -> Domain:
        """The values as a domain, which names intervals; a missing value has the last code."""
        values = tuple(self.positions.tolist())
        return Domain(
            self.name, True, values, (), np.arange(float(len(self.codes.values))), missing=self.has_missing,
            whole=all(value == int(value) for value in values), unit="day" if self.values.is_date else "",
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class NameColumn(RecodedColumn):
    """Names without an order: a group covers a set of them."""

    @property
    def leaves(self) -> int:
        return len(self.codes.values)

    def set_columns(self, part: float) -> list[SetColumn]:
        """Return the codes, for costs of `part` in all."""
        return [SetColumn(self.codes.codes.astype(np.int64), int(part / max(1, self.leaves - 1)), self.leaves)]

    def cover(self, labels: Ints, groups: int, full: bool) -> Cover:
        pairs = np.unique(labels * self.leaves + self.codes.codes)
        owner, code = pairs // self.leaves, pairs % self.leaves
        starts = np.searchsorted(owner, np.arange(groups + 1))
        number_of: dict[bytes, int] = {}
        label = np.empty(groups, dtype=np.int64)
        for group in range(groups):
            label[group] = number_of.setdefault(code[starts[group] : starts[group + 1]].tobytes(), len(number_of))
        sets = [np.frombuffer(key, dtype=code.dtype).tolist() for key in number_of]
        domain = self._domain
        whole = [group_name(domain, held, True) for held in sets]
        short = whole if full else [group_name(domain, held) for held in sets]
        taken = [str(value) for value in domain.values]
        texts = _distinct(short, taken, [len(held) == 1 for held in sets])
        legend = {
            text: [_value_name(domain, c) for c in held]
            for text, long, plain, held in zip(texts, whole, short, sets, strict=True)
            if long != plain
        }
        sizes = np.array([len(held) for held in sets])
        return Cover(label, texts, (sizes - 1) / max(1, self.leaves - 1), sizes == 1, legend)

    @cached_property
    def _domain(self) -> Domain:
        values = tuple(str(value) for value in self.codes.values[: self.present])
        size = np.zeros(len(self.codes.values))
        return Domain(self.name, False, values, (), size, free=True, missing=self.has_missing)


@dataclass(frozen=True, eq=False)
class TreeColumn(RecodedColumn):
    """Values under the nodes of a tree: a group covers the lowest node above its values."""

    tree: Tree

    @property
    def leaves(self) -> int:
        return self.tree.leaves

    def node_column(self, part: float) -> NodeColumn:
        """Return the levels of the tree, for costs of `part` in all."""
        costs = np.rint(self.tree.losses * part).astype(np.int64)
        return NodeColumn(self.codes.codes, self.tree.ids[1:], costs)

    def cover(self, labels: Ints, groups: int, full: bool) -> Cover:
        at, label = self._nodes(labels, groups)
        losses = np.array([self.tree.losses[level, code] for level, code in at])
        # Levels that repeat a leaf are the leaf itself: texts are those of the nodes.
        named = [self.tree.names[level][code] for level, code in at]
        texts, where = np.unique(named, return_inverse=True)
        by_text = np.zeros(texts.size)
        by_text[where] = losses
        exact = np.zeros(texts.size, dtype=bool)
        exact[where] = losses == 0
        return Cover(where.reshape(-1)[label], [str(text) for text in texts], by_text, exact)

    def _group_ends(self, labels: Ints, groups: int) -> tuple[Floats, Floats]:
        at, label = self._nodes(labels, groups)
        ends = np.array([self._node_ends(level, code) for level, code in at])
        return ends[label, 0], ends[label, 1]

    def _node_ends(self, level: int, code: int) -> tuple[float, float]:
        """Return the ends of an interval, or the smallest and the largest value below another node."""
        name = self.tree.names[level][code]
        while name not in self.tree.ends and name.startswith("("):
            name = name[1:-1]
        if name in self.tree.ends and level > 0:
            return self.tree.ends[name]
        ids = self.tree.ids[level][: self.present]
        below = [self.codes.values[c] for c in np.flatnonzero(ids == self.tree.ids[level][code]).tolist()]
        return (float(min(below)), float(max(below))) if below else (np.nan, np.nan)

    def _nodes(self, labels: Ints, groups: int) -> tuple[list[tuple[int, int]], Ints]:
        """Return the lowest nodes that cover a group, as level and a value below, and the node of each group."""
        ids, count = self.tree.ids, self.tree.ids.shape[0]
        first = np.zeros(groups, dtype=np.int64)
        first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
        value = self.codes.codes[first]
        depth = np.zeros(groups, dtype=np.int64)
        for level in range(1, count):
            here = ids[level][self.codes.codes]
            apart = _has(labels, here != here[first[labels]], groups)
            depth = np.where((depth == level - 1) & ~apart, level, depth)
        nodes = ids[depth, value] + 0
        pairs, label = np.unique(np.column_stack([depth, nodes]), axis=0, return_inverse=True)
        at = [(int(level), int(np.flatnonzero(ids[level] == node)[0])) for level, node in pairs]
        return at, label.reshape(-1)


@dataclass(frozen=True)
class ColumnOptions:
    """The options on the values of the columns."""

    loss: str
    taxonomy: Mapping[str, Any] | None = None
    steps: Mapping[str, Sequence[float]] | None = None
    round_ends: Mapping[str, float] | None = None
    importance: Mapping[str, float] | None = None

    def check(self, columns: Sequence[str]) -> None:
        """Raise an error for an option on a column that is not a quasi-identifier, or without effect."""
        for option in (self.taxonomy, self.steps, self.round_ends, self.importance):
            for column in option or ():
                if column not in columns:
                    raise unknown("quasi-identifier", column, columns)
        for name, weight in (self.importance or {}).items():
            if not 0 < weight < np.inf:
                raise UsageError(f"The importance of {name!r} must be a number above 0, not {weight!r}.")
        for name, step in (self.round_ends or {}).items():
            if not 0 < step < np.inf:
                raise UsageError(f"The ends of {name!r} are rounded to a step above 0, not {step!r}.")
        if self.loss == "nodes" and self.round_ends:
            raise UsageError("--round-ends needs the loss sets. With the loss nodes, use --steps COLUMN=5,10,20.")
        if self.loss == "sets" and (self.taxonomy or self.steps):
            raise UsageError("--taxonomy and --steps need the loss nodes. Remove --loss sets, or remove them.")


def column_of(table: Table, name: str, options: ColumnOptions) -> RecodedColumn:
    """Return the column of a table in the form that its options and its values ask for."""
    order = table.roles.order.get(name)
    has_taxonomy = name in (options.taxonomy or {})
    kind = "name" if has_taxonomy or (order is not None and table[name].kind != "number") else ""
    values = values_of(table, name, kind)
    weight = float((options.importance or {}).get(name, 1.0))
    steps = (options.steps or {}).get(name)
    if steps is not None and (has_taxonomy or not values.codes.numeric):
        what = "has a taxonomy" if has_taxonomy else "does not hold numbers"
        raise UsageError(f"The column {name!r} {what}, so it has no steps. Remove --steps {name}=….")
    if name in (options.round_ends or {}) and (not values.codes.numeric or values.is_date):
        raise UsageError(
            f"The column {name!r} does not hold numbers, so its ends cannot be rounded. Remove --round-ends {name}=…."
        )
    if has_taxonomy:
        taxonomy = read_taxonomy((options.taxonomy or {})[name], name)
        values = matched_to_leaves(values, taxonomy)
        return TreeColumn(name, values, weight, taxonomy_tree(name, values.codes.values, taxonomy))
    names = _ordered_names(name, values, order)
    if options.loss == "nodes":
        in_order = _by_rank(values, names) if names else values
        return TreeColumn(name, in_order, weight, interval_tree(name, in_order, steps))
    if names:
        ranked = _by_rank(values, names)
        return OrderedColumn(name, ranked, weight, np.arange(float(len(names))), names=tuple(names))
    if values.codes.numeric:
        present = [value for value in values.codes.values if value is not None]
        step = float((options.round_ends or {}).get(name, 0.0))
        return OrderedColumn(name, values, weight, np.array(present, dtype=np.float64), step)
    return NameColumn(name, values, weight)


def _ordered_names(name: str, values: ColumnValues, order: Any) -> list[str]:
    """Return the names that occur in their order; empty if the column has no order or holds numbers."""
    if values.codes.numeric and order is None:
        return []
    present = [str(value) for value in values.codes.values if value is not None]
    if order is None:
        return [value for value in values.declared or () if value in present]
    listed = [str(part) for part in order]
    if listed == [CODES]:
        return list(values.name_of.values()) or sorted(present, key=number_or_text)
    listed = [values.name_of.get(part, part) for part in listed]
    absent = [value for value in present if value not in listed]
    if absent or len(set(listed)) < len(listed):
        problem = f"does not list the value {absent[0]!r}" if absent else "names a value twice"
        raise InputError(f"The order of {name!r} {problem}. Name each value once, the lowest first: --order {name}=….")
    return [value for value in listed if value in present]


def _by_rank(values: ColumnValues, names: Sequence[str]) -> ColumnValues:
    """Return the same values with codes in the order of the names, missing last."""
    codes = values.codes
    rank = {value: i for i, value in enumerate(names)}
    lookup = np.array([len(names) if v is None else rank[str(v)] for v in codes.values], dtype=np.int32)
    kept = [*names, *([None] if None in codes.values else [])]
    counts = np.bincount(lookup[codes.codes], minlength=len(kept)).astype(np.int64)
    return replace(values, codes=ColumnCodes(kept, lookup[codes.codes], counts, numeric=False))


def _extremes(codes: Indices, labels: Ints, groups: int, present: int) -> tuple[Ints, Ints]:
    """Return the smallest and the largest code of each group; `present` and -1 if it has only missing values."""
    first, last = np.full(groups, present, dtype=np.int64), np.full(groups, -1, dtype=np.int64)
    inside = codes < present
    np.minimum.at(first, labels[inside], codes[inside])
    np.maximum.at(last, labels[inside], codes[inside])
    return first, last


def _has(labels: Ints, flags: NDArray[Any], groups: int) -> NDArray[np.bool_]:
    """Return which groups have a record with the flag."""
    return np.asarray(np.bincount(labels, flags, minlength=groups) > 0)


def _value_name(domain: Domain, code: int) -> str:
    return str(domain.values[code]) if code < len(domain.values) else missing_name(domain)


def _distinct(texts: Sequence[str], taken: Sequence[str], single: Sequence[bool] = ()) -> list[str]:
    """Return texts of which no two are equal, none is a star, and only single values have the text of a value."""
    values, used, result = set(taken), set[str](), []
    seen: dict[str, int] = {}
    for i, text in enumerate(texts):
        is_single = bool(single) and single[i]
        while text == SUPPRESSED or (not is_single and text in values):
            text = f"({text})"
        plain = text
        while text in used:
            seen[plain] = seen.get(plain, 1) + 1
            text = f"{plain} ({seen[plain]})"
        used.add(text)
        result.append(text)
    return result
