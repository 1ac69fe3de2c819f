"""The command of a protection, made from its declaration: its options, its help, and its run.

A protection that is part of another command is an option of that command, such as --apply for apply. The value of the
option is that of the parameter which the protection needs. The other options of the command cannot be combined with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from shoal.cli.delivery import Delivery
from shoal.cli.folders import folder_options, is_folder, is_large, run_on_folder
from shoal.cli.help import (
    FOLDERS,
    METHOD,
    OTHER,
    OUTPUT,
    RELEASE_CHECK,
    REQUIRED,
    ROLES,
    SAVING_OPTIONS,
    TEXT_FILES,
    SectionedCommand,
    Sections,
)
from shoal.cli.options import (
    BY_COLUMN,
    csv_options,
    order_option,
    output_list,
    progress_bar,
    read_table,
    role_options,
    say_when_compiling,
)
from shoal.errors import UsageError
from shoal.protections import register
from shoal.protections.protection import Parameter, Protection

UNITS = {"s": "SECONDS"}
PER_PROTECTION = ("quasi", "weight")  # roles that not every protection uses
MUCH_MEMORY = 500e6  # bytes from which the command prints the need
MOST_CHOICES = 5  # more choices than this have a section of their own


class ProtectionCommand(SectionedCommand):
    """A command whose help also lists the methods."""

    def __init__(self, protection: Protection, sections: Sections, **named: Any) -> None:
        super().__init__(protection.name, params=[p for _, params in sections for p in params], **named)
        self.protection, self.declared_sections = protection, sections

    def sections(self, ctx: click.Context) -> Sections:
        return [*self.declared_sections, (OTHER, [p for p in self.get_params(ctx) if p not in self.params])]

    def format_after(self, heading: str, formatter: click.HelpFormatter) -> None:
        if heading == METHOD and self.protection.methods:
            with formatter.section("Methods"):
                formatter.write_dl([(method.name, f"{method.idea}.") for method in self.protection.methods])


def command_of(protection: Protection) -> click.Command:
    """Return the command of a protection."""
    sections = option_sections(protection)

    def callback(**arguments: Any) -> None:
        run(protection, arguments)

    text = "\n\n".join(part for part in (protection.summary, protection.about, protection.promise) if part)
    return ProtectionCommand(protection, sections, callback=callback, help=text, short_help=protection.summary)


def option_sections(protection: Protection) -> Sections:
    """The options under their headings: required, roles, method, single methods, text files, output."""
    roles = _made(role_options)
    for option in _without_use(roles, protection):
        option.hidden = True
    roles += [_raw_order()] if "order" in protection.roles else []
    taken = {option.name for option in roles}
    parameters = [p for p in protection.parameters.values() if p.option.on_command_line and p.name not in taken]
    by_heading: dict[str, list[click.Parameter]] = {
        REQUIRED: [click.Argument(["file"], type=click.Path())],
        ROLES: list(roles),
        METHOD: [],
    }
    for parameter in parameters:
        by_heading.setdefault(_heading(parameter), []).append(click_option(parameter))
    by_heading[METHOD] += [part_option(part) for part in parts_of(protection)]
    by_heading[TEXT_FILES] = _made(csv_options)
    if protection.on_files:
        by_heading[FOLDERS] = [*by_heading.pop(FOLDERS, []), *folder_options()]
    outputs = [*_made(output_list), *(file_option(name, text) for name, _, text in protection.files)]
    by_heading[OUTPUT] = [option for option in outputs if option.name not in SAVING_OPTIONS]
    by_heading[f"{RELEASE_CHECK} (needs -o)"] = [option for option in outputs if option.name in SAVING_OPTIONS]
    return list(by_heading.items())


def _without_use(options: Iterable[click.Parameter], protection: Protection) -> list[click.Option]:
    """Return the role options that the protection does not use: the command refuses them."""
    unused = [name for name in PER_PROTECTION if name not in protection.roles]
    return [option for option in options if isinstance(option, click.Option) and option.name in unused]


def _raw_order() -> click.Parameter:
    """Return --order as plain text: in earlier versions, a single word was the order of a path."""
    (option,) = _made([order_option])
    option.type, option.metavar = click.STRING, option.type.name
    return option


def _heading(parameter: Parameter) -> str:
    if parameter.is_required:
        return REQUIRED
    if parameter.option.on_files:
        return FOLDERS
    return f"Options of {', '.join(parameter.option.of)}" if parameter.option.of else METHOD


def click_option(parameter: Parameter) -> click.Option:
    """Return the option of a parameter. Its text is checked here, and read when all texts of the option are known."""
    option, flag = parameter.option, parameter.flag
    notes = "; ".join(filter(None, (_default(parameter), parameter.range)))
    help_text = " ".join(filter(None, (option.help, option.typed, notes and f"[{notes}]")))
    if parameter.is_flag:
        both = f"{flag}/--no-{flag.removeprefix('--')}" if parameter.default is True else flag
        return click.Option([both, parameter.name], is_flag=True, default=None, help=help_text)
    spelling = parameter.spelling
    if spelling is None:
        raise TypeError(f"No text can hold {parameter.name}. Declare a spelling, or on_command_line=False.")
    return click.Option(
        [flag, parameter.name],
        type=SpelledText(parameter),
        metavar=_metavar(parameter),
        multiple=spelling.repeats,
        help=help_text,
    )


def _default(parameter: Parameter) -> str:
    """Return the default in words, or '' if there is none to show."""
    text, value = parameter.option.default_text, parameter.default
    if parameter.is_flag:
        text = parameter.flag if value else ""
    elif not text and not parameter.is_required and value not in (None, (), "") and parameter.spelling is not None:
        text = " ".join(parameter.spelling.write(value) or [])
    return f"default: {text}" if text else ""


def _metavar(parameter: Parameter) -> str:
    if parameter.choices:
        return f"[{'|'.join(parameter.choices)}]" if len(parameter.choices) <= MOST_CHOICES else "NAME"
    assert parameter.spelling is not None
    return UNITS.get(parameter.option.unit, parameter.spelling.hint)


class SpelledText(click.ParamType):  # type: ignore[type-arg]
    """The type of an option whose text the spelling of a parameter reads."""

    name = "text"

    def __init__(self, parameter: Parameter) -> None:
        self.spelling = parameter.spelling

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        assert self.spelling is not None
        try:
            self.spelling.read([value])
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


def file_option(name: str, text: str) -> click.Option:
    """Return the option for a further file that a protection writes."""
    return click.Option([f"--{name.replace('_', '-')}", name], type=click.Path(), metavar="FILE", help=text)


def run(protection: Protection, options: dict[str, Any]) -> None:
    """Check all options, read the file, protect it, and write the outputs."""
    say_when_compiling()
    context = click.get_current_context()
    for option in _without_use(context.command.params, protection):
        if options[option.name or ""]:
            raise UsageError(f"shoal {protection.name} does not use {option.opts[0]}. Remove it.")
    files = {name: options.pop(name) for name, _, _ in protection.files}
    arguments = typed_arguments(protection, options, context)
    protection, arguments = part_to_run(protection, arguments, options, context)
    if is_folder(options) or is_large(protection, arguments, options):
        run_on_folder(protection, arguments, options, files)
        return
    for name in ("on", "workers", "staging"):
        options.pop(name, None)
    arguments.pop("leaves_above", None)  # it has decided
    protection.check(arguments)
    written = {**_files(files), **named_files(protection, arguments, written=True)}
    delivery = Delivery(options, written, named_files(protection, arguments, written=False))
    table = read_table(options)
    say_memory(protection, table.rows, len(table.columns))
    with progress_bar(protection.title.lower()) as progress:
        release = protection.function(table, progress=progress, **arguments)
    writers = {files[name]: getattr(release, method) for name, method, _ in protection.files if files[name] is not None}
    delivery.write(release, also=writers)


def say_memory(protection: Protection, rows: int, columns: int) -> None:
    """Print on stderr, before the work starts, how much memory a large table will need."""
    estimate = getattr(protection.module("command"), "memory_needed", None)
    needed = 0.0 if estimate is None else estimate(rows, columns)
    if needed >= MUCH_MEMORY:
        parts = " A folder of files needs less (--workers, --leaf)." if protection.on_files else ""
        click.echo(
            f"This needs about {needed / 1e9:.1f} GB of memory, for {rows:,} records and {columns} columns.{parts}",
            err=True,
        )


def parts_of(protection: Protection) -> list[Protection]:
    """The protections that the command of this one can do instead."""
    return [part for part in register().values() if part.part_of == protection.name]


def _needed(part: Protection) -> Parameter:
    """The parameter of which a part's option holds the value."""
    (parameter,) = [parameter for parameter in part.parameters.values() if parameter.is_required]
    return parameter


