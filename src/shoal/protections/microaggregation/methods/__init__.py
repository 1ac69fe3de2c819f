"""The methods that form groups, one module each, and a function that calls them by name.

A method is a function `(values, k, *, options) -> KPartition` on scaled values. Its options are declared in
`shoal.protections.microaggregation`. It may also take `weights`, `seed` if it draws random numbers, and, if it
searches, `control` and another `loss` than the squared error of the values.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.engine.control import Control
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.errors import check_k

RUN = ("weights", "seed", "control", "loss")  # arguments that every call offers, and that a method need not take


def function_of(name: str) -> Callable[..., KPartition]:
    """Return the function of a method, loaded when it is first needed."""
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
    loss: GroupLoss | None = None,
    **options: Any,
) -> KPartition:
    """Return the partition of the method with this name."""
    function = function_of(name)
    run = {"weights": weights, "seed": seed, "control": control, "loss": loss}
    taken = {key: value for key, value in run.items() if key in inspect.signature(function).parameters}
    return function(np.ascontiguousarray(values, dtype=np.float64), check_k(k, len(values)), **taken, **options)
