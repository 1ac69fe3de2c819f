"""How to repeat a release: the command line and the Python of its recipe, and the recipe itself.

What a command line cannot hold (a taxonomy, groups of columns, several steps) is repeated by `shoal run`.
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.report.page import Block, Code, Grid, Text

FUNCTIONS = {
    "microaggregate": "microaggregate",
    "group": "group_attributes",
    "generalize": "generalize",
    "mask": "mask_group",
}
LETTERS = ("k", "l", "t")
NO_OPTIONS = ("groups", "taxonomy", "chi")
NAMED = {"with_front": "front"}


def repeat(release: Any) -> list[Block]:
    """What to type, and what the answer depends on."""
    recipe = release.recipe
    if recipe is None:
        return [Text("This run has no recipe: its arguments cannot be written down as text.")]
    blocks: list[Block] = [
        Code("Command", command(recipe)),
        Code("Python", python(recipe)),
        Code("Recipe (recipe.toml)", _text(recipe)),
    ]
    rows = [["checksum of the input (SHA-256)", release.checksum]]
    rows += [[f"version of {name}", version] for name, version in release.versions.items()]
    return [*blocks, Grid(["", ""], [row for row in rows if row[1] is not None], text=2)]


def command(recipe: Any) -> str:
    """The command line: of a single step its own, else that of the recipe."""
    step = recipe.steps[0]
    if len(recipe.steps) > 1 or any(name in step.arguments for name in NO_OPTIONS):
        return "shoal run recipe.toml -o release.csv"
    given = recipe.input
    words = ["shoal", step.do, Path(given.file).name if given.file else "FILE"]
    roles = {name: list(getattr(given, name)) for name in ("identifiers", "quasi", "confidential")}
    reading = {name: getattr(given, name) for name in ("weight", "delimiter", "encoding", "decimal")}
    for name, value in {**roles, **reading, **step.arguments, "seed": recipe.seed}.items():
        words += _option(name, value) if value not in (None, "", [], {}) else []
    return shlex.join([*words, "-o", "release.csv"])


def python(recipe: Any) -> str:
    """The same by the library."""
    given, step = recipe.input, recipe.steps[0]
    if len(recipe.steps) > 1:
        return 'import shoal\nrelease = shoal.run("recipe.toml")\nrelease.save("release.csv")'
    names = ("identifiers", "quasi", "confidential", "weight", "delimiter", "encoding", "decimal")
    told = {name: getattr(given, name) for name in names}
    roles = "".join(f", {name}={_literal(value)}" for name, value in told.items() if value)
    file = repr(Path(given.file).name) if given.file else "frame"
    arguments = "".join(f", {name}={_literal(value)}" for name, value in step.arguments.items())
    return (
        f"import shoal\ndata = shoal.read({file}{roles})\n"
        f"release = shoal.{FUNCTIONS[step.do]}(data{arguments}, seed={recipe.seed})\nrelease.save('release.csv')"
    )


def _option(name: str, value: Any) -> list[str]:
    """An argument as the words of its option: flags alone, lists with commas, tables as name=value."""
    option = f"-{name}" if name in LETTERS else f"--{NAMED.get(name, name).replace('_', '-')}"
    if isinstance(value, bool):
        return [option] if value else [f"--no-{name}"] if name == "split" else []
    if name == "sets":
        return [word for chosen in value for word in ("--set", _names(chosen))]
    if name in ("vital", "second"):
        return [option, f"{value[0]}={','.join(map(str, value[1]))}"]
    if isinstance(value, Mapping):
        sign = ":" if name == "granularity" else ","
        return [
            word
            for column, part in value.items()
            for word in (option, f"{column}={sign.join(map(_word, part)) if isinstance(part, list) else _word(part)}")
        ]
    if isinstance(value, list | tuple):
        return [option, ":".join(map(_word, value)) if name == "l" else _names(value)]
    return [option, _word(value)]


def _names(names: Any) -> str:
    """Names with commas between them, as the options take them: one that holds a comma in quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([_word(name) for name in names])
    return line.getvalue()


def _word(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _literal(value: Any) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _text(recipe: Any) -> str:
    """The recipe as a file beside its input would hold it."""
    folder = Path(recipe.input.file).parent if recipe.input.file else None
    text: str = recipe.text(folder)
    return text.strip()
