"""Shoal protects microdata before release: every record hides in a group of at least k.

The names below are imported when they are first used, so that `import shoal` is instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from shoal.assessment import assess as assess
    from shoal.data.roles import Roles as Roles
    from shoal.data.table import Table as Table
    from shoal.data.table import read as read
    from shoal.gate.check import check as check
    from shoal.overview import look as look
    from shoal.protect.generalize import apply_mapping as apply_mapping
    from shoal.protect.generalize import generalize as generalize
    from shoal.protect.grouping import group_attributes as group_attributes
    from shoal.protect.mask import mask_group as mask_group
    from shoal.protect.microaggregation import microaggregate as microaggregate
    from shoal.protect.run import run as run
    from shoal.recipe import Recipe as Recipe
    from shoal.release import Release as Release
    from shoal.report.release import report_files as report_files
    from shoal.study.compare import compare as compare

_WHERE = {
    "read": "shoal.data.table",
    "Roles": "shoal.data.roles",
    "Table": "shoal.data.table",
    "microaggregate": "shoal.protect.microaggregation",
    "group_attributes": "shoal.protect.grouping",
    "generalize": "shoal.protect.generalize",
    "apply_mapping": "shoal.protect.generalize",
    "mask_group": "shoal.protect.mask",
    "assess": "shoal.assessment",
    "check": "shoal.gate.check",
    "look": "shoal.overview",
    "compare": "shoal.study.compare",
    "run": "shoal.protect.run",
    "Recipe": "shoal.recipe",
    "Release": "shoal.release",
    "report_files": "shoal.report.release",
}
_ROOMS = ("data", "partition", "grouping", "generalization", "masking", "measure", "gate", "study")

__all__ = [
    "Recipe",
    "Release",
    "Roles",
    "Table",
    "apply_mapping",
    "assess",
    "check",
    "compare",
    "generalize",
    "group_attributes",
    "look",
    "mask_group",
    "microaggregate",
    "read",
    "report_files",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"shoal.{name}")
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE, *_ROOMS])
