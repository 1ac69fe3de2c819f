"""The tables and sentences that a command prints about a release; `shoal.cli.tables` formats them for the terminal.

The folder of a protection may have a module `command` with a function `show(release)` that returns these blocks. By
default, a command prints the values of the run and the assessment. A function `rows_of_files(facts)` returns the values
of a run on a folder of files with their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import counted
from shoal.measures.assessment import Assessment
from shoal.report.page import Grid, Text

# Keys that are not a phrase.
NAMES = {
    "n": "records",
    "d": "protected columns",
    "unchanged_rows": "unchanged records",
    "suppressed": "suppressed records",
    "effective_k": "k",
    "nwp": "loss (NWP)",
    "necd": "bias (NECD)",
    "cpu_seconds": "CPU seconds",
}


def printed(release: Any) -> Sequence[Grid | Text]:
    """The blocks of a release; for several steps, those of each step and the joint k."""
    if len(release.parts) == 1:
        module = None if release.protection is None else release.protection.module("command")
        blocks: Sequence[Grid | Text] = getattr(module, "show", _usual)(release)
        return blocks
    records = counted(release.facts["joint_k"], "record")
    joint = Text(f"Joint k: over all protected columns, the smallest class has {records} (measured, not guaranteed).")
    steps = [block for step in release.parts for block in printed(step)]
    return [*steps, assessment_table(release.assessment), joint]


def printed_files(release: Any) -> Sequence[Grid | Text]:
    """The table of the release of a folder of files."""
    rows_of_files = getattr(release.protection.module("command"), "rows_of_files", None)
    if rows_of_files is None:
        return _run(release)
    first, *others = rows_of_files(release.facts)
    rows = [first, ["files", release.facts["files"]], *others]
    return [Grid(["", ""], rows, title=f"{release.title}, k = {release.facts['k']}")]


def _usual(release: Any) -> list[Grid | Text]:
    return [*_run(release), assessment_table(release.assessment)]


def _run(release: Any) -> list[Grid | Text]:
    single = {name: value for name, value in release.facts.items() if isinstance(value, str | int | float)}
    return [facts_table(release.title, single)]


def facts_table(title: str, facts: dict[str, Any]) -> Grid:
    """A table of values and their names."""
    return Grid(["", ""], [[readable(name), value] for name, value in facts.items()], title=title)


def readable(key: str) -> str:
    """The words for a key of the JSON output."""
    return NAMES.get(key, key.replace("_", " "))


def assessment_table(assessment: Assessment) -> Grid:
    """The table of the measured loss and risk."""
    rows = [[f.shown, f.meaning, f.value, f.range] for f in assessment.figures]
    return Grid(["measure", "meaning", "value", "range"], rows, text=2, title="Loss and risk")
