"""A recipe: a TOML file with the input and its checksum, the roles, the steps with their arguments, and the seed.

A recipe holds the settings of a run. Of the machine it holds only the paths of the files, relative to its own folder.
A message about a problem in a recipe names the line. The declaration of a protection lists the arguments of its step.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from shoal.errors import InputError, ShoalError, UsageError, unknown
from shoal.sources.files import atomically, check_distinct, check_place

# For each step, by name: a function that returns the problems with its arguments, each with the argument's name.
Steps = Mapping[str, Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]]
Place = tuple[str | int, ...]

HEAD = (
    "# INTERNAL: this file names the original and may hold the secret of the row order. Do not publish it.\n"
    "# A recipe of Shoal. Repeat the run with: shoal run FILE\n"
)
NEWLINE = "\n"  # the only line break of TOML


class Limits:
    """Limits of a value in a recipe, in Pydantic's words."""

    def __init__(self, **limits: Any) -> None:
        self.limits = limits

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return {**handler(source), **self.limits}


class _NoSeed(int):
    """The seed of a recipe that states none: zero, not the same as a zero that is stated."""


NO_SEED = _NoSeed(0)
CHECKSUM = Limits(pattern=r"^[0-9a-f]{64}$")
SECRET = Limits(pattern=r"^[0-9a-f]{32}$")
SEED = Limits(ge=0, lt=2**63)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A table of a recipe. Pydantic reads it from a file by the types stated here; an unknown key is an error."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}

    @classmethod
    def known_keys(cls) -> list[str]:
        """The keys that the table may have."""
        return [field.name for field in fields(cls)]

    def stated(self, *without: str) -> dict[str, Any]:
        """Return the values that differ from their defaults, without those of some keys."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in without and getattr(self, field.name) != _default(field)
        }


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


@dataclass(frozen=True, kw_only=True)
class Input(Part):
    """The input file, its checksum, how its text is read, and the column roles. `file` is None for a data frame.

    A table in many files has `files`, in the order of their rows, and `checksums`, instead of `file` and `sha256`.
    """

    file: str | None = None
    sha256: Annotated[str, CHECKSUM] | None = None
    files: tuple[str, ...] = ()
    checksums: tuple[Annotated[str, CHECKSUM], ...] = ()
    roles: str | None = None
    identifiers: tuple[str, ...] = ()
    quasi: tuple[str, ...] = ()
    confidential: tuple[str, ...] = ()
    weight: str | None = None
    unit: str | bool | None = None
    drop: tuple[str, ...] = ()
    as_is: tuple[str, ...] = ()
    derived: dict[str, tuple[str, ...]] = field(default_factory=dict)
    no_confidential: bool = False
    reasons: dict[str, str] = field(default_factory=dict)
    order: dict[str, tuple[str, ...]] = field(default_factory=dict)
    nominal: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    accept_derived: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    decimal: Literal[".", ","] | None = None


@dataclass(frozen=True, kw_only=True)
class Output(Part):
    """The file of the release, its checksum, and how it is saved: the arguments of `Release.save`."""

    file: str
    sha256: Annotated[str, CHECKSUM] | None = None
    shuffle: bool = False
    keep_order: bool = False
    policy: str | None = None
    previous: str | None = None
    first_release: bool = False
    accept_k: int | None = None
    round_weight: bool = False

    @property
    def saving(self) -> dict[str, Any]:
        """The arguments of `Release.save` that differ from their defaults."""
        return self.stated("file", "sha256")


@dataclass(frozen=True, init=False)
class Step(Part):
    """One step: `do` is the name of its command, the other keys are its arguments."""

    do: str
    values: dict[str, Any]

    def __init__(self, /, do: str, **arguments: Any) -> None:
        object.__setattr__(self, "do", do)
        object.__setattr__(self, "values", arguments)

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(self.values)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        known = {"do": core_schema.typed_dict_field(core_schema.str_schema(strict=True), required=True)}
        table = core_schema.typed_dict_schema(known, extra_behavior="allow")
        return core_schema.no_info_after_validator_function(lambda values: cls(**values), table)


@dataclass(frozen=True, kw_only=True)
class Recipe(Part):
    """A run that can be repeated. Paths are absolute in this object, and relative to the recipe's folder in a file."""

    seed: Annotated[int, SEED] = NO_SEED
    secret: Annotated[str, SECRET] | None = None
    input: Input = Input()
    steps: Annotated[tuple[Step, ...], Limits(min_length=1)]
    output: Output | None = None
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def has_seed(self) -> bool:
        """Whether the recipe states a seed."""
        return self.seed is not NO_SEED

    def with_output(self, path: str | os.PathLike[str], sha256: str, **saving: Any) -> Recipe:
        """Return a copy with the output file, its checksum, and how it is saved."""
        arguments: dict[str, Any] = {
            name: str(value) if isinstance(value, os.PathLike) else value for name, value in saving.items()
        }
        output = Output(file=str(path), sha256=sha256, **arguments)
        return replace(self, output=_with_paths(output, absolute))

    def with_output_folder(self, folder: str | os.PathLike[str], **saving: Any) -> Recipe:
        """Return a copy with the output folder of a table in many files, and how it is saved."""
        arguments: dict[str, Any] = {
            name: str(value) if isinstance(value, os.PathLike) else value for name, value in saving.items()
        }
        return replace(self, output=_with_paths(Output(file=str(folder), **arguments), absolute))

    def in_folder(self, folder: Path) -> Recipe:
        """Return a copy whose paths are relative to this folder."""
        here = absolute(folder)
        return self._with_paths(lambda path: os.path.relpath(path, here))

    def _with_paths(self, change: Callable[[str], str | Path]) -> Recipe:
        output = None if self.output is None else _with_paths(self.output, change)
        return replace(self, input=_with_paths(self.input, change), output=output)

    def text(self, folder: Path | None = None) -> str:
        """Return the recipe as TOML, with paths relative to the folder."""
        recipe = self if folder is None else self.in_folder(folder)
        tables = {
            "seed": recipe.seed,
            **recipe.stated("seed"),
            "input": recipe.input.stated(),
            "steps": [{"do": step.do, **step.values} for step in recipe.steps],
            "output": {} if recipe.output is None else recipe.output.stated(),
        }
        return HEAD + "".join(_toml(tables))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the recipe to a file.

        Args:
            path: The file to write; its name must end with .toml.

        Returns:
            The path of the file.

        Raises:
            UsageError: The name does not end with .toml, or the path is a file that the recipe reads.
            WriteError: The file cannot be written.
        """
        target = check_recipe_place(path)
        read: dict[str, Any] = {"the roles file": self.input.roles, "the input": self.input.file}
        if self.output is not None:
            read |= {"the policy": self.output.policy, "the earlier release": self.output.previous}
        check_distinct({"The recipe": target}, read)
        with atomically(target) as temporary:
            temporary.write_text(self.text(target.parent), encoding="utf-8")
        return target


def check_recipe_place(path: str | os.PathLike[str]) -> Path:
    """Return the path if a recipe can be written there; otherwise raise an error."""
    if Path(path).suffix.lower() != ".toml":
        raise UsageError(
            f"Cannot write the recipe {Path(path).name}: a recipe is a TOML file. Use {Path(path).stem}.toml instead."
        )
    return check_place(path)


def read_recipe(path: str | os.PathLike[str], steps: Steps) -> Recipe:
    """Read a recipe from a file. An error names the line; `steps` has a function per step that returns its problems."""
    source = Path(path)
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot read the recipe {source}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"Cannot read the recipe {source}: it is not UTF-8 text. Save it as UTF-8.") from None
    return parse_recipe(text, steps, source)


def parse_recipe(text: str, steps: Steps, source: Path) -> Recipe:
    """Read a recipe from a text. `source` is its file: messages name it, and paths are relative to its folder."""
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{source} is nested too deeply to be a recipe.") from None
    except tomllib.TOMLDecodeError as error:
        problem = str(error).replace("at end of document", f"at line {len(text.rstrip().split(NEWLINE))}, the end")
        raise InputError(
            f"{source} is not valid TOML: {problem}. Put text in quotes and lists in square brackets."
        ) from None
    from pydantic import TypeAdapter, ValidationError  # takes a tenth of a second to import; most runs read no recipe

    try:
        recipe: Recipe = TypeAdapter(Recipe).validate_json(_json(tables))
    except ValidationError as error:
        raise _wrong(source, text, [_shape_error(e, list(steps)) for e in error.errors()]) from None
    problems = [
        problem for i, step in enumerate(recipe.steps) for problem in _argument_errors(step, steps, ("steps", i))
    ]
    if problems:
        raise _wrong(source, text, problems)
    return recipe._with_paths(lambda path: absolute(source.parent / path))


P = TypeVar("P", bound=Part)


def _with_paths(part: P, change: Callable[[str], str | Path]) -> P:
    """Return a copy of a recipe's table with its paths changed; a policy is a path if it is a TOML file."""
    texts = {name: getattr(part, name, None) for name in ("file", "policy", "previous", "roles")}
    paths = {name: path for name, path in texts.items() if path and (name != "policy" or path.endswith(".toml"))}
    changed: dict[str, Any] = {name: str(change(path)) for name, path in paths.items()}
    if getattr(part, "files", ()):
        changed["files"] = tuple(str(change(path)) for path in part.files)  # type: ignore[attr-defined]
    return replace(part, **changed)


