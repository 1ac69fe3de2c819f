"""The command line: thin commands, loaded when they are called, so that `shoal --help` is instant."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import warnings
from typing import Any, NoReturn

import click

from shoal import __version__
from shoal.errors import ShoalError, ShoalWarning, printable, unknown

# Each command's module has a click command called `command`; the help stands here so that listing needs no import.
COMMANDS = {
    "look": "List the columns, what each gives away, and draft their roles.",
    "microaggregate": "Put records into groups of at least k and replace them by the group's mean.",
    "group": "Find which columns to microaggregate together, by loss and risk.",
    "generalize": "Replace values by groups of values, so that every class has at least k records.",
    "mask": "Hide where a group of people is concentrated, by swapping districts.",
    "run": "Repeat the run of a recipe, to the bit.",
    "compare": "Run the methods that suit the data and show their loss and risk side by side.",
    "assess": "Measure what a protected file lost and what risk is left.",
    "check": "Look for broken promises and leaks in a release before it goes out.",
    "report": "Write a page on two files: what a release lost and what risk is left.",
    "study": "Study how a search behaves under its settings.",
    "reproduce": "Make the papers' tables again, the printed figures beside ours.",
    "data": "List the benchmark data sets; make the generated ones.",
    "warmup": "Compile everything now, so that no later run has to.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"shoal.cli.{name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(str(unknown("command", args[0], COMMANDS)), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        from shoal.atomic import forget
        from shoal.engine.stopping import ending_on_sigterm, is_stop

        forget()
        try:
            with ending_on_sigterm(_clean_up), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what other packages have to say is not for the user
                warnings.simplefilter("always", ShoalWarning)
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except ShoalError as error:
            _fail(ctx, str(error), error.exit_code)
        except RecursionError:
            _fail(ctx, "A file is nested too deeply to be read: lists and tables within each other, thousands deep.", 2)
        except MemoryError:
            _fail(ctx, "There is not enough memory for this table. Use fewer columns or records, or more memory.", 1)
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has seen enough: click ends without a word
                raise
            what = "Cannot write the output" if error.filename is None else f"Cannot read or write {error.filename}"
            _fail(ctx, f"{what}: {error.strerror or error}.", 1)
        except (KeyboardInterrupt, SystemError) as error:
            if not is_stop(error):
                raise
            click.echo(printable(_stopped()), err=True)
            ctx.exit(130)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="shoal")
def main() -> None:
    """Protect microdata before release: every record in a group of at least k, at the least loss.

    Start with: shoal microaggregate FILE -k 5 --quasi age,income -o protected.csv
    """


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
    click.echo(f"Warning: {printable(str(message))}", err=True)


def _fail(ctx: click.Context, message: str, code: int) -> NoReturn:
    """Say what failed, and what was written before that; end with the code."""
    written = _already_written()
    if written:
        message = f"{message.rstrip('.')}. Already written: {written}."
    click.echo(f"Error: {printable(message)}", err=True)
    ctx.exit(code)


def _stopped() -> str:
    """What a run that was stopped leaves."""
    written = _already_written()
    return f"Stopped. Already written: {written}." if written else "Stopped; nothing was written."


def _already_written() -> str:
    from shoal.atomic import finished

    return ", ".join(str(path) for path in dict.fromkeys(finished()))


def _clean_up() -> None:
    """Before SIGTERM ends the process: no half-written file stays, and a terminal gets its cursor back."""
    from shoal.atomic import remove_unfinished

    remove_unfinished()
    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
    os.write(2, f"{cursor}{printable(_stopped())}\n".encode(errors="backslashreplace"))
