"""The checks of the release check, one file per kind.

A file that checks a promise names its type as PROMISE and has a function `check`: nothing else must know of it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from shoal.gate.promises import Promise


def promise_checks() -> dict[type[Promise], Callable[[Any], Any]]:
    """The check of each type of promise, found in the files of this folder."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return {module.PROMISE: module.check for module in modules if hasattr(module, "PROMISE")}
