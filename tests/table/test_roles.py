"""Roles by name, by pattern and from a file: what a column is for, and which of several statements wins."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, UsageError
from shoal.sources.reading import read
from shoal.sources.roles_file import read_roles, roles_text
from shoal.table.roles import LISTS, Roles

FRAME = pl.DataFrame({name: [1, 2, 3] for name in ("id", "home", "age", "q1a", "q1b", "q2", "pay", "tax", "w", "q1*")})


@pytest.mark.parametrize(
    ("given_roles", "words"),
    [
        ({"identifiers": "id"}, {"id": "identifier"}),
        ({"quasi": "age"}, {"age": "quasi-identifier"}),
        ({"confidential": "pay"}, {"pay": "confidential"}),
        ({"drop": "q2"}, {"q2": "dropped"}),
        ({"as_is": "q2"}, {"q2": "as-is"}),
        ({"weight": "w"}, {"w": "weight"}),
        ({"unit": "home"}, {"home": "unit"}),
        ({"derived": {"tax": "pay"}}, {"tax": "derived", "pay": "none"}),
        ({"unit": False}, {"home": "none"}),
    ],
)
def test_each_role_has_its_word(given_roles: dict[str, Any], words: dict[str, str]) -> None:
    roles = read(FRAME, **given_roles).roles
    assert {name: roles.of(name) for name in words} == words
    assert roles.assigned == {name for name, word in words.items() if word != "none"}


def test_identifiers_dropped_columns_and_the_unit_are_removed() -> None:
    table = read(FRAME, identifiers="id", drop="q2", unit="home", quasi="age")
    assert set(table.roles.removed) == {"id", "q2", "home"}
    assert table.protected({}).columns == ["age", "q1a", "q1b", "pay", "tax", "w", "q1*"]
    assert set(table.roles.released().assigned) == {"age"}


@pytest.mark.parametrize(
    ("given_roles", "message"),
    [
        ({"drop": "age", "quasi": "age"}, "The column 'age' is in quasi and in drop"),
        ({"as_is": "age", "unit": "age"}, "The column 'age' is in as_is and in unit"),
        ({"derived": {"tax": "pay"}, "quasi": "tax"}, "The column 'tax' is in quasi and in derived"),
        ({"unit": True}, "unit must be the name of one column, or False"),
        ({"unit": 3}, "unit must be the name of one column, or False"),
        ({"no_confidential": True, "confidential": "pay"}, "'pay' is confidential, but no_confidential"),
        ({"nominal": "q2", "numeric": "q2"}, "The column 'q2' is both nominal and numeric"),
        ({"unit": "hom"}, "Unknown column 'hom'. Did you mean 'home'"),
        ({"derived": {"tax": "pey"}}, "Unknown column 'pey'. Did you mean 'pay'"),
        ({"order": {"q3": ["a"]}}, "Unknown column 'q3'"),
        ({"accept_derived": "tex"}, "Unknown column 'tex'. Did you mean 'tax'"),
        ({"as_is": "z*"}, r"The pattern 'z\*' does not match any column"),
    ],
)
def test_contradictions_and_slips_are_named(given_roles: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(FRAME, **given_roles)


def test_a_pattern_means_every_column_it_matches_that_is_not_named_elsewhere() -> None:
    roles = read(FRAME, as_is="q1?", quasi=["age", "q1b"]).roles
    assert roles.as_is == ("q1a", "q1*") and roles.quasi == ("age", "q1b")
    assert roles.by_pattern == ("q1a", "q1*")
    assert read(FRAME, as_is="q1*").roles.as_is == ("q1*",)  # a column of exactly that name wins
    assert read(FRAME, as_is="q1*").roles.by_pattern == ()
    assert read(FRAME, nominal="q[12]*", quasi="q2").roles.nominal == ("q1a", "q1b", "q2", "q1*")
    assert read(FRAME.drop("q1*"), as_is=["q1*", "q1a"]).roles.as_is == ("q1b", "q1a")


def test_a_reason_belongs_to_the_columns_of_its_pattern() -> None:
    roles = read(FRAME.drop("q1*"), as_is={"q1*": "asked once", "w": "ours"}).roles
    assert dict(roles.reasons) == {"q1a": "asked once", "q1b": "asked once", "w": "ours"}
    assert roles.by_pattern == ("q1a", "q1b")
    assert dict(read(FRAME, as_is="w", reasons={"w": "ours"}).roles.reasons) == {"w": "ours"}


ROLES_FILE = """
unit = "home"
weight = "w"
nominal = ["q2"]

[identifiers]
columns = ["id"]

