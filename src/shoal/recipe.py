"""A run as a TOML file: the input and its checksum, the roles, the steps with their arguments, the seed.

A recipe holds what was asked and nothing of the machine but where the files are, relative to its own folder.
What is wrong in a recipe is told with the line it stands in; what a step may have is told by its function.
"""

from __future__ import annotations

import inspect
import json
import os
import platform
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from shoal import __version__
from shoal.errors import InputError, ShoalError, UsageError, unknown
from shoal.sources.files import atomically, check_distinct, check_place

# What a step may be given, by the arguments it was given (the method tells which options it has).
Parameters = Mapping[str, inspect.Parameter]
Steps = Mapping[str, Callable[[Mapping[str, Any]], Parameters]]
Place = tuple[str | int, ...]

HEAD = (
    "# INTERNAL: this file names the original and may hold the secret of the rows' order. Never hand it out.\n"
    "# A run of Shoal: `shoal run` with this file repeats it.\n"
)
NEWLINE = "\n"  # the only one that TOML counts as such


class Part(BaseModel):
    """A table of a recipe: what it does not know it refuses."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Input(Part):
    """The file, its checksum, how its text is read, and the columns' roles; without a file, it was a frame."""

    file: str | None = None
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    roles: str | None = None
    identifiers: tuple[str, ...] = ()
    quasi: tuple[str, ...] = ()
    confidential: tuple[str, ...] = ()
    weight: str | None = None
    unit: str | bool | None = None
    drop: tuple[str, ...] = ()
    as_is: tuple[str, ...] = ()
    derived: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    no_confidential: bool = False
    reasons: dict[str, str] = Field(default_factory=dict)
    order: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    nominal: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    accept_derived: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    decimal: Literal[".", ","] | None = None


class Output(Part):
    """Where the protected table goes, the checksum it had, and how it is saved: the arguments of `Release.save`."""

    file: str
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    shuffle: bool = False
    keep_order: bool = False
    policy: str | None = None
    previous: str | None = None
    first_release: bool = False
    accept_k: int | None = None
    round_weight: bool = False

    @property
    def saving(self) -> dict[str, Any]:
        """How the table is saved, without what is so by default."""
        return self.model_dump(exclude={"file", "sha256"}, exclude_defaults=True)


