"""`shoal mask` hides the group: at every alpha and in every signal, without new peaks, and by choices of its secret."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import shoal
from reference import masking as twin
from shoal.errors import PromiseError, ShoalError, UsageError
from shoal.protections.regions import mask_group
from shoal.protections.regions.dependence import tie
from shoal.protections.regions.hiding import concealment, draw_signal
from shoal.protections.regions.kernels import swap_targets
from shoal.protections.regions.outliers import critical_taus
from shoal.protections.regions.protection import ALPHAS, measure_protection, outlier_signs
from shoal.protections.regions.release import GroupRelease
from shoal.protections.regions.signal import Signal
from shoal.protections.regions.similarity import matching_values
from shoal.protections.regions.task import MaskingLimits, masking_task

MATCHING = ["age", "sex", "education"]
# Counts of the true outliers, the ordinary counts' mean, the spread of the regions' sizes, the regions.
SHAPES: dict[str, tuple[dict[int, int], float, float, int]] = {
    "two peaks": ({7: 210, 23: 140}, 28.0, 0.0, 40),
    "regions of many sizes": ({7: 210, 23: 140}, 28.0, 0.4, 40),
    "small counts": ({7: 60, 23: 40}, 3.0, 0.0, 40),
    "six peaks": ({3: 120, 7: 210, 11: 150, 23: 140, 31: 110, 38: 160}, 30.0, 0.0, 40),
    "a peak and a hole": ({7: 210, 23: 2}, 60.0, 0.0, 40),
    "few regions": ({2: 90, 9: 70}, 20.0, 0.0, 12),
}


def made(shape: str = "two peaks", seed: int = 0, records: int = 12_000) -> pl.DataFrame:
    """People in regions; the guards are concentrated in a few of them."""
    peaks, mean, spread, regions = SHAPES[shape]
    rng = np.random.default_rng(seed)
    share = rng.lognormal(0.0, spread, regions)
    region = np.concatenate([np.arange(regions), rng.choice(regions, records - regions, p=share / share.sum())])
    job = rng.choice(["cook", "clerk", "nurse"], records).astype(object)
    for d in range(regions):
        rows = np.flatnonzero(region == d)
        ordinary = min(int(rng.poisson(mean * share[d])), int(1.4 * mean) + 2)
        count = peaks.get(d, ordinary)
        job[rng.choice(rows, min(count, rows.size - 5), replace=False)] = "guard"
    return pl.DataFrame(
        {
            "district": [f"D{d:02d}" for d in region],
            "job": job.tolist(),
            "age": rng.integers(18, 70, records),
            "sex": rng.choice(["f", "m"], records),
            "education": rng.integers(1, 7, records),
            "income": rng.lognormal(10, 0.5, records).round(-2),
        }
    )


def masked(frame: Any, secret: int | None = 1, **more: Any) -> GroupRelease:
    options = {"vital": ("job", ["guard"]), "parameter": "district", "influential": MATCHING}
    known = {} if secret is None else {"secret": f"{secret:032x}"}
    return mask_group(frame, **{**options, **known, **more})


def signals(frame: pl.DataFrame) -> dict[str, dict[str, float]]:
    """The number and the share of guards by region, counted here and not by the package."""
    found = frame.group_by("district").agg((pl.col("job") == "guard").sum().alias("count"), pl.len()).sort("district")
    share = found["count"] / found["len"]
    return {
        "quantity": dict(zip(found["district"], found["count"].to_list(), strict=True)),
        "concentration": dict(zip(found["district"], share.to_list(), strict=True)),
    }


def outlier_names(signal: dict[str, float], alpha: float) -> set[str]:
    return {list(signal)[i] for i in twin.tau_outliers(list(signal.values()), alpha, "both")}


@pytest.mark.parametrize("secret", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_group_is_hidden_at_every_alpha_in_every_signal(shape: str, secret: int) -> None:
    frame = made(shape)
    release = masked(frame, secret)
    before, after = signals(frame), signals(release.table)
    original = outlier_names(before["quantity"], 0.01)
    peaks = {name for name in original if before["quantity"][name] > np.median(list(before["quantity"].values()))}
    assert len(peaks) >= 1 and set(release.facts["outliers"]) >= original
    for kind in ("quantity", "concentration"):
        for alpha in ALPHAS:
            seen = outlier_names(after[kind], alpha)
            assert not seen & original
            assert seen <= outlier_names(before[kind], alpha)
        largest = max(value for name, value in after[kind].items() if name not in original)
        assert all(after[kind][name] < largest for name in peaks)
    assert release.facts["compatibility"] >= 0.95 and release.facts["hidden"] is True
    assert "none of the" in release.facts["headline"] and "no new outlier" in release.facts["headline"]


def test_two_secrets_differ_and_one_repeats_bit_for_bit() -> None:
    frame = made()
    one, again, two = masked(frame, 1), masked(frame, 1), masked(frame, 2)
    assert one.table.equals(again.table) and one.facts["modified_signal"] == again.facts["modified_signal"]
    assert one.facts["modified_signal"] != two.facts["modified_signal"]
    moved = [set(release.solution.swaps[:, 0].tolist()) for release in (one, two)]
    assert len(moved[0] & moved[1]) < len(moved[0])
    typed = [masked(frame, None, seed=seed).table for seed in (3, 3, 4)]
    assert typed[0].equals(typed[1]) and not typed[0].equals(typed[2])


@pytest.mark.parametrize("signal", ["quantity", "concentration"])
def test_other_labels_for_the_regions_give_the_same_swaps(signal: str) -> None:
    frame = made("regions of many sizes")
    names = frame["district"].unique().sort().to_list()
    other = dict(zip(names, np.random.default_rng(5).permutation(names).tolist(), strict=True))
    renamed = frame.with_columns(pl.col("district").replace_strict(other))
    one, two = masked(frame, signal=signal), masked(renamed, signal=signal)
    assert one.table["district"].replace_strict(other).equals(two.table["district"])
    assert sorted(other[name] for name in one.facts["outliers"]) == two.facts["outliers"]


def test_targets_and_destinations_cannot_be_predicted() -> None:
    frame = made()
    heights, arrivals, limited = [], [], set()
    for secret in range(1, 11):
        facts = masked(frame, secret).facts
        signal = dict(zip(facts["districts"], facts["modified_signal"], strict=True))
        heights.append(tuple(signal[name] for name in facts["outliers"]))
        arrivals.append(dict(zip(facts["districts"], facts["arrivals"], strict=True)))
        limited |= set(facts["limited_regions"])
    assert len(set(heights)) >= 9 and sum(one != two for one, two in heights) >= 7
    takers = [name for name in signal if name not in facts["outliers"] and name not in limited]
    assert len(takers) >= 20
    assert chisquare([sum(by[name] for by in arrivals) for name in takers]).pvalue > 0.001


def test_the_front_trades_distortion_for_protection_and_pick_takes_from_it() -> None:
    frame, finer = made(), {"influential": [*MATCHING, "income"], "ordinal": ["income"]}
    facts = masked(frame, **finer).facts
    front = facts["feasible_solutions"]
    assert len(front) >= 2
    assert all(a["metric"] < b["metric"] for a, b in pairwise(front))
    assert front[-1]["candidate_regions"] > front[0]["candidate_regions"]
    assert front[facts["picked"] - 1]["candidate_regions"] >= len(facts["districts"]) // 2
    first = masked(frame, pick=1, **finer).facts
    assert first["metric"] == front[0]["metric"] < facts["metric"]
    assert facts["lower_bound"] <= first["metric"]
    with pytest.raises(UsageError, match="pick must be between 1 and"):
        masked(frame, pick=99)


def test_decoys_stand_out_only_where_they_are_asked_for() -> None:
    release = masked(made(), decoys=2)
    facts = release.facts
    assert len(facts["decoys"]) == 2 and set(facts["new_outliers"]) == set(facts["decoys"])
    assert not set(facts["decoys"]) & set(facts["outliers"])
    assert facts["hidden"] is True and "new outliers: " in facts["headline"]
    release.verify()


def peaks_nearly_everywhere(ordinary: int) -> pl.DataFrame:
    """Ten regions with about forty guards each, few with five: what the ten give away has no place to go."""
    rng = np.random.default_rng(0)
    counts = [*range(36, 46), *[5] * ordinary]
    region = np.repeat(np.arange(len(counts)), 600)
    job = np.full(region.size, "cook", dtype=object)
    for d, count in enumerate(counts):
        job[np.flatnonzero(region == d)[:count]] = "guard"
    ages = rng.integers(18, 70, region.size)
    return pl.DataFrame({"district": [f"D{d}" for d in region], "job": job.tolist(), "age": ages})


def test_where_it_is_impossible_the_nearest_choices_are_named() -> None:
    named = {"outliers": [f"D{d}" for d in range(10)], "influential": ["age"]}
    with pytest.raises(
        PromiseError, match=r"The group cannot be hidden\. .* Name fewer regions with --outliers"
    ) as refused:
        masked(peaks_nearly_everywhere(1), **named)
    assert refused.value.exit_code == 1
    with pytest.raises(PromiseError, match=r"These options help: .*--decoys 1"):
        masked(peaks_nearly_everywhere(2), **named)
    assert masked(peaks_nearly_everywhere(2), decoys=1, **named).facts["hidden"]
    finer = {"influential": [*MATCHING, "income"], "ordinal": ["income"]}
    with pytest.raises(PromiseError, match=r"can be hidden at alpha .* \(--distortion 0"):
        masked(made(), distortion=0.0, **finer)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=4, max_size=30), st.sampled_from(ALPHAS), st.booleans(), st.data())
def test_the_kernel_sees_what_the_measure_sees(counts: list[int], alpha: float, upper: bool, data: Any) -> None:
    """The kernel and the other implementation of the tau test mark the same regions, in one signal and in two."""
    values = np.array(counts, dtype=np.int64)
    m = values.size
    sizes = np.array(data.draw(st.lists(st.integers(61, 99), min_size=m, max_size=m)), dtype=np.float64)
    scales, sign = np.stack([np.ones(m), sizes]), np.zeros(m, dtype=np.int64)
    critical, bad = critical_taus(m, alpha)[None, :], np.zeros(m)
    flags = [outlier_signs(values / scale, alpha, "upper" if upper else "both") != 0 for scale in scales]
    for some in (scales[:1], scales[1:], scales):
        allowed = np.zeros((1, len(some), m), dtype=np.int8)
        left = swap_targets.exposure(
            values, np.zeros(some.shape), np.ascontiguousarray(some), critical, upper, allowed, sign, bad
        )
        expected = flags[0] | flags[1] if len(some) == 2 else flags[int(some is not scales and some[0, 0] != 1.0)]
        assert (left > 0.0) == expected.any()
        if len(some) == 1:
            assert ((bad != 0.0) == expected).all()


def test_protection_names_what_is_left_what_is_new_and_what_is_largest() -> None:
    before = np.array([4, 5, 6, 9, 7, 8, 4, 10, 60, 9], dtype=np.int64)
    signal = Signal("quantity", before, np.zeros(10), np.ones(10))
    outlying, upper = np.array([8]), np.array([True])
    same = measure_protection([signal], before, outlying, upper)
    assert same.left.tolist() == [8] and same.largest.tolist() == [8] and not same.new.size and not same.hidden
    moved = before.copy()
    moved[[8, 0]] = 7, 58
    peak = measure_protection([signal], moved, outlying, upper)
    assert not peak.left.size and peak.new.tolist() == [0] and not peak.hidden
    assert peak.hidden_but_for(np.array([0])) and peak.ranks["quantity"].tolist() == [7]
    spread = before + 5
    spread[8] = 13
    assert measure_protection([signal], spread, outlying, upper).hidden
    spread[8] = 15
    assert measure_protection([signal], spread, outlying, upper).largest.tolist() == [8]


def test_a_drawn_target_keeps_the_total_and_the_bounds() -> None:
    frame = made("small counts")
    region = frame["district"].str.slice(1).cast(pl.Int64).to_numpy()
    codes = frame.select("age", "education").to_numpy()
    values = matching_values(np.empty((frame.height, 0)), codes)
    task = masking_task(region, (frame["job"] == "guard").to_numpy(), values, limits=MaskingLimits(compatibility=0.95))
    drawn = draw_signal(task, concealment(task), np.random.default_rng(0), 0.0, 20)
    assert drawn is not None
    assert drawn.counts.sum() == task.signal.counts.sum()
    assert (drawn.counts >= 0).all() and (drawn.counts <= task.room).all()
    assert task.restrictions.compatibility(task.signal.of(drawn.counts)) >= 0.95


def test_a_column_that_follows_the_region_is_refused_or_moves_along() -> None:
    frame = made().with_columns((pl.col("district").str.slice(1).cast(pl.Int64) // 10).alias("county"))
    with pytest.raises(
        PromiseError, match=r"'county' \(each region of 'district' has one value of it\).*--along county"
    ):
        masked(frame)
    release = masked(frame, along=["county"])
    assert release.changed == ("district", "county")
    table = release.table
    assert table.group_by("district").agg(pl.col("county").n_unique())["county"].max() == 1
    changed = (table["district"] != frame["district"]).to_numpy()
    assert changed.sum() == 2 * release.facts["swaps"]
    assert (table["county"] != frame["county"]).any()
    wrong = replace(release, frame=table.with_columns(pl.Series("county", frame["county"].to_list()[::-1])))
    with pytest.raises(PromiseError, match="district, county did not change places together"):
        wrong.verify()


def test_a_column_whose_values_lie_in_one_region_each_is_refused() -> None:
    frame = made()
    house = frame["district"].str.slice(1).cast(pl.Int64) * 1000 + pl.Series(np.arange(frame.height) // 2 % 100)
    with pytest.raises(PromiseError, match=r"'house' \(each of its values lies in one region of 'district'\)"):
        masked(frame.with_columns(house.alias("house")))


@pytest.mark.parametrize("noise, tied", [(0.0, "follows"), (0.05, "follows"), (0.4, None), (1.0, None)])
def test_ties_are_distinguished_from_correlation(noise: float, tied: str | None) -> None:
    rng = np.random.default_rng(1)
    region = rng.integers(0, 30, 9000)
    column = np.where(rng.random(9000) < noise, rng.integers(0, 5, 9000), region % 5)
    assert tie(region, column) == tied
    assert tie(region, np.zeros(9000, dtype=np.int64)) is None
    assert tie(region, (rng.random(9000) < 0.003).astype(np.int64)) is None
    assert tie(region, np.arange(9000)) is None
    assert tie(region, rng.integers(0, 4000, 9000)) is None


def test_the_final_table_is_measured_before_anything_is_written() -> None:
    release = masked(made())
    unmasked = replace(
        release, frame=release.original.frame, solution=replace(release.solution, swaps=np.empty((0, 2), int))
    )
    with pytest.raises(PromiseError, match="nothing is written.*2 regions are still outliers: D07, D23"):
        unmasked.verify()


def test_options_that_do_not_go_together_are_refused() -> None:
    frame = made()
    for more, message in [
        ({"method": "memetic"}, "add --settings published"),
        ({"sensitivity": 0.5}, "needs --settings published"),
        ({"settings": "published", "decoys": 1}, "--decoys needs --settings hiding"),
        ({"settings": "publish"}, "Did you mean 'published'"),
        ({"alphas": [2.0]}, "alphas must be numbers between 0 and 1"),
        ({"decoys": 38}, "decoys must be between 0 and"),
        ({"along": ["nothing"]}, "Unknown column 'nothing'"),
    ]:
        with pytest.raises(ShoalError, match=message):
            masked(frame, **more)


def test_published_settings_say_what_they_leave() -> None:
    """The paper's selection leaves the original outliers the largest regions; the headline does not hide it."""
    facts = masked(made(), settings="published", budget=40, steps=0).facts
    assert facts["settings"] == "published" and facts["hidden"] is False
    assert facts["outliers_left"] or facts["new_outliers"] or facts["still_largest"]
    assert "still" in facts["headline"] or "new outliers" in facts["headline"]


def test_a_file_whose_households_would_be_split_is_refused() -> None:
    frame = made().with_columns(pl.Series("house", np.arange(12_000) // 3))
    with pytest.raises(PromiseError, match=r"4,000 units of 'house' have more than one row, the largest 3\. .* split"):
        masked(shoal.read(frame, unit="house"))
    alone = frame.with_columns(pl.Series("house", np.arange(12_000)))
    assert masked(shoal.read(alone, unit="house")).facts["hidden"]
