"""Columns that look like identifiers or units are found, and measures, places and codes are not."""

from __future__ import annotations

import datetime
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.sources.reading import read
from shoal.table.cell_hashes import cell_hashes, class_sizes
from shoal.table.column_names import name_words
from shoal.table.likeness import identifier_reason, repeated_identifier_reason, unit_reason

N = 200
RNG = np.random.default_rng(7)
WORDS = ("Anna", "Bo", "Cleo", "Dag", "Eva", "Finn", "Gro", "Hans", "Ida", "Jens", "Kari", "Lars", "Mia", "Nils")


def numbers(low: int, high: int, n: int = N) -> list[int]:
    return [int(x) for x in RNG.integers(low, high, n)]


def iban(account: int) -> str:
    """A German IBAN: the check digits make the number 1 modulo 97 (D is 13, E is 14)."""
    body = f"{account:018d}"
    return f"DE{98 - int(body + '131400') % 97:02d}{body}"


def days(first: int, last: int, form: str = "%Y-%m-%d", n: int = N) -> list[str]:
    start = datetime.date(first, 1, 1).toordinal()
    drawn = numbers(start, datetime.date(last, 12, 31).toordinal(), n)
    return [datetime.date.fromordinal(day).strftime(form) for day in drawn]


def names(n: int) -> list[str]:
    return [f"{RNG.choice(WORDS)} {RNG.choice(WORDS)}sen{RNG.choice(WORDS).lower()}" for _ in range(n)]


