"""Shoal protects microdata before release: every record is in a group of at least k records that look the same.

The names below are imported when they are first used, so that `import shoal` is instant.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from shoal.assessment import assess as assess
    from shoal.comparison import compare as compare
    from shoal.engine.control import Control as Control
    from shoal.folders.assessing import assess_files as assess_files
    from shoal.folders.checking import check_files as check_files
    from shoal.gate.check import check as check
    from shoal.overview import look as look
    from shoal.protections.generalization import apply_mapping as apply_mapping
    from shoal.protections.generalization import generalize as generalize
    from shoal.protections.grouping import group_attributes as group_attributes
    from shoal.protections.microaggregation import microaggregate as microaggregate
    from shoal.protections.recoding import recode as recode
    from shoal.protections.regions import mask_group as mask_group
    from shoal.protections.suppression import suppress as suppress
    from shoal.recipe import Recipe as Recipe
    from shoal.release import Release as Release
    from shoal.release import Saved as Saved
    from shoal.report.release import report_files as report_files
    from shoal.running import run as run
    from shoal.running import run_files as run_files
    from shoal.sources.reading import read as read
    from shoal.sources.scanning import scan as scan
    from shoal.table.roles import Roles as Roles
    from shoal.table.table import Table as Table

# The functions of the protections are not in this list: their declarations name them.
_WHERE = {
    "read": "shoal.sources.reading",
    "scan": "shoal.sources.scanning",
    "Roles": "shoal.table.roles",
    "Table": "shoal.table.table",
    "assess": "shoal.assessment",
    "assess_files": "shoal.folders.assessing",
    "check": "shoal.gate.check",
    "check_files": "shoal.folders.checking",
    "look": "shoal.overview",
    "compare": "shoal.comparison",
    "run": "shoal.running",
    "run_files": "shoal.running",
    "Control": "shoal.engine.control",
    "Recipe": "shoal.recipe",
    "Release": "shoal.release",
    "Saved": "shoal.release",
    "report_files": "shoal.report.release",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    if name == "__version__":
        return _installed_version()
    if name == "__all__":
        return sorted([*_WHERE, *_protections()])
    if not name.startswith("_"):
        if name in _packages():
            return importlib.import_module(f"shoal.{name}")
        if name in (functions := _protections()):
            return functions[name]
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE, *_packages(), *_protections()])


def _packages() -> set[str]:
    """The names of the packages inside Shoal, which `import shoal` does not import."""
    return {module.name for module in pkgutil.iter_modules(__path__) if module.ispkg}


def _installed_version() -> str:
    """The version that this installation was built with."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("shoal")
    except PackageNotFoundError:  # the sources are on the path, but were never installed
        return "0+unknown"


def _protections() -> dict[str, Any]:
    """The function of each declared protection, by its name.

    Imported by name, as everything above: packages take the version from here and stand below the protections.
    """
    register = importlib.import_module("shoal.protections").register
    return {protection.function.__name__: protection.function for protection in register().values()}
