"""The help of a command: its options under headings, and an example at the end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

Sections = Sequence[tuple[str, Sequence[click.Parameter]]]
REQUIRED, ARGUMENTS = "Required", "Arguments"
ROLES, GUARANTEES, METHOD, TEXT_FILES = "Column roles", "Guarantees", "Method", "Text files"
OUTPUT, RELEASE_CHECK, OTHER = "Output", "Release check", "Other"
FOLDERS = "Folders of files, larger than memory"
HEADINGS = (REQUIRED, ARGUMENTS, ROLES, GUARANTEES, METHOD, FOLDERS, TEXT_FILES, OUTPUT, RELEASE_CHECK, OTHER)
ROLE_OPTIONS = (
    *("roles", "identifiers", "quasi", "confidential", "no_confidential", "weight", "unit", "no_unit", "drop"),
    *("as_is", "derived", "accept_derived", "nominal", "numeric", "order"),
)
SAVING_OPTIONS = ("shuffle", "keep_order", "policy", "previous", "first_release", "accept_k", "round_weight")
BY_OPTION = {
    **dict.fromkeys(ROLE_OPTIONS, ROLES),
    **dict.fromkeys(("delimiter", "encoding", "decimal"), TEXT_FILES),
    **dict.fromkeys(("output", "report", "save_recipe", "save_roles", "external", "external_report"), OUTPUT),
    **dict.fromkeys(("as_json",), OUTPUT),
    **dict.fromkeys(SAVING_OPTIONS, RELEASE_CHECK),
}
# The meaning of each argument that is not an option; click has no help for these.
ARGUMENT_HELP = {
    "file": "Original file: .csv, .parquet, .sav, .dta and others.",
    "original": "Original file, from which the release was made.",
    "release": "Release: the protected file.",
    "recipe": "Recipe file (.toml).",
    "data": "File, known data set (see 'shoal data list'), or size such as 20x2 for random values.",
    "name": "Name of a synthetic data set (see 'shoal data list').",
    "names": "Names of published tables, or all. Without a name, Shoal lists them.",
}
OR_FOLDER = "Or a folder, or a pattern such as 'claims/*.parquet': many files as one table."
EXAMPLES = {
    "look": "shoal look survey.csv --save-roles roles.toml",
    "run": "shoal run run.toml -o again.csv",
    "compare": "shoal compare survey.csv -k 5 --roles roles.toml --effort quick --report compare.html",
    "assess": "shoal assess survey.csv release.csv --roles roles.toml",
    "check": "shoal check survey.csv release.csv -k 5 --roles roles.toml --policy public",
    "report": "shoal report survey.csv release.csv --roles roles.toml -o report.html",
    "study": "shoal study alpha --quick -o alpha",
    "study sensitivity": "shoal study sensitivity 20x2 -k 3 --grid quick -o sensitivity",
    "study operators": "shoal study operators 100x6 -k 3,5 --generations 20 -o operators",
    "study alpha": "shoal study alpha --quick -o alpha",
    "reproduce": "shoal reproduce ga-small --quick -o published",
    "data": "shoal data list",
    "data list": "shoal data list",
    "data make": "shoal data make military -o military.csv --seed 1",
    "warmup": "shoal warmup",
}


class SectionedCommand(click.Command):
    """A command whose help has a heading per group of options, and an example.

    `headings` has the headings of options that differ from the common ones; all other options are under Method.
    """

    def __init__(self, *arguments: Any, headings: Mapping[str, str] | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.headings = {**BY_OPTION, **(headings or {})}

    def sections(self, ctx: click.Context) -> Sections:
        """Return the options of the help, by heading."""
        by_heading: dict[str, list[click.Parameter]] = {heading: [] for heading in HEADINGS}
        for param in self.get_params(ctx):
            heading = self.headings.get(param.name or "", METHOD)
            if param.required:
                heading = REQUIRED
            elif isinstance(param, click.Argument):
                heading = ARGUMENTS
            by_heading[OTHER if "--help" in param.opts else heading].append(param)
        if not any(by_heading[heading] for heading in (ROLES, GUARANTEES)):
            by_heading = {("Options" if name == METHOD else name): params for name, params in by_heading.items()}
        return list(by_heading.items())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, params in self.sections(ctx):
            records = [record for record in (help_record(param, ctx) for param in params) if record is not None]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
            self.format_after(heading, formatter)

    def format_after(self, heading: str, formatter: click.HelpFormatter) -> None:
        """Write what follows the options of a heading."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        example = example_of(ctx)
        if example:
            formatter.write(f"\nExample:\n  {example}\n")


class SectionedGroup(click.Group):
    """A group of commands whose help has the full summary of each command, and an example."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        inner = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        summaries = [(name, (command.help or "").split("\n\n")[0]) for name, command in inner.items() if command]
        with formatter.section("Commands"):
            formatter.write_dl(summaries)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\nExample:\n  {example_of(ctx)}\n")


def help_record(param: click.Parameter, ctx: click.Context) -> tuple[str, str] | None:
    """Return the name and the help of a parameter; the range of a number is in words."""
    if isinstance(param, click.Argument):
        takes_folders = getattr(getattr(ctx.command, "protection", None), "on_files", "")
        return param.human_readable_name, ARGUMENT_HELP[param.name or ""] + (f" {OR_FOLDER}" if takes_folders else "")
    record = param.get_help_record(ctx)
    if record is None:
        return None
    name, text = record
    text = re.sub(r"x>=(\d+)", r"\1 or more", text).replace("  [required]", "").replace("; required]", "]")
    return name, text.replace("  [", " [").replace("] [", "; ")


def example_of(ctx: click.Context) -> str:
    """Return the example of a command, or '' if it has none; a protection declares its own."""
    protection = getattr(ctx.command, "protection", None)
    if protection is not None:
        return str(protection.example)
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, ctx.info_name or "")
        ctx = ctx.parent
    return EXAMPLES.get(" ".join(words), "")
