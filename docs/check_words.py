"""Checks the words of the project: phrases that docs/project/style.md bans, and names that say nothing.

README, CONTRIBUTING, SECURITY, the pages of docs/, the sources, the benchmarks and the files that build and test the
project must not contain them.

    python docs/check_words.py   # report what is wrong; exit code 1 if there is anything
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md", ".github/**/*.md")
TOOLS = ("benchmarks/*.py", "docs/*.py", "*.py", ".ci/*", "pyproject.toml", "Makefile", "mkdocs.yml", "CITATION.cff")
GENERATED = {"docs/commands.md"}  # made from the help texts in src/
STYLE = {"docs/project/style.md"}  # quotes what it bans

COUNTS = r"(?:one|two|three|five|ten|a|few|fewer|many|several|most|hundred|thousand|million|\d[\d,]*)"
THINGS = (
    "rows? lines? records? columns? files? genes? proposals? runs? populations? generations? evaluations? children "
    "chromosomes? microseconds milliseconds seconds modules? folders? tests? pages? tables? entries numbers? values?"
)
RATES = (
    "record person row line column group macro-group set run generation second minute method region district rate "
    "level operator backend file step check kind format name class page unit household entry chain core thread pass"
)
RATE = rf"a (?:CPU |mutation |crossover )?(?:{'|'.join(RATES.split())})\b(?! (?:has|have|had|is|are|gets|needs)\b)"
PHRASES = {
    "rate": rf"\b{COUNTS} (?:[\w-]+ )?(?:{'|'.join(THINGS.split())}) {RATE}"
    rf"|\b(?:proposals|populations|generations|microseconds|evaluations|chromosomes) {RATE}",
    "told": r"\b(?:told|tells)\b|\b(?:is|are|was|were|be) said\b",
    "is no": r"(?<!there )\b(?:is|are|was|were) (?:no|(?-i:none))\b(?! (?:longer|more|less|other|larger|smaller|fewer"
    r"|worse|better|higher|lower|way|need|further)\b)(?= \w|[.,;])",
    "has not": r"\b(?:has|have) not\b(?! (?:been|yet|\w+(?:ed|en|wn|ne|me|ght|ung|de|ft)\b))",
    "plural": r"\b(?:policys|entrys|cellses|boundarys)\b",
    "source": r"\bspec/\d",
    "archaic": r"\b(?:to the bit|made-up|beside ours|goes out|be it as|it has but)\b",
}
NAMES = {"told", "found", "given", "own", "asked"}


class Hit(NamedTuple):
    place: str
    rule: str
    text: str


def phrases(text: str, place: str, first_line: int = 1) -> Iterator[Hit]:
    """The banned phrases of a text, each with its line."""
    for rule, pattern in PHRASES.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            line = first_line + text.count("\n", 0, match.start())
            yield Hit(f"{place}:{line}", rule, " ".join(match[0].split()))


def of_page(path: Path) -> Iterator[Hit]:
    """The banned phrases of a Markdown page: its prose, without code, messages in italics and addresses."""
    text = path.read_text(encoding="utf-8")
    for code in (r"```.*?```", r"`[^`\n]*`", r"^ {4}.*$", r"\*[A-Z'][^*\n]+\*", r"\]\([^)]*\)"):
        text = re.sub(code, lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    return phrases(text, str(path.relative_to(ROOT)))


def of_module(path: Path) -> Iterator[Hit]:
    """The banned phrases in the strings and comments of a module, and the names it binds that say nothing."""
    source = path.read_text(encoding="utf-8")
    place = str(path.relative_to(ROOT))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            yield from phrases(token.string, place, token.start[0])
    for node in ast.walk(ast.parse(source)):
        for name in bound(node):
            if name.lstrip("_") in NAMES:
                yield Hit(f"{place}:{getattr(node, 'lineno', 1)}", "name", name)


def bound(node: ast.AST) -> Iterator[str]:
    """The names that a node binds: variables, parameters, functions and classes."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name


def of_template(path: Path) -> Iterator[Hit]:
    """The banned phrases of an HTML template or a policy."""
    return phrases(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))


def in_pages() -> list[Hit]:
    """Everything that is wrong in the pages."""
    paths = sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})
    checked = [path for path in paths if str(path.relative_to(ROOT)) not in GENERATED | STYLE]
    return [hit for path in checked for hit in of_page(path)]


def in_tools() -> list[Hit]:
    """Everything that is wrong in the benchmarks and in the files that build and test the project."""
    paths = sorted({path for pattern in TOOLS for path in ROOT.glob(pattern) if path.is_file()} - {Path(__file__)})
    return [hit for path in paths for hit in (of_module if path.suffix == ".py" else of_template)(path)]


def in_source() -> list[Hit]:
    """Everything that is wrong in src/."""
    readers = {".py": of_module, ".html": of_template, ".toml": of_template}
    paths = sorted(path for path in (ROOT / "src" / "shoal").rglob("*") if path.suffix in readers)
    return [hit for path in paths for hit in readers[path.suffix](path)]


def problems() -> list[str]:
    """What the check reports, one line per hit."""
    return [f"{hit.place}: {hit.text!r} ({hit.rule})" for hit in (*in_pages(), *in_tools(), *in_source())]


if __name__ == "__main__":
    wrong = problems()
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))
