"""The ways to form groups, one module each, and the one way to call them by name.

A method is a function `(values, k, *, options) -> KPartition` on scaled values. Its options are declared in
`shoal.protections.microaggregation`. Its signature also names what it can use of a run: `weights`, `seed` if it draws
random numbers, and `control` if it searches.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.errors import check_k

RUN = ("weights", "seed", "control")  # what every call offers, and a method need not take


def function_of(name: str) -> Callable[..., KPartition]:
    """The function of a method, loaded when it is first needed."""
    function: Callable[..., KPartition] = getattr(importlib.import_module(f"{__name__}.{name}"), name)
    return function


def group_records(
    name: str,
    values: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    seed: int = 0,
    control: Control | None = None,
    **options: Any,
) -> KPartition:
    """The partition of a method, by its name."""
    function = function_of(name)
    run = {"weights": weights, "seed": seed, "control": control}
    taken = {key: value for key, value in run.items() if key in inspect.signature(function).parameters}
    return function(np.ascontiguousarray(values, dtype=np.float64), check_k(k, len(values)), **taken, **options)
