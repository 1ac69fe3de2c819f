"""The names that options of microaggregation accept; the declaration and the methods read them here."""

from typing import Literal, get_args

Remainder = Literal["standard", "solanas", "thesis", "distribute"]
Engine = Literal["auto", "brute", "tree"]
PathOrder = Literal["tour", "nearest", "mdav"]
MacroSplit = Literal["two-step", "direct"]
Heuristic = Literal["mdav", "md"]
LossName = Literal["changes", "gini"]

REMAINDERS: tuple[str, ...] = get_args(Remainder)
ENGINES: tuple[str, ...] = get_args(Engine)
PATH_ORDERS: tuple[str, ...] = get_args(PathOrder)
MACRO_SPLITS: tuple[str, ...] = get_args(MacroSplit)
HEURISTICS: tuple[str, ...] = get_args(Heuristic)