def line_of(text: str, place: Place) -> int | None:
    """Return the line of the key at `place`, or of the nearest table around it; None for the whole text.

    The text is read as TOML up to each line in turn; the first part that contains the place ends with its line.
    """
    lines = text.split(NEWLINE)
    while place:
        before = 0  # the last line up to which the text was valid TOML
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
    """Return the recipe's file and the line of a place in it, for messages."""
    line = line_of(source.read_text(encoding="utf-8"), place)
    return f"{source}, line {line}" if line else str(source)


@contextmanager
def naming_line(source: Path | None, place: Place | Callable[[ShoalError], Place]) -> Iterator[None]:
    """Add the recipe's file and line to the message of an error that is raised in the block."""
    try:
        yield
    except ShoalError as error:
        if source is None:
            raise
        where = place_in(source, place(error) if callable(place) else place)
        raise type(error)(f"{where}: {error}") from None


def plain(value: Any) -> Any:
    """Return a Python value as TOML can hold it: lists for sequences, tables for mappings.

    Raises:
        TypeError: TOML has no such value.
    """
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
    raise TypeError(f"A recipe cannot hold a value of type {type(value).__name__}.")


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on."""
    import numpy

    from shoal import __version__

    return {"shoal": __version__, "numpy": numpy.__version__, "python": platform.python_version()}


def new_secret() -> str:
    """Return 128 random bits, hexadecimal."""
    return secrets.token_hex(16)


def absolute(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path; the last part may be a link, which is not followed."""
    path = Path(path).expanduser()
    return path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()


