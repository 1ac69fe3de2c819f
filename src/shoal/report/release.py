"""The page of a release, and of two files after the fact.

The same order for every kind: what came in, what was asked, what was done, what was lost (also by the labels of other
columns), what risk is left, what is not promised, how to repeat it. An external page leaves out how it was found,
measured risk, findings and how to repeat it, and whatever could disclose a record (see `bins`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError, unknown
from shoal.gate.check import check
from shoal.gate.findings import Findings
from shoal.gate.promises import KAnonymity
from shoal.gate.row_order import side_by_side
from shoal.losses import large_losses
from shoal.measures.compared import compared_as, numbers_among
from shoal.report.bins import is_small, threshold
from shoal.report.by_label import by_label
from shoal.report.by_protection import described, nothing
from shoal.report.done import done, settings_section
from shoal.report.intake import Uses, intake
from shoal.report.intruder import intruder, opening
from shoal.report.limits import limits, limits_of_files
from shoal.report.loss import loss
from shoal.report.measured import measured_loss
from shoal.report.page import Block, Card, Page, Points, Section, Text
from shoal.report.promise import promise
from shoal.report.repeat import repeat
from shoal.report.risk import risk
from shoal.sources.reading import as_table
from shoal.table.table import Table

UNMEASURED = (
    "The rows of the release are in an order of their own: people found, interval disclosure, changed cells and the "
    "detail that categories lost compare rows, and were not measured. With the recipe of the run (--recipe), or the "
    "seed if one was typed (--seed), they are."
)


def write_release(release: Any, path: Path, external: bool = False) -> Path:
    """Write the page of a release, all or nothing."""
    return write_page(release_page(release, external), release, path)


def write_page(page: Page, release: Any, path: Path) -> Path:
    """Write a page that was made of this release, all or nothing."""
    source, output = release.original.source, None if release.recipe is None else release.recipe.output
    kept = [*([source.path] if source else []), *([Path(output.file)] if output else [])]  # never written over
    return page.write(path, *kept)


def release_page(release: Any, external: bool = False) -> Page:
    """The page of a release."""
    steps = release.parts
    columns = list(release.guarantees.quasi)
    least = threshold(max(step.facts.get("k") or 0 for step in steps)) if external else None
    before, after = release.original, release.protected
    per_column = {name: about for step in steps for name, about in step.facts.get("per_column", {}).items()}
    lost = loss(before, after, columns, least, per_column=per_column) if columns else []
    for step in steps:
        lost += described(step, "lost", nothing)(step, external)
    sections = [
        Section("What came in", intake(before, least, _uses(release, columns, external))),
        Section("What was asked", settings_section(release, external)),
        Section("What was done", done(release, least)),
    ]
    sections += _outside(steps, lost) if external else _inside(release, columns, lost)
    lead = promise(release, external)
    verdict, figures = (None, []) if external else opening(release.findings)
    cards = _cards(release, per_column, least)
    return Page(release.title, sections, lead, cards, verdict, figures, internal=not external)


def _outside(steps: Sequence[Any], lost: list[Block]) -> list[Section]:
    """What an external page has after what was done: no measured risk, no finding, nothing to repeat the run with."""
    return [
        Section("What was lost", lost),
        Section("What is promised", [Text(promise(step, external=True)) for step in steps]),
        Section("What is not promised", [Points(limits(steps))]),
    ]


def _inside(release: Any, columns: Sequence[str], lost: list[Block]) -> list[Section]:
    """What an internal page has after what was done."""
    before, after = release.original, release.protected
    numeric = numbers_among(before, after, columns)
    warned = _warnings(before, after, numeric, release.facts.get("information_loss"))
    measures = measured_loss(before, after, columns) if columns else []
    left = [*intruder(release.findings), *_risk_left(release, columns)]
    for step in release.parts:
        left += described(step, "risk", nothing)(step)
    return [
        Section("What was lost", [*warned, *measures, *lost]),
        Section("Protected by other columns", by_label(before, after, numeric)),
        Section("What risk is left", left),
        Section("What is not promised", [Points(limits(release.parts))]),
        Section("How to repeat it", repeat(release)),
    ]


def _warnings(before: Table, after: Table, numeric: Sequence[str], loss_percent: float | None) -> list[Block]:
    """What the screen warns of: a large loss, values and totals that are far off."""
    return [Text(f"Warning: {text}", warning=True) for text in large_losses(before, after, numeric, loss_percent)]


def _uses(release: Any, columns: Sequence[str], external: bool) -> Uses:
    """What the method did with the columns, for the table of what came in."""
    parts: dict[str, str] = {}
    for step in () if external else release.parts:
        parts |= dict(described(step, "uses", nothing)(step))
    within = [name for step in release.parts for name in step.within]
    kinds = compared_as(release.original, release.protected, columns)
    return Uses(columns, within, parts, kinds)


def _risk_left(release: Any, columns: Sequence[str]) -> list[Block]:
    """The risk of the columns that hide records; also of the sets of them that were promised apart."""
    if not columns:
        return []
    if len(release.parts) > 1:
        groups = [step.changed for step in release.parts if step.protection.hides_records]
    else:
        groups = [p.columns for p in release.promises if isinstance(p, KAnonymity) and p.group]
    drawn = not described(release, "SHOWS_CLASSES", False)
    within = [name for name in release.columns.protected if name not in columns]
    return risk(release.original, release.protected, columns, groups, within, draw_classes=drawn)


def report_files(
    original: Any,
    protected: Any,
    path: str | os.PathLike[str],
    *,
    quasi: Sequence[str] = (),
    external: bool = False,
    shuffled: bool = False,
    seed: int | str | None = None,
) -> Path:
    """Write the page of two files after the fact, same records in the same order: what came in, loss and risk.

    quasi: the columns to measure, where the original does not name them. external: nothing that could tell a record.
    shuffled: the release's rows are in another order; seed: the one that gave it, so that rows can be compared again.
    """
    before, after = as_table(original, quasi=quasi), as_table(protected)
    inputs = [table.source.path for table in (before, after) if table.source]
    return files_page(before, after, external, shuffled=shuffled, seed=seed).write(Path(path), *inputs)


def files_page(
    before: Table, after: Table, external: bool = False, *, shuffled: bool = False, seed: int | str | None = None
) -> Page:
    """The page of two tables; of a shuffled one whose order is not known, only what compares no rows."""
    if before.rows != after.rows:
        raise InputError(
            f"the original has {before.rows} rows and the release {after.rows}: they must be the same records, in the "
            "same order"
        )
    columns = tuple(dict.fromkeys((*before.quasi_columns(), *before.roles.derived)))
    for name in columns:
        if name not in after.columns:
            raise unknown("column", name, after.columns, InputError)
    found = side_by_side(before, after, columns, shuffled=shuffled, seed=seed)
    beside, aligned = found is not None, after if found is None else found
    least = threshold(None) if external else None
    lost = loss(before, aligned, columns, least, beside=beside)
    if not beside and before.roles.weight is not None:
        lost.insert(0, Text("The rows are in an order of their own, so the values are without weights."))
    uses = Uses(columns, kinds=compared_as(before, aligned, columns))
    sections = [Section("What came in", intake(before, least, uses)), Section("What was lost", lost)]
    verdict: tuple[str, str] | None = None
    figures: list[Card] = []
    if not external:
        findings = _checked(before, after, shuffled, seed)
        verdict, figures = opening(findings)
        left = [*intruder(findings), *risk(before, aligned, columns, beside=beside)]
        if beside:
            numeric = numbers_among(before, aligned, columns)
            lost[:0] = [*_warnings(before, aligned, numeric, None), *measured_loss(before, aligned, columns)]
            sections.append(Section("Protected by other columns", by_label(before, aligned, numeric)))
        sections.append(Section("What risk is left", left if beside else [Text(UNMEASURED), *left]))
    sections.append(Section("What is not promised", [Points(limits_of_files())]))
    lead = f"A release compared with its original: {before.rows:,} records, the columns {', '.join(columns)}."
    return Page("Release and original", sections, lead, (), verdict, figures, internal=not external)


def _checked(before: Table, after: Table, shuffled: bool, seed: int | str | None) -> Findings:
    """The release check of two tables: of the file itself where the release is one, so that its traces are found."""
    source = after.source
    as_read = source is not None and after.frame is source.frame
    release = source.path if source is not None and as_read else after.frame
    return check(before, release, shuffled=shuffled, seed=seed)


def _cards(release: Any, per_column: Mapping[str, Any], least: int | None) -> list[Card]:
    facts = release.facts
    cards: list[tuple[str, Any]] = [("records", facts.get("n")), ("k", facts.get("k"))]
    if "information_loss" in facts:
        cards.append(("information loss", f"{facts['information_loss']:.4g} %"))
    if "nwp" in facts:
        cards.append(("loss (NWP)", facts["nwp"]))
    cards.append(("label cells changed", _changed_cells(per_column, release.original.rows, least)))
    if least is None:
        cards += [(name.replace("_", " "), facts.get(name)) for name in ("joint_k", "effective_k", "swaps")]
        if isinstance(facts.get("groups"), int):
            cards.append(("groups", facts["groups"]))
        output = None if release.recipe is None else release.recipe.output
        cards.append(("accepted k", None if output is None else output.accept_k))
    return [Card(name, value) for name, value in cards if value is not None]


def _changed_cells(per_column: Mapping[str, Any], rows: int, least: int | None) -> str | None:
    """The share of the cells of labels that changed; None without labels, and where few cells would be counted."""
    shares = [about["changed"] for about in per_column.values() if "changed" in about]
    if not shares:
        return None
    # One column's small number would follow from the total and the others.
    if least is not None and any(is_small(round(share * rows), rows, least) for share in shares):
        return None
    return f"{100 * sum(shares) / len(shares):.2g} %"
