"""The examples of README and docs are run: `console` blocks by the real commands, `python` blocks as they stand.

A page is one test, with a folder of its own that has the bundled survey and its roles file. A line that holds `…` alone
stands for any lines; `…` at the end of a word for the rest of it. Numbers may differ by 2 % (a search may end a little
elsewhere on another machine), CPU times by anything.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from shoal.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if "published" not in p.parts)]
PLAIN = ("cat", "head", "ls", "sed", "cp", "mkdir")  # what an example may call besides shoal


class Block(NamedTuple):
    kind: str
    line: int
    lines: list[str]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, with the line where each starts."""
    found: list[Block] = []
    inside: Block | None = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"```(\w*)", line)
        if fence and inside is None:
            inside = Block(fence[1], number, [])
        elif fence and inside is not None:
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.lines.append(line)
    return found


def has_examples(page: Path) -> bool:
    return any(block.kind in ("console", "python") for block in blocks(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", [p for p in PAGES if has_examples(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_examples_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").mkdir()
    for place in (tmp_path, tmp_path / "examples"):
        for name in ("survey.csv", "roles.toml"):
            shutil.copy(ROOT / "examples" / name, place)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    all_blocks = blocks(page.read_text(encoding="utf-8"))
    for block, after in itertools.zip_longest(all_blocks, all_blocks[1:]):
        where = f"{page.name}, line {block.line}"
        if block.kind == "console":
            for command, shown in commands(block):
                code, printed = run(command, tmp_path)
                assert (code != 0) == shows_failure(command, shown), f"{where}\n{printed}"
                compare(shown, printed, f"{where}: {command}")
        elif block.kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n".join(block.lines), where, "exec"), names)
            if after is not None and after.kind == "text":
                compare(after.lines, printed.getvalue(), where)


def shows_failure(command: str, shown: list[str]) -> bool:
    """Whether the page shows that a command failed: by an error, or by a release check that blocks."""
    failed = ("Error", "Usage", "Blocked by") if command.startswith("shoal check ") else ("Error", "Usage")
    return any(line.startswith(failed) for line in shown)


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines shown below it."""
    lines = iter(block.lines)
    command, shown = None, []
    for line in lines:
        if line.startswith("$ "):
            if command is not None:
                yield command, shown
            command, shown = line[2:], []
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
        else:
            shown.append(line)
    if command is not None:
        yield command, shown


ALONE = {
    name: value for name, value in os.environ.items() if not name.startswith("MAKE")
}  # not as a part of `make test`


def run(command: str, folder: Path) -> tuple[int, str]:
    """The exit code and everything printed; `make demo` is what the Makefile makes of it."""
    if command == "make demo":
        made = subprocess.run(
            ["make", "--no-print-directory", "-n", "demo"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env=ALONE,
        ).stdout
        command = "shoal " + made.replace("\\\n", " ").split("/shoal ")[-1].strip()
        (folder / "out").mkdir(exist_ok=True)
    words = shlex.split(command)
    if words[0] == "shoal":
        result = CliRunner().invoke(main, words[1:])
        return result.exit_code, result.output.replace(f"{folder}/", "")
    assert words[0] in PLAIN, f"an example calls {words[0]}"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def compare(shown: list[str], printed: str, where: str) -> None:
    """That what the page shows is what was printed; a page may show nothing."""
    want, got = plain("\n".join(shown)), plain(printed)
    if not want:
        return
    problem = difference(want, got)
    assert problem is None, f"{where}\n{problem}\n--- printed:\n{printed}"


def plain(text: str) -> list[str]:
    """The lines that matter: no empty ones, no rules, no word of compiling."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if line.strip("─ ") and not line.startswith("Compiling for this machine")]


def difference(want: list[str], got: list[str]) -> str | None:
    """The first line that is not as shown, or None."""
    place, timed, skipping = 0, False, False
    for line in want:
        if line == "…":
            skipping = True
            continue
        timed = timed or "CPU s" in line
        while place < len(got) and skipping and not alike(line, got[place], timed):
            place += 1
        if place == len(got) or not alike(line, got[place], timed):
            found = got[place] if place < len(got) else "nothing more"
            return f"shown:   {line}\nprinted: {found}"
        place, skipping = place + 1, False
    if place < len(got) and not skipping:
        return f"printed and not shown: {got[place]}"
    return None


def alike(want: str, got: str, timed: bool) -> bool:
    """Two lines with the same words, and numbers that are nearly the same; the last number of a timed line is free."""
    a, b = want.split(), got.split()
    if len(a) != len(b):
        return False
    if want.startswith("largest group "):  # of a search: one more or less is the same example
        return got.startswith("largest group ") and abs(float(a[-1]) - float(b[-1])) <= 1
    numbers = [i for i, word in enumerate(a) if number(word) is not None]
    free = {numbers[-1]} if numbers and (timed or "cpu seconds" in want.lower()) else set()
    return all(i in free or word_alike(x, y) for i, (x, y) in enumerate(zip(a, b, strict=True)))


def word_alike(want: str, got: str) -> bool:
    if want.endswith("…"):
        return got.startswith(want[:-1])
    x, y = number(want), number(got)
    if x is None or y is None:
        return want == got
    return abs(x - y) <= max(0.02 * abs(x), 1e-9)


def number(word: str) -> float | None:
    """The word as a number, without its commas, brackets and percent sign."""
    try:
        return float(word.strip("()%;:").replace(",", ""))
    except ValueError:
        return None


def test_a_wrong_example_is_found() -> None:
    printed = plain("loss  2.6352 %\n\n──\nCPU s\nmdav  3  0.2\n")
    assert difference(["loss 2.64 %", "…"], printed) is None
    assert difference(["loss 2.9 %", "…"], printed) is not None
    assert difference(["loss 2.6352 %"], printed) == "printed and not shown: CPU s"
    assert difference(["…", "CPU s", "mdav 3 99"], printed) is None
    assert difference(["…", "CPU s", "mdav 4 0.2"], printed) is not None
    assert shows_failure("shoal check a b", ["Blocked by 1 finding: l."])
    assert not shows_failure("shoal microaggregate a", ["Blocked by 1 finding: l."])
    assert list(commands(Block("console", 1, ["$ a \\", "  b", "x", "$ c"]))) == [("a b", ["x"]), ("c", [])]
