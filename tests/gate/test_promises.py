"""Promises as data: each type has a check, each release carries its own, and a planted fault of each is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import PromiseError, UsageError
from shoal.gate import checks, promises
from shoal.gate.guarantees import Guarantees
from shoal.gate.promises import (
    EverySubset,
    KAnonymity,
    KOfStars,
    LDiversity,
    Masked,
    OnlyStars,
    Promise,
    SameValues,
    Step,
    TCloseness,
)  # fmt: skip
from shoal.gate.saving import examine_unsaved, verify_unsaved
from shoal.protections import register

TYPES = [kind for kind in vars(promises).values() if isinstance(kind, type) and issubclass(kind, Promise)]


def test_every_type_of_promise_has_a_check() -> None:
    assert set(checks.promise_checks()) == set(TYPES) - {Promise}
    assert len(TYPES) >= 6


def test_every_type_that_a_protection_declares_has_a_check() -> None:
    for protection in register().values():
        assert protection.promises and set(protection.promises) <= set(checks.promise_checks())


def test_promises_load_nothing_but_the_standard_library() -> None:
    """A declaration that names them must not make `shoal --help` slow."""
    code = (
        "import sys; import shoal.gate.promises; "
        "print([name for name in ('numpy', 'polars', 'narwhals', 'pydantic', 'click') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- a planted fault for each type -------------------------------------------------------------------

TOWNS = pl.DataFrame(
    {
        "town": ["a"] * 4 + ["b"] * 4,
        "street": ["x"] * 4 + ["y"] * 4,
        "illness": ["flu", "gout", "asthma", "flu"] * 2,
        "note": list("abcdefgh"),
    }
)
CLASSES = ("town", "street")


def set_cells(frame: pl.DataFrame, name: str, *values: str) -> pl.DataFrame:
    return frame.with_columns(pl.Series(name, [*values, *frame[name].to_list()[len(values) :]]))


FAULTS = {
    KAnonymity: (KAnonymity(CLASSES, 4), set_cells(TOWNS, "street", "z"), "smallest class over all protected columns"),
    LDiversity: (
        LDiversity(CLASSES, ("illness",), 3),
        set_cells(TOWNS, "town", *["b"] * 3, *["a"] * 1),
        "least diverse class has l = 1",
    ),
    TCloseness: (
        TCloseness(CLASSES, ("illness",), 0.2),
        set_cells(TOWNS, "town", *["b"] * 3, *["a"] * 1),
        r"from the whole table is t = 0\.5 \(equal\) in 'illness'",
    ),
    SameValues: (SameValues(CLASSES), set_cells(TOWNS, "street", *"yxxxx"), "did not change places together"),
    KOfStars: (KOfStars(CLASSES, 4), set_cells(TOWNS, "street", "*"), "at least 1 record if a star is read as a value"),
    EverySubset: (EverySubset(CLASSES, 2, 4), set_cells(TOWNS, "street", "*"), "fewer than 4 records"),
    OnlyStars: (OnlyStars(CLASSES), set_cells(TOWNS, "street", "y"), "'street' has 1 cell with another value"),
}


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_a_planted_fault_is_refused(kind: type[Promise]) -> None:
    promise, spoiled, words = FAULTS[kind]
    table = shoal.read(TOWNS, confidential="illness", unit=False)
    guarantees = Guarantees(table.roles, CLASSES, (promise,))
    verify_unsaved(table, TOWNS, guarantees)
    with pytest.raises(PromiseError, match=words):
        verify_unsaved(table, spoiled, guarantees)
    measured = replace(guarantees, promises=(replace(promise, promised=False),))
    if kind is not SameValues:  # what is only measured follows the policy
        verify_unsaved(table, spoiled, measured)


@pytest.mark.parametrize(
    "spoiled, words",
    [
        (TOWNS[:-1], "1 row is missing"),
        (TOWNS.drop("note"), "Missing column: 'note'"),
        (set_cells(TOWNS, "note", "z"), "'note' differs in 1 cell"),
    ],
)
def test_what_every_release_promises_needs_no_words(spoiled: pl.DataFrame, words: str) -> None:
    table = shoal.read(TOWNS)
    with pytest.raises(PromiseError, match=words):
        verify_unsaved(table, spoiled, Guarantees(table.roles, CLASSES))


def guards(counts: list[int], nurses: list[int] | None = None) -> pl.DataFrame:
    """Regions of 100 records with these numbers of guards and nurses."""
    others = nurses or [0] * len(counts)
    jobs = [["guard"] * c + ["nurse"] * n + ["cook"] * (100 - c - n) for c, n in zip(counts, others, strict=True)]
    region = np.repeat([f"R{d:02d}" for d in range(len(counts))], 100)
    return pl.DataFrame({"region": region, "job": np.concatenate(jobs)})


EVEN = [12, 15, 18, 14, 17, 13, 16, 19, 15, 14, 16, 17]


@pytest.mark.parametrize(
    "options, after, words",
    [
        ({}, [*EVEN, 60], "1 region is still an outlier: R12"),
        ({}, [*EVEN[:-1], 60, 17], "1 region is a new outlier: R11"),
        ({"outliers_only": True, "alphas": (0.01,), "signals": ("quantity",)}, [*EVEN[:-1], 60, 17], None),
        ({"outliers_only": True, "alphas": (0.01,), "signals": ("quantity",)}, [*EVEN, 60], "is still an outlier: R12"),
        ({"outliers_only": True, "alphas": (0.01,), "signals": ("quantity",), "allowed": 1}, [*EVEN, 60], None),
    ],
)
def test_a_region_that_stands_out_is_refused(options: dict[str, Any], after: list[int], words: str | None) -> None:
    before, swapped = (guards(counts).sort("job", maintain_order=True) for counts in ([*EVEN, 60], after))
    table = shoal.read(before)
    promise = Masked(("region",), "job", ("guard",), **options)
    guarantees = Guarantees(table.roles, ("region",), (SameValues(("region",)), promise))
    if words is None:
        verify_unsaved(table, swapped, guarantees)
        return
    with pytest.raises(PromiseError, match=words):
        verify_unsaved(table, swapped, guarantees)


def test_the_difference_to_a_second_group_is_looked_at() -> None:
    """The guards are even, but where there are few nurses the difference shows their region."""
    before = guards([*EVEN, 60], [15] * 12 + [2])
    after = guards([*[c + 3 for c in EVEN], 17], [15] * 12 + [60])
    table = shoal.read(before)
    base = Masked(("region",), "job", ("guard",), ("job", ("nurse",)), outliers=("R12",))
    plain = Guarantees(table.roles, ("region", "job"), (base,))
    verify_unsaved(table, after, plain)
    every = replace(plain, promises=(replace(base, signals=promises.SIGNALS),))
    with pytest.raises(PromiseError, match="1 region is still an outlier: R12"):
        verify_unsaved(table, after, every)


# -- what the releases carry -------------------------------------------------------------------------


def people(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    region = np.repeat([f"R{d:02d}" for d in range(20)], n // 20)
    return pl.DataFrame(
        {
            "region": region,
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(10, 0.5, n).round(),
            "sex": rng.choice(["f", "m"], n),
            "job": np.where(rng.random(n) < np.where(region == "R03", 0.9, 0.3), "guard", "cook"),
            "illness": rng.choice(["none", "flu", "gout"], n),
        }
    )


def of_microaggregation() -> Any:
    table = shoal.read(people(), quasi=["age", "income"], confidential="illness")
    return shoal.microaggregate(table, 4, l=2, t=0.5, method="anneal", effort="quick", within=["sex"])


def of_groups() -> Any:
    return shoal.group_attributes(shoal.read(people(), quasi=["age", "income"]), 4, method="univariate")


def of_generalization() -> Any:
    table = shoal.read(people(), quasi=["age", "sex"], confidential="illness")
    return shoal.generalize(table, 5, l=2, t=0.5, effort="quick")


def of_mask() -> Any:
    return shoal.mask_group(
        people(), vital=("job", ["guard"]), parameter="region", influential=["sex"], distortion=1.0, seed=1
    )


def of_published_mask() -> Any:
    return shoal.mask_group(
        people(), vital=("job", ["guard"]), parameter="region", influential=["sex"], settings="published", budget=20,
        steps=0, distortion=1.0,
    )  # fmt: skip


CARRIED = {
    of_microaggregation: [
        KAnonymity(("age", "income", "sex"), 4),
        LDiversity(("age", "income", "sex"), ("illness",), 2.0),
        TCloseness(("age", "income", "sex"), ("illness",), 0.5),
    ],
    of_groups: [KAnonymity(("age",), 4, group=True), KAnonymity(("income",), 4, group=True)],
    of_generalization: [
        KAnonymity(("age", "sex"), 5),
        LDiversity(("age", "sex"), ("illness",), 2.0),
        TCloseness(("age", "sex"), ("illness",), 0.5),
    ],
}


@pytest.mark.parametrize("make", CARRIED, ids=lambda make: make.__name__)
def test_a_release_carries_its_promises_and_keeps_them(make: Any) -> None:
    release = make()
    assert sorted(map(str, release.promises)) == sorted(map(str, CARRIED[make]))
    assert {type(promise) for promise in release.promises} == set(release.protection.promises)
    release.verify()
    spoiled = release.original.frame.select(release.frame.columns)
    with pytest.raises(PromiseError):
        replace(release, frame=spoiled).verify()


@pytest.mark.parametrize("make", [of_mask, of_published_mask])
def test_a_masked_release_carries_its_promises_and_keeps_them(make: Any) -> None:
    release = make()
    same, *masked = release.promises
    assert {type(promise) for promise in release.promises} == set(release.protection.promises)
    swaps = tuple((swap["vital_row"], swap["partner_row"]) for swap in release.swap_list())
    assert same == SameValues(("region",), swaps=swaps) and len(swaps) > 0
    assert [promise.promised for promise in masked] == ([True] if make is of_mask else [False, True])
    assert {promise.target for promise in masked} == {"job"} and "R03" in masked[-1].outliers
    release.verify()
    with pytest.raises(
        PromiseError, match="(is still an outlier|are still outliers|is still the largest|are still the largest): R03"
    ):
        replace(release, frame=release.original.frame).verify()


def test_a_mapping_for_other_records_promises_nothing(tmp_path: Path) -> None:
    release = of_generalization()
    applied = shoal.apply_mapping(shoal.read(people(), quasi=["age", "sex"]), release.save_mapping(tmp_path / "m.json"))
    assert applied.promises == (KAnonymity(("age", "sex"), release.k, promised=False),)


def test_several_steps_are_one_tuple(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "people.csv")
    (tmp_path / "run.toml").write_text(
        'seed = 1\n[input]\nfile = "people.csv"\n'
        '[[steps]]\ndo = "microaggregate"\nquasi = ["age", "income"]\nk = 4\nmethod = "mdav"\n'
        '[[steps]]\ndo = "generalize"\nquasi = ["sex"]\nk = 6\neffort = "quick"\n'
    )
    release = shoal.run(tmp_path / "run.toml")
    assert release.promises == (
        KAnonymity(("age", "income"), 4, step=Step(1, "microaggregate")),
        KAnonymity(("sex",), 6, step=Step(2, "generalize")),
    )
    age = pl.Series("age", [1.5, *release.frame["age"].to_list()[1:]])
    with pytest.raises(PromiseError, match=r"guarantee of step 1 \(microaggregate\) for age, income does not hold"):
        replace(release, frame=release.frame.with_columns(age)).verify()


def test_the_protected_columns_are_the_same_for_the_check_the_figures_and_the_report(tmp_path: Path) -> None:
    """A column that no group crosses is known and protected, in a release of several steps too."""
    frame = pl.DataFrame({"age": [20, 60] * 8, "sex": ["f"] * 8 + ["m"] * 8, "region": ["north", "north"] * 8})
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "run.toml").write_text(
        'seed = 1\n[input]\nfile = "people.csv"\n'
        '[[steps]]\ndo = "microaggregate"\nquasi = ["age"]\nwithin = ["sex"]\nk = 4\nmethod = "mdav"\n'
        '[[steps]]\ndo = "generalize"\nquasi = ["region"]\nk = 8\neffort = "quick"\n'
    )
    release = shoal.run(tmp_path / "run.toml")
    assert set(release.columns.protected) == {"age", "sex", "region"} and release.columns.unassigned == ()
    assert release.facts["joint_k"] == release.findings["joint-k"].figure == release.assessment["k"] == 4
    assert release.frame.group_by("age", "region").len()["len"].min() == 8  # without the column it would be another k


# -- one answer for l --------------------------------------------------------------------------------

SPELLINGS = [2, "2", 2.0, ("entropy", 1.5), ["recursive", "3", "2"], ("distinct", 2)]
NO_L = [0, 0.5, "many", "entropy", ("entropy",), ("entropy", 1, 2), ("recursive", 2), ("recursive", 0, 2), float("nan")]


@pytest.mark.parametrize("l", [*SPELLINGS, *NO_L], ids=str)
def test_l_means_the_same_for_the_method_and_for_the_check(l: Any) -> None:  # noqa: E741
    table = shoal.read(people(), quasi=["sex"], confidential="illness", drop=["age", "income", "region", "job"])

    def ways() -> Any:
        yield lambda: shoal.generalize(table, 5, l=l, effort="quick")
        yield lambda: shoal.check(table, people().select("sex", "illness"), l=l)

    if l in SPELLINGS:
        made, found = (way() for way in ways())
        (promise,) = (promise for promise in made.promises if isinstance(promise, LDiversity))
        wanted = promises.read_diversity(l)
        assert (promise.l, promise.kind, promise.c) == (wanted.l, wanted.kind, wanted.c)
        assert f"({promise.kind})" in found["l"].finding
        return
    for way in ways():
        with pytest.raises(UsageError, match=r"\bl\b|l-diversity"):
            way()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *((lambda k=k: KAnonymity(("a",), k), "k must be a whole number, 1 or more") for k in (0, -1, 2.5, True)),
        *((lambda k=k: KOfStars(("a",), k), "k must be a whole number, 1 or more") for k in (0, 2.5, True)),
        *((lambda m=m: EverySubset(("a",), m, 2), "m must be a whole number, 1 or more") for m in (0, 1.5, True)),
        *((lambda k=k: EverySubset(("a",), 1, k), "k must be a whole number, 1 or more") for k in (0, 1.5, True)),
        *((lambda t=t: TCloseness(("a",), ("b",), t), "t must be between 0 and 1") for t in (-0.1, 1.1, float("nan"))),
        *((lambda l=l: LDiversity(("a",), ("b",), l), "l must be a number, 1 or more") for l in (0, 0.9, float("inf"))),  # noqa: E741
        (lambda: LDiversity(("a",), ("b",), 2, "recursive", 0.0), "must be a number above 0"),
        (lambda: LDiversity(("a",), (), 2), "confidential"),
        (lambda: TCloseness(("a",), (), 0.2), "confidential"),
    ],
)
def test_a_guarantee_that_holds_for_every_table_or_for_none_is_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def test_the_smallest_and_largest_guarantees_are_accepted() -> None:
    assert KAnonymity(("a",), 1).k == KOfStars(("a",), 1).k == EverySubset(("a",), 1, 1).m == 1
    assert [TCloseness(("a",), ("b",), t).t for t in (0, 1)] == [0, 1]
    assert LDiversity(("a",), ("b",), 1, "recursive", 0.1).c == 0.1


def test_the_guarantees_of_steps_count_for_the_questions_that_are_about_any_step() -> None:
    step = Step(1, "microaggregate")
    assert Guarantees(promises=(KAnonymity(("a",), 3, step=step),)).hides_records
    assert not Guarantees(promises=(SameValues(("a",)),)).hides_records
    for promise in (TCloseness(("a",), ("b",), 0.2), LDiversity(("a",), ("b",), 2)):
        assert Guarantees(promises=(promise,)).demands_diversity
        assert not Guarantees(promises=(replace(promise, promised=False),)).demands_diversity


# -- a new type is one file --------------------------------------------------------------------------

TOY = '''
"""A toy: no value of the columns is longer than allowed."""
from dataclasses import dataclass
from shoal.gate.promises import Promise

@dataclass(frozen=True)
class ShortNames(Promise):
    longest: int

PROMISE = ShortNames

def check(context):
    long = [name for p in context.guarantees.of(ShortNames) for name in p.columns
            if context.after[name].str.len_chars().max() > p.longest]
    return context.make_finding("short-names", bool(long), f"long names in {long}", len(long), 0, promised=True)
'''


def test_a_new_type_of_promise_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "short_names.py").write_text(TOY)
    monkeypatch.setattr(checks, "__path__", [*checks.__path__, str(tmp_path)])
    (kind,) = set(checks.promise_checks()) - set(TYPES)
    table = shoal.read(TOWNS)
    kept, broken = (Guarantees(table.roles, (), (kind(("illness",), longest),)) for longest in (6, 5))  # type: ignore
    verify_unsaved(table, TOWNS, kept)
    with pytest.raises(PromiseError, match="Long names in .'illness'."):
        verify_unsaved(table, TOWNS, broken)
    assert examine_unsaved(table, TOWNS, kept)["short-names"].status == "ok"
    del sys.modules[kind.__module__]


def test_a_release_promises_t_by_the_distance_it_was_made_with() -> None:
    frame = pl.DataFrame({"age": list(range(40)), "pay": [1, 2, 3, 4] * 10})
    table = shoal.read(frame, quasi="age", confidential="pay")
    for distance in ("equal", "ordered"):
        release = shoal.generalize(table, 4, t=0.3, distance=distance, effort="quick")
        assert [p.distance for p in release.promises if isinstance(p, TCloseness)] == [distance]


def test_a_column_that_is_swapped_and_protected_counts_as_protected() -> None:
    steps = (SameValues(("town",)), KAnonymity(("town", "street"), 4))
    assert Guarantees(columns=CLASSES, promises=steps).quasi == CLASSES
    assert Guarantees(columns=CLASSES, promises=steps[:1]).swapped == ("town",)
