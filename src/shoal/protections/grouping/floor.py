"""The floor of a search: the protection that every accepted column grouping must have over all columns together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.errors import PromiseError, alternatives


@dataclass(frozen=True)
class Floor:
    """min_joint_k: the smallest joint k. max_linkage: the largest share of records linked on all columns, 0 to 1."""

    min_joint_k: int | None = None
    max_linkage: float | None = None

    @property
    def is_set(self) -> bool:
        return self.min_joint_k is not None or self.max_linkage is not None

    @property
    def max_percent(self) -> float:
        """The largest linkage in percent; infinity without a limit."""
        return float("inf") if self.max_linkage is None else 100.0 * self.max_linkage

    def accepts(self, joint_k: int, linkage: float) -> bool:
        """Whether a joint k and a linkage in percent keep the floor."""
        return (self.min_joint_k is None or joint_k >= self.min_joint_k) and linkage <= self.max_percent

    def facts(self) -> dict[str, Any]:
        """The floor as the JSON output shows it."""
        values = {"joint_k": self.min_joint_k, "max_linkage": self.max_linkage}
        return {"floor": values} if self.is_set else {}

    def broken(self, what: str, joint_k: int, linkage: float) -> PromiseError:
        """The error that nothing accepted is left. `what` broke the floor with this joint k and linkage."""
        limits, ways = [], ["raise -k"]
        if self.min_joint_k is not None:
            limits.append(f"joint k {self.min_joint_k} (--joint-k)")
            ways.append("lower --joint-k")
        if self.max_linkage is not None:
            limits.append(f"linkage at most {self.max_percent:g} % (--max-linkage)")
            ways.append("raise --max-linkage")
        return PromiseError(
            f"No column grouping meets the limits: {' and '.join(limits)}. {what} has joint k {joint_k} and linkage "
            f"{linkage:.4g} %. Nothing is written: {alternatives(ways)}."
        )
