"""The version of Shoal, from the tags of the repository; hatchling calls `version` when it builds.

A commit with the tag v1.2.3 is version 1.2.3, and the fifth commit after it is 1.2.4.dev5 with the commit's hash.
Sources without tags or without Git take the version from the changelog. An sdist keeps its version: hatchling sees to
that.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

TOP = Path(__file__).parent


def version(top: Path = TOP) -> str:
    """Return the version of the sources in a folder, in the form that Python packages use."""
    if _git(top, "rev-parse", "--show-toplevel") != str(top.resolve()):  # not a repository, or part of another one
        return from_changelog(top)
    tagged = re.fullmatch(
        r"v(\d+\.\d+\.\d+)-(\d+)-(g\w+)", _git(top, "describe", "--tags", "--long", "--match", "v[0-9]*") or ""
    )
    if tagged is None:
        commit = _git(top, "rev-parse", "--short", "HEAD")
        base = from_changelog(top)
        return f"{base}+g{commit}" if commit else base
    last, commits, commit = tagged.groups()
    return last if commits == "0" else f"{_after(last)}.dev{commits}+{commit}"


def from_changelog(top: Path) -> str:
    """Return the version of the newest section, or the next one if changes are listed above it."""
    text = (top / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", text, re.MULTILINE)
    if newest is None:
        raise ValueError("CHANGELOG.md has no section of a version, such as: ## [0.2.0] - 2026-11-18")
    has_changes = re.search(r"^- ", text[: newest.start()], re.MULTILINE)
    return f"{_after(newest[1])}.dev0" if has_changes else newest[1]


def _after(released: str) -> str:
    major, minor, patch = released.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"


def _git(top: Path, *words: str) -> str | None:
    """Return what a Git command prints, or None if Git is not installed or the command fails."""
    try:
        ended = subprocess.run(["git", *words], cwd=top, capture_output=True, text=True)
    except OSError:
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None
