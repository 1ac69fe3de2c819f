"""Reports on a release, and on an original and a release that exist as two files.

Every report has the same order of sections: input data, settings, result, information loss (also by the labels of other
columns), remaining disclosure risk, limitations, how to reproduce the release. A public report leaves out the search,
the measured risk, the findings, how to reproduce the release, and everything that could disclose a record (see `bins`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError, counted, unknown
from shoal.gate.check import check
from shoal.gate.findings import Findings
from shoal.gate.promises import KAnonymity
from shoal.gate.row_order import side_by_side
from shoal.losses import large_losses
from shoal.measures.compared import compared_as, numbers_among
from shoal.report.bins import is_small, threshold
from shoal.report.by_label import by_label
from shoal.report.by_protection import described, nothing
from shoal.report.done import result_section, settings_section
from shoal.report.intake import Uses, input_section
from shoal.report.intruder import intruder, opening
from shoal.report.limits import limits, limits_of_files
from shoal.report.loss import loss
from shoal.report.measured import measured_loss
from shoal.report.page import Block, Card, Page, Points, Section, Text
from shoal.report.promise import promise
from shoal.report.repeat import repeat
from shoal.report.risk import risk
from shoal.sources.reading import as_table
from shoal.table.bounds import Pairs, bounded_in, doubled
from shoal.table.table import Table

UNMEASURED = (
    "The rows of the release are in another order than the original. Therefore Shoal did not measure people found, "
    "interval disclosure, changed cells and lost detail, which compare rows. Add --recipe with the recipe of the run, "
    "or --seed if you set a seed, to measure them."
)


def write_release(release: Any, path: Path, external: bool = False) -> Path:
    """Write the report on a release, all or nothing."""
    return write_page(release_page(release, external), release, path)


def write_page(page: Page, release: Any, path: Path) -> Path:
    """Write a page about this release, all or nothing; its input and output are never overwritten."""
    source, output = release.original.source, None if release.recipe is None else release.recipe.output
    kept = [*([source.path] if source else []), *([Path(output.file)] if output else [])]
    return page.write(path, *kept)


def release_page(release: Any, external: bool = False) -> Page:
    """The report on a release."""
    steps = release.parts
    columns = list(release.guarantees.quasi)
    min_records = threshold(max(step.facts.get("k") or 0 for step in steps)) if external else None
    before, after = release.before, release.protected
    measured = [step for step in steps if not described(step, "OWN_LOSSES", False)]
    per_column = {name: about for step in measured for name, about in step.facts.get("per_column", {}).items()}
    lost = loss(before, after, columns, min_records, per_column=per_column) if columns else []
    for step in steps:
        lost += described(step, "lost", nothing)(step, external)
    sections = [
        Section("Input data", input_section(release.original, min_records, _uses(release, columns, external))),
        Section("Settings", settings_section(release, external)),
        Section("Result", result_section(release, min_records)),
    ]
    sections += _outside(steps, lost) if external else _inside(release, columns, lost)
    lead = promise(release, external)
    verdict, figures = (None, []) if external else opening(release.findings)
    cards = _cards(release, per_column, min_records)
    return Page(release.title, sections, lead, cards, verdict, figures, internal=not external)


def _outside(steps: Sequence[Any], lost: list[Block]) -> list[Section]:
    """The sections of a public report after the result: without measured risk, findings and how to repeat the run."""
    return [
        Section("Information loss", lost),
        Section("Guarantees", [Text(promise(step, external=True)) for step in steps]),
        Section("Limitations", [Points(limits(steps))]),
    ]


def _inside(release: Any, columns: Sequence[str], lost: list[Block]) -> list[Section]:
    """The sections of an internal report after the result."""
    before, after = release.before, release.protected
    numeric = numbers_among(before, after, columns)
    warned = _warnings(before, after, numeric, release.facts.get("information_loss"))
    measures = measured_loss(before, after, columns) if columns else []
    left = [*intruder(release.findings), *_risk_left(release, columns)]
    for step in release.parts:
        left += described(step, "risk", nothing)(step)
    return [
        Section("Information loss", [*warned, *measures, *lost]),
        Section("Information loss in subgroups", by_label(before, after, numeric)),
        Section("Remaining disclosure risk", left),
        Section("Limitations", [Points(limits(release.parts))]),
        Section("Reproduce this release", repeat(release)),
    ]


def _warnings(before: Table, after: Table, numeric: Sequence[str], loss_percent: float | None) -> list[Block]:
    """The warnings that the command prints: a large loss, and values or totals that changed a lot."""
    return [Text(f"Warning: {text}", warning=True) for text in large_losses(before, after, numeric, loss_percent)]


def _uses(release: Any, columns: Sequence[str], external: bool) -> Uses:
    """How the method used the columns, for the table of the input data."""
    parts: dict[str, str] = {}
    for step in () if external else release.parts:
        parts |= dict(described(step, "uses", nothing)(step))
    within = [name for step in release.parts for name in step.within]
    kinds = compared_as(release.before, release.protected, columns)
    return Uses(_named_as_in(release.guarantees.bounds, columns), within, parts, kinds)


def _named_as_in(bounds: Pairs, columns: Sequence[str]) -> list[str]:
    """Return the names that columns have in the original, where two columns may bound one of it."""
    of = {bound: name for name, pair in bounds.items() for bound in pair}
    return list(dict.fromkeys(of.get(name, name) for name in columns))


def _risk_left(release: Any, columns: Sequence[str]) -> list[Block]:
    """The risk of the protected columns, and of the column groups that have a guarantee of their own."""
    if not columns:
        return []
    if len(release.parts) > 1:
        groups = [step.changed for step in release.parts if step.protection.hides_records]
    else:
        groups = [p.columns for p in release.promises if isinstance(p, KAnonymity) and p.group]
    drawn = not described(release, "SHOWS_CLASSES", False)
    within = [name for name in release.columns.protected if name not in columns]
    return risk(release.before, release.protected, columns, groups, within, draw_classes=drawn)


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
    """Write an HTML report that compares a release with its original.

    Args:
        original: The original: a table, a data frame or a file.
        protected: The release, with the same records: a table, a data frame or a file.
        path: The HTML file to write.
        quasi: The columns to measure, if the original has no quasi-identifiers.
        external: Write a public report, which leaves out everything that could disclose a record.
        shuffled: Whether the rows of the release are in another order.
        seed: The seed or secret of the run that shuffled the rows, so that Shoal can compare them.

    Returns:
        The path of the report.

    Raises:
        InputError: The files do not have the same number of rows, or the release does not have a column.
    """
    before, after = as_table(original, quasi=quasi), as_table(protected)
    inputs = [table.source.path for table in (before, after) if table.source]
    return files_page(before, after, external, shuffled=shuffled, seed=seed).write(Path(path), *inputs)


def files_page(
    before: Table, after: Table, external: bool = False, *, shuffled: bool = False, seed: int | str | None = None
) -> Page:
    """The report on two tables; if the row order is not known, without everything that compares rows."""
    if before.rows != after.rows:
        raise InputError(
            f"The original has {counted(before.rows, 'row')}, but the release has {after.rows:,}. Both must have the "
            "same records, in the same order."
        )
    pairs = bounded_in(before, after.columns)
    original, before = before, doubled(before, pairs)
    columns = tuple(dict.fromkeys((*before.quasi_columns(), *before.roles.derived)))
    for name in columns:
        if name not in after.columns:
            raise unknown("column", name, after.columns, InputError)
    restored = side_by_side(before, after, columns, shuffled=shuffled, seed=seed)
    rows_aligned, aligned = restored is not None, after if restored is None else restored
    min_records = threshold(None) if external else None
    lost = loss(before, aligned, columns, min_records, rows_aligned=rows_aligned)
    if not rows_aligned and before.roles.weight is not None:
        lost.insert(0, Text("The rows are in another order than the original, so the values are not weighted."))
    uses = Uses(_named_as_in(pairs, columns), kinds=compared_as(before, aligned, columns))
    sections = [Section("Input data", input_section(original, min_records, uses)), Section("Information loss", lost)]
    verdict: tuple[str, str] | None = None
    figures: list[Card] = []
    if not external:
        findings = _checked(original, after, shuffled, seed, bounds=bool(pairs))
        verdict, figures = opening(findings)
        left = [*intruder(findings), *risk(before, aligned, columns, rows_aligned=rows_aligned)]
        if rows_aligned:
            numeric = numbers_among(before, aligned, columns)
            lost[:0] = [*_warnings(before, aligned, numeric, None), *measured_loss(before, aligned, columns)]
            sections.append(Section("Information loss in subgroups", by_label(before, aligned, numeric)))
        sections.append(Section("Remaining disclosure risk", left if rows_aligned else [Text(UNMEASURED), *left]))
    sections.append(Section("Limitations", [Points(limits_of_files())]))
    lead = (
        f"This report compares a release with its original: {counted(before.rows, 'record')}, the columns "
        f"{', '.join(columns)}."
    )
    return Page("Release and original", sections, lead, (), verdict, figures, internal=not external)


def _checked(before: Table, after: Table, shuffled: bool, seed: int | str | None, *, bounds: bool) -> Findings:
    """The release check of two tables; if the release is a file, the check also reads the file itself."""
    source = after.source
    as_read = source is not None and after.frame is source.frame
    release = source.path if source is not None and as_read else after.frame
    return check(before, release, shuffled=shuffled, seed=seed, bounds=bounds)


def _cards(release: Any, per_column: Mapping[str, Any], min_records: int | None) -> list[Card]:
    facts = release.facts
    cards: list[tuple[str, Any]] = [("records", facts.get("n")), ("k", facts.get("k"))]
    if "information_loss" in facts:
        cards.append(("information loss", f"{facts['information_loss']:.4g} %"))
    if "nwp" in facts:
        cards.append(("generalization loss (NWP)", facts["nwp"]))
    cards.append(("changed cells of labels", _changed_cells(per_column, release.original.rows, min_records)))
    if min_records is None:
        cards += [(name.replace("_", " "), facts.get(name)) for name in ("joint_k", "effective_k", "swaps")]
        if isinstance(facts.get("groups"), int):
            cards.append(("groups", facts["groups"]))
        output = None if release.recipe is None else release.recipe.output
        cards.append(("accepted k", None if output is None else output.accept_k))
    return [Card(name, value) for name, value in cards if value is not None]


def _changed_cells(per_column: Mapping[str, Any], rows: int, min_records: int | None) -> str | None:
    """The share of changed cells in columns of labels; None without labels, or if it would count only a few cells."""
    shares = [about["changed"] for about in per_column.values() if "changed" in about]
    if not shares:
        return None
    # The small number of one column would follow from the total and the other columns.
    if min_records is not None and any(is_small(round(share * rows), rows, min_records) for share in shares):
        return None
    return f"{100 * sum(shares) / len(shares):.2g} %"
