"""The command line as the tests call it, in this process."""

from __future__ import annotations

import hashlib
from pathlib import Path

from click.testing import CliRunner, Result

from shoal.cli import main


def attempt(*arguments: object) -> Result:
    """What a command answers, however it ends."""
    return CliRunner().invoke(main, [str(a) for a in arguments])


def run(*arguments: object, code: int = 0) -> Result:
    """What a command answers that must end with `code`."""
    result = attempt(*arguments)
    assert result.exit_code == code, result.output
    return result


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
