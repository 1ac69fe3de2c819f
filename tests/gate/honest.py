"""Twelve honest releases: files of different fields with the roles that a careful steward gives them.

Each must be written. A check that refuses one of them has raised a false alarm. The files are drawn with fixed seeds,
and their columns depend on each other as those of real files do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl

Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Honest:
    """A file, the arguments of `shoal.read`, those of `shoal.microaggregate`, and those of `Release.save`."""

    frame: pl.DataFrame
    roles: Mapping[str, Any]
    protect: Mapping[str, Any]
    saving: Mapping[str, Any] = field(default_factory=dict)
    ending: str = "csv"


def hospital_stays(rng: Rng, n: int = 1500) -> Honest:
    """Stays of one year in the order of admission: dates, age and place protected, the diagnosis confidential."""
    day = np.sort(rng.integers(0, 365, n))
    stay = 1 + rng.gamma(1.4, 4.0, n).astype(int)
    chapters = ["I00", "C00", "K00", "J00", "S00", "M00", "N00", "F00", "E00", "G00"]
    frame = pl.DataFrame(
        {
            "stay_id": rng.choice(np.arange(100_000, 1_000_000), n, replace=False),
            "admission": _dates(day),
            "discharge": _dates(day + stay),
            "days": stay,
            "age": np.clip(rng.normal(58, 21, n), 0, 99).astype(int),
            "sex": rng.choice(["f", "m"], n, p=[0.53, 0.47]),
            "postcode_area": [f"{area:02}" for area in _skewed(rng, 25, n)],
            "icd_chapter": rng.choice(chapters, n, p=_falling(10, 0.4)),
        }
    )
    roles = {
        "identifiers": "stay_id",
        "quasi": ["admission", "discharge", "age", "sex", "postcode_area"],
        "derived": {"days": ["admission", "discharge"]},
        "confidential": "icd_chapter",
    }
    return Honest(frame, roles, {"k": 5}, {"shuffle": True}, "parquet")


def business_survey(rng: Rng, n: int = 1200) -> Honest:
    """Enterprises with heavy tails, 20 sectors, and calibrated weights that are nearly unique: released in steps."""
    employees = np.maximum(1, rng.lognormal(2.4, 1.4, n)).astype(int)
    turnover = employees * rng.lognormal(4.6, 0.8, n)
    size = np.digitize(employees, [10, 50, 250])
    frame = pl.DataFrame(
        {
            "company_no": _keys(rng, n, 10_000_000, 99_999_999),
            "sector": [f"s{sector:02}" for sector in _skewed(rng, 20, n)],
            "region": rng.choice(["north", "east", "south", "west", "centre"], n, p=_falling(5, 0.2)),
            "employees": employees,
            "turnover": turnover.round(1),
            "investment": np.where(rng.random(n) < 0.4, 0.0, turnover * rng.beta(1, 14, n)).round(1),
            "export_share": np.where(rng.random(n) < 0.5, 0.0, 100 * rng.beta(0.8, 2.5, n)).round(1),
            "weight": (np.array([40.0, 12.0, 4.0, 1.5])[size] * rng.uniform(0.8, 1.25, n)).round(4),
        }
    )
    roles = {
        "identifiers": "company_no",
        "quasi": ["sector", "region", "employees", "turnover", "investment"],
        "confidential": "export_share",
        "weight": "weight",
        "unit": False,
    }
    return Honest(frame, roles, {"k": 4}, {"round_weight": True})


def panel(rng: Rng, persons: int = 250, waves: int = 6) -> Honest:
    """Six rows per person in the order of the persons: groups within a wave, each of at least k persons."""
    person = np.repeat(np.arange(persons), waves)
    wave = np.tile(np.arange(waves), persons)
    born, pay = rng.integers(1940, 2000, persons), rng.normal(0, 0.4, persons)
    region = rng.choice(["urban", "suburban", "rural"], persons)
    n = person.size
    frame = pl.DataFrame(
        {
            "pid": person + 5_001,
            "wave": [f"20{10 + w}" for w in wave],
            "age": 2010 + wave - born[person],
            "sex": rng.choice(["f", "m"], persons)[person],
            "region": np.where(rng.random(n) < 0.03, rng.choice(["urban", "suburban", "rural"], n), region[person]),
            "hours": np.clip(rng.normal(34, 10, n), 0, 70).round(0),
            "income": np.exp(10.1 + 0.02 * wave + pay[person] + rng.normal(0, 0.15, n)).round(0),
            "health": rng.choice(["very good", "good", "fair", "poor", "bad"], n, p=[0.2, 0.35, 0.25, 0.13, 0.07]),
        }
    )
    roles = {"unit": "pid", "quasi": ["age", "sex", "region", "hours", "income"], "confidential": "health"}
    return Honest(frame, roles, {"k": 5, "within": ["wave"]}, {"shuffle": True})


def households(rng: Rng, count: int = 600) -> Honest:
    """All members of 600 households: k counts households, the household's weight is released in steps."""
    size = rng.choice([1, 2, 3, 4, 5], count, p=[0.36, 0.33, 0.14, 0.12, 0.05])
    hh = np.repeat(np.arange(count), size)
    place = np.concatenate([np.arange(s) for s in size])
    n = hh.size
    head = np.clip(rng.normal(50, 16, count), 20, 92)
    age = np.where(place < 2, np.clip(head[hh] + rng.normal(0, 4, n), 18, 95), rng.integers(0, 18, n)).astype(int)
    income = np.exp(rng.normal(10.3, 0.6, count)) * (0.8 + 0.2 * size)
    frame = pl.DataFrame(
        {
            "hh_id": rng.permutation(count)[hh] + 30_000,
            "hh_size": size[hh],
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "relation": np.array(["head", "partner", "child"])[np.minimum(place, 2)],
            "region": rng.choice(["A", "B", "C", "D", "E", "F"], count)[hh],
            "income": income[hh].round(0),
            "rent": (income * rng.uniform(0.15, 0.45, count))[hh].round(0),
            "smoker": rng.choice(["yes", "no"], n, p=[0.35, 0.65]),
            "weight": (rng.gamma(9.0, 60.0, count) / 10).round(3)[hh],
        }
    )
    roles = {
        "unit": "hh_id",
        "quasi": ["hh_size", "age", "sex", "relation", "region", "income", "rent"],
        "confidential": "smoker",
        "weight": "weight",
        "numeric": "hh_size",
    }
    return Honest(frame, roles, {"k": 5}, {"round_weight": True, "shuffle": True})