def part_option(part: Protection) -> click.Option:
    """The option that asks for a part of a command."""
    parameter = _needed(part)
    declaration = [f"--{part.name}", f"part_{part.name}"]
    return click.Option(declaration, type=SpelledText(parameter), metavar=_metavar(parameter), help=part.about)


def part_to_run(
    protection: Protection, arguments: dict[str, Any], options: dict[str, Any], context: click.Context
) -> tuple[Protection, dict[str, Any]]:
    """The protection to run. An option that only the other one uses would be ignored, so it is an error."""
    texts = {part: options.pop(f"part_{part.name}") for part in parts_of(protection)}
    for part, text in texts.items():
        if text is None:
            continue
        parameter = _needed(part)
        for option in context.command.params:
            name = option.name or ""
            is_typed = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
            is_file = name in [file for file, _, _ in protection.files]
            if is_typed and (is_file or (name in protection.parameters and name not in part.parameters)):
                flag = option.opts[0]
                raise UsageError(
                    f"{flag} cannot be used with --{part.name}: the {parameter.name} decides. Remove {flag}."
                )
        return part, {parameter.name: read_texts(parameter, text), **arguments}
    return protection, arguments


def typed_arguments(protection: Protection, options: dict[str, Any], context: click.Context) -> dict[str, Any]:
    """Take the protection's arguments out of the command's, and return those that were typed, as values."""
    arguments: dict[str, Any] = {}
    for name, parameter in protection.parameters.items():
        is_typed = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if name in protection.roles or name not in options:
            continue
        value = options.pop(name)
        if is_typed:
            arguments[name] = value if parameter.is_flag else read_texts(parameter, value)
    if "order" in protection.roles:
        options["order"], former = _orders(protection, options["order"])
        arguments |= former
    return arguments


