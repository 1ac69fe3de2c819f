"""The documented commands are the real ones."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import click

from shoal.cli import commands, main

DOCS = Path(__file__).parents[2] / "docs"


def test_the_command_reference_is_up_to_date() -> None:
    page = runpy.run_path(str(DOCS / "make_commands.py"))["page"]
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == page(), "run: python docs/make_commands.py"


def test_every_command_and_option_is_in_the_reference() -> None:
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    context = click.Context(main, info_name="shoal")
    for name in commands():
        command = main.get_command(context, name)
        assert command is not None
        for title, one in every(command, f"shoal {name}"):
            assert f"## {title}\n" in page and one.help, title
            for option in one.params:
                if isinstance(option, click.Option):
                    assert option.help, f"{title} {option.opts[0]} has no help"
                    assert f"`{', '.join(option.opts)}" in page, f"{title} {option.opts[0]}"


def every(command: click.Command, title: str) -> Iterator[tuple[str, click.Command]]:
    """A command and those below it, by their full names."""
    yield title, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from every(inner, f"{title} {name}")