# -- messages ----------------------------------------------------------------------------------------


def _shape_error(error: Any, steps: list[str]) -> tuple[Place, str]:
    """Return the place and the message of an error that pydantic reports for the tables."""
    place: Place = error["loc"]
    if not place:  # JSON that pydantic cannot read
        return place, "A value is nested too deeply to be an argument."
    *above, key = place
    parts: dict[Any, type[Part]] = {"input": Input, "output": Output, "steps": Step}
    table = parts.get(above[0], Recipe) if above else Recipe
    where = f"[[steps]] (number {int(above[1]) + 1})" if above[:1] == ["steps"] else f"[{above[0]}]" if above else ""
    if error["type"] == "missing":
        hint = f"Name the protection: {', '.join(steps)}." if key == "do" else "Add it."
        if key == "steps":
            hint = "Add a table [[steps]] with do = and the command's arguments."
        return place, f"{key!r} is missing{f' in {where}' if where else ''}. {hint}"
    if error["type"] == "unexpected_keyword_argument":
        homes = [f"[{name}]" for name, part in parts.items() if name != "steps" and key in part.known_keys()]
        homes += ["the top, above all tables"] if key in Recipe.known_keys() and above else []
        homes = homes or ["a table [[steps]], where the command's arguments are"]
        problem = unknown(f"key in {where or 'the top of a recipe'}", key, table.known_keys())
        return place, f"{problem} {key!r} may belong in {' or '.join(homes)}."
    return place, _not_fitting(".".join(map(str, place)), error)


def _argument_errors(step: Step, steps: Steps, place: Place) -> Iterator[tuple[Place, str]]:
    """Yield the problems of a step, each with the place of its argument."""
    if step.do not in steps:
        yield (*place, "do"), str(unknown("step", step.do, steps))
        return
    for name, message in steps[step.do](step.arguments):
        yield (*place, name), message


def type_problem(name: str, kind: Any, value: Any) -> str | None:
    """Return the message for a value of the wrong type, or None if the type is right."""
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(kind).validate_json(_json(value), strict=True)
    except ValidationError as error:
        return _not_fitting(name, error.errors()[0], value)
    return None


def _not_fitting(key: str, error: Any, value: Any = ...) -> str:
    shown = error["input"] if value is ... else value
    return f"{key} = {shown!r} is not valid: {error['msg'][0].lower()}{error['msg'][1:]}."


def _wrong(source: Path, text: str, problems: list[tuple[Place, str]]) -> InputError:
    """Return one error for all problems, each with its line, in the order of the file."""
    lines = sorted({(line_of(text, place) or 0, message) for place, message in problems})
    return InputError("\n".join(f"{source}{f', line {n}' if n else ''}: {message}" for n, message in lines))


def _holds(tables: Any, place: Place) -> bool:
    for key in place:
        inside = isinstance(tables, dict) if isinstance(key, str) else isinstance(tables, list)
        if not inside or (key not in tables if isinstance(key, str) else key >= len(tables)):
            return False
        tables = tables[key]
    return True


def _json(value: Any) -> str:
    """Return the value as JSON, which has lists for all sequences: pydantic's strict mode then checks scalars only."""
    return json.dumps(value, default=str)


# -- TOML --------------------------------------------------------------------------------------------


def _toml(tables: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines: values first, then tables, and lists of tables under [[ ]]; deeper tables take one line."""
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