def school_grades(rng: Rng, n: int = 900) -> Honest:
    """Pupils with ordinal grades; the support that a pupil gets is confidential."""
    ability = rng.normal(0, 1, n)
    grades = ["very good", "good", "satisfactory", "sufficient", "poor", "insufficient"]

    def graded() -> list[str]:
        cut = np.digitize(-ability + rng.normal(0, 0.7, n), [-1.4, -0.5, 0.3, 1.1, 1.9])
        return [grades[place] for place in cut]

    first = rng.choice(["Ana", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gil", "Hana", "Ida", "Jon", "Kim", "Leo"], n)
    begin = rng.choice(
        ["Holm", "Berg", "Lund", "Dahl", "Falk", "Strand", "Vik", "Moe", "Sund", "Nord", "Eng", "Aas"], n
    )
    end = rng.choice(["", "en", "gren", "sen", "man", "stad", "vold", "heim", "quist", "bakken", "lie", "rud"], n)
    frame = pl.DataFrame(
        {
            "pupil": [f"{a} {b}{c}" for a, b, c in zip(first, begin, end, strict=True)],
            "school": [f"school {s}" for s in _skewed(rng, 9, n)],
            "level": rng.choice(["7", "8", "9", "10"], n),
            "sex": rng.choice(["f", "m"], n),
            "language": rng.choice(["german", "turkish", "polish", "arabic", "other"], n, p=_falling(5, 0.9)),
            "maths": graded(),
            "reading": graded(),
            "science": graded(),
            "absent_days": rng.poisson(6, n),
            "support": rng.choice(["none", "tutoring", "special needs"], n, p=[0.6, 0.28, 0.12]),
        }
    )
    roles = {
        "identifiers": "pupil",
        "quasi": ["school", "level", "sex", "language", "maths", "reading", "science", "absent_days"],
        "confidential": "support",
        "order": {**dict.fromkeys(["maths", "reading", "science"], grades), "level": ["7", "8", "9", "10"]},
    }
    return Honest(frame, roles, {"k": 5})


def employment_register(rng: Rng, n: int = 2000) -> Honest:
    """A register with many confidential amounts, all nearly unique."""
    age = rng.integers(18, 66, n)
    wage = np.exp(rng.normal(10.2, 0.5, n) + 0.008 * (age - 40))
    frame = pl.DataFrame(
        {
            "insurance_number": _keys(rng, n, 10**9, 9 * 10**9),
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "citizenship": rng.choice(["home", "eu", "other"], n, p=[0.86, 0.09, 0.05]),
            "industry": [f"{section}" for section in np.array(list("ABCDEFGHIJKLMNOP"))[_skewed(rng, 16, n)]],
            "district": [f"d{district:02}" for district in _skewed(rng, 18, n)],
            "job_days": rng.choice([365, 364, 181, 90], n, p=[0.7, 0.1, 0.1, 0.1]) - rng.integers(0, 60, n),
            "wage": wage.round(2),
            "bonus": np.where(rng.random(n) < 0.3, 0, wage * rng.beta(1.2, 12, n)).round(2),
            "benefits": (wage * rng.beta(1.2, 30, n)).round(2),
            "pension_paid": (wage * 0.093 + rng.normal(0, 150, n)).round(2),
            "debt": np.where(rng.random(n) < 0.5, 0, rng.lognormal(8.5, 1.2, n)).round(2),
            "sick_pay": np.where(rng.random(n) < 0.6, 0, rng.lognormal(6.5, 0.9, n)).round(2),
        }
    )
    roles = {
        "identifiers": "insurance_number",
        "quasi": ["age", "sex", "citizenship", "industry", "district", "job_days"],
        "confidential": ["wage", "bonus", "benefits", "pension_paid", "debt", "sick_pay"],
    }
    return Honest(frame, roles, {"k": 10}, {"policy": "scientific", "first_release": True}, "parquet")


def wide_questionnaire(rng: Rng, n: int = 600, items: int = 40) -> Honest:
    """Forty answers that only the respondent knows, as they are, each with its reason."""
    trait = rng.normal(0, 1, (n, 5))
    answers = {
        f"q{i + 1:02}": np.clip(np.rint(3 + trait[:, i % 5] + rng.normal(0, 1, n)), 1, 5).astype(int)
        for i in range(items)
    }
    frame = pl.DataFrame(
        {
            "email": [f"user{i}@example.org" for i in rng.permutation(n)],
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m", "d"], n, p=[0.52, 0.46, 0.02]),
            "region": rng.choice(["north", "south", "east", "west"], n),
            "education": rng.choice(["low", "middle", "high"], n, p=[0.2, 0.5, 0.3]),
            "depression_score": np.clip(rng.normal(8, 5, n), 0, 27).round(0),
            **answers,
        }
    )
    roles = {
        "identifiers": "email",
        "quasi": ["age", "sex", "region", "education"],
        "confidential": "depression_score",
        "as_is": dict.fromkeys(answers, "an opinion that the respondent gave to the interviewer alone"),
        "order": {"education": ["low", "middle", "high"]},
    }
    return Honest(frame, roles, {"k": 5})


def missing_values(rng: Rng, n: int = 1000) -> Honest:
    """Item non-response: missing numbers get the median, a missing label is a value of its own."""
    age = rng.integers(16, 90, n)
    income = np.exp(rng.normal(9.9, 0.6, n)).round(-1)
    frame = pl.DataFrame(
        {
            "respondent": [f"R-{code}" for code in _keys(rng, n, 10_000, 99_999)],
            "age": _gaps(rng, age, 0.02),
            "sex": rng.choice(["f", "m"], n),
            "marital": _gaps(
                rng, rng.choice(["single", "married", "divorced", "widowed"], n, p=_falling(4, 0.5)), 0.06
            ),
            "income": _gaps(rng, income, 0.12),
            "rooms": _gaps(rng, rng.integers(1, 8, n), 0.03),
            "vote": _gaps(rng, rng.choice(["red", "blue", "green", "none"], n), 0.1),
        }
    )
    roles = {
        "identifiers": "respondent",
        "quasi": ["age", "sex", "marital", "income", "rooms"],
        "confidential": "vote",
        "numeric": "rooms",
    }
    return Honest(frame, roles, {"k": 5, "missing": "median"})


def wages_with_tax(rng: Rng, n: int = 1200) -> Honest:
    """A tax and a net wage that follow from the wage: derived columns, protected with it."""
    age = rng.integers(18, 67, n)
    wage = np.exp(rng.normal(10.3, 0.45, n) + 0.01 * (age - 40)).round(0)
    tax = np.where(wage < 12_000, 0, np.where(wage < 50_000, (wage - 12_000) * 0.22, 8_360 + (wage - 50_000) * 0.42))
    frame = pl.DataFrame(
        {
            "social_security_number": _keys(rng, n, 100_000_000, 999_999_999),
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "occupation": [f"isco {major}" for major in 1 + _skewed(rng, 9, n)],
            "wage": wage,
            "tax": tax.round(2),
            "net": (wage - tax).round(2),
            "union_member": rng.choice(["yes", "no"], n, p=[0.4, 0.6]),
        }
    )
    roles = {
        "identifiers": "social_security_number",
        "quasi": ["age", "sex", "occupation", "wage"],
        "derived": {"tax": ["wage"], "net": ["wage", "tax"]},
        "confidential": "union_member",
    }
    return Honest(frame, roles, {"k": 5})


def sorted_register(rng: Rng, n: int = 1000) -> Honest:
    """Numbers that were given over the years: the file is in their order, and old numbers are old people."""
    entry = np.sort(rng.integers(0, 30 * 365, n))
    age = np.clip(70 - entry / 365 + rng.normal(0, 8, n), 18, 95)
    frame = pl.DataFrame(
        {
            "member_id": 1_000 + np.cumsum(rng.integers(1, 4, n)),
            "joined": _dates(entry, date(1994, 1, 1)),
            "age": age.astype(int),
            "sex": rng.choice(["f", "m"], n),
            "section": rng.choice(["chess", "rowing", "tennis", "choir", "hiking"], n),
            "fee": rng.choice([60, 90, 120, 180], n, p=[0.2, 0.3, 0.35, 0.15]),
            "donations": np.where(rng.random(n) < 0.7, 0, rng.lognormal(4, 1, n)).round(2),
        }
    )
    roles = {
        "identifiers": "member_id",
        "quasi": ["joined", "age", "sex", "section", "fee"],
        "confidential": "donations",
        "numeric": "fee",
    }
    return Honest(frame, roles, {"k": 5}, {"shuffle": True}, "parquet")


def clinical_trial(rng: Rng, n: int = 720) -> Honest:
    """A two-arm trial for the public: classes of 12 participants, outcomes confidential."""
    arm = rng.permutation(np.repeat(["treatment", "control"], n // 2))
    baseline = rng.normal(24, 5, n)
    change = np.where(arm == "treatment", -6.0, -3.0) + rng.normal(0, 5, n)
    frame = pl.DataFrame(
        {
            "subject": [f"S{code}" for code in _keys(rng, n, 100_000, 999_999)],
            "country": rng.choice(["DE", "FR", "PL", "US"], n, p=[0.3, 0.2, 0.15, 0.35]),
            "age": np.clip(rng.normal(54, 12, n), 18, 85).astype(int),
            "sex": rng.choice(["f", "m"], n),
            "bmi": rng.normal(27, 4, n).round(1),
            "arm": arm,
            "baseline": baseline.round(1),
            "change": change.round(1),
            "responder": np.where(change < -4.5, "yes", "no"),
        }
    )
    roles = {
        "identifiers": "subject",
        "quasi": ["country", "age", "sex", "bmi"],
        "confidential": ["arm", "baseline", "change", "responder"],
    }
    return Honest(frame, roles, {"k": 12}, {"policy": "clinical-0.09", "first_release": True})


def public_use_file(rng: Rng, n: int = 2000) -> Honest:
    """A survey for everybody: k = 11, rows shuffled, one opinion as it is."""
    education = rng.choice(["primary", "secondary", "tertiary"], n, p=[0.2, 0.5, 0.3])
    gain = np.array([0.0, 0.2, 0.5])[np.searchsorted(["primary", "secondary", "tertiary"], education)]
    frame = pl.DataFrame(
        {
            "serial": np.arange(1, n + 1),
            "age": rng.integers(16, 95, n),
            "sex": rng.choice(["f", "m"], n),
            "region": [f"region {r}" for r in _skewed(rng, 7, n)],
            "education": education,
            "income": np.exp(rng.normal(9.8, 0.5, n) + gain).round(-1),
            "chronic": rng.choice(["none", "one", "several"], n, p=[0.42, 0.33, 0.25]),
            "trust": rng.choice(["low", "high"], n, p=[0.6, 0.4]),
        }
    )
    roles = {
        "identifiers": "serial",
        "quasi": ["age", "sex", "region", "education", "income"],
        "confidential": "chronic",
        "as_is": {"trust": "an opinion of that day, which no register holds"},
        "order": {"education": ["primary", "secondary", "tertiary"]},
    }
    return Honest(frame, roles, {"k": 11}, {"policy": "public", "shuffle": True, "first_release": True})


MAKERS: tuple[Callable[[Rng], Honest], ...] = (
    hospital_stays, business_survey, panel, households, school_grades, employment_register, wide_questionnaire,
    missing_values, wages_with_tax, sorted_register, clinical_trial, public_use_file,
)  # fmt: skip
NAMES = tuple(maker.__name__ for maker in MAKERS)


def honest(name: str, draw: int = 0) -> Honest:
    """One of the releases; another draw is another file of the same kind."""
    place = NAMES.index(name)
    return MAKERS[place](np.random.default_rng([draw, place]))


# -- draws -----------------------------------------------------------------------------------------


def _dates(days: Any, start: date = date(2023, 1, 1)) -> pl.Series:
    return pl.Series([start + timedelta(days=int(day)) for day in days])


def _falling(count: int, rate: float) -> Any:
    """Shares that fall from value to value."""
    shares = np.exp(-rate * np.arange(count))
    return shares / shares.sum()


def _skewed(rng: Rng, count: int, n: int) -> Any:
    """Codes from 0 on, the first ones most frequent."""
    return rng.choice(count, n, p=_falling(count, 2.0 / count))


def _keys(rng: Rng, n: int, low: int, high: int) -> Any:
    """Different numbers without order."""
    return rng.permutation(low + np.arange(n) * ((high - low) // n) + rng.integers(0, (high - low) // n, n))


def _gaps(rng: Rng, values: Any, share: float) -> pl.Series:
    """The values with some missing at random."""
    kept = rng.random(len(values)) >= share
    return pl.Series([value if present else None for value, present in zip(values.tolist(), kept, strict=True)])
