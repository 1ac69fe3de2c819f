"""A synthetic microfile like the one of Chertov and Tavrov 2017: workers in New York, with two military bases.

It has 91,398 records, 38 regions of work, 13 matching columns coded as in the American Community Survey, and an
occupation. Four of its codes, those of active military personnel, are the target group. The publication has the totals:
185 target records, 97 of them in region 5 and 45 in region 29. The counts of the other regions, the sizes of the
regions and the values of all columns are drawn here. Columns depend on each other: age with schooling, marriage, hours
and income; race with origin and language; the kind of region with transport, departure and travel time. Target records
are young and mostly male, with the pay and housing of soldiers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

RECORDS = 91_398
SIGNAL = (
    0, 0, 1, 0, 97, 1, 5, 0, 3, 0, 1, 3, 0, 0, 0, 1, 1, 3, 1,
    1, 0, 0, 0, 0, 0, 0, 1, 0, 45, 0, 3, 0, 3, 0, 5, 3, 4, 3,
)  # fmt: skip
# Shares of the workers by region, large where the published solutions have many target records.
SIZES = (
    8, 8, 11, 24, 9, 7, 62, 3, 38, 4, 20, 60, 4, 7, 8, 11, 27, 45, 12,
    33, 2, 16, 8, 15, 16, 6, 21, 9, 17, 4, 41, 50, 52, 28, 150, 45, 88, 60,
)  # fmt: skip
CITY = (31, 32, 33, 34, 35, 36, 37, 38)
SUBURBS = (7, 9, 11, 12, 17, 18, 20, 29)
TARGET_VALUES = (551010, 552010, 553010, 559830)
INFLUENTIAL = (
    "AGE", "EDUC", "SEX", "RACE", "UHRSWORK", "HISPAN", "MARST",
    "TRANWORK", "DEPARTS", "TRANTIME", "WKSWORK2", "INCTOT", "SPEAKENG",
)  # fmt: skip

Rng = np.random.Generator
Column = NDArray[Any]


def military_microfile(seed: int = 0) -> dict[str, Column]:
    """Return the columns of the file: PWPUMA00 (region, 1 to 38), OCCSOC (occupation) and the 13 matching columns."""
    rng = np.random.default_rng(seed)
    region = _regions(rng)
    is_target = _is_target(region, rng)
    kind = np.where(np.isin(region, CITY), 2, np.where(np.isin(region, SUBURBS), 1, 0))
    columns = _people(kind, is_target, rng)
    columns.update(_work(kind, is_target, columns, rng))
    civil = rng.choice(np.arange(110000, 540000, 1010), region.size)
    rank = rng.choice(TARGET_VALUES, region.size, p=[0.08, 0.2, 0.62, 0.1])
    order = ("AGE", "SEX", "RACE", "HISPAN", "MARST", "EDUC", "SPEAKENG")
    rest = tuple(name for name in INFLUENTIAL if name not in order)
    ready = {"PWPUMA00": region, "OCCSOC": np.where(is_target, rank, civil)}
    return {**ready, **{name: columns[name] for name in (*order, *rest)}}


def _regions(rng: Rng) -> Column:
    share = np.array(SIZES, dtype=float) / sum(SIZES)
    sizes = np.floor(share * RECORDS).astype(np.int64)
    sizes[34] += RECORDS - sizes.sum()
    return rng.permutation(np.repeat(np.arange(1, len(SIZES) + 1), sizes))


def _is_target(region: Column, rng: Rng) -> Column:
    is_target = np.zeros(region.size, dtype=bool)
    for i, count in enumerate(SIGNAL):
        is_target[rng.choice(np.flatnonzero(region == i + 1), count, replace=False)] = True
    return is_target


def _people(kind: Column, is_target: Column, rng: Rng) -> dict[str, Column]:
    n = kind.size
    age = np.clip(np.where(is_target, 18 + rng.gamma(2.0, 4.0, n), rng.normal(42, 14, n)), 16, 94).astype(np.int64)
    female = rng.random(n) < np.where(is_target, 0.13, 0.48)
    race = _pick(rng, kind, [1, 2, 4, 6, 7, 8], [[88, 6, 1, 2, 2, 1], [78, 9, 2, 6, 4, 1], [48, 22, 6, 9, 13, 2]])
    white = race == 1
    hispanic = rng.random(n) < np.where(race == 7, 0.85, np.where(white, 0.1, 0.05)) * (1 + (kind == 2))
    origin = np.where(hispanic, rng.choice([1, 2, 3, 4], n, p=[0.14, 0.3, 0.03, 0.53]), 0)
    foreign = rng.random(n) < np.where(hispanic, 0.45, np.isin(race, [4, 5, 6]) * 0.7 + (kind == 2) * 0.2)
    foreign &= ~is_target | (rng.random(n) < 0.3)
    english = np.where(foreign | hispanic, rng.choice([4, 5, 6, 1], n, p=[0.58, 0.24, 0.14, 0.04]), 3)
    single = 1 / (1 + np.exp((age - 29) / 5.0))
    draw = rng.random(n)
    later = rng.choice([1, 2, 3, 4, 5], n, p=[0.72, 0.04, 0.04, 0.16, 0.04])
    married = np.where((later == 5) & (age < 45), 1, later)
    marital = np.where(draw < np.maximum(single, 0.16), 6, married)
    latent = rng.normal(0, 1, n) + 0.35 * (kind == 2) + 0.25 * (age > 25) - 0.45 * hispanic - 0.7 * (age < 20)
    steps = np.digitize(latent, [-2.4, -2.0, -1.8, -1.6, -1.4, 0.0, 0.25, 0.55, 0.6, 1.1])
    school = np.array([0, 1, 2, 3, 4, 6, 6, 7, 8, 10, 11])[steps]
    school = np.where(is_target & (school < 6), 6, school)
    return {
        "AGE": age,
        "SEX": np.where(female, 2, 1),
        "RACE": race,
        "HISPAN": origin,
        "MARST": marital,
        "EDUC": school,
        "SPEAKENG": english,
    }


def _work(kind: Column, is_target: Column, people: dict[str, Column], rng: Rng) -> dict[str, Column]:
    n = kind.size
    age, school = people["AGE"], people["EDUC"]
    part_time = rng.random(n) < np.where(is_target, 0.0, 0.16 + 0.3 * (age < 22) + 0.15 * (age > 64))
    usual = rng.choice([40, 40, 40, 40, 35, 37, 45, 50, 60, 38], n)
    hours = np.where(part_time, rng.choice([8, 10, 12, 15, 16, 20, 20, 24, 25, 30], n), usual)
    hours = np.where(is_target, rng.choice([40, 40, 45, 50, 50, 60, 60, 70, 80, 84], n), hours)
    full_year = rng.random(n) < np.where(part_time, 0.5, 0.85)
    weeks = np.where(full_year, 6, rng.integers(1, 6, n))
    wage = np.exp(9.0 + 0.13 * school + 0.25 * np.log(np.clip(age - 15, 1, 40)) + 0.55 * rng.normal(0, 1, n))
    wage *= (hours / 40) * (weeks / 6) * np.where(people["SEX"] == 2, 0.85, 1.0) * (1 + 0.2 * (kind == 2))
    pay = 19_000 + 1_450 * np.clip(age - 18, 0, 25) + 2_600 * np.clip(school - 6, 0, 5)
    income = np.where(is_target, pay * rng.uniform(0.95, 1.15, n), wage)
    step = np.where(income < 100_000, 100, 1_000)
    income = (np.round(income / step) * step).astype(np.int64)
    way = _pick(
        rng, kind, [10, 14, 31, 33, 34, 50, 70, 40],
        [[86, 4, 1, 0, 0, 4, 4, 1], [80, 3, 4, 1, 3, 4, 4, 1], [26, 1, 12, 44, 5, 8, 3, 1]],
    )  # fmt: skip
    way = np.where(is_target & (rng.random(n) < 0.35), rng.choice([50, 70, 10], n), way)
    home = way == 70
    mean = np.where(way == 50, 9, np.where(np.isin(way, [33, 34, 31]), 46, 22 + 6 * (kind == 1)))
    minutes = np.clip(rng.gamma(2.2, mean / 2.2), 1, 150)
    minutes = np.where(minutes > 12, np.round(minutes / 5) * 5, np.round(minutes)).astype(np.int64)
    leaving = np.where(is_target, rng.normal(6.0, 0.9, n), rng.normal(8.0, 1.6, n)) - 0.004 * minutes
    quarter = np.clip(np.round(leaving * 4), 1, 95).astype(np.int64)
    return {
        "UHRSWORK": hours.astype(np.int64),
        "WKSWORK2": weeks.astype(np.int64),
        "INCTOT": income,
        "TRANWORK": way,
        "TRANTIME": np.where(home, 0, np.maximum(minutes, 1)),
        "DEPARTS": np.where(home, 0, quarter // 4 * 100 + quarter % 4 * 15),
    }


def _pick(rng: Rng, kind: Column, values: list[int], percent: list[list[int]]) -> Column:
    """Draw a value per record with the probabilities of its kind of region."""
    chances = np.cumsum(np.array(percent, dtype=float), axis=1)
    chances /= chances[:, -1:]
    place = (rng.random(kind.size)[:, None] > chances[kind]).sum(axis=1)
    drawn: Column = np.array(values)[np.minimum(place, len(values) - 1)]
    return drawn