class Step(Part):
    """One command by its name, and its arguments."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    do: str

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class Recipe(Part):
    """A run that can be repeated. Paths are absolute here and relative to the recipe's folder in its file."""

    seed: int = Field(default=0, ge=0, lt=2**63)
    secret: str | None = Field(default=None, pattern=r"^[0-9a-f]{32}$")
    input: Input = Input()
    steps: tuple[Step, ...] = Field(min_length=1)
    output: Output | None = None
    versions: dict[str, str] = Field(default_factory=dict)

    def with_output(self, path: str | os.PathLike[str], sha256: str, **saving: Any) -> Recipe:
        """The same recipe with the file that it writes, its checksum, and how it is saved."""
        given = {name: str(value) if isinstance(value, os.PathLike) else value for name, value in saving.items()}
        output = Output.model_validate({"file": str(path), "sha256": sha256, **given})
        return self.model_copy(update={"output": _with_paths(output, absolute)})

    def in_folder(self, folder: Path) -> Recipe:
        """The recipe as a file in this folder holds it: its paths relative to it."""
        here = absolute(folder)
        parts = {"input": self.input, "output": self.output}
        return self.model_copy(
            update={
                name: _with_paths(part, lambda path: os.path.relpath(path, here))
                for name, part in parts.items()
                if part is not None
            }
        )

    def text(self, folder: Path | None = None) -> str:
        """The recipe as TOML, its paths relative to the folder."""
        tables = (self if folder is None else self.in_folder(folder)).model_dump(exclude_defaults=True)
        tables["seed"] = self.seed
        return HEAD + "".join(_toml(tables))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the recipe, all or nothing."""
        target = check_recipe_place(path)
        read: dict[str, Any] = {"the roles file": self.input.roles, "the input": self.input.file}
        if self.output is not None:
            read |= {"the policy": self.output.policy, "the earlier release": self.output.previous}
        check_distinct({"The recipe": target}, read)
        with atomically(target) as temporary:
            temporary.write_text(self.text(target.parent), encoding="utf-8")
        return target


def check_recipe_place(path: str | os.PathLike[str]) -> Path:
    """The path if a recipe can be written there."""
    if Path(path).suffix.lower() != ".toml":
        raise UsageError(f"a recipe is a TOML file: call it {Path(path).stem}.toml, not {Path(path).name}")
    return check_place(path)


def read_recipe(path: str | os.PathLike[str], steps: Steps) -> Recipe:
    """The recipe of a file; an error names the line. `steps` tells what each step may be given."""
    source = Path(path)
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"the recipe {source} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"the recipe {source} is no text in UTF-8: save it as UTF-8") from None
    return parse_recipe(text, steps, source)


def parse_recipe(text: str, steps: Steps, source: Path) -> Recipe:
    """The recipe of a text; `source` is where it stands: messages name it, and paths are relative to its folder."""
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{source} is nested too deeply to be a recipe.") from None
    except tomllib.TOMLDecodeError as error:
        told = str(error).replace("at end of document", f"at line {len(text.rstrip().split(NEWLINE))}, the end")
        raise InputError(f"{source} is no TOML: {told}. Text is put in quotes, and a list in [ ]") from None
    try:
        recipe = Recipe.model_validate_json(_json(tables))
    except ValidationError as error:
        raise _wrong(source, text, [_shape_error(e) for e in error.errors()]) from None
    wrong = [found for i, step in enumerate(recipe.steps) for found in _argument_errors(step, steps, ("steps", i))]
    if wrong:
        raise _wrong(source, text, wrong)
    parts = {"input": recipe.input, "output": recipe.output}
    return recipe.model_copy(
        update={
            name: _with_paths(part, lambda path: absolute(source.parent / path))
            for name, part in parts.items()
            if part is not None
        }
    )


P = TypeVar("P", bound=Part)


def _with_paths(part: P, change: Callable[[str], str | Path]) -> P:
    """A table of a recipe with its paths changed: those of files, and a policy that is a file of one's own."""
    paths = {name: getattr(part, name, None) for name in ("file", "policy", "previous", "roles")}
    own = {name: path for name, path in paths.items() if path and (name != "policy" or path.endswith(".toml"))}
    return part.model_copy(update={name: str(change(path)) for name, path in own.items()})


def line_of(text: str, place: Place) -> int | None:
    """The line in which the key at `place` begins, or else the nearest table around it; None for the whole text.

    The place is in the text from the first line on at which what stands above it, read as TOML, holds it.
    """
    lines = text.split(NEWLINE)
    while place:
        before = 0  # the last line at which the text above could be read
        for number in range(1, len(lines) + 1):
            try:
                tables = tomllib.loads(NEWLINE.join(lines[:number]))
            except tomllib.TOMLDecodeError:
                continue
            if _holds(tables, place):
                return before + 1
            before = number
        place = place[:-1]
    return None


def place_in(source: Path, place: Place) -> str:
    """A recipe's file and the line of a place in it, for messages."""
    line = line_of(source.read_text(encoding="utf-8"), place)
    return f"{source}, line {line}" if line else str(source)


@contextmanager
def naming_line(source: Path | None, place: Place | Callable[[ShoalError], Place]) -> Iterator[None]:
    """What goes wrong inside is told with the line of the recipe that asked for it."""
    try:
        yield
    except ShoalError as error:
        if source is None:
            raise
        where = place_in(source, place(error) if callable(place) else place)
        raise type(error)(f"{where}: {error}") from None


def plain(value: Any) -> Any:
    """A Python value as TOML has it: lists for sequences, tables for mappings; a TypeError for what it has not."""
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    raise TypeError(f"a {type(value).__name__} cannot be written in a recipe")


def versions() -> dict[str, str]:
    """What a result may depend on."""
    import numpy

    return {"shoal": __version__, "numpy": numpy.__version__, "python": platform.python_version()}


def absolute(path: str | os.PathLike[str]) -> Path:
    """The path from the root, a link's own name kept."""
    path = Path(path).expanduser()
    return path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()


# -- what is wrong, and where ------------------------------------------------------------------------


