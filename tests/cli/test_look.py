"""`shoal look` and `shoal.look`: the figures of each column, and a draft of the roles that can be used as it is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.cli.look import command
from shoal.errors import ShoalError, UsageError
from shoal.overview import look
from shoal.sources.roles_file import read_roles
from shoal.table.roles import Roles

KEYS = [
    "name", "type", "distinct", "missing", "unique_share", "added_uniques", "function_of", "looks_like", "role",
    "reason",
]  # fmt: skip
SURVEY = Path(__file__).parents[2] / "examples" / "survey.csv"


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(command, [str(a) for a in arguments])
    if isinstance(result.exception, ShoalError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def roles_of(frame: pl.DataFrame) -> dict[str, str]:
    return {column.name: column.role for column in look(frame).columns}


@pytest.fixture
def mixed() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    n = 300
    district = rng.integers(0, 12, n)
    return pl.DataFrame(
        {
            "Patient-ID": rng.permutation(n) + 5000,
            "mail": [f"p{i}@example.org" for i in range(n)],
            "hid": np.arange(n) // 3,
            "district": [f"D{d:02d}" for d in district],
            "region": [f"R{d // 4}" for d in district],
            "age": rng.integers(18, 90, n),
            "country": ["NO"] * n,
            "income": rng.lognormal(10, 0.5, n).round(2),
            "HHWT": rng.uniform(1, 80, n).round(3),
            "Hauptdiagnose": rng.choice(["A", "B", "C"], n),
            "Parteizugehörigkeit": rng.choice(["x", "y", None], n).tolist(),
        }
    )


def test_each_column_gets_the_role_that_its_content_and_name_suggest(mixed: pl.DataFrame) -> None:
    assert roles_of(mixed) == {
        "Patient-ID": "identifier",
        "mail": "identifier",
        "hid": "unit",
        "district": "quasi-identifier",
        "region": "quasi-identifier",
        "age": "quasi-identifier",
        "country": "as-is",
        "income": "quasi-identifier",
        "HHWT": "weight",
        "Hauptdiagnose": "confidential",
        "Parteizugehörigkeit": "confidential",
    }
    found = {column.name: column for column in look(mixed).columns}
    assert found["region"].function_of == "district"
    assert found["district"].function_of is None
    assert found["Parteizugehörigkeit"].missing == mixed["Parteizugehörigkeit"].null_count()
    assert found["Parteizugehörigkeit"].distinct == 2
    assert found["mail"].looks_like == "identifier" and found["hid"].looks_like == "unit"


@pytest.mark.parametrize(
    "name", ["weight_kg", "birthweight", "age", "party_size", "sex", "occupation", "paid", "salary"]
)
def test_only_constant_columns_are_released_as_they_are(name: str) -> None:
    values = np.random.default_rng(0).integers(1, 40, 200)
    assert roles_of(pl.DataFrame({name: values})) != {name: "as-is"}
    assert roles_of(pl.DataFrame({name: [7] * 200, "x": values}))[name] == "as-is"
    gaps = pl.DataFrame({name: [7, None] * 100, "x": values})
    assert roles_of(gaps)[name] != "as-is", "a missing value is a value of its own"


def test_the_weight_of_a_body_is_not_a_survey_weight() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"weight": rng.uniform(40, 120, 200), "height": rng.uniform(1.5, 2.0, 200)})
    assert roles_of(frame) == {"weight": "quasi-identifier", "height": "quasi-identifier"}
    assert roles_of(frame.drop("height").with_columns(x=1))["weight"] == "weight"
    assert roles_of(frame.rename({"height": "wgt"}))["weight"] == "weight", "one weight: the first"


def test_of_person_and_household_the_household_is_the_unit() -> None:
    person = np.arange(900) // 3
    frame = pl.DataFrame({"pid": person, "hid": person // 2, "x": np.random.default_rng(0).integers(0, 9, 900)})
    assert roles_of(frame) == {"pid": "identifier", "hid": "unit", "x": "quasi-identifier"}


def test_texts_that_rename_the_unit_are_identifiers() -> None:
    firm = np.random.default_rng(0).integers(0, 60, 900)
    frame = pl.DataFrame({"firm_id": firm, "label": [f"Firm {'abcdef'[f % 6]}{'ghijklmnop'[f // 6]}" for f in firm]})
    assert roles_of(frame) == {"firm_id": "unit", "label": "identifier"}


def test_a_dependency_that_may_be_an_accident_is_not_reported() -> None:
    rare = [0] * 199 + [1]
    frame = pl.DataFrame({"rare": rare, "age": [i // 4 for i in range(196)] + [60, 60, 61, 62]})
    assert {column.name: column.function_of for column in look(frame).columns}["rare"] is None


def test_a_single_exception_ends_a_dependency() -> None:
    district = np.random.default_rng(0).integers(0, 12, 4000)
    for row in range(0, 4000, 400):
        region = district // 4
        assert [column.function_of for column in look(pl.DataFrame({"d": district, "r": region})).columns] == [
            None,
            "d",
        ]
        region[row] = (region[row] + 1) % 3
        assert look(pl.DataFrame({"d": district, "r": region})).columns[1].function_of is None


@settings(max_examples=60)
@given(st.data())
def test_added_uniques_are_those_of_a_direct_count(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 12))
    cells = [
        st.integers(0, 2),
        st.sampled_from(["a", "b", None]),
        st.sampled_from([0.5, float("nan"), None, -0.0, 0.0]),
    ]
    kinds = data.draw(st.lists(st.sampled_from(cells), min_size=1, max_size=5))
    columns = {f"q{j}": data.draw(st.lists(kind, min_size=rows, max_size=rows)) for j, kind in enumerate(kinds)}
    frame = pl.DataFrame(columns, strict=False)
    found = look(frame).columns
    plain = {
        name: [None if v is None or v != v else v for v in values]
        for name, values in zip(columns, columns.values(), strict=True)
    }

    def uniques(names: list[str]) -> int:
        tuples = Counter(zip(*(plain[name] for name in names), strict=True)) if names else Counter({(): rows})
        return sum(count == 1 for count in tuples.values())

    marked = {column.name for column in found if column.looks_like}
    known = [name for name in columns if name not in marked]
    for column in found:
        without = [name for name in known if name != column.name]
        assert column.added_uniques == uniques([*without, column.name]) - uniques(without)
        assert column.unique_share == pytest.approx(uniques([column.name]) / rows, abs=1e-6)
        assert column.distinct == len({v for v in plain[column.name] if v is not None})
        assert column.missing == sum(v is None for v in plain[column.name])


def test_swapped_values_and_equal_columns_count_as_different_records() -> None:
    frame = pl.DataFrame({"a": [1, 2, 1, 2], "b": [2, 1, 2, 1], "c": [1, 2, 1, 2]})
    assert [column.added_uniques for column in look(frame).columns] == [0, 0, 0]
    frame = pl.DataFrame({"a": [1, 2, 1, 2], "b": [2, 1, 1, 2]})
    assert [column.added_uniques for column in look(frame).columns] == [4, 4]


def test_given_roles_are_kept_and_completed(mixed: pl.DataFrame) -> None:
    given_roles = Roles(quasi=["Hauptdiagnose"], unit=False, as_is=["age"], reasons={"age": "years since 2000"})
    found = look(mixed, roles=given_roles)
    assert found.roles.unit is False and found.roles.weight == "HHWT"
    assert "hid" in found.roles.identifiers, "a column that looks like a unit is never released by default"
    by_name = {column.name: column for column in found.columns}
    assert by_name["age"].role == "as-is" and by_name["age"].reason == "years since 2000"
    assert by_name["Hauptdiagnose"].role == "quasi-identifier"
    assert found.roles.assigned == set(mixed.columns)


def test_a_given_identifier_that_repeats_is_pointed_out(mixed: pl.DataFrame) -> None:
    found = look(mixed, roles=Roles(identifiers=["hid"]))
    reason = next(column.reason for column in found.columns if column.name == "hid")
    assert "300 of 300 rows share their value" in reason


def test_frames_and_files_give_the_same(mixed: pl.DataFrame, tmp_path: Path) -> None:
    mixed.write_parquet(tmp_path / "m.parquet")
    ways = [mixed, mixed.to_pandas(), mixed.to_arrow(), tmp_path / "m.parquet", shoal.read(mixed)]
    assert len({json.dumps(look(way).facts()) for way in ways}) == 1


def test_columns_of_mixed_objects_do_not_stop_it() -> None:
    frame = pd.DataFrame({"x": [1, "a", 2.5, None], "y": [[1], [2], [1], [1]]})
    assert [column.distinct for column in look(frame).columns] == [3, 2]


# -- the command ---------------------------------------------------------------------------------


def test_the_drafted_roles_of_the_survey_are_read_back(tmp_path: Path) -> None:
    roles = tmp_path / "roles.toml"
    output = run(SURVEY, "--save-roles", roles).output
    assert f"Review {roles}, then: shoal microaggregate {SURVEY} -k 5 --roles {roles} -o protected.csv" in output
    table = shoal.read(SURVEY, roles=roles)
    assert table.without_role() == ()
    assert table.roles.identifiers == ("name",) and table.roles.confidential == ("diagnosis",)
    assert table.roles.unit is None, "one row per person"
    assert roles.read_text().startswith("# Drafted by 'shoal look'. Review each line: ")
    assert '"name",  # Looks like an identifier' in roles.read_text()


def test_the_json_object_has_every_figure(people: Path) -> None:
    facts = json.loads(run(people, "--json").stdout)
    assert list(facts) == ["rows", "columns"] and facts["rows"] == 240
    assert all(list(column) == KEYS for column in facts["columns"])
    name = facts["columns"][0]
    assert (name["looks_like"], name["role"], name["unique_share"]) == ("identifier", "identifier", 1.0)


def test_without_a_file_for_the_roles_the_next_step_is_to_save_them(people: Path) -> None:
    output = run(people, "--delimiter", ",").output
    assert "Draft of the roles" in output
    assert "--save-roles roles.toml" in output.splitlines()[-1]
    assert "--delimiter ," in output.splitlines()[-1]


def test_two_hundred_columns_get_a_role_each(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"q{j}": rng.integers(0, 2 + j % 50, 2_000) for j in range(200)})
    frame.with_columns(copy=pl.col("q49") % 7).write_csv(tmp_path / "wide.csv")
    run(tmp_path / "wide.csv", "--save-roles", tmp_path / "roles.toml", "--json")
    table = shoal.read(tmp_path / "wide.csv", roles=tmp_path / "roles.toml")
    assert len(table.roles.quasi) == 201
    depends = {column.name: column.function_of for column in look(table).columns if column.function_of}
    assert depends == {"copy": "q49"}


def test_names_of_columns_that_toml_must_quote(tmp_path: Path) -> None:
    odd = ['a "b"', "q*", "#x", "tab\tname", "ü = [1]", "back\\slash"]
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.integers(0, 9, 60) for name in odd}).with_columns(follows=pl.col("tab\tname") % 3)
    look(frame).save_roles(tmp_path / "r.toml")
    assert set(read_roles(tmp_path / "r.toml").resolve(frame.columns).quasi) == {*odd, "follows"}


def test_neither_the_data_nor_the_given_roles_are_overwritten(people: Path, tmp_path: Path) -> None:
    before = people.read_bytes()
    with pytest.raises(UsageError, match="never overwrites"):
        run(people, "--save-roles", people)
    assert people.read_bytes() == before
    roles = tmp_path / "roles.toml"
    roles.write_text('unit = false\n[quasi]\ncolumns = ["name"]\n')
    with pytest.raises(UsageError, match="never overwrites"):
        run(people, "--roles", roles, "--save-roles", roles)
    run(people, "--roles", roles, "--save-roles", tmp_path / "new.toml")
    assert "name" in read_roles(tmp_path / "new.toml").quasi
    with pytest.raises(UsageError, match="does not exist. Create it first"):
        run(people, "--save-roles", tmp_path / "nowhere" / "roles.toml")
