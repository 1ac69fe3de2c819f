"""What a protection is, declared once: its function, parameters, methods, what it promises and what it does not.

The command and its options, the check of a recipe, the reference page, the line that repeats a run and the data of a
web form are all made from the declaration. It stands in the protection's folder, and the parameters stand in the
signature of the function: `k: Annotated[int, Option("Smallest number of records in a group.", minimum=2)]`.
This module imports the standard library, the messages and the types of guarantees only, because `shoal --help` reads
every declaration.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from shoal.errors import ArgumentError, choice_problem, unknown
from shoal.gate.promises import Promise
from shoal.spelling import Either, FilePath, Names, Number, Spelling, Whole, Word

P = ParamSpec("P")
R = TypeVar("R")

# What every run may be given, whether or not the function has a parameter for it.
OF_EVERY_RUN = ("seed", "progress", "control")


@dataclass(frozen=True)
class Option:
    """What is to be known of a parameter beside its name, type and default.

    of: the methods that use it; all of them if it is empty. also_with: another parameter that makes every method use
    it. needs: another parameter without which it has no effect. excludes: one that cannot be given as well. choices:
    the names it may be, where the type does not list them. former: an earlier name, which still works. default_text:
    the default in words, where it depends on other things. recorded: prepares the value for the recipe. writes: the
    value is a file that the run writes. absent_in_recipe: the value of a recipe that does not have it, where that is
    not the default; recipes of earlier versions then keep their meaning, and new recipes always have it.
    """

    help: str
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
    absent_in_recipe: Any = None
    on_command_line: bool = True


@dataclass(frozen=True)
class Parameter:
    """One parameter of a protection: its name, type and default from the signature, the rest from its `Option`."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def is_flag(self) -> bool:
        return self.type is bool

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return self.option.flag or f"--{self.name.replace('_', '-')}"

    @property
    def choices(self) -> tuple[str, ...]:
        """The names it may be; () if it is not a closed set."""
        parts = _parts(self.type)
        if parts and all(typing.get_origin(part) is Literal for part in parts):
            return tuple(name for part in parts for name in typing.get_args(part))
        return self.option.choices

    @property
    def spelling(self) -> Spelling | None:
        """How the command line writes it; None for what it cannot hold."""
        return self.option.spelling or spelling_of(self.type)

    @property
    def range(self) -> str:
        """The numbers it may be, in words; '' for any."""
        low, high = self.option.minimum, self.option.maximum
        if low is not None and high is not None:
            return f"between {low:g} and {high:g}"
        return f"{low:g} or more" if low is not None else f"at most {high:g}" if high is not None else ""

    def is_set(self, value: Any) -> bool:
        """Whether somebody asked for this value: None and a flag's default are the same as silence."""
        return value is not None and not (isinstance(value, bool) and value == self.default)

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value, as a message."""
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
    """A way to do a protection. Its code is the module and function of that name in the folder's `methods`.

    weights: it can honour survey weights. quick_up_to: how many records it takes within seconds; None for any number.
    """

    name: str
    idea: str
    weights: bool = True
    quick_up_to: int | None = None


@dataclass(eq=False)
class Protection:
    """A protection. The sentences are complete: they stand in the help, on the reference page and in the report.

    name: of the command and of the step in a recipe. summary: what it does, in one sentence. about: what else the help
    says. example: a command line that shows its use. promises: the types of the guarantees that its releases can carry.
    roles: the roles of columns that it uses, beside those that every protection has. files: what it can write beside
    the release, as (option, method of the release, help). hides_records: it promises that records cannot be told apart.
    draws_from_secret: without a seed, its choices are drawn from a secret that only the recipe holds. part_of: the
    command that can do it, for a step without one of its own. place: where lists put it, the lowest first.
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
    function: Callable[..., Any] = field(init=False, repr=False)
    parameters: dict[str, Parameter] = field(init=False, repr=False)

    def declares(self, function: Callable[P, R]) -> Callable[P, R]:
        """The decorator of the protection's function: every call is checked and recorded."""
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
        protect.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{self._parameter_lines()}"
        self.function = protect
        return protect

    def module(self, name: str) -> types.ModuleType | None:
        """The module of that name in the protection's folder; None if there is none."""
        place = f"{self.function.__module__}.{name}"
        return importlib.import_module(place) if importlib.util.find_spec(place) is not None else None

    def current_names(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, those with an earlier name under the present one."""
        former = {p.option.former: p.name for p in self.parameters.values() if p.option.former}
        return {former.get(name, name): value for name, value in arguments.items()}

    def method_of(self, arguments: Mapping[str, Any]) -> Any:
        """The name of the method that the arguments ask for; None if there is only one way."""
        if "method" not in self.parameters:
            return None
        asked = arguments.get("method")
        return self.parameters["method"].default if asked is None else asked

    def method(self, name: str) -> Method:
        """The method of that name."""
        for method in self.methods:
            if method.name == name:
                return method
        raise unknown("method", name, self.method_names)

    @property
    def method_names(self) -> tuple[str, ...]:
        return names(self.methods)

    def of(self, method: str | None, arguments: Mapping[str, Any] | None = None) -> dict[str, Parameter]:
        """The parameters that a method uses, beside these other arguments."""
        set_names = self._set(arguments or {})
        return {
            name: parameter
            for name, parameter in self.parameters.items()
            if not parameter.option.of or method in parameter.option.of or parameter.option.also_with in set_names
        }

    def method_options(self, method: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """What belongs to this method alone, out of all the function's arguments."""
        return {name: values[name] for name, p in self.parameters.items() if method in p.option.of}

    def check(self, arguments: Mapping[str, Any]) -> None:
        """An error for the first problem with these arguments."""
        for name, message in self.problems(arguments):
            raise ArgumentError(message, name)

    def problems(self, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Each argument that is missing, unknown, out of range or without effect, with a message that says so."""
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
            yield parameter.name, f"Give either {excludes} or {parameter.name}: both cannot be followed."
        if needs is not None and needs not in set_names:
            yield parameter.name, f"{parameter.name} has no effect without {needs}: add {needs}, or leave it out."

    def _set(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(n for n, value in arguments.items() if n in self.parameters and self.parameters[n].is_set(value))

    def _not_of(self, name: str, method: str) -> str:
        parameter = self.parameters[name]
        others = [n for n, p in self.parameters.items() if method in p.option.of and p.option.on_command_line]
        uses = f"The options of {method} are {', '.join(others)}." if others else f"{method} has no options of its own."
        also = f", or to {parameter.option.also_with}" if parameter.option.also_with else ""
        return f"The method {method} does not use {name}: it belongs to {', '.join(parameter.option.of)}{also}. {uses}"

    def _unknown(self, name: str, arguments: Mapping[str, Any]) -> ArgumentError:
        error = unknown("argument", name, self.of(self.method_of(arguments), arguments))
        return ArgumentError(f"{self.name}: {error}", name)

    def _parameter_lines(self) -> str:
        """One line per parameter, for `help()`."""
        lines = [f"{p.name}: {method_prefix(p)}{p.option.help}" for p in self.parameters.values()]
        return "\n".join(lines)


def names(methods: Sequence[Method]) -> tuple[str, ...]:
    return tuple(method.name for method in methods)


def method_prefix(parameter: Parameter) -> str:
    """The methods a parameter belongs to, to be put before its help."""
    return f"{', '.join(parameter.option.of)}: " if parameter.option.of else ""


def spelling_of(kind: Any) -> Spelling | None:
    """How values of a type are written; None for a type that no text holds."""
    simple: dict[Any, Spelling] = {int: Whole(), float: Number(), str: Word(), Path: FilePath(), Sequence[str]: Names()}
    parts = _parts(kind)
    found = [simple.get(part, Word() if typing.get_origin(part) is Literal else None) for part in parts]
    spellings = tuple(spelling for spelling in found if spelling is not None)
    if len(spellings) != len(parts) or not spellings:
        return None
    return spellings[0] if len(spellings) == 1 else Either(spellings)


def _parts(kind: Any) -> list[Any]:
    """The types of a union, None left out; a type by itself."""
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return [part for part in (typing.get_args(kind) if is_union else [kind]) if part is not types.NoneType]


def _parameter(parameter: inspect.Parameter) -> Parameter | None:
    """The declared parameter; None for one without an `Option`, such as the data."""
    for option in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(option, Option):
            return Parameter(parameter.name, _without_option(parameter.annotation), parameter.default, option)
    return None


def _without_option(annotation: Any) -> Any:
    return getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation
