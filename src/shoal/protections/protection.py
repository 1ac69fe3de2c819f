"""The declaration of a protection: its function, parameters, methods, guarantees and limits.

The command and its options, the check of a recipe, the reference page, the line that repeats a run and the data of a
web form are all made from the declaration. It is in the folder of the protection. The parameters are declared in the
signature of the function: `k: Annotated[int, Option("Smallest number of records in a group.", minimum=2)]`.
`shoal --help` reads every declaration. So this module imports only the standard library, the messages and the types of
guarantees.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from shoal.errors import ArgumentError, choice_problem, unknown
from shoal.gate.promises import Promise
from shoal.spelling import Either, FilePath, Names, Number, Spelling, Whole, Word

P = ParamSpec("P")
R = TypeVar("R")

# Arguments that every run accepts, even if the function has no such parameter.
OF_EVERY_RUN = ("seed", "progress", "control")

# Lines of a docstring that every protection shares: parameters that no `Option` declares, and the last sections.
WITHOUT_OPTION = {
    "data": "A `Table`, a data frame or a file.",
    "secret": "128 random bits, hexadecimal, from which every choice is drawn. Shoal draws a new one if there is "
    "neither a secret nor a seed.",
    "progress": "A function that is called with the progress.",
    "control": "An object for threads, progress and stopping, instead of `threads` and `progress`.",
}
RETURNS_AND_RAISES = """Returns:
    The release: the protected table, how it was made, its measures and its findings. Nothing is written yet.

Raises:
    UsageError: An argument is unknown or not allowed; the message names it.
    InputError: The data cannot be used; the message names the column and the row.
    PromiseError: A guarantee cannot be kept for these data."""


@dataclass(frozen=True)
class Option:
    """The properties of a parameter besides its name, type and default.

    typed: a sentence that only the command line adds to the help, such as an example. of: the methods that use it;
    empty for all methods. also_with: another parameter that makes every method use it. needs: another parameter
    without which it has no effect. excludes: a parameter that it cannot be combined with. choices: the allowed names,
    if the type does not list them. former: an earlier name, which still works. default_text: the default in words, if
    it depends on other things. recorded: prepares the value for the recipe. writes: the value is a file that the run
    writes. on_files: it applies to a folder of files only. absent_in_recipe: the value of a recipe without it, if
    that is not the default. Recipes of earlier versions then keep their meaning, and new recipes always contain it.
    """

    help: str
    typed: str = field(default="", kw_only=True)
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    of: tuple[str, ...] = ()
    also_with: str | None = None
    needs: str | None = None
    excludes: str | None = None
    choices: tuple[str, ...] = ()
    flag: str | None = None
    former: str | None = None
    spelling: Spelling | None = None
    default_text: str = ""
    recorded: Callable[[Any], Any] | None = None
    writes: bool = False
    in_recipe: bool = True
    on_files: bool = False
    absent_in_recipe: Any = None
    on_command_line: bool = True


@dataclass(frozen=True)
class Parameter:
    """One parameter of a protection: its name, type and default from the signature, the rest from its `Option`."""

    name: str
    type: Any
    default: Any
    option: Option

    @functools.cached_property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @functools.cached_property
    def is_flag(self) -> bool:
        return self.type is bool

    @functools.cached_property
    def flag(self) -> str:
        """The name of the option on the command line."""
        return self.option.flag or f"--{self.name.replace('_', '-')}"

    @functools.cached_property
    def choices(self) -> tuple[str, ...]:
        """The allowed names; () if any value is allowed."""
        parts = _parts(self.type)
        if parts and all(typing.get_origin(part) is Literal for part in parts):
            return tuple(name for part in parts for name in typing.get_args(part))
        return self.option.choices

    @functools.cached_property
    def spelling(self) -> Spelling | None:
        """How the command line writes the value; None if it cannot."""
        return self.option.spelling or spelling_of(self.type)

    @functools.cached_property
    def range(self) -> str:
        """The allowed numbers, in words; '' if any number is allowed."""
        low, high = self.option.minimum, self.option.maximum
        if low is not None and high is not None:
            return f"between {low:g} and {high:g}"
        return f"{low:g} or more" if low is not None else f"at most {high:g}" if high is not None else ""

    def is_set(self, value: Any) -> bool:
        """Return whether the caller set this value; None and the default of a flag do not count as set."""
        return value is not None and not (isinstance(value, bool) and value == self.default)

    def problem(self, value: Any) -> str | None:
        """Return a message if the value is not allowed, or None."""
        if self.choices and not (isinstance(value, str) and value in self.choices):
            if self.name == "method":
                return str(unknown("method", value, self.choices))
            return choice_problem(self.name, value, self.choices)
        low, high = self.option.minimum, self.option.maximum
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and not ((low is None or value >= low) and (high is None or value <= high)):
            return f"{self.name} must be {self.range}, not {value!r}."
        return None


@dataclass(frozen=True)
class Method:
    """A method of a protection. Its code is the module and function of that name in the folder `methods`.

    weights: it supports survey weights. quick_up_to: the number of records it can protect within seconds; None for any.
    """

    name: str
    idea: str
    weights: bool = True
    quick_up_to: int | None = None


@dataclass(eq=False)
class Protection:
    """A protection. Help, the reference page and the report use its texts, so they are complete sentences.

    name: the name of the command, and of the step in a recipe. summary: the purpose, in one sentence. about: more text
    for the help. example: a command line. promises: the types of the guarantees that its releases can have. roles: the
    column roles that it uses, besides those of every protection. files: other files that it can write, as (option,
    method of the release, help). hides_records: it guarantees that the records of a group look the same.
    draws_from_secret: without a seed, its choices are drawn from a secret that only the recipe holds. part_of: the
    command that runs it, if it does not have its own command. place: its position in lists, the lowest first. on_files:
    the module of its folder with a function `protect_files`, if it can protect many files together, larger than memory.
    on_files_options: the parameters that this function uses. instead_of_files: what to do if it cannot.
    """

    name: str
    title: str
    summary: str
    promise: str
    limits: Sequence[tuple[str, str]]
    promises: tuple[type[Promise], ...] = ()
    about: str = ""
    example: str = ""
    methods: tuple[Method, ...] = ()
    roles: tuple[str, ...] = ("quasi", "weight")
    files: tuple[tuple[str, str, str], ...] = ()
    hides_records: bool = True
    draws_from_secret: bool = False
    part_of: str = ""
    place: int = 100
    on_files: str = ""
    on_files_options: tuple[str, ...] = ()
    instead_of_files: str = "Put the data into one file."
    function: Callable[..., Any] = field(init=False, repr=False)
    parameters: dict[str, Parameter] = field(init=False, repr=False)

    def declares(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate the function of the protection, so that every call is checked and recorded."""
        signature = inspect.signature(function)
        self.parameters = {p.name: p for p in map(_parameter, signature.parameters.values()) if p is not None}

        @functools.wraps(function)
        def protect(*args: P.args, **named: P.kwargs) -> R:
            from shoal.protections.recorded import run_recorded

            arguments = self.current_names(named)
            others = {n: v for n, v in arguments.items() if n in OF_EVERY_RUN and n not in signature.parameters}
            arguments = {name: value for name, value in arguments.items() if name not in others}
            for name in arguments:
                if name not in signature.parameters:
                    raise self._unknown(name, arguments)
            bound = signature.bind(*args, **arguments)
            bound.arguments |= others  # for the run; the function does not get them
            return run_recorded(self, function, bound)

        plain = [p.replace(annotation=_without_option(p.annotation)) for p in signature.parameters.values()]
        protect.__signature__ = signature.replace(parameters=plain)  # type: ignore[attr-defined]
        protect.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{self._sections(signature.parameters)}"
        self.function = protect
        return protect

    def module(self, name: str) -> types.ModuleType | None:
        """Return the module of that name in the folder of the protection, or None."""
        place = f"{self.function.__module__}.{name}"
        return importlib.import_module(place) if importlib.util.find_spec(place) is not None else None

    def current_names(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with earlier names replaced by the present ones."""
        former = {p.option.former: p.name for p in self.parameters.values() if p.option.former}
        return {former.get(name, name): value for name, value in arguments.items()}

    def method_of(self, arguments: Mapping[str, Any]) -> Any:
        """Return the name of the chosen method; None if the protection has only one."""
        if "method" not in self.parameters:
            return None
        chosen = arguments.get("method")
        return self.parameters["method"].default if chosen is None else chosen

    def method(self, name: str) -> Method:
        """Return the method of that name."""
        for method in self.methods:
            if method.name == name:
                return method
        raise unknown("method", name, self.method_names)

    @property
    def method_names(self) -> tuple[str, ...]:
        return names(self.methods)

    def of(self, method: str | None, arguments: Mapping[str, Any] | None = None) -> dict[str, Parameter]:
        """Return the parameters that a method uses with these arguments."""
        set_names = self._set(arguments or {})
        return {
            name: parameter
            for name, parameter in self.parameters.items()
            if not parameter.option.of or method in parameter.option.of or parameter.option.also_with in set_names
        }

    def method_options(self, method: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the arguments that only some methods use, this method among them."""
        return {name: values[name] for name, p in self.parameters.items() if method in p.option.of}

    def always_recorded(self, arguments: Mapping[str, Any], *, on_files: bool = False) -> dict[str, Parameter]:
        """Return the parameters used here whose absence from a recipe means another value than the default."""
        used = self.of(self.method_of(arguments), arguments)
        return {
            name: parameter
            for name, parameter in used.items()
            if parameter.option.absent_in_recipe is not None and not (on_files and name not in self.on_files_options)
        }

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raise an error for the first problem with these arguments."""
        for name, message in self.problems(arguments):
            raise ArgumentError(message, name)

    def problems(self, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield each argument that is missing, unknown, out of range or without effect, with a message."""
        for name, parameter in self.parameters.items():
            if parameter.is_required and arguments.get(name) is None:
                yield name, f"{name!r} is missing: {self.name} needs it (on the command line {parameter.flag})."
        method = self.method_of(arguments)
        if method is not None:
            problem = self.parameters["method"].problem(method)
            if problem is not None:
                yield "method", problem
                return
        set_names, usable = self._set(arguments), self.of(method, arguments)
        for name in arguments:
            if name not in self.parameters:
                yield name, str(self._unknown(name, arguments))
            elif name in set_names and name not in usable:
                yield name, self._not_of(name, method)
            elif name in set_names and name != "method":
                yield from self._value_problems(self.parameters[name], arguments[name], set_names)

    def _value_problems(self, parameter: Parameter, value: Any, set_names: Sequence[str]) -> Iterator[tuple[str, str]]:
        problem = parameter.problem(value)
        if problem is not None:
            yield parameter.name, problem
        needs, excludes = parameter.option.needs, parameter.option.excludes
        if excludes in set_names:
            yield (
                parameter.name,
                f"{self._shown(excludes)} and {parameter.name} cannot be combined. Remove one of them.",
            )
        if needs is not None and needs not in set_names:
            needed = self._shown(needs)
            yield (
                parameter.name,
                f"{parameter.name} has no effect without {needed}. Add {needed}, or remove {parameter.name}.",
            )

    def _shown(self, name: str | None) -> str:
        """The name of a parameter, and that of its option if it has another one."""
        flag = self.parameters[name].option.flag if name in self.parameters else None
        return str(name) if flag is None else f"{name} ({flag})"

    def _set(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(n for n, value in arguments.items() if n in self.parameters and self.parameters[n].is_set(value))

    def _not_of(self, name: str, method: str) -> str:
        parameter = self.parameters[name]
        others = [n for n, p in self.parameters.items() if method in p.option.of and p.option.on_command_line]
        uses = f"The options of {method} are {', '.join(others)}." if others else f"{method} has no options of its own."
        also = f", or to {self._shown(parameter.option.also_with)}" if parameter.option.also_with else ""
        return f"The method {method} does not use {name}: it belongs to {', '.join(parameter.option.of)}{also}. {uses}"

    def _unknown(self, name: str, arguments: Mapping[str, Any]) -> ArgumentError:
        error = unknown("argument", name, self.of(self.method_of(arguments), arguments))
        return ArgumentError(f"{self.name}: {error}", name)

    def _sections(self, parameters: Iterable[str]) -> str:
        """Return the sections Args, Returns and Raises of the docstring, for `help()` and the reference page."""
        texts = WITHOUT_OPTION | {p.name: f"{p.option.help}{_for_methods(p)}" for p in self.parameters.values()}
        lines = [f"{name}: {texts[name]}" for name in parameters if name in texts]
        wrapped = [textwrap.fill(line, 116, initial_indent="    ", subsequent_indent=" " * 8) for line in lines]
        return "\n".join(["Args:", *wrapped, "", RETURNS_AND_RAISES])


def names(methods: Sequence[Method]) -> tuple[str, ...]:
    return tuple(method.name for method in methods)


def method_prefix(parameter: Parameter) -> str:
    """Return the methods of a parameter, as a prefix of its help."""
    return f"{', '.join(parameter.option.of)}: " if parameter.option.of else ""


def _for_methods(parameter: Parameter) -> str:
    """Return the methods of a parameter, as a sentence after its help; '' if every method uses it."""
    of = parameter.option.of
    return f" Only for {', '.join(of[:-1])}{' and ' if of[:-1] else ''}{of[-1]}." if of else ""


def spelling_of(kind: Any) -> Spelling | None:
    """Return how values of a type are written; None if text cannot hold them."""
    simple: dict[Any, Spelling] = {int: Whole(), float: Number(), str: Word(), Path: FilePath(), Sequence[str]: Names()}
    parts = _parts(kind)
    candidates = [simple.get(part, Word() if typing.get_origin(part) is Literal else None) for part in parts]
    spellings = tuple(spelling for spelling in candidates if spelling is not None)
    if len(spellings) != len(parts) or not spellings:
        return None
    return spellings[0] if len(spellings) == 1 else Either(spellings)


def _parts(kind: Any) -> list[Any]:
    """Return the types of a union without None, or the type alone."""
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return [part for part in (typing.get_args(kind) if is_union else [kind]) if part is not types.NoneType]


def _parameter(parameter: inspect.Parameter) -> Parameter | None:
    """Return the declared parameter; None for a parameter without an `Option`, such as the data."""
    for option in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(option, Option):
            return Parameter(parameter.name, _without_option(parameter.annotation), parameter.default, option)
    return None


def _without_option(annotation: Any) -> Any:
    return getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation
