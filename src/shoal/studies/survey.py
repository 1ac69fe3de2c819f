"""A synthetic survey of persons, as large as one likes: mixed columns that depend on each other as in real surveys.

Education follows age, occupation follows education, income follows all three. Districts and countries are unequal: a
few are large and many are small, so that there are rare combinations at any number of records.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints

KEYS = ("district", "age", "sex", "marital_status", "education", "occupation", "country", "household")

EDUCATION = ("primary", "secondary", "vocational", "bachelor", "master", "doctorate")
MARITAL = ("single", "married", "divorced", "widowed")
OCCUPATIONS = (
    "clerk", "cook", "driver", "farmer", "guard", "lawyer", "manager", "mechanic", "none", "nurse", "physician",
    "programmer", "researcher", "seller", "student", "teacher",
)  # fmt: skip
ILLNESSES = ("none", "allergy", "asthma", "depression", "diabetes", "hypertension")
DISTRICTS, COUNTRIES = 60, 90
_SPECIAL = {"none": 8, "student": 14}  # places in OCCUPATIONS
# Chance of each education for persons who have finished theirs, and the lowest age for it.
_FINISHED = np.array([0.08, 0.27, 0.33, 0.19, 0.11, 0.02])
_LOWEST_AGE = np.array([0, 16, 18, 21, 23, 27])
# For each occupation, how much each education is in its favour.
_TRADE = np.array([1, 1, 1, 1, 1, 0, 0, 1, 0.4, 0.3, 0, 0, 0, 1, 0.3, 0], dtype=np.float64)
_OFFICE = np.array([1, 0.1, 0.2, 0.1, 0.1, 1, 1, 0.1, 0.2, 0.8, 1, 1, 1, 0.4, 0.3, 1], dtype=np.float64)


def survey(rng: np.random.Generator, rows: int) -> pl.DataFrame:
    """Return a survey of so many persons: eight columns that others may know, income, hours and an illness."""
    district = _chosen(rng, _unequal(DISTRICTS, 0.7), rows)
    age = np.clip(rng.gamma(3.2, 14.5, rows) + rng.choice([0, 12], rows), 0, 102).astype(np.int64)
    country = np.where(rng.random(rows) < 0.86, 0, 1 + _chosen(rng, _unequal(COUNTRIES - 1, 1.1), rows))
    school = np.minimum(_chosen(rng, _FINISHED, rows), np.searchsorted(_LOWEST_AGE, age, side="right") - 1)
    sex = rng.integers(0, 2, rows)
    marital = _marital(rng, age, sex)
    job = _occupation(rng, age, school)
    household = np.where(marital == 1, 2, 1) + rng.poisson(np.where((age > 28) & (age < 55), 0.9, 0.25))
    works = (job != _SPECIAL["none"]) & (job != _SPECIAL["student"])
    hours = np.where(works, np.clip(rng.normal(38 - 6 * sex, 9), 4, 80), 0).round().astype(np.int64)
    income = np.exp(rng.normal(9.2 + 0.16 * school + 0.012 * np.minimum(age, 55) + 0.012 * hours, 0.35))
    ill = np.where(rng.random(rows) < 0.2 + 0.006 * age, rng.integers(1, len(ILLNESSES), rows), 0)
    return pl.DataFrame(
        {
            "district": _labels([f"district {d + 1:02d}" for d in range(DISTRICTS)], district),
            "age": age,
            "sex": _labels(("f", "m"), sex),
            "marital_status": _labels(MARITAL, marital),
            "education": _labels(EDUCATION, school),
            "occupation": _labels(OCCUPATIONS, job),
            "country": _labels([f"country {c + 1:02d}" for c in range(COUNTRIES)], country),
            "household": np.minimum(household, 12),
            "hours": hours,
            "income": (income / 10).round().astype(np.int64) * 10,
            "diagnosis": _labels(ILLNESSES, ill),
        }
    )


def _unequal(count: int, power: float) -> Floats:
    """Return shares that fall with the rank by this power (Zipf)."""
    shares = 1.0 / np.arange(1, count + 1) ** power
    return np.asarray(shares / shares.sum())


def _chosen(rng: np.random.Generator, shares: Floats, rows: int) -> Ints:
    return np.searchsorted(np.cumsum(shares)[:-1], rng.random(rows), side="right").astype(np.int64)


def _marital(rng: np.random.Generator, age: Ints, sex: Ints) -> Ints:
    """Return who is single, married, divorced and widowed; women are widowed earlier."""
    draw = rng.random(age.size)
    single = np.where(age < 18, 1.0, np.clip(1.15 - 0.024 * age, 0.1, 1.0))
    widowed = np.clip(0.02 * (age - 58 - 8 * sex), 0.0, 0.6)
    divorced = np.clip(0.004 * (age - 25), 0.0, 0.14)
    chosen = np.where(draw < single, 0, np.where(draw > 1 - widowed, 3, np.where(draw > 1 - widowed - divorced, 2, 1)))
    return np.asarray(np.where(age < 18, 0, chosen), dtype=np.int64)


def _occupation(rng: np.random.Generator, age: Ints, school: Ints) -> Ints:
    """Return an occupation that fits the education; children and pensioners have none."""
    chosen = np.empty(age.size, dtype=np.int64)
    for level in range(len(EDUCATION)):
        weights: NDArray[np.float64] = _TRADE * (len(EDUCATION) - 1 - level) + 2.0 * _OFFICE * level
        here = np.flatnonzero(school == level)
        chosen[here] = _chosen(rng, weights / weights.sum(), here.size)
    chosen[(age < 16) | (age > 66)] = _SPECIAL["none"]
    chosen[(age >= 6) & (age < 16)] = _SPECIAL["student"]
    return chosen


def _labels(names: tuple[str, ...] | list[str], codes: Ints) -> pl.Series:
    return pl.Series(names, dtype=pl.String).gather(codes)