def read_texts(parameter: Parameter, value: Any) -> Any:
    """Return the value of all the texts of an option."""
    assert parameter.spelling is not None
    try:
        return parameter.spelling.read([value] if isinstance(value, str) else list(value))
    except ValueError as error:
        raise UsageError(f"{parameter.flag}: {error}") from None


def _orders(protection: Protection, texts: Iterable[str]) -> tuple[list[tuple[str, Any]], dict[str, str]]:
    """Return the orders of columns, and the value of the option that was called --order in earlier versions."""
    former = {c: p.name for p in protection.parameters.values() if p.option.former == "order" for c in p.choices}
    words = {former[text]: text for text in texts if text in former}
    return [BY_COLUMN.convert(text, None, None) for text in texts if text not in former], words


def named_files(protection: Protection, arguments: Mapping[str, Any], *, written: bool) -> dict[str, str]:
    """Return the files that the arguments name, by option: those that are written, or those that are read."""
    files: dict[str, str] = {}
    for name, value in arguments.items():
        parameter = protection.parameters.get(name)
        if parameter is not None and parameter.spelling is not None and parameter.option.writes == written:
            paths = list(parameter.spelling.files(value))
            files |= {f"{parameter.flag} {path}" if len(paths) > 1 else parameter.flag: path for path in paths}
    return files


def _files(files: Mapping[str, str | None]) -> dict[str, str | None]:
    return {f"--{name.replace('_', '-')}": path for name, path in files.items()}


def _made(decorators: Iterable[Callable[[Any], Any]]) -> list[click.Parameter]:
    """Return the options that click's decorators make."""

    def holder() -> None: ...

    for decorate in reversed(list(decorators)):
        decorate(holder)
    return list(reversed(holder.__click_params__))  # type: ignore[attr-defined]
