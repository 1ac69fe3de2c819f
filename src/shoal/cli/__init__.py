"""The command line: thin commands, loaded when they are called, so that `shoal --help` is instant."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import warnings
from typing import Any, NoReturn

import click

# NumPy starts a thread per core for linear algebra when it is imported, and the commands need little of it. This line
# must come before the first import of NumPy. A value that the user has set stays.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from shoal.errors import ShoalError, ShoalWarning, printable, unknown
from shoal.protections import register

# The commands other than those of the protections, whose declarations name them. The module of each has a click command
# called `command`; the summaries are here so that a list of commands needs no import.
PROTECT = "Protect a file"
OTHERS = {
    "Prepare the data": {"look": "List the columns with their risk, and draft a role for each."},
    PROTECT: {},
    "Measure and check": {
        "compare": "Compare the methods that suit your data on loss and risk.",
        "assess": "Measure information loss and disclosure risk of a protected file.",
        "check": "Check a release against its guarantees and a disclosure policy.",
        "report": "Write an HTML report that compares a release with its original.",
    },
    "Repeat": {"run": "Repeat the run saved in a recipe file, bit for bit."},
    "Research and setup": {
        "study": "Study how a search algorithm responds to its settings.",
        "reproduce": "Reproduce published tables and figures next to the original values.",
        "data": "List the benchmark data sets and generate the synthetic ones.",
        "warmup": "Compile everything now, so that later runs start at once.",
    },
}


def command_groups() -> dict[str, dict[str, str]]:
    """Return every command with its summary, under the headings of the help."""
    protections = {p.name: p.summary for p in register().values() if not p.part_of}
    return {heading: protections if heading == PROTECT else listed for heading, listed in OTHERS.items()}


def commands() -> dict[str, str]:
    """Return every command with its summary."""
    return {name: summary for listed in command_groups().values() for name, summary in listed.items()}


class LazyGroup(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(commands())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in commands():
            return None
        if name in register():  # a protection
            from shoal.cli.protect import command_of

            return command_of(register()[name])
        command: click.Command = importlib.import_module(f"shoal.cli.{name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in commands():
            raise click.UsageError(str(unknown("command", args[0], commands())), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, listed in command_groups().items():
            with formatter.section(heading):
                formatter.write_dl(list(listed.items()))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("\nExamples:\n" + "".join(f"  {line}\n" for line in EXAMPLES))
        formatter.write("\nRun 'shoal COMMAND --help' for the options of a command.\n")

    def main(self, *arguments: Any, **named: Any) -> Any:
        """Run the command line. The help is printed before `invoke`, so a full disk is an error here too."""
        try:
            return super().main(*arguments, **named)
        except OSError as error:
            click.echo(f"Error: {printable(_os_message(error))}", err=True)
            sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        from shoal.atomic import forget
        from shoal.cli.sigterm import ending_on_sigterm

        forget()
        try:
            with ending_on_sigterm(_clean_up), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings of other packages are not for the user
                warnings.simplefilter("always", ShoalWarning)
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except ShoalError as error:
            _fail(ctx, str(error), error.exit_code)
        except RecursionError:
            _fail(ctx, "Cannot read a file: its lists or tables are nested too deeply.", 2)
        except MemoryError:
            _fail(ctx, "There is not enough memory for this table. Use fewer columns or records, or more memory.", 1)
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has closed the pipe: click ends without a message
                raise
            _fail(ctx, _os_message(error), 1)
        except KeyboardInterrupt:
            click.echo(printable(_stopped()), err=True)
            ctx.exit(130)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, option, value: _show_version(ctx) if value else None,
    help="Show the version and exit.",
)
def main() -> None:
    """Protect microdata before you release it.

    Shoal puts every record into a group of at least k records that look the same and searches for the grouping that
    loses the least information.
    """


EXAMPLES = (
    "shoal look survey.csv --save-roles roles.toml",
    "shoal microaggregate survey.csv -k 5 --roles roles.toml -o release.csv",
    "shoal check survey.csv release.csv -k 5 --roles roles.toml",
)


def _show_version(ctx: click.Context) -> NoReturn:
    from shoal import __version__

    click.echo(f"shoal, version {__version__}")
    ctx.exit()


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
    click.echo(f"Warning: {printable(str(message))}", err=True)


def _os_message(error: OSError) -> str:
    """Return the message for a file or an output that cannot be read or written."""
    what = "Cannot write the output" if error.filename is None else f"Cannot read or write {error.filename}"
    return f"{what}: {error.strerror or error}."


def _fail(ctx: click.Context, message: str, code: int) -> NoReturn:
    """Print what failed and which files were written before that, and end with the exit code."""
    written = _already_written()
    if written:
        message = f"{message.rstrip('.')}. Already written: {written}."
    click.echo(f"Error: {printable(message)}", err=True)
    ctx.exit(code)


def _stopped() -> str:
    """Return the message of a stopped run, with the files that it has written."""
    written = _already_written()
    return f"Stopped. Already written: {written}." if written else "Stopped; nothing was written."


def _already_written() -> str:
    from shoal.atomic import finished

    return ", ".join(str(path) for path in dict.fromkeys(finished()))


def _clean_up() -> None:
    """Remove partial files and show the terminal's cursor again, before SIGTERM ends the process."""
    from shoal.atomic import remove_unfinished

    remove_unfinished()
    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
    os.write(2, f"{cursor}{printable(_stopped())}\n".encode(errors="backslashreplace"))
