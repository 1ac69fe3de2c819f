"""Every value that the command line can hold is written and read as itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.protections import register
from shoal.protections.protection import Parameter
from shoal.spelling import (
    ByColumn,
    ColumnValues,
    Either,
    FilePath,
    KindAndNumbers,
    Names,
    Number,
    NumberPerColumn,
    Numbers,
    Repeated,
    Spelling,
    Whole,
    Word,
)

PLAIN = st.text(st.sampled_from("abcXYZ019_ é"), min_size=1, max_size=8).map(str.strip).filter(bool)
ANY = st.text(max_size=8)
NUMBERS = st.floats(allow_nan=False) | st.integers(-(10**6), 10**6).map(float)
SPELLED = [
    Word(), Word(("a", "b")), Whole(), Number(), Names(), Numbers(), Numbers(":"), Numbers(count=2), FilePath(),
    Repeated(Names()), ByColumn(Numbers()), ByColumn(FilePath()), NumberPerColumn(), ColumnValues(), KindAndNumbers(),
    NumberPerColumn(words=("never",)),
    Either((Word(("auto",)), Number())), ByColumn(Either((Number(), Numbers(":", count=3)))),
    Either((ByColumn(Either((Word(("auto",)), Names()))), Word(("auto",)))),
]  # fmt: skip


def values(spelling: Spelling, text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Values of a spelling, as its `read` gives them, with names of this kind."""
    if isinstance(spelling, Word):
        return st.sampled_from(spelling.choices) if spelling.choices else text
    if isinstance(spelling, Whole):
        return st.integers()
    if isinstance(spelling, Number):
        return NUMBERS
    if isinstance(spelling, Names):
        return st.lists(text, min_size=1, max_size=4).map(tuple)
    if isinstance(spelling, Numbers):
        return st.lists(NUMBERS, min_size=spelling.count or 1, max_size=spelling.count or 4).map(tuple)
    if isinstance(spelling, Repeated):
        return st.lists(values(spelling.part, text), min_size=1, max_size=3).map(tuple)
    if isinstance(spelling, ByColumn):
        return st.dictionaries(text, values(spelling.part, text), min_size=1, max_size=3)
    if isinstance(spelling, NumberPerColumn):
        numbers = NUMBERS | st.sampled_from(spelling.words) if spelling.words else NUMBERS
        return st.dictionaries(text, numbers, min_size=1, max_size=3)
    if isinstance(spelling, ColumnValues):
        return st.tuples(text, st.lists(text, min_size=1, max_size=3).map(tuple))
    if isinstance(spelling, KindAndNumbers):
        return NUMBERS | st.tuples(text, NUMBERS) | st.tuples(text, NUMBERS, NUMBERS)
    if isinstance(spelling, Either):
        return st.one_of([values(part, text) for part in spelling.spellings])
    return text  # a path


def typed_parameters() -> list[Any]:
    return [
        pytest.param(p, id=f"{protection.name} {p.name}")
        for protection in register().values()
        for p in protection.parameters.values()
        if p.spelling is not None
    ]


@pytest.mark.parametrize("spelling", SPELLED, ids=repr)
@given(data=st.data())
def test_what_is_written_is_read_as_the_same_value(spelling: Spelling, data: st.DataObject) -> None:
    value = data.draw(values(spelling, ANY | PLAIN))
    texts = spelling.write(value)
    assert texts is None or spelling.read(texts) == value


@pytest.mark.parametrize("spelling", SPELLED, ids=repr)
@given(data=st.data())
def test_plain_names_can_always_be_written(spelling: Spelling, data: st.DataObject) -> None:
    value = data.draw(values(spelling, PLAIN.filter(lambda name: name != "auto")))
    texts = spelling.write(value)
    assert texts is not None and (len(texts) == 1 or spelling.repeats)


@pytest.mark.parametrize("parameter", typed_parameters())
@given(data=st.data())
def test_every_parameter_that_is_declared_comes_back(parameter: Parameter, data: st.DataObject) -> None:
    spelling = parameter.spelling
    assert spelling is not None
    value = data.draw(values(spelling, ANY | PLAIN))
    texts = spelling.write(value)
    assert texts is None or spelling.read(texts) == value


@pytest.mark.parametrize(
    ("spelling", "value", "texts"),
    [
        (Names(), ["age", "hours, weekly"], ['age,"hours, weekly"']),
        (ByColumn(Numbers()), {"age": [18, 30]}, ["age=18,30"]),
        (ByColumn(Either((Number(), Numbers(":")))), {"age": [5, 0, 100], "x": 2}, ["age=5:0:100", "x=2"]),
        (NumberPerColumn(), {"age": 2.0, "a,b": 0.5}, ['age=2.0,"a,b=0.5"']),
        (NumberPerColumn(words=("never",)), {"age": 2.0, "sex": "never"}, ["age=2.0,sex=never"]),
        (ColumnValues(), ("OCC", [551010, 552010]), ["OCC=551010,552010"]),
        (Repeated(Names()), [["a", "b"], ["c"]], ["a,b", "c"]),
        (Names(), ["a", " b"], None),
        (NumberPerColumn(), {"a=b": 1.0}, None),
        (ColumnValues(), ("job", ["a,b"]), None),
        (ByColumn(FilePath()), {"country": {"Europe": ["fr"]}}, None),
        (Either((Word(("auto",)), Names())), ["auto"], None),
        (KindAndNumbers(), ("entropy", 1.5), ["entropy:1.5"]),
        (Whole(), True, None),
        (Word(), 3.5, ["3.5"]),
    ],
)
def test_examples(spelling: Spelling, value: Any, texts: list[str] | None) -> None:
    assert spelling.write(value) == texts


def test_paths_are_found_and_moved_to_a_folder() -> None:
    spelling, folder = ByColumn(FilePath()), Path("here")
    assert list(spelling.files({"a": "a.csv", "b": {"x": ["y"]}})) == ["a.csv"]
    assert spelling.located({"a": "a.csv", "b": {"x": ["y"]}}, folder) == {"a": "here/a.csv", "b": {"x": ["y"]}}
    assert list(FilePath(entry=True).files("groups.json#best.k3")) == ["groups.json"]
    assert list(Names().files(["a.csv"])) == []


@pytest.mark.parametrize(
    ("spelling", "text", "words"),
    [
        (Whole(), "x", "'x' is not a whole number."),
        (Number(), "x", "'x' is not a number."),
        (Numbers(count=2), "1", "2 numbers are needed"),
        (Names(), "a,,b", "A column name is empty"),
        (ByColumn(Number()), "age", "COLUMN=VALUE is needed, not 'age'."),
        (Either((Word(("auto",)), Number())), "x", "'x' is not auto. 'x' is not a number."),
        (Either((Number(), Number())), "x", "'x' is not a number."),
    ],
)
def test_a_text_that_cannot_be_read_says_why(spelling: Spelling, text: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        spelling.read([text])
    assert words in str(caught.value)