[quasi]
columns = ["age", "pay"]

[as-is]
columns = ["q1?"]
reason = "asked once"

[derived]
tax = ["pay"]
"""


def test_what_is_typed_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "roles.toml"
    path.write_text(ROLES_FILE)
    plain = read(FRAME, roles=path).roles
    assert (plain.unit, plain.weight, plain.nominal, plain.as_is) == ("home", "w", ("q2",), ("q1a", "q1b", "q1*"))
    assert dict(plain.reasons) == dict.fromkeys(("q1a", "q1b", "q1*"), "asked once")
    other = read(FRAME, roles=path, confidential="pay", drop=["home"], as_is="w", numeric="q2", quasi="tax").roles
    assert other.confidential == ("pay",) and other.quasi == ("tax", "age")
    assert other.unit is None and other.weight is None  # their columns have other roles now
    assert other.derived == {} and other.numeric == ("q2",) and other.nominal == ()
    assert read(FRAME, roles=path, unit=False).roles.unit is False
    assert read(FRAME, roles=plain, drop="q2").roles.drop == ("q2",)  # roles as an object, not a file


def test_no_confidential_in_a_file_gives_way_to_a_column_that_is(tmp_path: Path) -> None:
    path = tmp_path / "roles.toml"
    path.write_text("no_confidential = true\n")
    assert read(FRAME, roles=path).roles.no_confidential
    assert not read(FRAME, roles=path, confidential="pay").roles.no_confidential


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[quasy]\ncolumns = []", "Unknown key of a roles file 'quasy'. Did you mean 'quasi'"),
        ("quasi = 3", r"\[quasi\] must be a table with columns"),
        ("[quasi]\ncolums = ['a']", r"Unknown key in \[quasi\] 'colums'. Did you mean 'columns'"),
        ("[quasi]\nreason = 'x'", r"Unknown key in \[quasi\] 'reason'"),
        ("[quasi]\ncolumns = [1]", r"\[quasi\] columns must be a list of texts, not \[1\]"),
        ("[as-is]\ncolumns = ['w']\nreason = 3", r"The reason in \[as-is\] must be a text"),
        ("[as-is]\ncolumns = ['w']\nreason = {v = 'x'}", r"Unknown column of \[as-is\] with a reason 'v'"),
        ("[order]\nq2 = 3", r"\[order\] q2 must be a list of texts, not 3"),
        ("unit = true", "unit must be the name of one column, or False"),
        ("weight = ['w']", "weight must be the name of one column"),
        ("[quasi]\ncolumns = ['age']\n[drop]\ncolumns = ['age']", "The column 'age' is in quasi and in drop"),
        ("[quasi", "is not valid TOML"),
    ],
)
def test_errors_in_a_file_are_reported_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "roles.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_roles(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Cannot read the roles file .*none\.toml: No such file"):
        read(FRAME, roles=tmp_path / "none.toml")


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda name: not set(name) & set("*?["))


@st.composite
def any_roles(draw: st.DrawFn) -> Roles:
    columns = draw(st.lists(WORDS, min_size=3, max_size=9, unique=True))
    part = {name: draw(st.sampled_from(["none", *LISTS, "derived"])) for name in columns[2:]}
    lists: dict[str, Any] = {role: [c for c, r in part.items() if r == role] for role in LISTS}
    return Roles(
        **lists,
        weight=draw(st.sampled_from([None, columns[0]])),
        unit=draw(st.sampled_from([None, False, columns[1]])),
        derived={c: (columns[0],) for c, r in part.items() if r == "derived"},
        no_confidential=not lists["confidential"] and draw(st.booleans()),
        reasons={c: draw(WORDS.filter(str.strip)) for c in lists["as_is"]},
        order={c: ("low", "high") for c in columns if draw(st.booleans())},
        nominal=columns[:1],
        numeric=columns[1:2],
        accept_derived=columns[2:3],
    )


@settings(max_examples=100)
@given(any_roles(), st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20))
def test_roles_that_are_written_are_read_back(roles: Roles, note: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "roles.toml"
        why = dict.fromkeys(roles.assigned, note)
        path.write_text(roles_text(roles, why, note="Drafted.\nReview it."), encoding="utf-8", newline="")
        assert read_roles(path) == roles


@settings(max_examples=60)
@given(any_roles(), any_roles())
def test_completed_roles_keep_what_was_given(mine: Roles, other: Roles) -> None:
    both = mine.over(other)
    for role, column in mine.pairs():
        assert both.of(column) == mine.of(column), role
    for _, column in other.pairs():
        assert column in both.assigned or other.of(column) in ("weight", "unit")
