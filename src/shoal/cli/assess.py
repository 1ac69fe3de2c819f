"""`shoal assess`: measure the information loss and the disclosure risk of a protected file."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.folders import NAMES, folder_options, is_folder, scan_existing
from shoal.cli.help import FOLDERS, SectionedCommand
from shoal.cli.options import (
    csv_options,
    json_option,
    order_option,
    print_json,
    progress_bar,
    role_options,
    seed_option_with,
    take_roles,
    with_options,
)


@click.argument("original", type=click.Path())
@click.argument("release", type=click.Path())
@click.option(
    "--convention",
    default="sound",
    show_default=True,
    metavar="[sound|thesis]",
    help="Convention of the measures; thesis is that of the GOMM thesis.",
)
@click.option(
    "--missing",
    default="error",
    show_default=True,
    metavar="[error|drop|median]",
    help="Handling of missing values by the run. error: there were none. drop: it removed the records. "
    "median: it filled in the median.",
)
@seed_option_with("Seed of the random order in which an intruder learns columns.")
@json_option
def command(
    original: str, release: str, convention: str, missing: str, seed: int, as_json: bool, **arguments: Any
) -> None:
    """Measure the information loss and the disclosure risk of RELEASE against ORIGINAL.

    Both can be folders of files: shoal assess 'original/*.parquet' protected

    Both files must have the same records in the same order. Numeric columns have all measures. Text columns count in
    the information loss, in the share of changed cells and in the equivalence classes. Weights (--weight) count in the
    measures of loss, not in those of risk.
    """
    from shoal.assessment import assess, weights_note
    from shoal.cli.tables import print_blocks
    from shoal.folders.assessing import assess_files
    from shoal.report.page import Text
    from shoal.report.printed import assessment_table
    from shoal.sources.reading import read

    roles, note = take_roles(arguments), ""
    options: dict[str, Any] = {"convention": convention, "missing": missing, "seed": seed}
    text_options = {name: arguments.pop(name) for name in ("delimiter", "encoding", "decimal")}
    if is_folder({**arguments, "original": original}, "original"):
        files = scan_existing(original, arguments, roles, **text_options)
        with progress_bar("assessment") as progress:
            figures = assess_files(files, release, progress=progress, **options)
    else:
        before, after = read(original, **roles, **text_options), read(release, **text_options)
        figures = assess(before, after, **options)
        note = weights_note(before, figures)
    if as_json:
        print_json(dict(figures))
    else:
        print_blocks([assessment_table(figures), *([Text(note)] if note else [])])


command = click.command(cls=SectionedCommand, headings=dict.fromkeys(NAMES, FOLDERS))(
    with_options(command, (*role_options, order_option, *csv_options))
)
command.params += folder_options("assessed", continues=False)