IDENTIFIERS: dict[str, tuple[str, list[object]]] = {
    "nearly unique text": ("remark", [f"case of {i}" for i in range(N - 5)] + ["none"] * 5),
    "codes with leading zeros": ("code", [f"{i:06d}" for i in RNG.choice(10**6, N, replace=False)]),
    "long codes": ("code", [f"{i:025d}" for i in range(1, N + 1)]),
    "names of people": ("who", names(N)),
    "surnames that repeat": ("Nachname", [f"M{'aeiou'[i % 5] * (i % 20 + 1)}r" for i in range(N)]),
    "e-mail": ("contact", [f"p{i % 60}@example.org" for i in range(N)]),
    "e-mail within text": ("remark", ["write to me@example.org" if i % 4 == 0 else f"no {i % 30}" for i in range(N)]),
    "phone with a plus": ("contact", [f"+49 30 {x}" for x in numbers(10**6, 10**7)]),
    "phone with a slash": ("contact", [f"0171/{x}" for x in numbers(10**6, 10**7)]),
    "phone with brackets": ("contact", [f"(555) {x // 10**4}-{x % 10**4:04d}" for x in numbers(2 * 10**6, 10**7)]),
    "phone with dots": ("contact", [f"555.{x // 10**4}.{x % 10**4:04d}" for x in numbers(2 * 10**6, 10**7)]),
    "phone by name": ("Mobile", numbers(10**8, 10**9)),
    "IBAN": ("account", [iban(x) for x in numbers(10**9, 10**12, 40) * 5]),
    "IBAN in groups": ("account", [" ".join(iban(x)[i : i + 4] for i in range(0, 22, 4)) for x in numbers(1, 10**9)]),
    "URL": ("page", [f"https://example.org/u/{i // 2}" for i in range(N)]),
    "IPv4": ("host", [f"10.1.{i % 250}.{i % 7}" for i in range(N)]),
    "IPv6": ("host", [f"2001:db8::{i % 100:x}" for i in range(N)]),
    "MAC": ("device", [f"00:1b:44:11:3a:{i % 100:02x}" for i in range(N)]),
    "UUID": ("ref", [str(uuid.UUID(int=i // 2 + 10**30)) for i in range(N)]),
    "row numbers": ("x", [int(i) for i in RNG.permutation(N) + 1000]),
    "row numbers with gaps": ("x", [i for i in range(N) if i % 9]),
    "row numbers, one twice": ("x", [*range(N), 17]),
    "row numbers as floats": ("x", [float(i) for i in range(N)]),
    "row numbers as text": ("x", [str(i) for i in range(N)]),
    "key by name": ("patient_id", [int(i) for i in RNG.choice(10**5, N, replace=False)]),
    "key by name, some repeat": ("CASEID", [int(i) for i in RNG.choice(10**5, N - 40)] + list(range(20)) * 2),
    "few keys": ("ID", [3, 1, 77]),
    "numbers of one length": ("x", [int(i) for i in RNG.choice(9 * 10**7, N, replace=False) + 10**7]),
    "date of birth by name": ("birth_date", days(1990, 1991)),
    "date of birth, German": ("Geb.-Datum", days(1930, 2000, "%d.%m.%Y")),
    "date of birth, Norwegian": ("fødselsdato", days(1930, 2000, "%d/%m/%Y")),
    "date of birth as number": ("dob", [int(day) for day in days(1930, 2000, "%Y%m%d")]),
    "date of birth by spread": ("d", list(dict.fromkeys(days(1930, 2000)))),
    "date of birth, typed": ("d", [datetime.date.fromisoformat(day) for day in days(1930, 2005, n=4000)]),
}
OTHERS: dict[str, tuple[str, list[object]]] = {
    "incomes, all different": ("income", [int(i) for i in RNG.choice(90_000, N, replace=False) + 1000]),
    "incomes as text": ("income", [str(i) for i in RNG.choice(90_000, N, replace=False) + 1000]),
    "weights": ("weight", [int(i) for i in RNG.choice(10**6, N, replace=False)]),
    "amount paid": ("paid", [int(i) for i in RNG.choice(10**6, N, replace=False)]),
    "Medicaid amount": ("MEDICAID", [int(i) for i in RNG.choice(10**6, N, replace=False)]),
    "ages of ten people": ("age", list(range(30, 40))),
    "latitudes": ("latitude", [float(x) for x in RNG.random(N) * 90]),
    "decimal text": ("amount", [f"{x:.4f}" for x in RNG.random(N) * 1000]),
    "decimal comma": ("amount", [f"{x:.4f}".replace(".", ",") for x in RNG.random(N) * 1000]),
    "thousands and decimals": ("amount", [f"{x:,.2f} EUR" for x in RNG.random(N) * 1e7]),
    "event dates": ("visit", days(2019, 2023)),
    "years of birth": ("birth_year", numbers(1930, 2000)),
    "months of birth": ("birth_month", [f"{day[:8]}01" for day in days(1930, 2000)]),
    "country of birth": ("birth_country", ["NO", "SE", "DK", "FI"] * (N // 4)),
    "times": ("start", [f"{i % 24:02d}:{i % 60:02d}:{i % 59:02d}" for i in range(N)]),
    "ranges of years": ("period", [f"{1950 + i % 50}-{1960 + i % 50}" for i in range(N)]),
    "US postcodes": ("zip", [f"{x}-1001" for x in numbers(10_000, 10_080)]),
    "districts": ("district", [f"D{i}" for i in numbers(0, 60)]),
    "number of children": ("number_of_children", numbers(0, 5)),
    "a web site for all": ("source", ["https://example.org"] * N),
    "wrong IBANs that repeat": ("code", [f"DE{i % 90 + 10}{'1' * 18}" for i in range(N * 10)]),
    "sexes": ("sex", [True, False] * (N // 2)),
    "nothing": ("empty", [None] * N),
}


@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_every_kind_of_identifier_is_found(kind: str) -> None:
    name, values = IDENTIFIERS[kind]
    assert identifier_reason(pl.Series(name, values)) is not None
    with_gaps = pl.Series(name, [*values, None, None])
    assert identifier_reason(with_gaps) is not None, "missing cells must not hide it"


@pytest.mark.parametrize("kind", OTHERS)
def test_other_columns_are_not_identifiers(kind: str) -> None:
    name, values = OTHERS[kind]
    assert identifier_reason(pl.Series(name, values)) is None


def test_reasons_quote_no_value() -> None:
    for name, values in IDENTIFIERS.values():
        texts = [value for value in values if isinstance(value, str) and len(value) > 5]
        reason = identifier_reason(pl.Series(name, values)) or ""
        assert not any(text in reason for text in texts), reason


def test_categories_are_read_as_text() -> None:
    column = pl.Series("contact", [f"p{i}@example.org" for i in range(N)], dtype=pl.Categorical)
    assert identifier_reason(column) == "the values are e-mail addresses"


def test_python_objects_are_read_as_text() -> None:
    column = pl.Series("contact", [f"p{i}@example.org" for i in range(N)] + [None], dtype=pl.Object)
    assert identifier_reason(column) == "the values are e-mail addresses"


@pytest.mark.parametrize("dtype", [pl.List(pl.Int64), pl.Binary, pl.Time, pl.Duration, pl.Null, pl.Boolean])
def test_columns_of_other_types_are_left_alone(dtype: pl.DataType) -> None:
    column = pl.Series("id", [None, None, None], dtype=dtype)
    assert identifier_reason(column) is None
    assert unit_reason(pl.DataFrame([column]), "id") is None


def test_the_shared_files_have_no_false_alarm(shared_data: Path) -> None:
    survey = Path(__file__).parents[2] / "examples" / "survey.csv"
    files = ["census.csv", "eia.csv", "water.csv", "adult.csv", "arx/adult.csv", "arx/mach2019.csv"]
    identifiers, units = set(), set()
    for path in [*(shared_data / file for file in files), survey]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = read(path).frame
        identifiers |= {(path.name, name) for name in frame.columns if identifier_reason(frame[name])}
        units |= {(path.name, name) for name in frame.columns if unit_reason(frame, name)}
    # The date of a measurement (D-1/3/90) is the only key of the records of water.csv.
    assert identifiers == {("survey.csv", "name"), ("water.csv", "date")}
    assert units == {("eia.csv", "UTILITYID")}, "a utility reports every month"


# -- units ---------------------------------------------------------------------------------------


def panel(key: str, people: int = 400, waves: int = 6) -> pl.DataFrame:
    """Six rows per person: sex stays, income changes."""
    rng = np.random.default_rng(2)
    person = np.repeat(rng.choice(10**6, people, replace=False), waves)
    return pl.DataFrame(
        {
            key: person,
            "wave": np.tile(np.arange(waves), people),
            "sex": np.repeat(rng.choice(["f", "m"], people), waves),
            "income": rng.lognormal(10, 0.5, people * waves).round(),
            "district": rng.choice([f"D{d}" for d in range(40)], people * waves),
            "postcode": rng.integers(10_000, 10_300, people * waves),
            "age": rng.integers(18, 90, people * waves),
        }
    )


def households(key: str) -> pl.DataFrame:
    """Households of one to six people in consecutive rows, with the tenure of the dwelling."""
    rng = np.random.default_rng(3)
    sizes = rng.choice([1, 2, 3, 4, 5, 6], 500, p=[0.2, 0.3, 0.2, 0.15, 0.1, 0.05])
    return pl.DataFrame(
        {
            key: [f"H{i * 7:05d}" for i in np.repeat(np.arange(500), sizes)],
            "tenure": np.repeat(rng.choice(["own", "rent", "other"], 500), sizes),
            "age": rng.integers(0, 90, sizes.sum()),
            "sex": rng.choice(["f", "m"], sizes.sum()),
        }
    )


@pytest.mark.parametrize("made", [panel, households])
@pytest.mark.parametrize("key", ["pid", "person_id", "HaushaltNr", "db030"])
def test_a_unit_is_found_by_its_name_or_its_rows(made: Callable[[str], pl.DataFrame], key: str) -> None:
    frame = made(key)
    assert [name for name in frame.columns if unit_reason(frame, name)] == [key]


@pytest.mark.parametrize("key", ["pid", "rb030"])
def test_a_panel_sorted_by_wave_or_shuffled_has_a_unit_too(key: str) -> None:
    for frame in (panel(key).sort("wave"), panel(key).sample(fraction=1.0, shuffle=True, seed=1)):
        assert [name for name in frame.columns if unit_reason(frame, name)] == [key]


def test_households_without_a_name_need_consecutive_rows() -> None:
    frame = households("db030").sample(fraction=1.0, shuffle=True, seed=1)
    assert unit_reason(frame, "db030") is None
    assert unit_reason(frame.rename({"db030": "hid"}), "hid") is not None


@pytest.mark.parametrize("name", ["district_id", "household_size", "patient_age", "emp", "number", "family_income"])
def test_names_about_units_or_places_are_not_units(name: str) -> None:
    values = RNG.integers(0, 60, 1200)
    assert unit_reason(pl.DataFrame({name: values}), name) is None
    assert unit_reason(pl.DataFrame({"household_id": values}), "household_id") is not None


def test_sorted_files_have_no_unit_by_accident() -> None:
    """In a file sorted by age the age group is constant within each age; so is the region within a postcode."""
    rng = np.random.default_rng(5)
    age = np.sort(rng.integers(18, 90, 500))
    income = np.sort((rng.lognormal(10, 0.6, 2000) / 100).round() * 100).astype(int)
    postcode = np.sort(rng.integers(10_000, 10_400, 3000))
    for key, values, derived in (("age", age, age // 10), ("income", income, income // 20_000),
                                 ("postcode", postcode, postcode // 50)):  # fmt: skip
        sex = rng.choice(["f", "m"], values.size)
        frame = pl.DataFrame({key: values, "derived": derived, "sex": sex})
        assert unit_reason(frame, key) is None


def test_a_named_identifier_that_repeats_shows_several_rows_per_person() -> None:
    frame = panel("member")
    assert repeated_identifier_reason(frame["member"]) is not None
    assert repeated_identifier_reason(frame["member"].unique()) is None
    assert repeated_identifier_reason(pl.Series("surname", names(50) * 4)) is None, "relatives share it"
    assert repeated_identifier_reason(pl.Series("title", ["Ms", "Mr"] * 100)) is None, "too few values"


# -- hashes and names ----------------------------------------------------------------------------

CELLS = {
    pl.Int64: st.integers(-3, 3),
    pl.Float64: st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]),
    pl.String: st.sampled_from(["", "a", "b", "ab"]),
    pl.Boolean: st.booleans(),
    pl.Date: st.dates(datetime.date(2000, 1, 1), datetime.date(2000, 1, 4)),
    pl.List(pl.Int64): st.lists(st.integers(0, 1), max_size=2),
}


@settings(max_examples=60)
@given(st.data())
def test_hashes_are_equal_where_the_cells_are(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(list(CELLS)))
    cells = data.draw(st.lists(st.none() | CELLS[dtype], min_size=1, max_size=12))
    hashes = cell_hashes(pl.Series("x", cells, dtype=dtype))
    plain = [None if cell is None or cell != cell else cell for cell in cells]
    for i, left in enumerate(plain):
        for j, right in enumerate(plain):
            assert (hashes[i] == hashes[j]) == (left == right)
    assert int(class_sizes(hashes).sum()) == len(cells)


@given(st.text(max_size=20), st.lists(st.none() | st.text(max_size=8), max_size=40))
def test_any_text_column_gets_an_answer(name: str, cells: list[str | None]) -> None:
    column = pl.Series(name, cells, dtype=pl.String)
    for reason in (identifier_reason(column), repeated_identifier_reason(column)):
        assert reason is None or reason
    assert all(word.isalpha() for word in name_words(name))


@given(st.lists(st.none() | st.floats() | st.integers(-(2**60), 2**60).map(float), max_size=40))
def test_any_column_of_numbers_gets_an_answer(cells: list[float | None]) -> None:
    frame = pl.DataFrame({"id": pl.Series(cells, dtype=pl.Float64)})
    assert identifier_reason(frame["id"]) is None or len(set(cells)) > 2
    assert unit_reason(frame, "id") is None or len(cells) >= 20
