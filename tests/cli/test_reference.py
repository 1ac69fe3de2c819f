"""The documented commands are the real ones."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_command_reference_is_up_to_date() -> None:
    page = runpy.run_path(str(DOCS / "make_commands.py"))["page"]
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == page(), "run: python docs/make_commands.py"
