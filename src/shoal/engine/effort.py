"""The names of the search budgets: how much work a search may do, independent of clock time."""

from typing import Literal, get_args

Effort = Literal["quick", "standard", "thorough"]
EFFORTS: tuple[str, ...] = get_args(Effort)
