"""How to repeat a release: the command line and the Python of its recipe, and the recipe itself.

All three are made from the recipe, and belong in the folder of its input. What a command line cannot hold (a taxonomy,
a mapping, column groups, reasons, a name with a sign that separates names, several steps) is repeated by `shoal run`,
and so is what was drawn from the run's secret, which stands in the recipe alone.
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.report.page import Block, Code, Grid, Text

FUNCTIONS = {
    "microaggregate": "microaggregate",
    "group": "group_attributes",
    "generalize": "generalize",
    "apply": "apply_mapping",
    "mask": "mask_group",
}
LETTERS = ("k", "l", "t")
# Arguments that no option of their command holds: a test compares them with the commands.
NO_OPTIONS = {
    "group": ("groups",),
    "generalize": ("taxonomy",),
    "apply": ("mapping",),
    "mask": ("chi", "pairs", "tournament", "recombination", "uniform", "boost"),
}
# Roles that the options of a command do not hold: reasons stand in a roles file, an order by column in some commands.
NOT_TYPED = ("reasons",)
TAKES_ORDER = ("microaggregate",)
BY_COLUMN = ("derived", "order")
NAMED = {"with_front": "front", "sets": "set"}
RECIPE, RELEASE = "recipe.toml", "release.csv"


def repeat(release: Any) -> list[Block]:
    """What to type, and what the answer depends on."""
    recipe = release.recipe
    if recipe is None:
        return [Text("This run has no recipe: its arguments cannot be written down as text.")]
    if recipe.input.file:
        recipe = recipe.in_folder(Path(recipe.input.file).parent)
    blocks: list[Block] = [
        Code("Command", command(recipe)),
        Code("Python", python(recipe)),
        Code(f"Recipe ({RECIPE})", recipe.text().strip()),
    ]
    blocked = release.findings.blocking
    if blocked and recipe.output is None:
        names = ", ".join(finding.check for finding in blocked)
        blocks.insert(0, Text(f"The release check blocks this release ({names}): as it is, these lines write no file."))
    rows = [["checksum of the input (SHA-256)", release.checksum]]
    rows += [[f"version of {name}", version] for name, version in release.versions.items()]
    return [*blocks, Grid(["", ""], [row for row in rows if row[1] is not None], text=2)]


def command(recipe: Any) -> str:
    """The command line: of a single step its own, else that of the recipe, which names the output."""
    step = recipe.steps[0]
    target, saving = _saved(recipe)
    if _needs_recipe(recipe) or not _fits(recipe):
        return shlex.join(["shoal", "run", RECIPE, *([] if recipe.output else ["-o", target])])
    words = ["shoal", step.do, recipe.input.file or "FILE"]
    for name, value in {**_read(recipe), **step.arguments, **_seed(recipe), **saving}.items():
        words += _option(name, value) if value not in (None, "", [], {}) else []
    return shlex.join([*words, "-o", target])


def python(recipe: Any) -> str:
    """The same by the library."""
    step = recipe.steps[0]
    target, saving = _saved(recipe)
    lines = ["import shoal"]
    if _needs_recipe(recipe):
        lines += [f"release = shoal.run({RECIPE!r})"]
    else:
        file = repr(recipe.input.file) if recipe.input.file else "frame"
        lines += [
            f"data = shoal.read({file}{_arguments(_read(recipe))})",
            f"release = shoal.{FUNCTIONS[step.do]}(data{_arguments({**step.arguments, **_seed(recipe)})})",
        ]
    return "\n".join([*lines, f"release.save({target!r}{_arguments(saving)})"])


def _needs_recipe(recipe: Any) -> bool:
    """Several steps, or a release that depends on the secret: its row order if shuffled, the swaps of a mask."""
    hidden = (recipe.output is not None and recipe.output.shuffle) or recipe.steps[0].do == "mask"
    return len(recipe.steps) > 1 or (recipe.secret is not None and hidden)


def _seed(recipe: Any) -> dict[str, Any]:
    """The seed if it was typed: with a secret, the search has its default."""
    return {"seed": recipe.seed} if recipe.secret is None else {}


def _read(recipe: Any) -> dict[str, Any]:
    """How the input is read, and its columns' roles, without what is so by default."""
    given: dict[str, Any] = recipe.input.model_dump(exclude={"file", "sha256"}, exclude_defaults=True)
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


def _fits(recipe: Any) -> bool:
    """Whether all that a recipe of one step says can be written as options."""
    step, roles = recipe.steps[0], _read(recipe)
    given = step.arguments
    if any(name in given for name in NO_OPTIONS.get(step.do, ())) or any(name in roles for name in NOT_TYPED):
        return False
    refused = [] if step.do in TAKES_ORDER else ["order"]
    refused += ["quasi", "weight"] if step.do == "mask" else []  # a mask has no use for them, and its command says so
    if any(name in roles for name in refused):
        return False
    if any(text != text.strip() or "\n" in text for text in _texts([roles | {"delimiter": None}, given])):
        return False
    if any("=" in column for name in BY_COLUMN for column in roles.get(name, {})):
        return False
    joined = [value for name, value in given.items() if isinstance(value, Mapping) or name in ("vital", "second")]
    return not any(set(text) & set(",=:") for text in _texts(joined))


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, the names of tables among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))
    elif isinstance(value, list | tuple):
        yield from (text for part in value for text in _texts(part))


def option_of(name: str) -> str:
    """The option of an argument."""
    return f"-{name}" if name in LETTERS else f"--{NAMED.get(name, name).replace('_', '-')}"


def _option(name: str, value: Any) -> list[str]:
    """An argument as the words of its option: flags alone, lists with commas, tables as name=value."""
    option = option_of(name)
    if name == "unit" and value is False:
        return ["--no-unit"]
    if isinstance(value, bool):
        return [option] if value else [f"--no-{name}"] if name == "split" else []
    if name == "sets":
        return [word for chosen in value for word in (option, _names(chosen))]
    if name in ("vital", "second"):
        return [option, f"{value[0]}={','.join(map(str, value[1]))}"]
    if name in ("weights", "importance"):  # once for all columns
        return [option, ",".join(f"{column}={_word(part)}" for column, part in value.items())]
    if isinstance(value, Mapping) and name in BY_COLUMN and all(isinstance(part, list) for part in value.values()):
        return [word for column, part in value.items() for word in (option, f"{column}={_names(part)}")]
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
