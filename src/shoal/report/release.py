"""The page of a release, and of two files after the fact.

The same order for every kind: what came in, what was asked, what was done, what was lost, what risk is left, what is
not promised, how to repeat it. An external page leaves out how it was found, measured risk and how to repeat it, and
whatever could tell a record (see `bins`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.data.reading import as_table
from shoal.data.table import Table
from shoal.errors import InputError, unknown
from shoal.gate.order import side_by_side
from shoal.report.bins import threshold
from shoal.report.done import asked, done
from shoal.report.intake import intake
from shoal.report.limits import limits
from shoal.report.loss import loss
from shoal.report.page import Block, Page, Points, Section, Text
from shoal.report.repeat import repeat
from shoal.report.risk import risk
from shoal.report.swaps import swap_loss, swap_risk

UNMEASURED = (
    "The rows of the release are in an order of their own: distance linkage, interval disclosure and the detail that "
    "labels lost compare rows, and were not measured. With the seed of the shuffle (--seed) they are."
)


def write_release(release: Any, path: Path, external: bool = False) -> Path:
    """Write the page of a release, all or nothing."""
    source = release.original.source
    return release_page(release, external).write(path, *([source.path] if source else []))


def release_page(release: Any, external: bool = False) -> Page:
    """The page of a release."""
    steps = release.steps if release.kind == "composed" else (release,)
    swapped = [step for step in steps if step.kind == "masking"]
    columns = [name for name in release.changed if not any(name in step.changed for step in swapped)]
    least = threshold(max(step.facts.get("k") or 0 for step in steps)) if external else None
    before, after = release.original, release.protected
    parts: dict[str, str] = {}
    if not external:
        for step in swapped:
            parts |= {step.parameter: "districts", step.vital[0]: "group to hide"}
    lost = loss(before, after, columns, least) if columns else []
    for step in swapped:
        lost += swap_loss(step, external)
    sections = [
        Section("What came in", intake(before, least, columns, parts)),
        Section("What was asked", asked(release, external)),
        Section("What was done", done(release, least)),
        Section("What was lost", lost),
    ]
    if external:
        sections.append(Section("What is promised", [Text(_promise(step, external)) for step in steps]))
    else:
        left = _risk_left(release, steps, columns)
        for step in swapped:
            left += swap_risk(step)
        sections.append(Section("What risk is left", left))
    sections.append(Section("What is not promised", [Points(limits([step.kind for step in steps]))]))
    if not external:
        sections.append(Section("How to repeat it", repeat(release)))
    return Page(release.title, sections, lead=_promise(release, external), cards=_cards(release, external))


def _risk_left(release: Any, steps: Sequence[Any], columns: Sequence[str]) -> list[Block]:
    """The risk of the columns that hide records; also of the sets of them that were promised apart."""
    if not columns:
        return []
    apart = [getattr(step, "column_groups", ()) or getattr(step, "sets", ()) for step in steps]
    groups = [group for found in apart for group in found]
    if len(steps) > 1:
        groups = [step.changed for step in steps if step.kind != "masking"]
    drawn = release.kind != "microaggregation"  # whose classes are its groups
    return risk(release.original, release.protected, columns, groups, draw_classes=drawn)


def report_files(
    original: Any,
    protected: Any,
    path: str | os.PathLike[str],
    *,
    quasi: Sequence[str] = (),
    external: bool = False,
    shuffled: bool = False,
    seed: int | None = None,
) -> Path:
    """Write the page of two files after the fact, same records in the same order: what came in, loss and risk.

    quasi: the columns to measure, where the original does not name them. external: nothing that could tell a record.
    shuffled: the release's rows are in another order; seed: the one that gave it, so that rows can be compared again.
    """
    before, after = as_table(original, quasi=quasi), as_table(protected)
    inputs = [table.source.path for table in (before, after) if table.source]
    return files_page(before, after, external, shuffled=shuffled, seed=seed).write(Path(path), *inputs)


def files_page(
    before: Table, after: Table, external: bool = False, *, shuffled: bool = False, seed: int | None = None
) -> Page:
    """The page of two tables; of a shuffled one whose order is not known, only what compares no rows."""
    if before.rows != after.rows:
        raise InputError(
            f"the original has {before.rows} rows and the release {after.rows}: they must be the same records, in the "
            "same order"
        )
    columns = before.quasi_columns()
    for name in columns:
        if name not in after.columns:
            raise unknown("column", name, after.columns, InputError)
    found = side_by_side(before, after, columns, shuffled=shuffled, seed=seed)
    beside, after = found is not None, after if found is None else found
    least = threshold(None) if external else None
    lost = loss(before, after, columns, least, beside=beside)
    if not beside and before.roles.weight is not None:
        lost.insert(0, Text("The rows are in an order of their own, so the figures are without weights."))
    sections = [Section("What came in", intake(before, least, columns)), Section("What was lost", lost)]
    if not external:
        left = risk(before, after, columns, beside=beside)
        sections.append(Section("What risk is left", left if beside else [Text(UNMEASURED), *left]))
    sections.append(Section("What is not promised", [Points(limits(["files"]))]))
    lead = f"A release compared with its original: {before.rows:,} records, the columns {', '.join(columns)}."
    return Page("Release and original", sections, lead=lead)


def _promise(release: Any, external: bool) -> str:
    """What the release keeps, in a sentence."""
    facts, columns = release.facts, len(release.changed)
    others = f"at least {(facts.get('k') or 1) - 1} others"
    if release.kind == "grouping":
        measured = (
            ""
            if external
            else f" Over all columns together the smallest class has {facts['joint_k']:,}: measured, not promised."
        )
        number = len(release.column_groups)
        where = f"each of {number} groups of columns" if number > 1 else "the only group of columns"
        return f"Within {where}, every record shares its values with {others}.{measured}"
    if release.kind == "composed":
        measured = "" if external else f" Over all protected columns together the joint k is {facts['joint_k']:,}."
        return f"{len(release.steps)} steps one after another, each on the table of the one before.{measured}"
    if release.kind == "masking":
        return "The districts where a group of people is concentrated no longer stand out; only districts were swapped."
    if release.k is None:
        return f"The values of {columns} columns were replaced by the labels of a given mapping; nothing is promised."
    starred = " that is not suppressed" if facts.get("suppressed") else ""
    what = "protected columns" if columns > 1 else "protected column"
    return f"Every record{starred} shares its {columns} {what} with {others}."


def _cards(release: Any, external: bool) -> list[tuple[str, Any]]:
    facts = release.facts
    cards: list[tuple[str, Any]] = [("records", facts.get("n")), ("k", facts.get("k"))]
    if "information_loss" in facts:
        cards.append(("information loss", f"{facts['information_loss']:.4g} %"))
    if "nwp" in facts:
        cards.append(("loss (NWP)", facts["nwp"]))
    if not external:
        cards += [(name.replace("_", " "), facts.get(name)) for name in ("joint_k", "effective_k", "swaps")]
        if isinstance(facts.get("groups"), int):
            cards.append(("groups", facts["groups"]))
    return [card for card in cards if card[1] is not None]
