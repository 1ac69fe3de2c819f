"""The attack on a masked group: what other columns tell of the regions that its members came from."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.attacks.membership import attack_regions
from shoal.protections.regions import mask_group

RECORDS, REGIONS = 12_000, 20


def made(telling: float, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Columns, released and original regions, members; telling: the share of records with their region's dialect."""
    rng = np.random.default_rng(seed)
    original = rng.integers(0, REGIONS, RECORDS)
    dialect = np.where(rng.random(RECORDS) < telling, original, rng.integers(0, REGIONS, RECORDS))
    member = np.zeros(RECORDS, dtype=bool)
    for d in range(REGIONS):
        member[np.flatnonzero(original == d)[: {4: 150, 9: 120}.get(d, 12 + d % 7)]] = True
    released = original.copy()
    moving = np.flatnonzero(member & np.isin(original, [4, 9]))
    moving = np.concatenate([moving[original[moving] == 4][15:], moving[original[moving] == 9][15:]])
    partners = rng.choice(np.flatnonzero(~member & ~np.isin(original, [4, 9])), moving.size, replace=False)
    released[moving], released[partners] = original[partners], original[moving]
    return [dialect, rng.integers(0, 60, RECORDS)], released, original, member


def test_a_telling_column_gives_the_origin_away() -> None:
    columns, released, original, member = made(0.7)
    found = attack_regions(columns, released, original, member, np.array([4, 9]), regions=REGIONS)
    assert found.guessed > 0.5 and found.guessed_base < 0.1
    assert found.learnt > 0.5 and found.learnt_base < 0.1
    assert sorted(found.ranks) == [1, 2] and found.finds


def test_columns_that_tell_nothing_stay_at_the_base_rate() -> None:
    columns, released, original, member = made(0.0)
    found = attack_regions(columns, released, original, member, np.array([4, 9]), regions=REGIONS)
    assert abs(found.guessed - found.guessed_base) < 0.06
    assert abs(found.learnt - found.learnt_base) < 0.03 and not found.finds
    assert np.isclose(sum(found.expected), member.sum())


def test_the_original_is_not_used_to_learn() -> None:
    columns, released, original, member = made(0.7)
    found = attack_regions(columns, released, original, member, np.array([4, 9]), regions=REGIONS)
    other = attack_regions(columns, released, np.roll(original, 1), member, np.array([4, 9]), regions=REGIONS)
    assert other.expected == found.expected and other.learnt == found.learnt and other.guessed < found.guessed


def test_a_masked_release_reports_the_attack() -> None:
    columns, _, original, member = made(0.7)
    frame = pl.DataFrame(
        {
            "district": [f"D{d:02d}" for d in original],
            "job": np.where(member, "guard", "cook"),
            "dialect": columns[0],
            "age": columns[1],
        }
    )
    release = mask_group(frame, vital=("job", ["guard"]), parameter="district", influential=["age"], seed=1)
    attack = release.facts["attack"]
    assert attack["finds_outliers"] is True and sorted(attack["ranks"]) == ["D04", "D09"]
    assert attack["moved_guessed"] > 5 * attack["moved_guessed_base"]
    matched = mask_group(
        frame.drop("dialect"), vital=("job", ["guard"]), parameter="district", influential=["age"], seed=1
    ).facts["attack"]
    assert matched["finds_outliers"] is False
