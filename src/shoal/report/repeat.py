"""How to repeat a release: the command line, the Python code and the recipe.

All three are made from the recipe and run in the folder of its input. `shoal run` repeats what a command line cannot
express: a taxonomy, a mapping, column groups, reasons, a column name with a comma, or several steps. It also repeats
random choices that depend on the secret of the run, which only the recipe holds.
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

NOT_TYPED = ("reasons",)  # no option can express reasons; they are in a roles file
PER_PROTECTION = ("quasi", "weight", "order")  # roles that only some commands have
RECIPE, RELEASE = "recipe.toml", "release.csv"


def repeat(release: Any) -> list[Block]:
    """What to type to repeat the run, and what the result depends on."""
    recipe = release.recipe
    if recipe is None:
        return [Text("This run has no recipe, because its arguments cannot be written as text.")]
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
        blocks.insert(
            0, Text(f"The release check blocks this release ({names}), so these commands do not write a file.")
        )
    rows = [["checksum of the input (SHA-256)", release.checksum]]
    rows += [[f"version of {name}", version] for name, version in release.versions.items()]
    return [*blocks, Grid(["", ""], [row for row in rows if row[1] is not None], text=2)]


def command(recipe: Any, protection: Protection | None) -> str:
    """The command line: that of the protection for a single step, otherwise `shoal run`."""
    target, saving = _saved(recipe)
    words = None if protection is None or _needs_recipe(recipe, protection) else _words(recipe, protection, saving)
    if words is None:
        return shlex.join(["shoal", "run", RECIPE, *([] if recipe.output else ["-o", target])])
    return shlex.join(["shoal", recipe.steps[0].do, recipe.input.file or "FILE", *words, "-o", target])


def _words(recipe: Any, protection: Protection, saving: Mapping[str, Any]) -> list[str] | None:
    """The options of a recipe of one step; None if options cannot express all of it."""
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
    """How the options for roles and output express their values."""
    return ByColumn(Names()) if isinstance(value, Mapping) else Names() if isinstance(value, list) else Word()


def option_words(flag: str, value: Any, spelling: Spelling | None) -> list[str] | None:
    """An option and its value as command-line words; None if text cannot express the value."""
    if isinstance(value, bool):  # False: --no-unit, --no-split
        return [flag if value else f"--no-{flag.removeprefix('--')}"]
    if value in (None, "", [], {}):
        return []
    texts = None if spelling is None else spelling.write(value)
    return None if texts is None else [word for text in texts for word in (flag, text)]


def python(recipe: Any, protection: Protection | None) -> str:
    """The Python code that repeats the run."""
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
    """Whether only `shoal run` can repeat the release: it has several steps, or depends on the secret of the run."""
    hidden = (recipe.output is not None and recipe.output.shuffle) or protection.draws_from_secret
    return len(recipe.steps) > 1 or (recipe.secret is not None and hidden)


def _seed(recipe: Any) -> dict[str, Any]:
    """The seed, if the user set it; with a secret, the search has the default seed."""
    return {"seed": recipe.seed} if recipe.secret is None else {}


def _read(recipe: Any) -> dict[str, Any]:
    """The arguments of `shoal.read` for the input and its roles, without defaults."""
    arguments: dict[str, Any] = recipe.input.stated("file", "sha256")
    return {name: _listed(value) for name, value in arguments.items()}


def _listed(value: Any) -> Any:
    """Replace tuples by lists, also inside tables."""
    if isinstance(value, Mapping):
        return {name: _listed(part) for name, part in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _saved(recipe: Any) -> tuple[str, dict[str, Any]]:
    """The output file, and the options of saving."""
    return (RELEASE, {}) if recipe.output is None else (recipe.output.file, recipe.output.saving)


def _arguments(arguments: Mapping[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in arguments.items())
