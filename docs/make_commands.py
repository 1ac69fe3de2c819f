"""Writes docs/commands.md from the command line's own help; a test fails when the page is behind."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli import COMMANDS, main

PAGE = Path(__file__).parent / "commands.md"


def page() -> str:
    """The command reference, as Markdown."""
    lines = ["# Commands", "", "Made from the commands' own help by `docs/make_commands.py`.", ""]
    context = click.Context(main, info_name="shoal")
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        lines += section(command, f"shoal {name}", context)
    return "\n".join(lines).rstrip() + "\n"


def section(command: click.Command, title: str, parent: click.Context) -> list[str]:
    context = click.Context(command, info_name=title.split()[-1], parent=parent)
    usage = " ".join([title, *command.collect_usage_pieces(context)])
    lines = [f"## {title}", "", (command.help or "").strip().replace("\n    ", "\n"), "", f"    {usage}", ""]
    options = [p.get_help_record(context) for p in command.params if isinstance(p, click.Option)]
    if options:
        lines += ["| option | meaning |", "| --- | --- |"]
        lines += [f"| `{cell(left)}` | {cell(right)} |" for left, right in filter(None, options)]
        lines.append("")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            lines += section(inner, f"{title} {name}", context)
    return lines


def cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
