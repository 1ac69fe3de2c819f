"""Writes the generated tables of the docs between their marks; a test fails when a page is behind.

The table of measures comes from the declarations in `shoal.measures`, that of file formats from `shoal.sources`, and
that of packages from the import contract in pyproject.toml and the first sentence of each package.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from shoal.measures.measure import declared_measures
from shoal.sources.format import declared_formats

DOCS = Path(__file__).parent
ROOT = DOCS.parent


def measures_table() -> str:
    """One row per declared measure."""
    rows = []
    for m in declared_measures():
        name = f"{m.name}_COLUMN" if "{column}" in m.meaning else m.name
        meaning = m.meaning.replace("{column}", "a column")
        unit = " %" if m.unit == "%" else ""
        needs = ", ".join(m.needs) + ("; weights are optional" if m.weighted else "")
        rows.append([f"`{name}`", m.kind, m.formula, m.range.replace("{n}", "n") + unit, m.better, meaning, needs])
    return table(["measure", "kind", "formula", "range", "better", "meaning", "needs"], rows)


def formats_table() -> str:
    """One row per declared file format."""
    rows = []
    for f in declared_formats():
        endings = " ".join(f"`{ending}`" for ending in f.endings)
        rows.append([endings, f.title, "no" if f.write is None else "yes", f.keeps, f.loses])
    return table(["ending", "format", "written", "keeps", "cannot keep"], rows)


def packages_table() -> str:
    """One row per package or module of the import contract, from the top layer to the bottom."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    rows = []
    for number, layer in enumerate(layers, start=1):
        for name in layer.split(" : "):
            place = name.removeprefix("shoal.")
            folder = ROOT / "src" / "shoal" / place
            is_package = folder.is_dir()
            source = folder / "__init__.py" if is_package else folder.with_suffix(".py")
            rows.append([str(number), f"`{place}/`" if is_package else f"`{place}.py`", first_sentence(source)])
    return table(["layer", "package", "content"], rows)


def first_sentence(source: Path) -> str:
    """The first sentence of a module's docstring."""
    paragraph = (ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).split(". ")[0].rstrip(".") + "."


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [list(heads), ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


TABLES: dict[str, tuple[Path, Callable[[], str]]] = {
    "measures": (DOCS / "reference" / "measures.md", measures_table),
    "formats": (DOCS / "reference" / "formats.md", formats_table),
    "packages": (DOCS / "how-it-works.md", packages_table),
}


def renewed(name: str) -> tuple[Path, str]:
    """A page and its text with the table as it should be."""
    path, make = TABLES[name]
    text = path.read_text(encoding="utf-8")
    start, end = f"<!-- {name}: made by docs/make_tables.py -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(start)
    after = rest.split(end)[1]
    return path, f"{before}{start}\n{make()}\n\n{end}{after}"


if __name__ == "__main__":
    for name in TABLES:
        path, text = renewed(name)
        path.write_text(text, encoding="utf-8")
