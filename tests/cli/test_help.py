"""The command line starts fast because it imports nothing heavy, and its help is complete."""

from __future__ import annotations

import inspect
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from shoal.cli import EXAMPLES as FIRST_EXAMPLES
from shoal.cli import commands, main
from shoal.cli.help import EXAMPLES as OTHERS
from shoal.protections import register
from shoal.protections.protection import Protection

EXAMPLES = {**OTHERS, **{p.name: p.example for p in register().values() if not p.part_of}}
SURVEY = Path(__file__).parents[2] / "examples"
HEAVY = ("numba", "polars", "numpy", "scipy", "jinja2", "rich", "narwhals", "pydantic")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from shoal.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip().splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", commands())
def test_every_listed_command_has_help(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.output


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_help_ends_with_an_example(name: str) -> None:
    shown = CliRunner().invoke(main, [*name.split(), "--help"]).output
    assert shown.endswith(f"Example:\n  {EXAMPLES[name]}\n")
    assert EXAMPLES[name].startswith(f"shoal {name}")


def test_every_command_has_an_example() -> None:
    assert set(commands()) == {name.split()[0] for name in EXAMPLES}


@pytest.mark.parametrize("example", [*EXAMPLES.values(), *FIRST_EXAMPLES])
def test_an_example_has_only_options_that_exist(example: str) -> None:
    command, words = main, shlex.split(example)[1:]
    context = click.Context(main, info_name="shoal")
    while isinstance(command, click.Group):
        command = command.get_command(context, words.pop(0))
        assert command is not None
        context = click.Context(command, parent=context)
    command.make_context("example", words)  # raises for an unknown option, a missing argument or a wrong value


@pytest.mark.parametrize("protection", [p for p in register().values() if not p.part_of], ids=lambda p: p.name)
def test_the_example_of_a_protection_works(
    protection: Protection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the bundled survey, as it is called in the examples; a part of it where that is enough."""
    lines = (SURVEY / "survey.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    rows = len(lines) if protection.name == "mask" else 101  # few records have no region that stands out
    (tmp_path / "survey.csv").write_text("".join(lines[:rows]), encoding="utf-8")
    shutil.copy(SURVEY / "roles.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, shlex.split(protection.example)[1:])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "release.csv").exists()


def test_an_example_of_typing_is_in_the_help_and_not_in_the_docstring() -> None:
    assert "Repeat the option" in CliRunner().invoke(main, ["recode", "--help"]).output
    for protection in register().values():
        documented = inspect.getdoc(protection.function) or ""
        assert "Repeat the option" not in documented and "For example age=" not in documented
        for parameter in protection.parameters.values():
            assert "--" not in parameter.option.help, parameter.name  # Python has no options


def test_the_help_of_check_has_its_options_under_headings() -> None:
    shown = CliRunner().invoke(main, ["check", "--help"]).output
    headings = ["Column roles:", "Guarantees:", "Text files:", "Output:", "Release check:", "Example:"]
    assert [line for line in shown.splitlines() if line in headings] == headings
    assert "--distance [equal|ordered]" in shown and "--missing [keep|drop|median]" in shown


def test_unknown_command_is_answered_with_a_near_one() -> None:
    result = CliRunner().invoke(main, ["microagregate"])
    assert result.exit_code == 2
    assert "Did you mean 'microaggregate'" in result.output
