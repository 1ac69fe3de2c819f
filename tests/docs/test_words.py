"""The pages are free of banned phrases, and no package of src/ has more of them than before (docs/check_words.py)."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

CHECK = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "check_words.py"))


def rules(text: str) -> list[str]:
    return [hit.rule for hit in CHECK["phrases"](text, "page")]


def test_the_words_of_the_project() -> None:
    assert CHECK["problems"]() == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Microdata have one row a person.", "rate"),
        ("A search makes 8,000 proposals a record.", "rate"),
        ("Nothing is told of how it was made.", "told"),
        ("The file is no TOML.", "is no"),
        ("It is a bound for some; for others it is none.", "is no"),
        ("An option that the method has not.", "has not"),
        ("The policys are: default, public.", "plural"),
        ("As in spec/4.", "source"),
        ("Repeat it to the bit.", "archaic"),
    ],
)
def test_a_banned_phrase_is_found(text: str, rule: str) -> None:
    assert rules(text) == [rule]


@pytest.mark.parametrize(
    "text",
    [
        "Microdata have one row per person.",
        "The fewer records a class has, the more is lost.",
        "The file is no longer there, and there is no other.",
        "The group has not been found, and has not changed.",
        "The default is None.",
    ],
)
def test_a_plain_sentence_passes(text: str) -> None:
    assert rules(text) == []


def test_names_that_say_nothing_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f(given):\n    found, classes = given\n    _told = 1  # is told\n    return classes\n")
    monkeypatch.setitem(CHECK["of_module"].__globals__, "ROOT", tmp_path)
    hits = {(hit.place, hit.rule, hit.text) for hit in CHECK["of_module"](module)}
    assert hits == {
        ("module.py:1", "name", "given"),
        ("module.py:2", "name", "found"),
        ("module.py:3", "name", "_told"),
        ("module.py:3", "told", "told"),
    }


def test_code_and_messages_of_a_page_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("`told`\n\n```\nis told\n```\n\n*A message that is told*\n\nIt is told here.\n")
    monkeypatch.setitem(CHECK["of_page"].__globals__, "ROOT", tmp_path)
    assert [hit.place for hit in CHECK["of_page"](page)] == ["page.md:9"]


def test_the_benchmarks_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "speed.py").write_text('"""Proposals a second."""\n')
    (tmp_path / "Makefile").write_text("# the limit is told\n")
    monkeypatch.setitem(CHECK["in_tools"].__globals__, "ROOT", tmp_path)
    assert [(hit.place, hit.rule) for hit in CHECK["in_tools"]()] == [
        ("Makefile:1", "told"),
        ("benchmarks/speed.py:1", "rate"),
    ]
