"""Writes docs/commands.md from the command line's own help and the declarations of the protections.

A test fails when the page is behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from shoal.cli import commands, main
from shoal.cli.help import OTHER, SectionedCommand, example_of, help_record
from shoal.cli.protect import ProtectionCommand
from shoal.protections.protection import Protection

PAGE = Path(__file__).parent / "commands.md"


def page() -> str:
    """The command reference, as Markdown."""
    lines = ["# Commands", "", "Made from the commands' own help by `docs/make_commands.py`.", ""]
    context = click.Context(main, info_name="shoal")
    for name in commands():
        command = main.get_command(context, name)
        assert command is not None
        lines += section(command, f"shoal {name}", context)
    return "\n".join(lines).rstrip() + "\n"


def section(command: click.Command, title: str, parent: click.Context) -> list[str]:
    context = click.Context(command, info_name=title.split()[-1], parent=parent)
    usage = " ".join([title, *command.collect_usage_pieces(context)])
    lines = [f"## {title}", "", (command.help or "").strip().replace("\n    ", "\n"), "", f"    {usage}", ""]
    if example_of(context):
        lines += ["Example:", "", f"    {example_of(context)}", ""]
    if isinstance(command, ProtectionCommand):
        lines += about(command.protection)
    if isinstance(command, SectionedCommand):
        for heading, params in command.sections(context):
            lines += table(params, context, f"**{heading}**") if heading != OTHER else []
    else:
        lines += table(command.params, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            lines += section(inner, f"{title} {name}", context)
    return lines


def about(protection: Protection) -> list[str]:
    """The methods of a protection, and what it does not guarantee."""
    lines = []
    if protection.methods:
        lines += ["| method | idea |", "| --- | --- |"]
        lines += [f"| `{method.name}` | {cell(method.idea)} |" for method in protection.methods] + [""]
    return [*lines, "Limits:", "", *(f"- {title} {text}" for title, text in protection.limits), ""]


def table(params: Sequence[click.Parameter], context: click.Context, heading: str = "") -> list[str]:
    """The options of a list, with their help."""
    records = [help_record(p, context) for p in params]
    rows = [f"| `{cell(left)}` | {cell(right)} |" for left, right in filter(None, records)]
    return [*([heading, ""] if heading else []), "| option | meaning |", "| --- | --- |", *rows, ""] if rows else []


def cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
