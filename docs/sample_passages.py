"""Draws passages that people read, to compare them with the ten rules of docs/project/style.md.

A draw has paragraphs of the documentation, help texts, messages, and docstrings of public functions. As long as the
texts do not change, the same seed draws the same passages.

    python docs/sample_passages.py           # 30 passages, seed 1
    python docs/sample_passages.py 2 50      # 50 passages, seed 2
"""

from __future__ import annotations

import ast
import inspect
import random
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import click

import shoal
from shoal.cli import commands, main
from shoal.cli.help import SectionedCommand, help_record
from shoal.protections import register

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/**/*.md")
# Help texts, titles of publications, and tables of published results.
OTHER = ("docs/commands.md", "docs/references.md", "docs/published/")
SHARES = {"docs": 0.4, "help": 0.2, "messages": 0.2, "docstrings": 0.2}


class Passage(NamedTuple):
    place: str
    text: str


def of_docs() -> Iterator[Passage]:
    """The paragraphs, list items and table rows of the pages, without code."""
    for path in sorted({path for pattern in PAGES for path in ROOT.glob(pattern)}):
        name = str(path.relative_to(ROOT))
        if name.startswith(OTHER):
            continue
        text = re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), path.read_text(), flags=re.DOTALL)
        for number, line in enumerate(text.split("\n"), start=1):
            if len(re.findall(r"[A-Za-z]{3,}", line)) > 5 and not line.startswith(("    ", "| ---", "<!--")):
                yield Passage(f"{name}:{number}", line.strip())


def of_help() -> Iterator[Passage]:
    """The help of every command and of each of its options."""
    context = click.Context(main, info_name="shoal")
    pending = [(name, main.get_command(context, name), context) for name in commands()]
    while pending:
        name, command, parent = pending.pop(0)
        if command is None:
            continue
        inside = click.Context(command, info_name=name.split()[-1], parent=parent)
        yield Passage(f"shoal {name} --help", inspect.cleandoc(command.help or ""))
        if isinstance(command, click.Group):
            inner = command.list_commands(inside)
            pending += [(f"{name} {part}", command.get_command(inside, part), inside) for part in inner]
        if isinstance(command, SectionedCommand):
            for _, params in command.sections(inside):
                for record in (help_record(param, inside) for param in params):
                    if record is not None and record[0] != "-h, --help":
                        yield Passage(f"shoal {name} {record[0]}", record[1])


def of_messages() -> Iterator[Passage]:
    """The messages of errors and notices, with the expressions of their f-strings."""
    for path in sorted((ROOT / "src" / "shoal").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = ast.unparse(node.func)
            if name in ("notice", "Text") or re.fullmatch(r"(?:\w+\.)?[A-Z]\w*Error", name):
                text = ast.unparse(node.args[0])
                if len(text.split()) > 4 and isinstance(node.args[0], ast.Constant | ast.JoinedStr):
                    yield Passage(f"{path.relative_to(ROOT)}:{node.lineno}", text)


def of_docstrings() -> Iterator[Passage]:
    """The docstrings of the public functions and classes, and of the public methods of these classes."""
    public = [getattr(shoal, name) for name in shoal.__all__] + [p.function for p in register().values()]
    for item in {id(item): item for item in public if inspect.getdoc(item)}.values():
        if not inspect.isfunction(item) and not inspect.isclass(item):
            continue
        yield Passage(f"shoal.{item.__name__}", inspect.getdoc(item) or "")
        for name, part in vars(item).items() if inspect.isclass(item) else ():
            is_method = inspect.isfunction(part) or isinstance(part, property | cached_property)
            if not name.startswith("_") and is_method and inspect.getdoc(part):
                yield Passage(f"shoal.{item.__name__}.{name}", inspect.getdoc(part) or "")


def draw(seed: int, count: int) -> list[Passage]:
    """Draw passages of each kind, by its share."""
    chance = random.Random(seed)
    kinds = {"docs": of_docs, "help": of_help, "messages": of_messages, "docstrings": of_docstrings}
    drawn: list[Passage] = []
    for kind, passages in kinds.items():
        distinct = list({passage.text: passage for passage in passages()}.values())
        drawn += chance.sample(distinct, min(round(SHARES[kind] * count), len(distinct)))
    return drawn


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    for place, text in draw(*[*numbers, *(1, 30)[len(numbers) :]]):
        print(place, *(f"    {line}" for line in text.splitlines()), "", sep="\n")