def _shape_error(error: Any) -> tuple[Place, str]:
    """The place and the words of what pydantic found wrong in the tables."""
    place: Place = error["loc"]
    if not place:  # JSON that pydantic cannot read
        return place, "a value is nested too deeply to be an argument"
    *above, key = place
    parts: dict[Any, type[Part]] = {"input": Input, "output": Output, "steps": Step}
    table = parts.get(above[0], Recipe) if above else Recipe
    where = f"[[steps]] (number {int(above[1]) + 1})" if above[:1] == ["steps"] else f"[{above[0]}]" if above else ""
    if error["type"] == "missing":
        way = "name the command: microaggregate, group, generalize, apply or mask" if key == "do" else "add it"
        if key == "steps":
            way = "add a table [[steps]] with do = and the command's arguments"
        return place, f"{key!r} is missing{f' in {where}' if where else ''}: {way}"
    if error["type"] == "extra_forbidden":
        homes = [f"[{name}]" for name, part in parts.items() if name != "steps" and key in part.model_fields]
        homes += ["the top, above all tables"] if key in Recipe.model_fields and above else []
        homes = homes or ["a table [[steps]], where the command's arguments are"]
        found = unknown("key", key, table.model_fields)
        return place, f"in {where or 'the top of a recipe'} {found}. {key!r} may belong in {' or '.join(homes)}"
    return place, _not_fitting(".".join(map(str, place)), error)


def _argument_errors(step: Step, steps: Steps, place: Place) -> Iterator[tuple[Place, str]]:
    """What is wrong in a step: an argument that its function has not, that is missing, or of another kind."""
    if step.do not in steps:
        yield (*place, "do"), str(unknown("step", step.do, steps))
        return
    try:
        allowed = steps[step.do](step.arguments)
    except UsageError as error:
        yield (*place, "method"), str(error)
        return
    for name, parameter in allowed.items():
        if parameter.default is parameter.empty and name not in step.arguments:
            yield (*place, name), f"{name!r} is missing: the step {step.do} needs it"
    for name, value in step.arguments.items():
        if name not in allowed:
            home = {"seed": "the top of the recipe, above all tables", "threads": "the command line (--threads)"}
            hint = f". {name!r} belongs in {home[name]}" if name in home else ""
            own = f" with method {step.arguments['method']!r}" if "method" in step.arguments else ""
            yield (*place, name), f"in the step {step.do}{own} {unknown('argument', name, allowed)}{hint}"
            continue
        try:
            TypeAdapter(allowed[name].annotation).validate_json(_json(value), strict=True)
        except ValidationError as error:
            yield (*place, name), _not_fitting(name, error.errors()[0], value)


def _not_fitting(key: str, error: Any, value: Any = ...) -> str:
    shown = error["input"] if value is ... else value
    return f"{key} = {shown!r} does not fit: {error['msg'][0].lower()}{error['msg'][1:]}"


def _wrong(source: Path, text: str, found: list[tuple[Place, str]]) -> InputError:
    """One error for all that is wrong, each with its line, in the order of the file."""
    lines = sorted({(line_of(text, place) or 0, message) for place, message in found})
    return InputError("\n".join(f"{source}{f', line {n}' if n else ''}: {message}" for n, message in lines))


def _holds(tables: Any, place: Place) -> bool:
    for key in place:
        inside = isinstance(tables, dict) if isinstance(key, str) else isinstance(tables, list)
        if not inside or (key not in tables if isinstance(key, str) else key >= len(tables)):
            return False
        tables = tables[key]
    return True


def _json(value: Any) -> str:
    """As JSON, in which lists stand for all sequences: pydantic's strict mode is then strict on scalars alone."""
    return json.dumps(value, default=str)


# -- TOML --------------------------------------------------------------------------------------------


def _toml(tables: Mapping[str, Any]) -> Iterator[str]:
    """Values first, then tables, and lists of tables under [[ ]]; what lies deeper is written in one line."""
    for name, value in tables.items():
        if name not in ("input", "steps", "output", "versions"):
            yield f"{_key(name)} = {_value(value)}\n"
    for name in ("input", "steps", "output", "versions"):
        several = tables.get(name, [])
        for table in several if name == "steps" else [several] if several else []:
            yield f"\n[[{name}]]\n" if name == "steps" else f"\n[{name}]\n"
            yield from (f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {_value(part)}" for name, part in value.items()) + "}"
    return "[" + ", ".join(map(_value, value)) + "]"


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _value(name)
