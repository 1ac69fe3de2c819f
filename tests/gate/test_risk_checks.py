"""Checks on risk and on roles, each on a table small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal

# Classes of 2, 2 and 4 records: the average risk is 3 classes / 8 records.
AGES = pl.DataFrame({"age": [20, 20, 30, 30, 40, 40, 40, 40], "job": list("aabbccdd")})


def test_average_and_row_risk_are_those_counted_by_hand() -> None:
    found = shoal.check(AGES, AGES, quasi="age", as_is="job", policy="scientific", keep_order=True)
    assert found["average-risk"].figure == pytest.approx(3 / 8) and found["average-risk"].status == "block"
    assert found["row-risk"].figure == 4 and found["row-risk"].status == "block"
    larger = pl.concat([AGES] * 5)
    found = shoal.check(larger, larger, quasi="age", as_is="job", policy="scientific", keep_order=True, unit=False)
    assert found["average-risk"].figure == pytest.approx(3 / 40) and found["average-risk"].status == "ok"
    assert found["row-risk"].figure == 0 and found["row-risk"].status == "ok"


def test_average_risk_counts_persons() -> None:
    rows = AGES.with_columns(pid=pl.Series([1, 1, 2, 3, 4, 5, 6, 7]))
    found = shoal.check(rows, AGES, quasi="age", as_is="job", unit="pid", keep_order=True)
    # Two rows of one person (risk 1 each), a class of two persons, a class of four: (2 * 1 + 2 / 2 + 4 / 4) / 8.
    assert found["average-risk"].figure == pytest.approx((2 + 1 + 1) / 8)
    assert found["maximum-risk"].figure == 1.0 and found.figures.known.k == 1


def test_the_intersection_of_column_groups_finds_people() -> None:
    rng = np.random.default_rng(0)
    before = pl.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    after = before
    for name in ("x", "y"):
        label = np.argsort(np.argsort(before[name].to_numpy())) // 4
        means = np.bincount(label, before[name].to_numpy()) / np.bincount(label)
        after = after.with_columns(pl.Series(name, means[label]))
    found = shoal.check(before, after, quasi=["x", "y"], column_groups=[["x"], ["y"]], k=4, accept_k=1)
    assert found["k-within-groups"].figure == 4
    own = 0.0
    for i in range(60):  # the nearest centroid of each group, then the records in both classes
        near = [after[c].to_numpy() == min(set(after[c]), key=lambda v, c=c: abs(v - before[c][i])) for c in ("x", "y")]
        both = near[0] & near[1]
        own += both[i] / max(int(both.sum()), 1)
    assert found["group-linkage"].figure == pytest.approx(own / 60, abs=1e-6)


def test_columns_without_a_role_block_where_l_is_demanded() -> None:
    frame = pl.DataFrame({"age": [20, 20, 30, 30] * 5, "ill": list("xyxy") * 5, "town": list("aabb") * 5})
    roles = {"quasi": "age", "confidential": "ill", "unit": False, "keep_order": True}
    assert shoal.check(frame, frame, k=5, **roles)["roles"].status == "info"
    assert shoal.check(frame, frame, k=5, l=2, **roles)["roles"].status == "block"
    assert shoal.check(frame, frame, k=5, policy="public", **roles)["roles"].status == "block"
    assert shoal.check(frame, frame, k=5, l=2, as_is="town", **roles)["roles"].status == "ok"


def test_a_confidential_number_that_is_nearly_unique_is_a_key() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": [20, 30] * 20, "debt": rng.normal(size=40), "visits": rng.integers(0, 5, 40)})
    found = shoal.check(frame, frame, quasi="age", confidential=["debt", "visits"], k=20, unit=False)
    assert (
        found["keys"].status == "warn" and "'debt'" in found["keys"].finding and "visits" not in found["keys"].finding
    )


@pytest.mark.parametrize("role", ["confidential", "as_is"])
def test_a_name_that_is_called_confidential_is_pointed_out(role: str) -> None:
    names = [
        f"{first} {last}" for first in ("Ada", "Bea", "Carl", "Dora") for last in ("Berg", "Dahl", "Falk", "Holm")
    ] * 2
    frame = pl.DataFrame({"age": [20, 30] * 16, "who": [f"{n}sen{i}" for i, n in enumerate(names)]})
    found = shoal.check(frame, frame, quasi="age", k=16, unit=False, **{role: "who"})
    assert found["identifier-role"].status == "warn" and "'who'" in found["identifier-role"].finding
    assert (
        shoal.check(frame, frame, quasi="age", k=16, unit=False, policy="public", **{role: "who"})[
            "identifier-role"
        ].status
        == "block"
    )


def test_a_class_as_small_as_the_limit_is_a_small_count(tmp_path: Path) -> None:
    policy = tmp_path / "own.toml"
    policy.write_text(
        'title = "Own"\njustification = "Because."\n[thresholds]\nk = 2\nsmall_count = 5\n'
        '[sources]\nk = "the board"\nsmall_count = "the board"\n'
    )
    frame = pl.DataFrame({"town": ["a"] * 5 + ["b"] * 6})
    finding = shoal.check(frame, frame, quasi=["town"], k=2, policy=policy)["small-counts"]
    assert finding.figure == 1 and finding.finding == "1 class has 1 to 5 records"
