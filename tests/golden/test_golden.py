"""Every method's answer, bit for bit, as it was when the golden hashes were made (make_hashes.py says how to renew)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from golden.cases import CASES, Case
from golden.make_hashes import HASHES, made_with
from shoal.protections.generalization import GENERALIZE
from shoal.protections.grouping import GROUP
from shoal.protections.microaggregation import MICROAGGREGATE
from shoal.protections.recoding import RECODE
from shoal.protections.regions import MASK

GOLDEN: dict[str, Any] = json.loads(HASHES.read_text(encoding="utf-8"))
RUNS = [(case, variant) for case in CASES for variant in case.variants]


def _name(case: Case, variant: Mapping[str, Any]) -> str:
    return ", ".join([case.name, *(f"{key} {value}" for key, value in variant.items())])


@pytest.mark.parametrize(("case", "variant"), RUNS, ids=[_name(*run) for run in RUNS])
def test_the_answer_is_golden(case: Case, variant: Mapping[str, Any], request: pytest.FixtureRequest) -> None:
    folder: Path | None = request.getfixturevalue("shared_data") if case.needs_data else None
    then, now = GOLDEN["made_with"], made_with()
    others = [f"{name} {then[name]}, here {now[name]}" for name in then if then[name] != now[name]]
    assert case.answer(folder, variant) == GOLDEN["cases"][case.name], (
        f"The answer changed. The hashes were made with {'; '.join(others) or 'the same libraries as here'}. If the "
        "change is intended, renew the hashes alone: see tests/golden/make_hashes.py."
    )


def test_the_hashes_are_those_of_the_cases() -> None:
    assert list(GOLDEN["cases"]) == [case.name for case in CASES]
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_method_has_a_case() -> None:
    used = {(case.function, case.arguments.get("method", "default")) for case in CASES}
    for function, (default, *others) in {
        "microaggregate": MICROAGGREGATE.method_names,
        "group_attributes": ("default", *GROUP.method_names),
        "generalize": GENERALIZE.method_names,
        "recode": RECODE.method_names,
        "mask_group": MASK.method_names,
    }.items():
        assert {(function, method) for method in others} <= used
        assert (function, "default") in used, f"{default} is what {function} does without a method"


def test_every_seed_is_given() -> None:
    assert [case.name for case in CASES if "seed" not in case.arguments] == []


def test_seeds_give_answers_of_their_own() -> None:
    """Where every seed finds the optimum, a change of the search would go unnoticed."""
    golden = GOLDEN["cases"]
    pairs = [name for name in golden if name.endswith(", seed 0")]
    assert pairs
    for name in pairs:
        assert golden[name] != golden[f"{name[:-1]}1"], name
