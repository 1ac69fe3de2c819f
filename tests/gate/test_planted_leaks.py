"""A leak of each kind is planted in a sound release: the release check finds it, and passes its sound twin.

Leaks are planted in frames for `shoal.check`, and in originals whose release is then saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import PromiseError
from shoal.gate.findings import Findings
from shoal.gate.policy import names as policies

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

N, K = 243, 5  # not a multiple of k
QUASI = ["age", "income", "district", "sex"]
ROLES: dict[str, Any] = {"quasi": QUASI, "confidential": ["illness"]}
PUBLIC: dict[str, Any] = {"policy": "public", "shuffle": True, "first_release": True}


def people(seed: int = 11, n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(0),
            "district": rng.choice(["mill", "port", "hill", "lake", "park", "dock"], n),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["none", "flu", "gout", "asthma"], n),
        }
    )


PEOPLE = people()


def protected(frame: pl.DataFrame, k: int = K, **more: Any) -> shoal.Release:
    return shoal.microaggregate(shoal.read(frame, **(ROLES | more)), k=k, method="mdav")


SOUND = protected(PEOPLE).frame


def beside(extra: dict[str, Any], frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.Series(name, values) for name, values in extra.items())


def refused(release: shoal.Release, folder: Path, **saving: Any) -> Findings:
    """What blocks a save; the folder must stay empty."""
    with pytest.raises(PromiseError, match="Nothing was written") as raised:
        release.save(folder / "out.csv", **saving)
    assert not (folder / "out.csv").exists() and raised.value.findings is not None
    return raised.value.findings


def saved(release: shoal.Release, folder: Path, **saving: Any) -> pl.DataFrame:
    return pl.read_csv(release.save(folder / "out.csv", **saving))


def blocking(found: Findings) -> set[str]:
    return {finding.check for finding in found.blocking}


def test_the_sound_release_passes(tmp_path: Path) -> None:
    found = shoal.check(PEOPLE, SOUND, k=K, **ROLES)
    assert found.passed and found.figures is not None and found.figures.known.k >= K
    assert saved(protected(PEOPLE), tmp_path).height == N


# -- identifiers -----------------------------------------------------------------------------------


def iban(number: int) -> str:
    """A German IBAN with its check digits."""
    account = f"{37040044:08}{number:010}"
    return f"DE{98 - int(account + '131400') % 97:02}{account}"


IDENTIFIERS: dict[str, Sequence[Any]] = {
    "email": [f"p{i}@mail.example" for i in range(N)],
    "phone": [f"+49 30 {7_000_000 + 7919 * i % 999_983:07}" for i in range(N)],
    "account": [iban(532_013_000 + 37 * i) for i in range(N)],
    "profile": [f"https://people.example/u/{i}" for i in range(N)],
    "row": list(range(1, N + 1)),
    "nr": (1000 + np.random.default_rng(1).permutation(N)).tolist(),
    "birth_date": [date(1940, 1, 1) + timedelta(days=89 * i % 22_000) for i in range(N)],
    "dob": [(date(1940, 1, 1) + timedelta(days=89 * i % 22_000)).strftime("%d.%m.%Y") for i in range(N)],
    "label": [f"Ann{chr(97 + i % 26)} Berg{chr(97 + i // 26)}" for i in range(N)],
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_an_identifier_without_a_role(name: str, tmp_path: Path) -> None:
    extra = {name: IDENTIFIERS[name]}
    original = beside(extra, PEOPLE)
    found = shoal.check(original, beside(extra, SOUND), k=K, **ROLES)
    assert found["looks-like-identifier"].status == "block" and repr(name) in found["looks-like-identifier"].finding
    assert "looks-like-identifier" in blocking(refused(protected(original), tmp_path))
    named: dict[str, Any] = {"identifiers": [name]}
    assert shoal.check(original, SOUND, k=K, **(ROLES | named), keep_order=True).passed
    assert name not in saved(protected(original, **named), tmp_path, shuffle=True).columns


def test_an_identifier_under_another_name(tmp_path: Path) -> None:
    code = {"member": [f"m{7919 * i % 99_991}" for i in range(N)]}
    original, named = beside(code, PEOPLE), {"identifiers": ["member"]}
    found = shoal.check(original, SOUND.with_columns(pl.Series("note", code["member"])), k=K, **(ROLES | named))
    assert blocking(found) >= {"identifiers", "columns"}
    assert "'note' holds the values of 'member'" in found["identifiers"].finding
    copied = original.with_columns(pl.col("member").alias("alias"))
    hidden = refused(protected(copied, **named, confidential=["illness", "alias"]), tmp_path)
    assert "'alias' holds the values of 'member'" in hidden["identifiers"].finding
    assert (
        "'member' is still in the release"
        in shoal.check(original, original, k=K, **(ROLES | named))["identifiers"].finding
    )
    saved(protected(copied, identifiers=["member", "alias"]), tmp_path)


# -- units -----------------------------------------------------------------------------------------

PERSONS = 80


def panel() -> pl.DataFrame:
    """Three rows per person, in no order."""
    rng = np.random.default_rng(4)
    person = rng.permutation(np.repeat(np.arange(PERSONS), 3))
    age = rng.integers(20, 80, PERSONS)
    return people(5, person.size).with_columns(
        pl.Series("pid", rng.permutation(PERSONS)[person] + 4000), pl.Series("age", age[person])
    )


PANEL = panel()


def test_a_forgotten_unit(tmp_path: Path) -> None:
    of_rows = protected(PANEL, drop=["pid"])
    found = shoal.check(PANEL, of_rows.frame, k=K, **ROLES, drop=["pid"])
    assert found["unit"].status == "block" and "'pid'" in found["unit"].finding and "--no-unit" in found["unit"].todo
    assert "unit" in blocking(refused(of_rows, tmp_path))
    as_name = refused(protected(PANEL, identifiers=["pid"]), tmp_path)
    assert as_name["unit"].status == "block"
    saved(protected(PANEL, unit="pid"), tmp_path)


def test_rows_of_one_person_do_not_hide_each_other(tmp_path: Path) -> None:
    release = protected(PANEL, unit="pid")
    persons = release.frame.with_columns(PANEL["pid"]).group_by(QUASI).agg(pl.col("pid").n_unique())
    assert persons["pid"].min() >= K  # type: ignore[operator]
    same = pl.Series("rows", np.arange(PERSONS * 3) // 6)
    six = PANEL.with_columns(
        pl.col("age") * 0 + same, (pl.col("income") * 0 + same), district=pl.lit("x"), sex=pl.lit("f")
    )
    six = six.with_columns(pl.Series("pid", np.repeat(np.arange(PERSONS), 3)))  # two persons per class of six rows
    found = shoal.check(six, six.drop("pid"), k=K, **ROLES, unit="pid", keep_order=True)
    assert found.figures is not None and found.figures.known.k == 2 and "known-k" in blocking(found)
    assert shoal.check(six, six.drop("pid"), k=K, **ROLES, drop=["pid"], keep_order=True).figures.known.k == 6  # type: ignore[union-attr]


def test_a_unit_that_is_still_released_or_renumbered(tmp_path: Path) -> None:
    frame = protected(PANEL, unit="pid").frame
    found = shoal.check(PANEL, frame.with_columns(PANEL["pid"]), k=K, **ROLES, unit="pid")
    assert "'pid' is still in the release" in found["identifiers"].finding and found["identifiers"].status == "block"
    renumbered = PANEL.with_columns((pl.col("pid") * 17 % 83).alias("person"))
    roles = ROLES | {"unit": "pid", "confidential": ["illness", "person"]}
    again = shoal.check(renumbered, frame.with_columns(renumbered["person"]), k=K, **roles)
    assert again["identifiers"].status == "block" and "'person' links the rows" in again["identifiers"].finding
    assert "identifiers" in blocking(refused(protected(renumbered, **roles), tmp_path))
    shared = PANEL.with_columns((pl.col("pid") % 4).cast(pl.String).alias("cohort"))
    saved(protected(shared, **(roles | {"confidential": ["illness", "cohort"]})), tmp_path)


def test_a_unit_that_is_renumbered_with_two_in_one(tmp_path: Path) -> None:
    person = PANEL["pid"].replace(PANEL["pid"][0], PANEL["pid"][PERSONS])
    original = PANEL.with_columns((person * 17 % 8300).alias("person"))
    assert original["person"].n_unique() == PERSONS - 1
    roles = {"unit": "pid", "confidential": ["illness", "person"]}
    assert "identifiers" in blocking(refused(protected(original, **roles), tmp_path))


def test_the_rows_of_a_unit_stand_together(tmp_path: Path) -> None:
    codes = np.random.default_rng(2).permutation(PERSONS)
    together = PANEL[np.argsort(codes[PANEL["pid"].to_numpy() - 4000], kind="stable")]
    release = protected(together, unit="pid")
    assert blocking(refused(release, tmp_path)) == {"order"}
    saved(release, tmp_path, shuffle=True)


# -- columns that give a protected value away ------------------------------------------------------

INCOME, AGE = PEOPLE["income"].to_numpy(), PEOPLE["age"].to_numpy()
REGION = {"mill": "west", "port": "north", "hill": "west", "lake": "east", "park": "east", "dock": "north"}
OTHER = np.random.default_rng(6).lognormal(9, 0.7, N).round(0)
GIVING: dict[str, tuple[str, dict[str, Any]]] = {
    "factor": ("income", {"contribution": (0.186 * INCOME).round(2)}),
    "logarithm": ("income", {"log_income": np.log(INCOME)}),
    "tax": ("income", {"tax": np.where(INCOME < 20_000, 0.2 * INCOME, 4_000 + 0.4 * (INCOME - 20_000)).round(0)}),
    "total": ("income", {"other": OTHER, "total": INCOME + OTHER}),
    "product": ("income", {"hours": 1 + OTHER, "pay_hours": INCOME * (1 + OTHER)}),
    "text": ("income", {"amount": [f"{value:.0f}" for value in INCOME]}),
    "birth year": ("age", {"born_in": 2024 - AGE}),
    "birth date": ("age", {"born": [date(2024 - int(a), 1, 1) + timedelta(days=int(a) * 7 % 300) for a in AGE]}),
    "code": ("district", {"code": [list(REGION).index(d) for d in PEOPLE["district"]]}),
    "other words": ("district", {"quarter": [f"Q-{d[::-1]}" for d in PEOPLE["district"]]}),
    "dependency": ("district", {"region": [REGION[d] for d in PEOPLE["district"]]}),
}


@pytest.mark.parametrize("role", ["confidential", "as_is"])
@pytest.mark.parametrize("kind", GIVING)
def test_a_column_that_gives_a_value_away(kind: str, role: str, tmp_path: Path) -> None:
    column, extra = GIVING[kind]
    original = beside(extra, PEOPLE)
    roles = {**ROLES, role: [*ROLES.get(role, ()), *extra]}
    found = shoal.check(original, beside(extra, SOUND), k=K, **roles)
    assert found["undone"].status == "block" and f"{column!r} away" in found["undone"].finding
    assert any(name in found["undone"].finding for name in extra)
    assert "undone" in blocking(refused(protected(original, **roles), tmp_path))
    assert shoal.check(original, beside(extra, SOUND), k=K, **roles, accept_derived=list(extra)).passed


@pytest.mark.parametrize("form", ["EUR {:,.0f}", "{:.0f},00", "{:.0f} kr"])
def test_an_amount_written_as_text(form: str) -> None:
    extra = {"amount": [form.format(value) for value in INCOME]}
    roles = ROLES | {"confidential": ["illness", "amount"]}
    assert shoal.check(beside(extra, PEOPLE), beside(extra, SOUND), k=K, **roles)["undone"].status == "block"


def test_ways_out_of_a_column_that_gives_a_value_away(tmp_path: Path) -> None:
    extra = GIVING["tax"][1]
    original = beside(extra, PEOPLE)
    table = saved(protected(original, derived={"tax": ["income"]}), tmp_path)
    assert table.group_by([*QUASI, "tax"]).len()["len"].min() >= K  # type: ignore[operator]
    assert "tax" not in saved(protected(original, drop=["tax"]), tmp_path).columns


RNG = np.random.default_rng(9)
STANDARD = (np.log(INCOME) - np.log(INCOME).mean()) / np.log(INCOME).std()
KEEPING: dict[str, dict[str, Any]] = {
    "noise": {"noise": RNG.normal(0, 1, N).round(3)},
    "correlated": {"score": (0.8 * STANDARD + 0.6 * RNG.normal(0, 1, N)).round(3)},
    "a share": {"rent": (INCOME * RNG.uniform(0.2, 0.4, N)).round(0)},
    "a shifted mean": {"class": np.where(INCOME + RNG.normal(0, 9_000, N) > 25_000, "upper", "lower")},
    "a noisy total": {"spent": (INCOME * 0.7 + RNG.normal(0, 3_000, N)).round(0), "other": OTHER},
}


@pytest.mark.parametrize("kind", KEEPING)
def test_a_column_that_gives_nothing_away(kind: str, tmp_path: Path) -> None:
    extra = KEEPING[kind]
    original, roles = beside(extra, PEOPLE), ROLES | {"confidential": ["illness", *extra]}
    assert shoal.check(original, beside(extra, SOUND), k=K, **roles)["undone"].status == "ok"
    saved(protected(original, **roles), tmp_path)


# -- an earlier release ----------------------------------------------------------------------------


def test_an_earlier_release_with_other_groups(tmp_path: Path) -> None:
    earlier = protected(PEOPLE, quasi=QUASI[::-1], as_is=["illness"], confidential=()).original
    other = shoal.microaggregate(earlier, k=K, method="mdav", importance={"income": 20.0})
    path = other.save(tmp_path / "earlier.csv")
    found = shoal.check(PEOPLE, SOUND, k=K, **ROLES, previous=other.frame, policy="scientific", accept_k=1)
    assert found["previous"].status == "block" and "earlier release" in found["previous"].finding
    assert shoal.check(PEOPLE, SOUND, k=K, **ROLES, previous=other.frame)["previous"].status == "warn"
    ten = protected(PEOPLE, k=10)
    assert "previous" in blocking(refused(ten, tmp_path, policy="scientific", previous=path))
    saved(ten, tmp_path, policy="scientific", first_release=True)


def test_the_same_release_again() -> None:
    assert shoal.check(PEOPLE, SOUND, k=K, **ROLES, previous=SOUND)["previous"].status == "ok"
    numbers = {"quasi": ["age", "income"], "confidential": ["illness"], "drop": ["district", "sex"]}
    again = protected(PEOPLE, **numbers).frame
    assert shoal.check(PEOPLE, again, k=K, **numbers, previous=again)["previous"].status == "ok"


def test_the_raw_file_as_an_earlier_release(tmp_path: Path) -> None:
    found = shoal.check(PEOPLE, SOUND, k=K, **ROLES, previous=PEOPLE)
    assert found["previous"].figure == 1 and "holds the original" in found["previous"].finding


@pytest.mark.parametrize("policy", [name for name in policies() if name != "default"])
def test_a_policy_wants_a_statement_on_earlier_releases(policy: str, tmp_path: Path) -> None:
    release = protected(PEOPLE, k=12)
    found = refused(release, tmp_path, policy=policy, shuffle=True)
    assert blocking(found) == {"previous"} and "--first-release" in found["previous"].todo
    saved(release, tmp_path, policy=policy, shuffle=True, first_release=True)


# -- the order of the rows -------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["income", "age", "district", "sex"])
@pytest.mark.parametrize("descending", [False, True])
def test_a_file_in_the_order_of_a_protected_column(column: str, descending: bool, tmp_path: Path) -> None:
    original = PEOPLE.sort(column, descending=descending)
    release = protected(original)
    found = shoal.check(original, release.frame, k=K, **ROLES)
    assert found["order"].status == "block" and repr(column) in found["order"].finding
    assert blocking(refused(release, tmp_path)) == {"order"}
    saved(release, tmp_path, shuffle=True)
    saved(release, tmp_path, keep_order=True)


def test_a_file_in_the_order_of_an_identifier(tmp_path: Path) -> None:
    original = PEOPLE.with_columns(pl.Series("member", np.arange(N) * 3 + 500))
    assert blocking(refused(protected(original, identifiers="member"), tmp_path)) == {"order"}
    mixed = original.sample(N, shuffle=True, seed=1)
    saved(protected(mixed, identifiers="member"), tmp_path)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_order_that_follows_a_column_loosely(sign: int, tmp_path: Path) -> None:
    rank = PEOPLE["income"].rank().to_numpy() / N + np.random.default_rng(3).normal(0, 0.4, N)
    original = PEOPLE[np.argsort(sign * rank)]
    assert blocking(refused(protected(original), tmp_path)) == {"order"}


@pytest.mark.parametrize("way", ["blocks of labels", "up and down"])
def test_an_order_without_a_trend(way: str, tmp_path: Path) -> None:
    if way == "blocks of labels":  # no trend in alphabetical order
        order = ["lake", "park", "dock", "port", "hill", "mill"]
        original = pl.concat([PEOPLE.filter(pl.col("district") == name) for name in order])
    else:
        half = PEOPLE.head(N // 2).sort("income"), PEOPLE.tail(N - N // 2).sort("income", descending=True)
        original = pl.concat(half)
    assert blocking(refused(protected(original), tmp_path)) == {"order"}


# -- inside the classes ----------------------------------------------------------------------------


def classes_of(labels: np.ndarray) -> pl.DataFrame:
    """A release by hand with the given classes, and so its own original: every class has one age and one income."""
    return pl.DataFrame({"age": 20.0 + labels, "income": 1000.0 * (1 + labels)})


def test_a_homogeneous_class_names_its_value_and_its_records(tmp_path: Path) -> None:
    label = np.arange(60) // 12
    frame = classes_of(label).with_columns(pl.Series("illness", np.tile(["none", "flu", "gout"], 20)))
    given: dict[str, Any] = {"quasi": ["age", "income"], "confidential": "illness", "k": 12, "keep_order": True}
    assert shoal.check(frame, frame, **given)["l"].status == "ok"
    planted = frame.with_columns(illness=pl.when(pl.Series(label == 3)).then(pl.lit("hiv")).otherwise("illness"))
    found = shoal.check(planted, planted, **given)["l"]
    assert found.status == "warn" and found.figure == 1
    assert "12 records" in found.finding and "1 class" in found.finding and "12 of them with 'hiv'" in found.finding
    assert shoal.check(planted, planted, **given, policy="public")["l"].status == "block"
    ill = PEOPLE.with_columns(illness=pl.when(pl.col("age") > 60).then(pl.lit("gout")).otherwise("illness"))
    blocked = refused(protected(ill, k=12), tmp_path, **PUBLIC)
    assert blocked["l"].status == "block" and "'gout'" in blocked["l"].finding
    saved(protected(PEOPLE, k=12), tmp_path, **PUBLIC)


def test_a_confidential_number_in_a_narrow_range() -> None:
    label = np.arange(60) // 12
    wide = np.random.default_rng(2).normal(50_000, 10_000, 60).round(0)
    frame = classes_of(label).with_columns(pl.Series("wealth", wide))
    given: dict[str, Any] = {"quasi": ["age", "income"], "confidential": "wealth", "k": 12, "keep_order": True}
    assert not shoal.check(frame, frame, **given)["spread"].figure
    narrow = np.where(label == 2, 41_000 + np.arange(60), wide)  # twelve different values close together
    planted = frame.with_columns(pl.Series("wealth", narrow))
    found = shoal.check(planted, planted, **given)
    assert found["spread"].status == "warn" and found["spread"].figure == 12 and "'wealth'" in found["spread"].finding
    assert found["l"].status == "ok"  # the number of different values does not show it
    assert "spread" in blocking(shoal.check(planted, planted, **given, policy="clinical-0.09", first_release=True))


def test_an_averaged_column_of_zeros_and_ones(tmp_path: Path) -> None:
    rare = (np.random.default_rng(8).random(N) < 0.08).astype(int)
    original = PEOPLE.with_columns(pl.Series("hiv", rare))
    quasi = ["age", "income", "hiv"]
    averaged = protected(original, quasi=quasi, drop=["district", "sex"], numeric=["hiv"])
    found = averaged.findings["few-valued"]
    assert found.status == "warn" and f"of {rare.sum()} records with hiv = 1 are released as exactly 1" in found.finding
    hidden = protected(original, quasi=quasi[:2], drop=["district", "sex"], confidential=["illness", "hiv"])
    assert hidden.findings["few-valued"].status != "warn"


def test_codes_are_judged_as_the_labels_they_are() -> None:
    """The same release with codes instead of words: the same figures, and no averages that could disclose a value."""
    words = {"district": sorted(REGION), "sex": ["f", "m"]}
    codes = PEOPLE.with_columns(
        pl.col(name).replace_strict(labels, range(len(labels)), return_dtype=pl.Int64) for name, labels in words.items()
    )
    by_code, by_word = protected(codes, nominal=["district", "sex"]).findings, protected(PEOPLE).findings
    assert by_code["few-valued"].status == by_word["few-valued"].status != "warn"
    assert by_code["dominance"].figure == by_word["dominance"].figure
    assert by_code.figures is not None and by_word.figures is not None
    assert by_code.figures.known.linked == pytest.approx(by_word.figures.known.linked)


# -- weights ---------------------------------------------------------------------------------------

WEIGHTS: dict[str, Callable[[np.random.Generator], Any]] = {
    "all different": lambda rng: rng.gamma(4.0, 30.0, N).round(4),
    "some equal": lambda rng: rng.gamma(4.0, 30.0, N).round(0) + 1,
    "few strata and a rare one": lambda rng: np.where(np.arange(N) == 7, 950.0, rng.choice([10.0, 20.0], N)),
    "whole numbers": lambda rng: rng.integers(1, 90, N),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_that_single_out_records(kind: str, tmp_path: Path) -> None:
    weight = WEIGHTS[kind](np.random.default_rng(12))
    original = PEOPLE.with_columns(pl.Series("weight", weight))
    release = protected(original, weight="weight")
    found = shoal.check(original, release.frame, k=K, **ROLES, weight="weight")
    assert found["weight"].status == "warn" and found["weight"].figure > 0 and "--round-weight" in found["weight"].todo
    exact = release.save(tmp_path / "out.csv")
    assert (pl.read_csv(exact)["weight"] == original["weight"]).all() and exact.findings["weight"].status == "warn"
    coarser = release.save(tmp_path / "out.csv", round_weight=True)
    steps = pl.read_csv(coarser)["weight"]
    assert steps.value_counts()["count"].min() >= K  # type: ignore[operator]
    assert steps.sum() == pytest.approx(float(weight.sum()), rel=1e-9)
    assert coarser.findings["weight"].status == "ok"
    assert coarser.findings.figures.not_confidential.k >= K  # beside the weight, too


def test_weights_of_few_strata_are_fine(tmp_path: Path) -> None:
    strata = np.random.default_rng(1).choice([12.5, 40.0, 75.0], N)
    release = protected(PEOPLE.with_columns(pl.Series("weight", strata)), weight="weight")
    assert release.save(tmp_path / "out.csv").findings["weight"].status == "ok"


def test_weights_of_households_are_shared_by_households(tmp_path: Path) -> None:
    weight = np.random.default_rng(3).gamma(4.0, 30.0, 5000).round(4)[PANEL["pid"].to_numpy()]
    original = PANEL.with_columns(pl.Series("weight", weight))
    release = protected(original, unit="pid", weight="weight")
    coarser = release.save(tmp_path / "out.csv", round_weight=True)
    steps = pl.read_csv(coarser).with_columns(PANEL["pid"])
    assert steps.group_by("weight").agg(pl.col("pid").n_unique())["pid"].min() >= K  # type: ignore[operator]
    assert coarser.findings["weight"].status == "ok"


# -- suppressed rows -------------------------------------------------------------------------------


def test_a_suppressed_row_beside_its_town() -> None:
    label = np.arange(40) // 5
    original = pl.DataFrame(
        {
            "job": [f"job {i}" for i in label],
            "area": [f"area {i}" for i in label],
            "town": [f"t{i // 2}" for i in label],
        }
    ).with_columns(
        job=pl.when(pl.Series(label == 7)).then(pl.Series([f"odd {i}" for i in range(40)])).otherwise("job"),
        town=pl.when(pl.Series(label == 7)).then(pl.Series([f"far {i}" for i in range(40)])).otherwise("town"),
    )
    starred = original.with_columns(
        pl.when(pl.Series(label == 7)).then(pl.lit("*")).otherwise(name).alias(name) for name in ("job", "area")
    )
    given: dict[str, Any] = {"quasi": ["job", "area"], "k": 5, "keep_order": True}
    found = shoal.check(original, starred, **given)
    assert found["known-k"].status == "block" and "town" in found["known-k"].finding
    assert found.figures is not None and found.figures.known.uniques == 5 and found.figures.protected.k == 5
    everything = starred.with_columns(town=pl.when(pl.Series(label == 7)).then(pl.lit("*")).otherwise("town"))
    assert shoal.check(original, everything, **given).passed


# -- statements that a policy wants ----------------------------------------------------------------


def test_an_as_is_column_without_a_reason(tmp_path: Path) -> None:
    original = PEOPLE.with_columns(pl.Series("trust", np.random.default_rng(5).choice(["low", "high"], N)))
    found = refused(protected(original, k=12, as_is=["trust"]), tmp_path, **PUBLIC)
    assert blocking(found) == {"as-is"} and "without a reason: trust" in found["as-is"].finding
    pattern = protected(original, k=12, as_is=["tru*"], reasons={"tru*": "an opinion"})
    assert "named by a pattern: trust" in refused(pattern, tmp_path, **PUBLIC)["as-is"].finding
    reasoned = protected(original, k=12, as_is={"trust": "an opinion that no register holds"})
    saved(reasoned, tmp_path, **PUBLIC)
    saved(protected(original, as_is=["trust"]), tmp_path)


def test_nothing_stated_on_confidential_columns(tmp_path: Path) -> None:
    without = PEOPLE.drop("illness")
    found = refused(protected(without, k=12, confidential=()), tmp_path, **PUBLIC)
    assert "l" in blocking(found) and "--no-confidential" in found["l"].todo
    saved(protected(without, k=12, confidential=(), no_confidential=True), tmp_path, **PUBLIC)


# -- figures and states ----------------------------------------------------------------------------

CASES: dict[str, tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]] = {
    "sound": (PEOPLE, SOUND, {"k": K, **ROLES}),
    "nothing named": (PEOPLE, PEOPLE, {}),
    "roles forgotten": (PEOPLE, SOUND, {"quasi": QUASI[:2]}),
    "everything stated": (PEOPLE, SOUND, {"k": K, **ROLES, "unit": False, "first_release": True}),
    "no confidential column": (PEOPLE, SOUND, {"k": K, "quasi": [*QUASI, "illness"], "no_confidential": True}),
    "a unit": (PANEL, protected(PANEL, unit="pid").frame, {"k": K, **ROLES, "unit": "pid"}),
    "shuffled": (PEOPLE, SOUND.sample(N, shuffle=True, seed=2), {"k": K, **ROLES, "shuffled": True}),
    "rows left out": (PEOPLE, SOUND.head(N - 5), {"k": K, **ROLES}),
    "an earlier release": (PEOPLE, SOUND, {"k": K, **ROLES, "previous": PEOPLE}),
    "as-is": (PEOPLE, SOUND, {"k": K, "quasi": QUASI, "as_is": ["illness"]}),
    "nothing protected": (PEOPLE, PEOPLE, {"swapped": ["district"]}),
}


@pytest.mark.parametrize("policy", policies())
@pytest.mark.parametrize("case", CASES)
def test_the_three_figures_are_always_there(case: str, policy: str) -> None:
    original, release, given = CASES[case]
    found = shoal.check(original, release, policy=policy, **given)
    facts = found.facts()["figures"]
    for name in ("protected", "known", "released"):
        assert set(facts[name]) >= {"k", "uniques", "linked", "columns"}
    assert facts["protected"]["k"] >= facts["known"]["k"] >= facts["released"]["k"]
    assert facts["protected"]["uniques"] <= facts["known"]["uniques"] <= facts["released"]["uniques"]
    assert found.passed == (not found.blocking)


@pytest.mark.parametrize("policy", policies())
@pytest.mark.parametrize("case", CASES)
def test_the_four_states(case: str, policy: str) -> None:
    original, release, given = CASES[case]
    found = shoal.check(original, release, policy=policy, **given)
    assert {finding.status for finding in found} <= {"ok", "info", "warn", "block"}
    assert not [f.check for f in found if f.status == "ok" and f.threshold is None]
    assert not [f.check for f in found if f.status in ("warn", "block") and not f.todo]


def test_the_figures_of_a_refused_save(tmp_path: Path) -> None:
    found = refused(protected(PEOPLE, quasi=QUASI[:2]), tmp_path)
    assert found.figures is not None and found.figures.known.k == 1 and found.figures.protected.k >= K
    assert set(found.figures.known.columns) - set(found.figures.protected.columns) == {"district", "sex"}
