"""The cost of a group as the kernels compute it: the loss is a parameter of every move.

A loss is a marker (a NamedTuple that may hold scalars) and one implementation of each function below. The type of the
marker chooses the implementation when a kernel is compiled, so the choice costs nothing at run time. All functions read
the same arrays: `x` (one row per record), `w` (weights), `summary` (one row of numbers per group), `mass` (the total
weight of a group), `member` and `size` (the records of each group). An infinite change forbids a move.

    leaving(loss, x, w, summary, mass, member, size, a, i)          change of a's cost if i leaves
    entering(loss, x, w, summary, mass, member, size, b, i)         change of b's cost if i enters
    replacing(loss, x, w, summary, mass, member, size, a, i, j)     change of a's cost if j replaces i
    swapping(loss, x, w, summary, mass, member, size, a, i, b, j)   both changes if i and j are swapped
    apart(loss, x, i, j)                                            how different two records are
    summarize(loss, x, w, summary, mass, member, size, a)           a's row from its members; returns a's cost
    note_leaving, note_entering(loss, x, w, summary, mass, member, size, a, i)
                                                                    update the row, before the members change

A loss with rules, such as l-diversity, also needs

    rule_room(loss)                                                 the numbers that `is_allowed` needs; 0 for no rules
    is_allowed(loss, x, w, summary, mass, member, size, a, counts)  whether the rules of the loss allow the group;
                                                                    `counts` has the loss's room for its own use

A loss without rules implements them too, with 0 and True: then the compiler removes the check. A search that rebuilds
whole groups (`rebuild.py`) needs `is_allowed` and

    joining(loss, x, w, summary, mass, member, size, b, i, limit)   change of b's cost if i joins, rules ignored; or
                                                                    any number from `limit` on if it is not smaller
    group_cost(loss, x, w, summary, mass, member, size, a)          a's cost, read from its row
    only_rises(loss)                                                whether a group that grows never costs less per
                                                                    record; for greedy groups
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.engine.kernels.compiling import BARE, with_numba


def leaving(*_: Any) -> float:
    raise NotImplementedError


def entering(*_: Any) -> float:
    raise NotImplementedError


def replacing(*_: Any) -> float:
    raise NotImplementedError


def swapping(*_: Any) -> float:
    raise NotImplementedError


def apart(*_: Any) -> float:
    raise NotImplementedError


def summarize(*_: Any) -> float:
    raise NotImplementedError


def note_leaving(*_: Any) -> None:
    raise NotImplementedError


def note_entering(*_: Any) -> None:
    raise NotImplementedError


def joining(*_: Any) -> float:
    raise NotImplementedError


def group_cost(*_: Any) -> float:
    raise NotImplementedError


def only_rises(*_: Any) -> bool:
    raise NotImplementedError


def is_allowed(*_: Any) -> bool:
    raise NotImplementedError


def rule_room(*_: Any) -> int:
    raise NotImplementedError


def implement(function: Callable[..., Any], *markers: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the decorated function the implementation of `function` wherever its first argument is one of `markers`."""

    def decorate(implementation: Callable[..., Any]) -> Callable[..., Any]:
        def choose(*args: Any) -> Callable[..., Any] | None:
            return implementation if getattr(args[0], "instance_class", None) in markers else None

        def register() -> None:
            from numba.extending import overload

            overload(function, jit_options={**BARE, "forceinline": True}, strict=False)(choose)

        with_numba(register)
        return implementation

    return decorate
