"""Writes the generated tables of the docs between their marks; a test fails when a page is behind.

The table of measures comes from the declarations in `shoal.measures`, that of file formats from `shoal.sources`, and
that of packages from the import contract in pyproject.toml and the first sentence of each package. Those of large
folders come from benchmarks/folders.jsonl, which `python benchmarks/folders.py --results` writes.
"""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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


def runs_of_folders() -> list[dict[str, Any]]:
    """The kept runs of benchmarks/folders.py, the last one of the same kind."""
    lines = (ROOT / "benchmarks" / "folders.jsonl").read_text(encoding="utf-8").splitlines()
    runs = {(r["rows"], r["set"], r["seed"], r["on"] or ""): r for r in map(json.loads, lines)}
    return [runs[key] for key in sorted(runs)]


def compared_table() -> str:
    """Runs in leaves next to those of one file with the same records."""
    runs = runs_of_folders()
    rows = []
    for alone in (run for run in runs if run["on"] is None):
        same = [r for r in runs if r["on"] and all(r[key] == alone[key] for key in ("rows", "set", "seed"))]
        for run in (alone, *same):
            loss = run["information_loss"] / alone["information_loss"]
            rows.append([
                f"{run['set']}, seed {run['seed']}", f"{run['rows']:,}", run["on"] or "one file, one process",
                f"{run['information_loss']:.4f}", "" if run is alone else f"{100 * (loss - 1):+.2f} %",
                f"{run['cpu']:.0f}", "" if run is alone else f"{run['cpu'] / alone['cpu']:.2f}", f"{run['memory']:.2f}",
            ])  # fmt: skip
    heads = ["set", "records", "where", "loss, %", "difference", "CPU s", "times one file", "largest process, GB"]
    return table(heads, rows)


def curve() -> list[dict[str, Any]]:
    """The runs on processes by the number of records."""
    return [
        run for run in runs_of_folders() if run["on"] == "processes" and run["set"] == "normal" and run["seed"] == 1
    ]


def curve_table() -> str:
    """What a run on processes needs, by the number of records."""
    rows = [
        [
            f"{run['rows']:,}", f"{run['information_loss']:.3f}", f"{run['cpu']:.0f}",
            f"{1e6 * run['cpu'] / run['rows']:.1f}", f"{run['memory']:.2f}", f"{run['staged']:.2f}",
            f"{run['written']:.2f}", str(run["smallest_group"]),
        ]
        for run in curve()
    ]  # fmt: skip
    heads = [
        "records",
        "loss, %",
        "CPU s",
        "CPU s per million",
        "largest process, GB",
        "staged, GB",
        "written, GB",
        "k",
    ]
    return table(heads, rows)


TARGET, PART, NODES, CORES = 10**10, 10**9, 100, 16  # records, records per run; machines, cores of each
ROWS_OF_FILE, ROWS_OF_LEAF = 1_000_000, 200_000
SECONDS_OF_OPEN = 0.0012  # CPU seconds to open a staged file and read a slice of it, measured on 200 files
BYTES_OF_SLICE = 120  # a pair of whole numbers in Python: where a leaf lies in a staged file
ROUNDS_OF_FILES = 5  # stages that write all records: read, route, two searches, write


def forecast_table() -> str:
    """What 10 billion records on 100 machines would need, from the largest size that was measured."""
    last = max(curve(), key=lambda run: run["rows"])
    cpu, staged, written = (last[name] / last["rows"] for name in ("cpu", "staged", "written"))
    runs = {(r["rows"], r["on"]): r for r in runs_of_folders() if (r["set"], r["seed"]) == ("normal", 1)}
    size = max(rows for rows, on in runs if on == "spark")
    factor = runs[size, "spark"]["cpu"] / runs[size, "processes"]["cpu"]
    cores = NODES * CORES
    files, leaves = PART // ROWS_OF_FILE, PART // ROWS_OF_LEAF
    rows = [
        ["CPU time", f"{cpu * 1e6:.0f} CPU seconds per million records on processes, {factor:.2f} times that on Spark",
         f"{TARGET * cpu / 3600:,.0f} to {TARGET * cpu * factor / 3600:,.0f} CPU hours"],
        ["the same on all cores", f"{cores:,} cores, each busy all the time",
         f"{TARGET * cpu / cores / 60:.0f} to {TARGET * cpu * factor / cores / 60:.0f} minutes"],
        ["staged at once, per run", f"{staged * 1e9:.0f} bytes per record", f"{PART * staged / 1000:.2f} TB"],
        ["written to the staging folder, all runs", f"{ROUNDS_OF_FILES} stages write every record",
         f"{TARGET * staged / 2 * ROUNDS_OF_FILES / 1000:.1f} TB"],
        ["the release", f"{written * 1e9:.0f} bytes per record in Parquet", f"{TARGET * written / 1000:.2f} TB"],
        ["CPU time to open staged files, all runs",
         f"2 x {files:,} files x {leaves:,} leaves per run, {1000 * SECONDS_OF_OPEN:.1f} ms each",
         f"{TARGET / PART * 2 * files * leaves * SECONDS_OF_OPEN / 3600:.0f} CPU hours, besides the above"],
        ["memory per core", "the largest process measured", f"{last['memory']:.1f} GB"],
        ["memory of the driver, per run", f"{files:,} files x {leaves:,} leaves x {BYTES_OF_SLICE} bytes",
         f"{files * leaves * BYTES_OF_SLICE / 1e9:.1f} GB"],
    ]  # fmt: skip
    return table(["what", "from", "needed"], rows)


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
    "compared": (DOCS / "explain" / "scale.md", compared_table),
    "curve": (DOCS / "explain" / "scale.md", curve_table),
    "forecast": (DOCS / "explain" / "scale.md", forecast_table),
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
