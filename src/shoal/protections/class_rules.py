"""The l-diversity and t-closeness of the confidential columns in every class.

l: the number of distinct values, the exponential of their entropy, or recursive (c, l)-diversity (Machanavajjhala et
al. 2007). t: the distance between the distributions in a class and in the whole table, with equal or ordered ground
distance (Li, Li and Venkatasubramanian 2007). Like k, they never get worse when classes are joined. The kernels in
protections/generalization/kernels/classes.py read the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.engine.partition.kernels.rules import GroupRules
from shoal.errors import UsageError, check_choice
from shoal.gate.promises import DISTANCES, DIVERSITY_KINDS, Diversity, read_diversity
from shoal.protections.values import check_countable
from shoal.table.coded_values import finite_codes
from shoal.table.column import ColumnCodes
from shoal.table.table import Table

NO_T = 2.0  # distances are at most 1
NOT_DIVERSE = (
    "Even the whole table as a single class does not reach l, because the confidential column is not that diverse. "
    "Use a lower l."
)


@dataclass(frozen=True)
class Rule:
    """The required l-diversity and t-closeness of one confidential column."""

    l: float = 1.0  # noqa: E741
    kind: str = "distinct"
    c: float = 1.0
    t: float | None = None
    distance: str = "equal"

    def __post_init__(self) -> None:
        Diversity(self.l, self.kind, self.c)  # refuses an invalid l
        check_choice("distance", self.distance, DISTANCES)
        if self.t is not None and not 0 <= self.t <= 1:
            raise UsageError(f"t must be between 0 and 1, not {self.t!r}.")


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of all confidential columns as arrays; the counts of their values are next to each other."""

    integers: Ints
    floats: NDArray[np.float64]
    widths: tuple[int, ...]
    rules: tuple[Rule, ...]

    @cached_property
    def width(self) -> int:
        return sum(self.widths)


def rules_of(rules: Sequence[Rule], widths: Sequence[int]) -> Rules:
    """Return the arrays of the rules, for columns with these numbers of distinct values."""
    integers = np.zeros((len(rules), 4), dtype=np.int64)
    floats = np.zeros((len(rules), 3))
    first = 0
    for r, (rule, width) in enumerate(zip(rules, widths, strict=True)):
        kind = 1 + DIVERSITY_KINDS.index(rule.kind) if rule.l > 1 or rule.kind == "recursive" else 0
        integers[r] = first, width, kind, rule.distance == "ordered"
        floats[r] = rule.l, rule.c, NO_T if rule.t is None else rule.t
        first += width
    return Rules(integers, floats, tuple(widths), tuple(rules))


def group_rules(confidential: Mapping[str, ColumnCodes], rules: Rules, n: int) -> GroupRules:
    """Return the rules of n records as the kernels read them; the counts of the values are those of the whole table."""
    codes = [column.codes for column in confidential.values()]
    shares = [column.counts / column.counts.sum() for column in confidential.values()]
    records = np.column_stack(codes).astype(np.int32) if codes else np.zeros((n, 0), np.int32)
    reference = np.concatenate(shares) if shares else np.zeros(0)
    return GroupRules(np.ascontiguousarray(records), rules.integers, rules.floats, reference)


@dataclass(frozen=True)
class Confidentiality:
    """The required l-diversity and t-closeness, which hold for every confidential column."""

    l: Any  # noqa: E741
    t: float | None
    distance: str

    def values(self, table: Table) -> dict[str, ColumnCodes]:
        """Return the values of the confidential columns, if l or t is required."""
        if self.l is None and self.t is None:
            return {}
        if not table.roles.confidential:
            raise UsageError("l and t need confidential columns. Add --confidential COLUMN, or remove l and t.")
        check_countable(table, table.roles.confidential)
        return {name: finite_codes(table, name) for name in table.roles.confidential}

    def rules(self, confidential: Mapping[str, ColumnCodes]) -> Rules:
        """Return the same rule for each of these columns."""
        return rules_of([self.rule()] * len(confidential), [len(column.values) for column in confidential.values()])

    def rule(self) -> Rule:
        """Return the rule of one confidential column."""
        diversity = read_diversity(self.l) or Diversity(1.0)
        return Rule(diversity.l, diversity.kind, diversity.c, self.t, self.distance)
