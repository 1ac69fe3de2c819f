"""Verdicts of the release check: which files it passes, which it refuses, and by which checks.

    python benchmarks/verdicts.py [--only NAME …] [--draws 20] [--method mdav | auto] [--quick]

Each file is protected with all its roles, and must be written; with roles forgotten, it must be refused. A refusal in
the first case is a false alarm, a file in the second a missed leak. The files are those of the folder SHOAL_DATA,
the survey of the examples, the synthetic data sets, and the honest releases of the tests, where every role is also
forgotten on its own. --draws repeats the honest releases with other seeds and counts what each check finds.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from shoal.errors import PromiseError, ShoalError
from shoal.gate.findings import Findings
from shoal.studies import datasets

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from gate.honest import NAMES, Honest, honest  # noqa: E402

LARGE = 20_000
NOT_ROLES = ("quasi", "order", "nominal", "numeric")  # these say how columns are protected
HEAD = (
    f"{'file':22}{'records':>8}{'cols':>5}  {'done':30}{'verdict':38}{'k':>5}{'found':>7}{'CPU s':>8}{'check':>7}  "
    "warnings"
)


@dataclass(frozen=True)
class Trial:
    """A file and how it is protected and saved. sound: it must be written; otherwise it must be refused."""

    name: str
    done: str
    frame: Callable[[], pl.DataFrame]
    roles: Mapping[str, Any]
    protect: Mapping[str, Any]
    saving: Mapping[str, Any] = field(default_factory=dict)
    sound: bool = True
    ending: str = "csv"


@dataclass(frozen=True)
class Verdict:
    """The outcome of a trial; findings is None if the roles were refused before any work."""

    written: bool
    text: str
    findings: Findings | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="names of files")
    parser.add_argument("--draws", type=int, default=0, help="number of draws of each sound release, counted by check")
    parser.add_argument("--method", default="mdav", help="mdav, or auto with the quick effort")
    parser.add_argument("--quick", action="store_true", help="without files of more than 20,000 records")
    chosen = parser.parse_args()
    if chosen.draws:
        count_alarms([name for name in NAMES if not chosen.only or name in chosen.only], chosen.draws, chosen.method)
        return
    print(HEAD)
    wrong = 0
    for trial in trials():
        if chosen.only and trial.name not in chosen.only:
            continue
        frame = trial.frame()
        if chosen.quick and frame.height > LARGE:
            continue
        verdict = judged(trial, frame, chosen.method)
        wrong += verdict.written != trial.sound
        print(line(trial, frame, verdict), flush=True)
    print(f"{wrong} verdicts are wrong" if wrong else "every verdict is right")


def trials() -> Iterator[Trial]:
    yield from published()
    yield from synthetic()
    for name in NAMES:
        yield from of_honest(name)


# -- one trial -------------------------------------------------------------------------------------


def judged(trial: Trial, frame: pl.DataFrame, method: str) -> Verdict:
    """Protect and save a file as the trial requires."""
    search = {"method": method} if method != "auto" else {"method": "auto", "effort": "quick"}
    if frame.height > LARGE:  # mdav compares all pairs
        search = {"method": "auto", "effort": "quick"}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        try:
            release = shoal.microaggregate(shoal.read(frame, **trial.roles), **search, **trial.protect)
        except ShoalError as error:
            return Verdict(False, f"not started: {str(error)[:60]}")
        try:
            release.save(Path(folder) / f"release.{trial.ending}", **trial.saving)
        except PromiseError as error:
            findings = error.findings
            if findings is None:
                return Verdict(False, f"refused: {str(error)[:60]}", None, release.facts)
            return Verdict(False, f"refused: {', '.join(f.check for f in findings.blocking)}", findings, release.facts)
        return Verdict(True, "written", release.findings, release.facts)


def line(trial: Trial, frame: pl.DataFrame, verdict: Verdict) -> str:
    alarm = "" if verdict.written == trial.sound else "FALSE ALARM " if trial.sound else "MISSED LEAK "
    start = f"{trial.name:22}{frame.height:8,}{frame.width:5}  {trial.done:30}{alarm + verdict.text:38}"
    if verdict.findings is None or verdict.findings.figures is None:
        return start
    known = verdict.findings.figures.known
    linked = "" if known.linked is None else f"{known.linked:.1%}"
    seconds = f"{verdict.facts['cpu_seconds']:8.2f}{verdict.findings.cpu_seconds:7.2f}"
    return f"{start}{known.k:5}{linked:>7}{seconds}  {', '.join(f.check for f in verdict.findings.warnings)}"


def count_alarms(names: Sequence[str], draws: int, method: str) -> None:
    """How often each check blocks or warns on sound files, over many draws of each."""
    print(f"{'file':22}{'draws':>6}{'written':>9}  blocks | warnings")
    for name in names:
        blocked, warned, written = Counter[str](), Counter[str](), 0
        for draw in range(draws):
            trial = next(of_honest(name, draw))
            verdict = judged(trial, trial.frame(), method)
            written += verdict.written
            if verdict.findings is None:
                blocked[verdict.text] += 1
                continue
            blocked.update(f.check for f in verdict.findings.blocking)
            warned.update(f.check for f in verdict.findings.warnings)
        print(f"{name:22}{draws:6}{written:9}  {_counts(blocked)} | {_counts(warned)}", flush=True)


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{check} {count}" for check, count in counter.most_common()) or "none"


# -- the files -------------------------------------------------------------------------------------


def published() -> Iterator[Trial]:
    """The published data sets and the survey."""
    folder, k = Path(os.environ["SHOAL_DATA"]), {"k": 5}

    def census() -> pl.DataFrame:
        return pl.read_csv(folder / "census.csv")

    taxes = [name for name in census().columns if name != "AFNLWGT"]
    weighted = {"quasi": taxes, "weight": "AFNLWGT", "no_confidential": True}
    yield Trial("census", "all 13 protected", census, {"no_confidential": True}, k)
    yield Trial("census", "weight, rounded", census, weighted, k, {"round_weight": True})
    yield Trial("census", "4 of 13 protected", census, {"quasi": taxes[:4]}, k, sound=False)

    def eia() -> pl.DataFrame:
        return pl.read_csv(folder / "eia.csv", infer_schema_length=None)

    used = list(datasets.known("eia").used)
    utilities = {"unit": "UTILITYID", "identifiers": "UTILNAME", "drop": "YEAR", "quasi": ["STATE", *used[1:]],
                 "as_is": {"MONTH": "every utility has one row per month"}}  # fmt: skip
    yield Trial("eia", "utilities as units", eia, utilities, k, {"shuffle": True})
    yield Trial("eia", "11 numbers, as published", eia, {"quasi": used}, k, sound=False)

    def water() -> pl.DataFrame:
        return pl.read_csv(folder / "water.csv", infer_schema_length=None).drop_nulls()

    measures = list(datasets.known("water").used)
    yield Trial("water", "all 38 measures", water, {"drop": "date", "quasi": measures}, k, {"shuffle": True})
    yield Trial("water", "19 measures, date forgotten", water, {"quasi": measures[:19]}, k, sound=False)
    yield from adults(folder)
    schooling = ["primary", "secondary", "vocational", "bachelor", "master", "doctorate"]
    survey = {"identifiers": "name", "confidential": "diagnosis", "order": {"education": schooling}}
    numbers = ["age", "hours", "income", "expenses", "wealth"]

    def survey_file() -> pl.DataFrame:
        return pl.read_csv(ROOT / "examples" / "survey.csv")

    yield Trial("survey", "all roles", survey_file, survey, k)
    yield Trial("survey", "labels forgotten", survey_file, {**survey, "quasi": numbers}, k, sound=False)
    yield Trial("survey", "name forgotten", survey_file, {"confidential": "diagnosis"}, k, sound=False)


def adults(folder: Path) -> Iterator[Trial]:
    """Adult, and the two recoded files of ARX."""

    def adult() -> pl.DataFrame:
        return pl.read_csv(folder / "adult.csv", null_values="?").drop_nulls()

    keys = ["age", "workclass", "education", "marital_status", "occupation", "relationship", "race", "sex",
            "hours_per_week", "native_country"]  # fmt: skip
    roles = {"quasi": keys, "derived": {"education_num": ["education"]}, "drop": "fnlwgt",
             "confidential": ["capital_gain", "capital_loss", "salary"]}  # fmt: skip
    yield Trial("adult", "all roles", adult, roles, {"k": 5})
    roles_as_published = {**roles, "derived": {}, "confidential": [*roles["confidential"], "education_num"]}
    yield Trial("adult", "education_num confidential", adult, roles_as_published, {"k": 5}, sound=False)
    yield Trial("adult", "8 of 15 protected", adult, {"quasi": keys[:8]}, {"k": 5}, sound=False)
    for name in ("adult", "mach2019"):
        path = folder / "arx" / f"{name}.csv"
        columns = pl.read_csv(path, separator=";", n_rows=1).columns

        def recoded(path: Path = path) -> pl.DataFrame:
            return pl.read_csv(path, separator=";")

        codes = {"quasi": columns, "nominal": columns, "no_confidential": True}
        yield Trial(f"arx {name}", "all protected, nominal", recoded, codes, {"k": 5}, {"shuffle": True})
        forgotten = {"quasi": columns[:4], "nominal": columns[:4]}
        yield Trial(f"arx {name}", "4 protected", recoded, forgotten, {"k": 5}, sound=False)


def synthetic() -> Iterator[Trial]:
    """The synthetic data sets of `shoal data list`."""
    for name, about in datasets.KNOWN.items():
        if about.generator is None or name in ("sme", "military"):
            continue

        def made(name: str = name) -> pl.DataFrame:
            return datasets.generate(name)

        columns = made().columns
        yield Trial(name, "all protected", made, {"no_confidential": True}, {"k": 5})
        yield Trial(name, "half protected", made, {"quasi": columns[: len(columns) // 2]}, {"k": 5}, sound=False)
    companies = list(datasets.known("sme").used)
    yield Trial("sme", "all roles", lambda: datasets.generate("sme"),
                {"identifiers": "company", "quasi": companies}, {"k": 3}, {"shuffle": True})  # fmt: skip
    yield Trial("sme", "company forgotten", lambda: datasets.generate("sme"), {"quasi": companies}, {"k": 3},
                sound=False)  # fmt: skip
    measured = ["AGE", "UHRSWORK", "DEPARTS", "TRANTIME", "WKSWORK2", "INCTOT", "EDUC", "SPEAKENG"]
    labels = ["PWPUMA00", "SEX", "RACE", "HISPAN", "MARST", "TRANWORK"]
    workers = {"quasi": [*labels, *measured], "nominal": labels, "numeric": measured, "confidential": "OCCSOC"}
    yield Trial("military", "all roles", lambda: datasets.generate("military"), workers, {"k": 5})
    yield Trial("military", "8 numbers protected", lambda: datasets.generate("military"),
                {"quasi": measured, "numeric": measured}, {"k": 5}, sound=False)  # fmt: skip


def of_honest(name: str, draw: int = 0) -> Iterator[Trial]:
    """An honest release, and the same with each role forgotten."""
    made: Honest = honest(name, draw)

    def frame() -> pl.DataFrame:
        return made.frame

    yield Trial(name, "all roles", frame, made.roles, made.protect, made.saving, ending=made.ending)
    forgettable = [role for role in made.roles if role not in NOT_ROLES and made.roles[role] is not False]
    for forgotten in [*([] if len(forgettable) < 2 else ["all"]), *forgettable]:
        gone = forgettable if forgotten == "all" else [forgotten]
        roles = {role: columns for role, columns in made.roles.items() if role not in gone}
        saving = {**made.saving}
        if "weight" in gone:
            saving.pop("round_weight", None)
        done = "all roles forgotten" if forgotten == "all" else f"{forgotten} forgotten"
        yield Trial(name, done, frame, roles, made.protect, saving, sound=False, ending=made.ending)


if __name__ == "__main__":
    main()
