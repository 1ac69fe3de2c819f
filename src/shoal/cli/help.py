"""The help of a command: its options under headings, and an example at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

Sections = Sequence[tuple[str, Sequence[click.Parameter]]]
REQUIRED, ROLES, GUARANTEES, METHOD, TEXT_FILES = "Required", "Column roles", "Guarantees", "Method", "Text files"
OUTPUT, RELEASE_CHECK, OTHER = "Output", "Release check", "Other"
HEADINGS = (REQUIRED, ROLES, GUARANTEES, METHOD, TEXT_FILES, OUTPUT, RELEASE_CHECK, OTHER)
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
EXAMPLES = {
    "look": "shoal look survey.csv --save-roles roles.toml",
    "run": "shoal run run.toml -o again.csv",
    "compare": "shoal compare survey.csv -k 5 --roles roles.toml --effort quick --report compare.html",
    "assess": "shoal assess survey.csv release.csv --roles roles.toml",
    "check": "shoal check survey.csv release.csv -k 5 --roles roles.toml --policy public",
    "report": "shoal report survey.csv release.csv --roles roles.toml -o report.html",
    "study sensitivity": "shoal study sensitivity 20x2 -k 3 --grid quick -o sensitivity",
    "study operators": "shoal study operators census -k 3,5 --generations 20 -o operators",
    "study alpha": "shoal study alpha --quick -o alpha",
    "reproduce": "shoal reproduce ga-small --quick -o published",
    "data list": "shoal data list",
    "data make": "shoal data make ga-small -o ga-small.csv --seed 1",
    "warmup": "shoal warmup",
}


class SectionedCommand(click.Command):
    """A command whose help has a heading per group of options, and an example.

    `headings` has the headings of options that differ from the common ones; all other options stand under Method.
    """

    def __init__(self, *arguments: Any, headings: Mapping[str, str] | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.headings = {**BY_OPTION, **(headings or {})}

    def sections(self, ctx: click.Context) -> Sections:
        """Return the options of the help, by heading."""
        by_heading: dict[str, list[click.Parameter]] = {heading: [] for heading in HEADINGS}
        for param in self.get_params(ctx):
            heading = self.headings.get(param.name or "", METHOD)
            if isinstance(param, click.Argument) or param.required:
                heading = REQUIRED
            by_heading[OTHER if "--help" in param.opts else heading].append(param)
        if not any(by_heading[heading] for heading in (ROLES, GUARANTEES)):
            by_heading = {("Options" if name == METHOD else name): params for name, params in by_heading.items()}
        return list(by_heading.items())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, params in self.sections(ctx):
            records = [record for record in (param.get_help_record(ctx) for param in params) if record is not None]
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


def example_of(ctx: click.Context) -> str:
    """Return the example of a command, or '' if it has none; a protection declares its own."""
    protection = getattr(ctx.command, "protection", None)
    if protection is not None:
        return str(protection.example)
    return EXAMPLES.get(" ".join(ctx.command_path.split()[1:]), "")
