"""Every method, check and source has its place in the docs, and the navigation has every page."""

from __future__ import annotations

import calendar
import json
import re
import runpy
import shutil
import unicodedata
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import commands, main
from shoal.gate.check import check
from shoal.gate.policy import JUDGED, Thresholds, policy_named
from shoal.gate.policy import names as policies
from shoal.protections.microaggregation import MICROAGGREGATE
from shoal.sources.roles_file import TABLES, TOP
from shoal.studies.reproduce import ENTRIES, reproduce
from shoal.studies.reproduce.pages import write_index, write_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", MICROAGGREGATE.method_names)
def test_a_method_has_a_page_with_its_options_and_an_example(name: str) -> None:
    page = (DOCS / "methods" / f"{name}.md").read_text(encoding="utf-8")
    for parameter in MICROAGGREGATE.parameters.values():
        if name in parameter.option.of and parameter.option.on_command_line:
            assert parameter.flag in page, parameter.name
    assert "When to use" in page or "take |" in page
    assert "```console" in page
    assert f"({name}.md)" in (DOCS / "methods" / "index.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in sorted(DOCS.rglob("*.md")):
        assert str(page.relative_to(DOCS)) in nav, page
    for name in ENTRIES:
        assert f"published/{name}.md" in nav


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in commands():
        assert f"shoal {name}" in readme, name


def test_the_page_on_the_release_check_names_every_check() -> None:
    page = (DOCS / "reference" / "checks.md").read_text(encoding="utf-8")
    frame = pl.DataFrame({"age": [23, 23, 60, 60], "sex": ["f", "f", "m", "m"], "w": [1.5, 1.5, 2.5, 2.5]})
    found = check(frame, frame, quasi=["age", "sex"], weight="w", k=2, column_groups=[["age"], ["sex"]])
    for name in {finding.check for finding in found} | set(JUDGED) | {"written", "swapped"}:
        assert f"`{name}`" in page, name
    for field in fields(Thresholds):
        assert f"`{field.name}`" in page, field.name
    for name in policies():
        assert f"`{name}`" in page, name
    page = (DOCS / "reference" / "roles-file.md").read_text(encoding="utf-8")
    for key in (*TABLES, *TOP, "order", "derived"):
        assert f"`{key}`" in page or f"`[{key}]`" in page, key


def test_the_page_on_the_python_api_has_every_public_name() -> None:
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    assert {f"shoal.{name}" for name in shoal.__all__} <= set(names)
    hook = runpy.run_path(str(DOCS / "make_api.py"))
    filled = hook["on_page_markdown"](page)
    assert ":::" not in filled
    for name in names:
        assert f"### `{name.removeprefix('shoal.')}`" in filled
    changelog = hook["on_page_markdown"]("# Changelog\n\n::: CHANGELOG.md\n")
    assert "## [0.1.0]" in changelog and "](../howto/upgrade-to-roles.md)" in changelog
    assert hook["section"]("shoal.run").startswith("### `run`\n\n```python\nshoal.run(\n    recipe: ")
    assert hook["described"]("What.\n\nArgs:\n    a: One\n        more.\n    b: Two.") == (
        "What.\n\n*Args*\n\n- `a`: One more.\n- `b`: Two."
    )


def test_the_references_have_every_source_of_a_policy() -> None:
    lines = (DOCS / "references.md").read_text(encoding="utf-8").splitlines()
    cited = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    for name in policies():
        for source in policy_named(name).sources.values():
            for part in source.split("; "):
                known = part.startswith("convention of Shoal") or any(part.startswith(entry) for entry in cited)
                assert known, part


NAME = r"[A-Z][^\W\d_]+(?:-[A-Z][^\W\d_]+)*"
CITATION = re.compile(rf"\b({NAME})((?:, {NAME})* and {NAME}| et al\.)?,? \(?((?:19|20)\d\d)\b")
NO_AUTHORS = {*calendar.month_name, *calendar.month_abbr, "RFC", "MACH", "Bureau", "Information"}  # before numbers, too


def citations(text: str) -> set[str]:
    """The publications that a text cites, as the page of references names them: three authors are one et al."""
    cited = set()
    for first, others, year in CITATION.findall(" ".join(text.split())):
        if first not in NO_AUTHORS:
            cited.add(f"{first}{' et al.' if ',' in others else others} {year}")
    return {plain_letters(name) for name in cited}


def plain_letters(text: str) -> str:
    """The text without accents."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def test_the_references_have_every_citation_of_the_docs_and_the_sources() -> None:
    lines = (DOCS / "references.md").read_text(encoding="utf-8").splitlines()
    cells = [line.split("|")[1] for line in lines if line.startswith("| ")]
    known = [plain_letters(name) for cell in cells for name in (*cell.split(";"), *citations(cell))]
    texts = [page for page in pages() if page.name not in ("references.md", "CHANGELOG.md")]
    texts += [file for folder in ("src", "benchmarks") for file in sorted((ROOT / folder).rglob("*.py"))]
    for file in texts:
        for cited in citations(file.read_text(encoding="utf-8")):
            assert any(name.strip().endswith(cited) for name in known), f"{file.relative_to(ROOT)} cites {cited}"
    assert citations("Li, Wu and Yu (1999) and El Emam 2013, as Martínez-Ballesté et al. 2004") == {
        "Li et al. 1999",
        "Emam 2013",
        "Martinez-Balleste et al. 2004",
    }


def test_the_page_on_the_intruder_names_every_role() -> None:
    page = (DOCS / "explain" / "intruder.md").read_text(encoding="utf-8")
    for option in ("identifiers", "quasi", "confidential", "weight", "unit", "derived", "drop", "as-is"):
        assert f"`--{option}" in page, option
    for name in ("protected", "known", "released"):
        assert f"**{name}**" in page, name


NUMBERS = "--identifiers name --quasi age,hours,income,expenses,wealth --drop district,sex,education"


@pytest.mark.parametrize(
    "words",
    [
        "microaggregate few.csv -k 5 --roles roles.toml --loss gini --bound",
        "microaggregate few.csv -k 5 --roles roles.toml --method vmdav --refine",
        "microaggregate parts/*.csv -k 5 --identifiers name --drop district,sex,education,diagnosis --no-unit "
        "--effort quick --workers 1 -o folder",
        "recode few.csv -k 5 --roles roles.toml --effort quick --bound -l 2",
        "generalize few.csv -k 5 --roles roles.toml --effort quick",
        "generalize few.csv -k 5 --identifiers name --quasi age,sex --method exact",
        "suppress few.csv -k 5 --roles roles.toml --effort quick --importance age=2",
        "suppress few.csv -k 5 --roles roles.toml --effort quick --subsets 2",
        f"group few.csv -k 5 {NUMBERS} --effort quick --front --intruder age,hours --joint-k 2",
        "mask survey.csv --roles roles.toml --vital diagnosis=depression --parameter district --influential age,sex",
        "look few.csv",
        "compare few.csv -k 5 --roles roles.toml --effort quick",
        "assess few.csv few.csv --roles roles.toml",
        "check few.csv few.csv --roles roles.toml -k 2",
        "data list",
        "data make random -o made.csv",
    ],
    ids=lambda words: " ".join(words.split()[:1] + re.findall(r"--\w+", words)[-1:]),
)
def test_the_page_on_json_has_every_key(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("survey.csv", "roles.toml"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    head, *lines = (tmp_path / "survey.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "parts").mkdir()
    for name, few in (("few.csv", lines[:80]), ("parts/1.csv", lines[:40]), ("parts/2.csv", lines[40:80])):
        (tmp_path / name).write_text("".join([head, *few]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    keys = json.loads(CliRunner().invoke(main, [*words.split(), "--json"]).stdout)
    page = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")
    sections = {part.split()[0]: part for part in re.split(r"^#+ ", page, flags=re.MULTILINE) if part}
    command = words.split()[0]
    text = sections["Commands"] + sections[command] if command in sections else row_of(words, sections["Other"])
    missing = [key for key in keys if f"`{key}`" not in text and not key.startswith("changed_")]
    assert not missing


def row_of(words: str, table: str) -> str:
    """The row of a command, such as `check` or `data list`."""
    rows = [row for row in table.splitlines() if row.startswith("| `")]
    return next(row for row in rows if words.startswith(row.split("`")[1].removesuffix(" NAME")))


def test_every_check_has_tests_that_guard_it() -> None:
    page = (DOCS / "reference" / "checks.md").read_text(encoding="utf-8").split("## Tests that guard each check")[1]
    rows = re.findall(r"^\| `([\w-]+)` \| (.+) \|$", page, re.MULTILINE)
    named = {check_name: re.findall(r"`tests/([\w/.]+)::(\w+)`", tests) for check_name, tests in rows}
    frame = pl.DataFrame({"x": [1.0, 1.0, 2.0, 2.0], "y": [1.0, 1.0, 2.0, 2.0]})
    found = check(
        frame,
        frame,
        quasi=["x", "y"],
        column_groups=[["x"], ["y"]],
        swapped=["x"],
        vital=("y", [1.0]),
        k=2,
        star="value",
        subsets=1,
    )
    assert {finding.check for finding in found} | {"written", "bounds"} == set(named)
    for check_name, tests in named.items():
        assert tests, check_name
        for file, name in tests:
            assert f"def {name}(" in (DOCS.parent / "tests" / file).read_text(encoding="utf-8"), f"{file}::{name}"


def test_the_published_pages_are_what_the_generator_writes(tmp_path: Path) -> None:
    index = write_index(tmp_path, "shoal reproduce all --quick").read_text(encoding="utf-8")
    assert index == (DOCS / "published" / "index.md").read_text(encoding="utf-8")
    result = reproduce("representatives", quick=True)
    made = write_page(tmp_path, "representatives", result, "shoal reproduce representatives --quick", 0)
    page = (DOCS / "published" / "representatives.md").read_text(encoding="utf-8")
    assert made.read_text(encoding="utf-8").splitlines()[:-1] == page.splitlines()[:-1]  # the last line has the version


def test_old_addresses_lead_to_pages() -> None:
    redirects = re.findall(
        r"^        ([\w-]+\.md): (\S+)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(redirects) >= 15
    for old, new in redirects:
        assert not (DOCS / old).exists(), old
        assert (DOCS / new).exists(), new


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def anchors(text: str) -> set[str]:
    """The addresses of a page's headings, as MkDocs makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_every_page_that_the_code_names_exists() -> None:
    for folder in ("src", "tests", "benchmarks"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for name in re.findall(r"docs/[\w/-]+\.md", file.read_text(encoding="utf-8")):
                assert (ROOT / name).exists(), f"{file.relative_to(ROOT)} names {name}"
