"""How a release comes to know its run: every method that protects a table is recorded in the same way.

The arguments, as they were asked for, become the recipe; the progress leaves its trace.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from shoal.engine.progress import silent
from shoal.engine.trace import Trace
from shoal.errors import check_seed
from shoal.gate.row_order import new_secret
from shoal.recipe import Input, Recipe, Step, absolute, plain, versions
from shoal.release import Release
from shoal.sources.reading import as_table
from shoal.table.table import Table

P = ParamSpec("P")
R = TypeVar("R", bound=Release)

# What no answer depends on (threads, the state of a stopped search), what the recipe has elsewhere.
NOT_IN_STEPS = ("data", "seed", "secret", "threads", "progress", "checkpoint", "resume")


def recorded(do: str, **as_plain: Callable[[Any], Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The function, its releases with recipe, seed, secret, versions, checksum and trace.

    as_plain: prepares an argument for the recipe. A seed that is not typed is 0 for the search, and what hides then
    draws from a fresh secret.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        takes_secret = "secret" in signature.parameters

        @functools.wraps(function)
        def protect(*args: P.args, **named: P.kwargs) -> R:
            bound = signature.bind(*args, **named)
            given: dict[str, Any] = bound.arguments
            table = given["data"] = as_table(given["data"])
            typed = given.get("seed")
            secret = given.pop("secret", None) or (new_secret() if typed is None else None)
            given["seed"] = 0 if typed is None else check_seed(typed)
            trace = given["progress"] = Trace(given.get("progress", silent))
            asked = _asked(signature, given)
            asked |= {name: as_plain[name](value) for name, value in asked.items() if name in as_plain and value}
            recipe = _recipe(do, table, asked, _defaults(signature), given["seed"], secret)
            if takes_secret:
                given["secret"] = secret
            release = function(*bound.args, **bound.kwargs)
            return replace(
                release,
                recipe=recipe,
                seed=given["seed"],
                secret=secret,
                versions=versions(),
                checksum=None if table.source is None else table.source.sha256,
                trace=trace.points,
            )

        return protect

    return decorate


def input_of(table: Table) -> Input:
    """Where a table came from and what its columns are; a table that is not as it was read has no file."""
    source, roles = table.source, table.roles
    as_read = source is not None and table.frame is source.frame
    told = {"file": str(absolute(source.path)), "sha256": source.sha256, **source.asked} if source and as_read else {}
    return Input.model_validate({**told, **roles.as_dict()})


def _recipe(
    do: str, table: Table, given: Mapping[str, Any], defaults: Mapping[str, Any], seed: int, secret: str | None
) -> Recipe | None:
    """The recipe of one step, without what is as it is by default; None if an argument is no text, number or list."""
    try:
        asked = {name: plain(value) for name, value in given.items() if value is not None}
    except TypeError:
        return None
    usual = {name: plain(value) for name, value in defaults.items() if value is not None}
    arguments = {name: value for name, value in asked.items() if name not in usual or value != usual[name]}
    step = Step(do=do, **arguments)
    return Recipe(seed=int(seed), secret=secret, input=input_of(table), steps=(step,), versions=versions())


def _asked(signature: inspect.Signature, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a step; those of the method (**options) stand beside the others."""
    asked: dict[str, Any] = {}
    for name, value in given.items():
        beside = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        asked |= value if beside else {name: value}
    return {name: value for name, value in asked.items() if name not in NOT_IN_STEPS}


def _defaults(signature: inspect.Signature) -> dict[str, Any]:
    parameters = signature.parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty and p.name not in NOT_IN_STEPS}
