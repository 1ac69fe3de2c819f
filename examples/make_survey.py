"""Make examples/survey.csv: 3,000 invented respondents whose answers hang together as those of a real survey do.

Income grows with education, hours and age (flatter after 50) and differs by sex; expenses follow
income; wealth has a heavy tail and grows with age and income; diagnoses grow with age. Nobody in
the file exists. The same seed gives the same file, byte for byte:

    python examples/make_survey.py [FILE]
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import numpy as np

SEED = 20240607
RESPONDENTS = 3000

FIRST = {
    "f": "Ada Alma Bea Carla Dora Edda Elin Fanny Greta Hanna Ida Irma Jana Karla Lena Lotte Mara Mila Nora Olga "
    "Paula Rita Rosa Selma Tilda Ulla Vera Wanda Ylva Zoe",
    "m": "Adam Anton Arno Bert Carl Dirk Egon Emil Erik Felix Georg Hugo Ivo Jakob Jens Karl Kurt Lars Leo Max "
    "Moritz Nils Otto Paul Ralf Sven Theo Ulf Viktor Willi",
}
LAST_BEGIN = "Ahl Berg Birk Brand Dahl Eich Fels Gold Hag Holm Kron Lind Mark Nord Ost Rosen Sand Stein Tal Wald"
LAST_END = "bach berg born dorf feld gren hof mann lund strom"
DISTRICTS = {
    "Northgate": (0.16, 0.10),
    "Harbour": (0.14, -0.08),
    "Old Town": (0.10, 0.14),
    "Mills": (0.18, -0.14),
    "Lakeside": (0.09, 0.22),
    "Southfield": (0.15, 0.0),
    "Hillcrest": (0.08, 0.18),
    "Station": (0.10, -0.18),
}
EDUCATION = ("primary", "secondary", "vocational", "bachelor", "master", "doctorate")
PREMIUM = np.array([-0.35, -0.10, 0.0, 0.28, 0.45, 0.60])
DIAGNOSES = ("none", "hypertension", "diabetes", "asthma", "depression", "arthritis", "heart disease", "cancer")


def main(path: Path) -> None:
    """Write the survey."""
    rng = np.random.RandomState(SEED)  # its stream is frozen for good, and the file must stay the same
    columns = respondents(rng)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    path.write_text(out.getvalue(), encoding="utf-8")


def respondents(rng: np.random.RandomState) -> dict[str, list[object]]:
    """The columns, each drawn given those before it."""
    n = RESPONDENTS
    sex = np.where(rng.random(n) < 0.515, "f", "m")
    age = np.clip(np.rint(18 + 72 * rng.beta(1.7, 2.2, n)), 18, 90).astype(int)
    shares = np.array([share for share, _ in DISTRICTS.values()])
    district = rng.choice(len(DISTRICTS), n, p=shares)
    affluence = np.array([level for _, level in DISTRICTS.values()])[district]
    # The young and those in better-off districts have had more schooling.
    schooling = rng.normal(0, 1, n) + 1.6 * affluence - 0.018 * (age - 45)
    education = np.searchsorted([-1.45, -0.55, 0.35, 1.15, 2.05], schooling)
    hours = working_hours(rng, age, sex)
    income = incomes(rng, age, sex, education, hours, affluence)
    expenses = np.rint(income**0.82 * 5.2 * np.exp(rng.normal(0, 0.18, n)) / 10) * 10
    saved = np.clip(age - 22, 1, None) * np.clip(income - 0.75 * expenses, 500, None)
    wealth = np.rint((0.25 * saved + 1500) * np.exp(rng.normal(-0.6, 0.95, n)) / 100) * 100
    return {
        "name": full_names(rng, sex),
        "district": [list(DISTRICTS)[d] for d in district],
        "age": age.tolist(),
        "sex": sex.tolist(),
        "education": [EDUCATION[e] for e in education],
        "hours": hours.tolist(),
        "income": income.astype(int).tolist(),
        "expenses": expenses.astype(int).tolist(),
        "wealth": wealth.astype(int).tolist(),
        "diagnosis": [DIAGNOSES[d] for d in diagnoses(rng, age)],
    }


def working_hours(rng: np.random.RandomState, age: np.ndarray, sex: np.ndarray) -> np.ndarray:
    """Hours a week: full time, part time (more often women), or none (students, the jobless, the retired)."""
    full = np.clip(np.rint(rng.normal(39.5, 4.5, age.size)), 30, 65)
    part = np.clip(np.rint(rng.normal(21, 5, age.size)), 6, 30)
    part_time = rng.random(age.size) < np.where(sex == "f", 0.33, 0.12)
    at_work = 0.86 - 0.30 * (age < 25) - np.clip((age - 58) * 0.095, 0, 0.84)
    return np.where(rng.random(age.size) < at_work, np.where(part_time, part, full), 0).astype(int)


def incomes(
    rng: np.random.RandomState,
    age: np.ndarray,
    sex: np.ndarray,
    education: np.ndarray,
    hours: np.ndarray,
    affluence: np.ndarray,
) -> np.ndarray:
    """A year's income: wages by hours, schooling, experience and sex, above pensions and benefits."""
    experience = np.clip(age - 20, 0, 35)
    rate = 2.72 + PREMIUM[education] + 0.026 * experience - 0.00042 * experience**2
    rate = rate - 0.11 * (sex == "f") + 0.5 * affluence + rng.normal(0, 0.28, age.size)
    wages = 47 * hours * np.exp(rate)
    pension = (age >= 60) * (hours == 0) * np.exp(9.55 + 0.55 * PREMIUM[education] + rng.normal(0, 0.25, age.size))
    benefits = (hours == 0) * (age < 60) * np.exp(rng.normal(8.9, 0.3, age.size))
    return np.rint((wages + pension + benefits + np.exp(rng.normal(5.5, 1.1, age.size))) / 10) * 10


def diagnoses(rng: np.random.RandomState, age: np.ndarray) -> list[int]:
    """One main diagnosis each; most of them more likely with age."""
    old = (age - 18) / 72
    odds = np.stack(
        [
            2.6 - 1.4 * old,
            0.05 + 1.3 * old**1.5,
            0.05 + 0.6 * old**1.5,
            np.full(age.size, 0.16),
            0.22 - 0.08 * old,
            0.02 + 0.7 * old**2,
            0.01 + 0.6 * old**2.5,
            0.02 + 0.4 * old**2,
        ],
        axis=1,
    )
    reached = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    drawn = (rng.random(age.size)[:, None] > reached).sum(axis=1)
    return np.minimum(drawn, len(DIAGNOSES) - 1).tolist()


def full_names(rng: np.random.RandomState, sex: np.ndarray) -> list[object]:
    """Made-up names; some are shared, as in life."""
    last = [begin + end for begin in LAST_BEGIN.split() for end in LAST_END.split()]
    chosen = rng.randint(0, len(last), sex.size)
    first = {s: names.split() for s, names in FIRST.items()}
    picks = rng.randint(0, 30, sex.size)
    return [f"{first[s][p]} {last[c]}" for s, p, c in zip(sex.tolist(), picks, chosen, strict=True)]


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("survey.csv"))
