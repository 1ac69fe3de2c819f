"""The code of CONTRIBUTING.md, which tests run as it stands."""

from __future__ import annotations

from pathlib import Path

GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"


def section(title: str) -> str:
    """The text of one section of the guide."""
    return GUIDE.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


def code(title: str) -> str:
    """The lines of code of a section."""
    return "\n".join(line[8:] for line in section(title).splitlines() if line.startswith(" " * 8) or not line)
