"""The release gate: a good release passes, special releases are judged, and its figures agree with slow twins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from planted import AS_IS, ORIGINAL, PARTS, QUASI, RELEASE, K, cell, found, protected
from shoal.errors import UsageError
from shoal.gate.cells import classes, differing
from shoal.gate.diversity import diversity, farthest
from shoal.gate.promises import Diversity, read_diversity
from shoal.measures.diversity import diversity_of, t_closeness


def test_a_good_release_passes(tmp_path: Path, ending: str) -> None:
    gate = found(RELEASE, tmp_path, ending)
    assert gate.passed, gate.blocking
    assert {f.check for f in gate.warnings} == {"dominance", "released-linkage"}
    assert gate["joint-k"].figure == gate["known-k"].figure == K
    for finding in gate:
        assert finding.finding
        assert (finding.todo == "") == (finding.status in ("ok", "info"))
        assert finding.status != "ok" or finding.threshold is not None, finding  # nothing to compare with


def test_the_three_figures_of_a_good_release() -> None:
    figures = found(RELEASE).figures
    assert figures.protected.columns == figures.known.columns == QUASI and figures.known.k == K
    assert set(figures.released.columns) == set(RELEASE.columns)
    assert figures.released.k == 1 and figures.released.uniques == figures.records == RELEASE.height
    assert figures.known.uniques == 0 and figures.known.linked < 0.1 < figures.released.linked


def test_a_k_that_nobody_states_is_measured_and_blocks_nothing() -> None:
    alone = RELEASE.with_columns(age=pl.when(pl.int_range(pl.len()) == 0).then(1e6).otherwise("age"))
    stated, measured = (shoal.check(ORIGINAL, alone, **PARTS, **k)["joint-k"] for k in ({"k": K}, {}))
    assert stated.figure == measured.figure == 1
    assert stated.status == "block" and measured.status != "block"


@pytest.mark.parametrize("confidential", [["mixed", "apart"], ["apart", "mixed"]])
def test_of_several_confidential_columns_the_worst_decides(confidential: list[str]) -> None:
    """`mixed` has both values in both classes, `apart` one in each."""
    frame = pl.DataFrame({"a": [1, 1, 1, 1, 2, 2, 2, 2], "mixed": [0, 1] * 4, "apart": [0] * 4 + [1] * 4})
    gate = shoal.check(frame, frame, quasi="a", confidential=confidential, k=4, l=2, t=0.2)
    assert gate["t"].status == "block" and gate["t"].figure == pytest.approx(0.5)
    assert gate["l"].status == "block" and gate["l"].figure == 1
    only = shoal.check(frame, frame, quasi="a", confidential="mixed", as_is="apart", k=4, l=2, t=0.2)
    assert only["t"].figure == 0 and only["l"].figure == 2


def test_columns_without_a_role_decide() -> None:
    gate = found(RELEASE, as_is=("visits",))
    both = RELEASE.group_by(*QUASI, "town").len()["len"]
    assert gate["known-k"].status == "block" and gate["known-k"].figure == both.min() < K
    assert "1 column has no role and would be released unchanged: town" in gate["known-k"].finding
    assert gate.figures.known.uniques == (both == 1).sum() and gate.figures.protected.uniques == 0
    assert gate["joint-k"].status == "ok" and gate["joint-k"].figure == K


# -- column groups, swaps, suppression -----------------------------------------------------------


def test_joint_k_of_column_groups_blocks_unless_it_is_accepted() -> None:
    release = RELEASE.with_columns(protected(ORIGINAL.with_columns(income=-pl.col("visits")))["age"].alias("age"))
    gate = found(release, column_groups=[["age"], ["income"]])
    assert gate["k-within-groups"].status == "ok" and gate["k-within-groups"].figure >= K
    assert gate["joint-k"].status == "warn" and gate["joint-k"].figure < K
    assert [f.check for f in gate.blocking] == ["known-k"] and "--accept-k" in gate["known-k"].todo
    assert gate["known-k"].figure == gate["joint-k"].figure == gate.figures.known.k
    accepted = found(release, column_groups=[["age"], ["income"]], accept_k=1)
    assert accepted.passed and accepted["known-k"].status == "warn"
    policy = found(release, column_groups=[["age"], ["income"]], accept_k=1, policy="scientific")
    assert policy["known-k"].status == policy["joint-k"].status == "block"
    broken = found(cell(release, "age", 3, -1.0), column_groups=[["age"], ["income"]])
    assert broken["k-within-groups"].status == "block" and "age" in broken["k-within-groups"].finding


def test_swapped_values_keep_their_counts() -> None:
    towns = ORIGINAL["town"].to_list()
    other = towns.index("south" if towns[0] == "north" else "north")
    towns[0], towns[other] = towns[other], towns[0]
    release = ORIGINAL.drop("name").with_columns(pl.Series("town", towns))
    roles = {"identifiers": "name", "swapped": "town", "confidential": "illness", "as_is": ["age", "income", "visits"]}
    gate = shoal.check(ORIGINAL, release, **roles)
    assert gate.passed and gate["swapped"].status == "ok"
    changed = shoal.check(ORIGINAL, cell(release, "town", 0, "west"), **roles)
    assert changed["swapped"].status == "block" and [f.check for f in changed.blocking] == ["swapped", "known-k"]
    raw = shoal.check(ORIGINAL, release, identifiers="name", swapped="town")  # the rest counts as known
    assert raw["known-k"].status == "block" and raw.figures.known.uniques == ORIGINAL.height


def test_suppressed_rows_below_k_are_reported() -> None:
    original = pl.DataFrame({"a": ["x"] * 5 + ["y"] * 2, "b": ["u"] * 5 + ["v"] * 2})
    release = pl.DataFrame({"a": ["x"] * 5 + ["*"] * 2, "b": ["u"] * 5 + ["*"] * 2})
    gate = shoal.check(original, release, quasi=["a", "b"], k=5)
    assert gate["joint-k"].status == "ok" and gate["suppressed"].status == "block" and gate["suppressed"].figure == 2
    half = shoal.check(original, release.with_columns(original["b"]), quasi=["a", "b"], k=5)
    assert half["joint-k"].status == "block"
    other = release.with_columns(pl.col("a").replace("*", "other"), pl.col("b").replace("*", "other"))
    assert shoal.check(original, other, quasi=["a", "b"], k=5)["joint-k"].status == "block"


def test_a_frame_of_mixed_objects_can_be_an_identifier(tmp_path: Path) -> None:
    frame = RELEASE.to_pandas().assign(who=[1, "two", 3.5, None, (5,), True] * 10)
    roles = {"quasi": QUASI, "identifiers": "who", "confidential": "illness", "as_is": AS_IS}
    shoal.microaggregate(shoal.read(frame, **roles), k=K, method="mdav").save(tmp_path / "out.csv")
    assert shoal.check(frame, tmp_path / "out.csv", **roles, k=K).passed


def test_a_release_of_suppressed_rows_only() -> None:
    original = pl.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 2]})
    gate = shoal.check(original, original.with_columns(pl.lit("*").alias("a")), quasi="a", confidential="b", k=2)
    assert gate["l"].figure is None and gate["suppressed"].figure == 3


def test_minimality_is_reported() -> None:
    assert found(RELEASE)["minimality"].status == "info"
    assert found(RELEASE, l=2)["minimality"].status == "warn"


def test_confidential_values_have_no_part_in_the_groups_unless_asked() -> None:
    other = ORIGINAL.with_columns(ORIGINAL["illness"].shuffle(seed=4))
    tables = [shoal.microaggregate(shoal.read(f, **PARTS), k=K, method="mdav") for f in (ORIGINAL, other)]
    assert tables[0].table.select(QUASI).equals(tables[1].table.select(QUASI))


# -- figures against slow twins ------------------------------------------------------------------


@st.composite
def tables(draw: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["grid", "normal", "offset", "text", "gaps"]))
    values: Any = rng.integers(0, 4, (n, 2)).astype(float)
    if kind in ("normal", "offset"):
        values = rng.normal(size=(n, 2)) + (1e9 if kind == "offset" else 0.0)
    frame = pl.DataFrame({"a": values[:, 0], "b": values[:, 1], "c": rng.integers(0, 3, n), "d": rng.normal(size=n)})
    if kind == "text":
        frame = frame.with_columns(pl.col("a").cast(pl.Int64).cast(pl.String))
    if kind == "gaps":
        frame = frame.with_columns(pl.when(pl.col("a") > 2).then(None).otherwise("a").alias("a"))
    groups = np.arange(n) // draw(st.integers(1, 4))
    after = frame.with_columns(frame["a"][groups.tolist()].alias("a"), frame["b"][groups.tolist()].alias("b"))
    return frame, after


@given(tables(), st.sampled_from(["equal", "ordered"]), st.sampled_from(["distinct", "entropy", "recursive"]))
def test_classes_l_and_t_agree_with_the_measures(both: Any, distance: str, kind: str) -> None:
    _, after = both
    alike = classes(after, ("a", "b"))
    rows = list(zip(after["a"].to_list(), after["b"].to_list(), strict=True))
    assert sorted(alike.sizes.tolist()) == sorted(rows.count(row) for row in set(rows))
    assert all((alike.labels[i] == alike.labels[j]) == (rows[i] == rows[j]) for i in range(len(rows)) for j in (0, -1))
    for name in ("c", "d"):
        codes = np.unique(after[name].to_numpy(), return_inverse=True)[1]
        assert farthest(alike, after[name], distance) == pytest.approx(t_closeness(alike.labels, codes, distance))
        expected = diversity_of(alike.labels, codes, kind, 2.0).min()
        assert diversity(alike, after[name], kind, 2.0) == pytest.approx(expected)


@given(tables(), st.sampled_from([("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")]))
def test_linkage_and_dominance_agree_with_loops(both: Any, known: tuple[str, ...]) -> None:
    before, after = both
    assume(before["a"].dtype == pl.Float64 and not before["a"].null_count())
    as_is = [name for name in ("c", "d") if name not in known]
    gate = shoal.check(before, after, quasi=["a", "b"], as_is=as_is)
    old, new = (frame.select(known).to_numpy() for frame in both)
    exact = [j for j in range(len(known)) if (old[:, j] == new[:, j]).all()]  # an unchanged column must agree
    scale = np.where(old.std(axis=0) > 0, old.std(axis=0), 1.0)
    chance, worst = 0.0, 0.0
    for i in range(len(old)):
        distance = np.sqrt((((old[i] - new) / scale) ** 2).sum(axis=1))
        distance[(old[i, exact] != new[:, exact]).any(axis=1)] = np.inf
        near = distance <= distance.min() * (1 + 1e-9)
        chance += near[i] / near.sum()
        members = (new[:, :2] == new[i, :2]).all(axis=1)
        for j in range(2):
            values = np.sort(np.abs(old[members, j]))
            if (old[:, j] != new[:, j]).any() and values.sum() > 0:
                worst = max(worst, values[-2:].sum() / values.sum())
    assert gate.figures.known.columns == known
    assert gate["distance-linkage"].figure == gate.figures.known.linked == pytest.approx(chance / len(old), abs=2e-6)
    counts = np.unique(new, axis=0, return_counts=True)[1]
    assert gate.figures.known.k == counts.min() and gate.figures.known.uniques == (counts == 1).sum()
    if gate["dominance"].threshold is not None:
        assert gate["dominance"].figure == pytest.approx(worst, abs=1e-4)


@given(tables(), st.integers(1, 5), st.booleans(), st.sampled_from(["default", "public", "scientific"]))
def test_any_pair_of_tables_gets_findings(both: Any, k: int, turned: bool, policy: str) -> None:
    before, after = both
    gate = shoal.check(before, after[::-1] if turned else after, quasi=["a", "b"], confidential="c", k=k, policy=policy)
    counts = after.group_by("a", "b").len()["len"]
    assert gate["joint-k"].figure == counts.min()
    assert (gate["joint-k"].status == "block") >= (counts.min() < k)
    known = after.group_by("a", "b", "d").len()["len"]  # d has no role
    assert gate["known-k"].figure == gate.figures.known.k == known.min()
    assert gate.figures.known.uniques == (known == 1).sum()
    assert (gate["known-k"].status == "block") >= (known.min() < k) and gate["known-k"].status != "info"
    assert gate.facts()["passed"] == (not gate.facts()["blocking"])


@pytest.mark.parametrize(
    ("option", "message"),
    [({"distance": "ordered"}, "--distance ordered is about confidential columns"),
     ({"round_weight": True}, "--round-weight needs a weight column")],
)  # fmt: skip
def test_an_option_without_effect_is_an_error(option: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame({"age": [20, 20, 30, 30], "mass": [1.0, 1.0, 2.0, 2.0], "illness": ["a", "b", "a", "b"]})
    with pytest.raises(UsageError, match=message):
        shoal.check(frame, frame, quasi=["age"], as_is=["mass", "illness"], k=2, **option)
    roles = {"quasi": ["age"], "weight": "mass", "confidential": ["illness"]}
    assert shoal.check(frame, frame, **roles, k=2, **option).passed


def test_weights_that_fewer_than_k_records_share_are_rare() -> None:
    frame = pl.DataFrame({"age": [30.0] * 10, "mass": [1.0] * 7 + [2.5] * 3})
    finding = shoal.check(frame, frame, quasi=["age"], weight="mass", k=5)["weight"]
    assert finding.status == "warn" and finding.figure == 3
    assert shoal.check(frame, frame, quasi=["age"], weight="mass", k=3)["weight"].figure == 0


def test_a_sample_is_linked_with_its_error() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": np.sort(rng.normal(size=24_000))})
    release = frame.with_columns(pl.col("a").mean().over(pl.int_range(pl.len()) // 4))
    gate = shoal.check(frame, release, k=4)
    assert "standard error" in gate["distance-linkage"].finding and 0 < gate.figures.known.linked_se < 0.01


# -- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "different"),
    [
        (pl.Series([0.0, 1.0, None]), pl.Series([-0.0, 1.0, float("nan")]), [True, False, False]),
        (pl.Series([1, 2, None]), pl.Series([1.0, 2.5, None]), [False, True, False]),
        (pl.Series([1, 2], dtype=pl.UInt8), pl.Series([1, 2], dtype=pl.Int64), [False, False]),
        (pl.Series([2**62, 2**62 + 1]), pl.Series([2**62, 2**62], dtype=pl.UInt64), [False, True]),
        (pl.Series([True, False]), pl.Series([1.0, 1.0]), [False, True]),
        (pl.Series(["a", None]), pl.Series([1.0, None]), [True, False]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), pl.Series(["a", "c"]), [False, True]),
        (pl.Series([0.1], dtype=pl.Float32), pl.Series([0.1]), [True]),
        (pl.Series([[1], [2]]), pl.Series([[1], [3]]), [False, True]),
    ],
)
def test_which_cells_differ(before: pl.Series, after: pl.Series, different: list[bool]) -> None:
    assert differing(before, after).tolist() == different


def test_blanks_of_statistical_formats() -> None:
    before, after = pl.Series(["a ", "", None]), pl.Series(["a", None, ""])
    assert differing(before, after).all()
    assert not differing(before, after, blanks=True).any()


def test_l_is_read_or_refused() -> None:
    assert read_diversity("3") == Diversity(3.0)
    assert read_diversity(["entropy", "2"]) == Diversity(2.0, "entropy")
    assert read_diversity(("recursive", "3", 2)) == Diversity(2.0, "recursive", 3.0)  # c, then l
    for wrong in ("many", ("entropy",), ("entropy", 1, 2), ("recursive", 2), 0):
        with pytest.raises(UsageError):
            read_diversity(wrong)
    with pytest.raises(UsageError, match="not a protected column"):
        shoal.check(ORIGINAL, RELEASE, **(PARTS | {"column_groups": [["visits"]]}))
    for wanted in ({"t": 0.5}, {"l": 2}):
        with pytest.raises(UsageError, match="confidential"):
            shoal.check(ORIGINAL, RELEASE, **(PARTS | wanted | {"confidential": ()}))
