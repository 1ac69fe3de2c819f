"""How to repeat a release: the command line and the Python of its recipe, and the recipe itself.

All three are made from the recipe, and belong in the folder of its input. What a command line cannot hold (a taxonomy,
a mapping, column groups, reasons, a name with a sign that separates names, several steps) is repeated by `shoal run`,
and so is what was drawn from the run's secret, which stands in the recipe alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.report.page import Block, Code, Grid, Text
from shoal.spelling import ByColumn, Names, Spelling, Word

if TYPE_CHECKING:
    from shoal.protections.protection import Protection

NOT_TYPED = ("reasons",)  # a role that no option holds: reasons stand in a roles file
PER_PROTECTION = ("quasi", "weight", "order")  # roles that only some commands take
RECIPE, RELEASE = "recipe.toml", "release.csv"


def repeat(release: Any) -> list[Block]:
    """What to type, and what the answer depends on."""
    recipe = release.recipe
    if recipe is None:
        return [Text("This run has no recipe: its arguments cannot be written down as text.")]
    if recipe.input.file:
        recipe = recipe.in_folder(Path(recipe.input.file).parent)
    blocks: list[Block] = [
        Code("Command", command(recipe, release.protection)),
        Code("Python", python(recipe, release.protection)),
        Code(f"Recipe ({RECIPE})", recipe.text().strip()),
    ]
    blocked = release.findings.blocking
    if blocked and recipe.output is None:
        names = ", ".join(finding.check for finding in blocked)
        blocks.insert(0, Text(f"The release check blocks this release ({names}): as it is, these lines write no file."))
    rows = [["checksum of the input (SHA-256)", release.checksum]]
    rows += [[f"version of {name}", version] for name, version in release.versions.items()]
    return [*blocks, Grid(["", ""], [row for row in rows if row[1] is not None], text=2)]


def command(recipe: Any, protection: Protection | None) -> str:
    """The command line: of a single step that of its protection, else that of the recipe, which names the output."""
    target, saving = _saved(recipe)
    words = None if protection is None or _needs_recipe(recipe, protection) else _words(recipe, protection, saving)
    if words is None:
        return shlex.join(["shoal", "run", RECIPE, *([] if recipe.output else ["-o", target])])
    return shlex.join(["shoal", recipe.steps[0].do, recipe.input.file or "FILE", *words, "-o", target])


def _words(recipe: Any, protection: Protection, saving: Mapping[str, Any]) -> list[str] | None:
    """The options of a recipe of one step; None if they cannot hold all of it."""
    roles = _read(recipe)
    arguments = protection.current_names(recipe.steps[0].arguments)
    refused = [role for role in PER_PROTECTION if role not in protection.roles]
    if protection.part_of or any(name in roles for name in (*NOT_TYPED, *refused)):
        return None
    words: list[str] = []
    for name, value in {**roles, **arguments, **_seed(recipe), **saving}.items():
        parameter = protection.parameters.get(name)
        if parameter is not None and not parameter.option.on_command_line:
            return None
        spelling = _spelling(value) if parameter is None else parameter.spelling
        option = option_words(f"--{name.replace('_', '-')}" if parameter is None else parameter.flag, value, spelling)
        if option is None:
            return None
        words += option
    return words


def _spelling(value: Any) -> Spelling:
    """How the options of roles and of the output write their values."""
    return ByColumn(Names()) if isinstance(value, Mapping) else Names() if isinstance(value, list) else Word()


def option_words(flag: str, value: Any, spelling: Spelling | None) -> list[str] | None:
    """An option and its value as words; None if no text holds the value."""
    if isinstance(value, bool):  # False: --no-unit, --no-split
        return [flag if value else f"--no-{flag.removeprefix('--')}"]
    if value in (None, "", [], {}):
        return []
    texts = None if spelling is None else spelling.write(value)
    return None if texts is None else [word for text in texts for word in (flag, text)]


def python(recipe: Any, protection: Protection | None) -> str:
    """The same by the library."""
    step = recipe.steps[0]
    target, saving = _saved(recipe)
    lines = ["import shoal"]
    if protection is None or _needs_recipe(recipe, protection):
        lines += [f"release = shoal.run({RECIPE!r})"]
    else:
        file = repr(recipe.input.file) if recipe.input.file else "frame"
        function, arguments = protection.function.__name__, {**step.arguments, **_seed(recipe)}
        lines += [
            f"data = shoal.read({file}{_arguments(_read(recipe))})",
            f"release = shoal.{function}(data{_arguments(arguments)})",
        ]
    return "\n".join([*lines, f"release.save({target!r}{_arguments(saving)})"])


def _needs_recipe(recipe: Any, protection: Protection) -> bool:
    """Several steps, or a release that depends on the secret: its row order if shuffled, the swaps of a mask."""
    hidden = (recipe.output is not None and recipe.output.shuffle) or protection.draws_from_secret
    return len(recipe.steps) > 1 or (recipe.secret is not None and hidden)


def _seed(recipe: Any) -> dict[str, Any]:
    """The seed if it was typed: with a secret, the search has its default."""
    return {"seed": recipe.seed} if recipe.secret is None else {}


def _read(recipe: Any) -> dict[str, Any]:
    """How the input is read, and its columns' roles, without what is so by default."""
    given: dict[str, Any] = recipe.input.stated("file", "sha256")
    return {name: _listed(value) for name, value in given.items()}


def _listed(value: Any) -> Any:
    """Lists for tuples, also inside tables."""
    if isinstance(value, Mapping):
        return {name: _listed(part) for name, part in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _saved(recipe: Any) -> tuple[str, dict[str, Any]]:
    """Where the table goes, and how it is saved."""
    return (RELEASE, {}) if recipe.output is None else (recipe.output.file, recipe.output.saving)


def _arguments(given: Mapping[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in given.items())
