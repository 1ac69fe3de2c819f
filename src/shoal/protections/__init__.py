"""The protections: one folder per protection, with its declaration, its search and its kernels.

A folder declares its protections in `DECLARED`. Nothing else is needed: the register below finds the declaration. The
command line, recipes, the reference page and web forms read the register.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from shoal.errors import unknown

if TYPE_CHECKING:
    from shoal.protections.protection import Protection


def register() -> dict[str, Protection]:
    """Return every protection by its name. Declarations import no large packages, so this is quick."""
    folders = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    modules = [importlib.import_module(f"{__name__}.{folder}") for folder in folders]
    protections = [declared for module in modules for declared in getattr(module, "DECLARED", ())]
    return {declared.name: declared for declared in sorted(protections, key=lambda p: (p.place, p.name))}


def declared(name: str) -> Protection:
    """Return the protection of that name."""
    protections = register()
    if name not in protections:
        raise unknown("protection", name, protections)
    return protections[name]


def generic_kernels() -> list[tuple[Any, ...]]:
    """Return every kernel whose form depends on arguments, such as a loss, with these arguments.

    The folder of a protection that has such kernels has a module `compiled` with a function of this name.
    """
    modules = {p.function.__module__: p.module("compiled") for p in register().values()}
    return [kernel for module in modules.values() if module is not None for kernel in module.generic_kernels()]
