"""The checks, one file per kind.

A file that verifies a guarantee has its type as PROMISE and a function `check`. No other file has to list it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from shoal.gate.promises import Promise


def promise_checks() -> dict[type[Promise], Callable[[Any], Any]]:
    """Return the check of each type of guarantee, from the files of this folder."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return {module.PROMISE: module.check for module in modules if hasattr(module, "PROMISE")}
