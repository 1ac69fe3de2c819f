"""The internal report on a release of many files: what the run and the release check have measured.

No process holds the whole table, so the report has no charts of distributions and no tables by label. A public report
would need them, so there is none.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import counted
from shoal.gate.findings import Findings
from shoal.report import charts
from shoal.report.intruder import intruder, opening
from shoal.report.limits import limits
from shoal.report.page import Block, Card, Charts, Code, Grid, Page, Points, Section, Text
from shoal.report.printed import printed_files
from shoal.table.roles import Roles

if TYPE_CHECKING:
    from shoal.recipe import Recipe

MOST_FILES = 100  # files and columns in a table of the report, which must stay small


def folder_page(release: Any, recipe: Recipe, findings: Findings) -> Page:
    """The report on a release that was saved as a folder."""
    facts = release.facts
    verdict, figures = opening(findings)
    cards = [Card("records", facts["n"], f"in {counted(facts['files'], 'file')}")]
    if facts.get("information_loss") is not None:
        cards.append(Card("information loss", f"{facts['information_loss']:.3g} %", "share of the variance lost"))
    sections = [
        Section("Input data", _input(release)),
        Section("Settings", _settings(recipe)),
        Section("Result", _result(release)),
        Section("Information loss", _loss(facts)),
        Section("Remaining disclosure risk", [*intruder(findings), _every_finding(findings)]),
        Section("Limitations", [Points(limits([release]))]),
        Section("Reproduce this release", _repeat(release, recipe)),
    ]
    return Page(release.title, sections, _promise(release), cards, verdict, figures, internal=True)


def _promise(release: Any) -> str:
    columns = counted(len(release.changed), "protected column")
    what = "records of at least" if isinstance(release.result.roles.unit, str) else "at least"
    whom = "other persons or households" if isinstance(release.result.roles.unit, str) else "others"
    return f"Every record of all files shares its {columns} with {what} {(release.k or 1) - 1:,} {whom}."


def _input(release: Any) -> list[Block]:
    rows, names = release.result.rows, release.files.names
    files = [[name, count] for name, count in zip(names, rows.counts, strict=True)]
    return [
        _cut(["file", "records"], files, "files"),
        _cut(["column", "role"], [[name, _role(release, name)] for name in release.result.columns], "columns", text=2),
    ]


def _role(release: Any, name: str) -> str:
    roles: Roles = release.result.roles
    return "quasi-identifier (protected)" if name in release.changed else roles.of(name)


def _settings(recipe: Recipe) -> list[Block]:
    step, saving = recipe.steps[0], {} if recipe.output is None else recipe.output.saving
    rows = [["protection", step.do], *([_words(name), _value(value)] for name, value in step.arguments.items())]
    rows += [["seed of the search", recipe.seed]]
    rows += [[f"saving: {_words(name)}", _value(value)] for name, value in saving.items()]
    return [Grid(["", ""], rows, text=2)]


def _result(release: Any) -> list[Block]:
    curve = charts.evolution(release.trace)
    drawn = [] if curve is None else [Charts([("Best result during the search", curve)], wide=True)]
    return [*printed_files(release), *drawn]


def _loss(facts: Any) -> list[Block]:
    per_column = facts.get("per_column") or {}
    rows = [
        [name, about.get("kind", ""), about.get("loss"), 100 * about["changed"] if "changed" in about else None]
        for name, about in per_column.items()
        if isinstance(about, dict)
    ]
    return [_cut(["column", "kind", "loss, %", "changed cells, %"], rows, "columns", text=2)] if rows else []


def _every_finding(findings: Findings) -> Grid:
    rows = [[f.status, f.check, f.finding] for f in findings]
    return Grid(["status", "check", "finding"], rows, text=3, title="All checks", marked=("block", "warn"))


def _repeat(release: Any, recipe: Recipe) -> list[Block]:
    few = len(release.files.names) <= MOST_FILES
    blocks: list[Block] = [
        Text(
            "Add --save-recipe recipe.toml to the command of the run. The recipe has every file with its checksum, and "
            "repeats the run bit for bit on any number of workers."
        ),
        Code("Command", shlex.join(["shoal", "run", "recipe.toml", "-o", "FOLDER"])),
    ]
    if few:
        blocks.append(Code("Recipe (recipe.toml)", recipe.text().strip()))
    rows = [[f"version of {name}", version] for name, version in release.versions.items()]
    return [*blocks, Grid(["", ""], rows, text=2)]


def _cut(heads: Sequence[str], rows: list[list[Any]], what: str, text: int = 1) -> Grid:
    left = len(rows) - MOST_FILES
    note = f"The table leaves out {left:,} more {what}." if left > 0 else ""
    return Grid(heads, rows[:MOST_FILES], text=text, note=note)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
