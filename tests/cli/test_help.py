"""The command line starts fast because it imports nothing heavy, and it tells what it has."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from shoal.cli import COMMANDS, main

HEAVY = ("numba", "polars", "numpy", "scipy", "plotly", "rich", "narwhals", "pydantic")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from shoal.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip().splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_has_help(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.output


def test_unknown_command_is_answered_with_a_near_one() -> None:
    result = CliRunner().invoke(main, ["microagregate"])
    assert result.exit_code == 2
    assert "did you mean 'microaggregate'" in result.output
