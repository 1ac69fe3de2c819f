"""`shoal.group_attributes`: the values that are written, their measures, the front, the floor and the baselines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from reference import grouping as slow
from shoal.errors import PromiseError, UsageError
from shoal.measures.evidence import evidence_of_numbers
from shoal.measures.linkage import distance_linkage, first_columns, same_scale
from shoal.protections.grouping.all_groupings import exact
from shoal.protections.grouping.command import show
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.floor import Floor
from shoal.protections.grouping.gomm import GommSettings, gomm
from shoal.protections.grouping.grouping import apart, from_lists, together
from shoal.protections.grouping.memetic import memetic
from shoal.recipe import Step
from shoal.report.page import Text
from shoal.table.scaling import scale

K = 4
COLUMNS = ["a", "b", "c", "d"]


def numbers(n: int = 60, seed: int = 0) -> pl.DataFrame:
    """Integers of a small range: rounding the means changes every measure."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, 2))
    columns = [np.rint(3 * (base @ rng.normal(size=2)) + rng.normal(size=n)).astype(int) for _ in COLUMNS]
    return pl.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def protect(data: pl.DataFrame | None = None, **arguments):
    return shoal.group_attributes(numbers() if data is None else data, K, **{"effort": "quick", "seed": 0, **arguments})


def by_mdav(**arguments):
    return protect(within_groups="mdav", effort=None, **arguments)


def evidence_of(release):
    before, after = release.original.numbers(COLUMNS), release.protected.numbers(COLUMNS, allow_constant=True)
    return evidence_of_numbers(before, after, convention=release.facts["convention"])


# -- the values that are written -----------------------------------------------------------------------


@pytest.mark.parametrize("convention", ["sound", "thesis"])
@pytest.mark.parametrize("within_groups", ["search", "mdav"])
@pytest.mark.parametrize("groups", [[COLUMNS], [["a", "b"], ["c", "d"]]], ids=["one group", "two groups"])
def test_the_measures_are_those_of_the_rounded_values(convention, within_groups, groups):
    effort = "quick" if within_groups == "search" else None
    common = {"groups": groups, "convention": convention, "within_groups": within_groups, "effort": effort}
    rounded, plain = protect(round=True, **common), protect(**common)
    assert rounded.protected.frame.equals(rounded.protected.frame.select(pl.all().round()))
    evidence = evidence_of(rounded)
    for name in ("information_loss", "interval_disclosure", "distance_linkage", "distance_linkage_all_columns"):
        assert rounded.facts[name] == pytest.approx(evidence.number(name)), name
    assert rounded.facts["information_loss"] != pytest.approx(plain.facts["information_loss"], rel=1e-6)
    risk = (rounded.facts["interval_disclosure"] + rounded.facts["distance_linkage_all_columns"]) / 2
    assert rounded.facts["fitness"] == pytest.approx((rounded.facts["information_loss"] + risk) / 2)
    classes = rounded.protected.frame.group_by(COLUMNS).len()["len"]
    assert rounded.facts["joint_k"] == classes.min()


def test_the_points_of_the_front_are_measured_on_rounded_values():
    release = by_mdav(method="memetic", evaluations=200, with_front=True, round=True)
    for point in release.facts["front"]:
        alone = by_mdav(groups=point["groups"], round=True)
        for name in ("fitness", "information_loss", "distance_linkage", "joint_k"):
            assert point[name] == pytest.approx(alone.facts[name]), name


# -- the intruders -------------------------------------------------------------------------------------


def test_the_linkage_names_its_intruder_and_its_spread():
    release = protect(method="univariate", intruder=["d", "a"])
    before, after = release.original.numbers(COLUMNS), release.protected.numbers(COLUMNS)
    arrays = same_scale(before, after, standard=True)
    sets = first_columns(len(COLUMNS), seed=0)
    per_set = [distance_linkage(*arrays, sets=[columns]).percent for columns in sets]
    facts = release.facts
    assert facts["distance_linkage"] == pytest.approx(np.mean(per_set))
    assert facts["distance_linkage_std"] == pytest.approx(np.std(per_set, ddof=1)) and facts["distance_linkage_std"] > 0
    assert facts["distance_linkage_sets"] == len(sets)
    assert facts["distance_linkage_all_columns"] == pytest.approx(per_set[-1])
    assert facts["intruder_columns"] == ["d", "a"]
    assert facts["distance_linkage_intruder_columns"] == pytest.approx(distance_linkage(*arrays, sets=[[3, 0]]).percent)
    rows = dict(row for block in show(release) if block.kind == "grid" for row in block.rows if len(row) == 2)
    assert rows["linkage, mean over 4 sets of columns"] == f"{np.mean(per_set):.4f} %"
    assert rows["linkage, standard deviation over these sets"] == f"{np.std(per_set, ddof=1):.4f} %"
    assert {"linkage, intruder holds all columns", "linkage, intruder holds d, a"} <= set(rows)
    with pytest.raises(UsageError, match="Unknown column 'nobody'"):
        protect(method="univariate", intruder=["nobody"])


# -- inside the column groups --------------------------------------------------------------------------


def test_auto_takes_the_better_of_the_search_and_mdav():
    for seed in range(3):
        data = numbers(seed=seed)
        search = protect(data, method="all", within_groups="search")
        mdav = protect(data, method="all", within_groups="mdav", effort=None)
        auto = protect(data, method="all")
        assert search.facts["information_loss"] < mdav.facts["information_loss"]
        assert search.facts["fitness_estimate"] == pytest.approx(mdav.facts["fitness"])
        best = min((search, mdav), key=lambda one: one.facts["fitness"])
        assert auto.facts["fitness"] == best.facts["fitness"]
        assert auto.facts["within_groups"] == best.facts["within_groups"]
        assert auto.protected.frame.equals(best.protected.frame)


def test_the_search_inside_one_group_is_that_of_microaggregation():
    alone = shoal.microaggregate(numbers(), K, effort="quick", seed=0)
    grouped = protect(method="all", within_groups="search")
    assert grouped.protected.frame.equals(alone.protected.frame)


def test_the_thesis_convention_uses_mdav():
    data = numbers()
    plain = shoal.group_attributes(data, K, method="all", convention="thesis", seed=0)
    named = shoal.group_attributes(data, K, method="all", convention="thesis", within_groups="mdav", seed=0)
    assert plain.facts["within_groups"] == "mdav" and plain.facts["fitness"] == named.facts["fitness"]
    for wrong in ({"convention": "thesis"}, {"within_groups": "mdav"}):
        with pytest.raises(UsageError, match="Remove --effort"):
            shoal.group_attributes(data, K, method="all", effort="quick", **wrong)


def test_census_gains_by_the_search(shared_data):
    columns = pl.read_csv(shared_data / "census.csv").drop("ERNVAL")
    mdav = shoal.group_attributes(columns, 25, method="all", within_groups="mdav", baselines=False, seed=0)
    search = shoal.group_attributes(columns, 25, method="all", effort="quick", baselines=False, seed=0)
    assert mdav.facts["fitness"] == pytest.approx(15.2297, abs=1e-4)
    assert search.facts["within_groups"] == "search" and search.facts["fitness"] < 14.1


def test_a_recipe_without_the_argument_keeps_mdav(tmp_path: Path):
    path = tmp_path / "data.csv"
    numbers().write_csv(path)
    release = shoal.group_attributes(path, K, method="all", effort="quick", within_groups="search", seed=0)
    recipe = release.recipe
    assert recipe.steps[0].arguments["within_groups"] == "search"
    assert shoal.run(recipe).protected.frame.equals(release.protected.frame)
    default = shoal.group_attributes(path, K, method="all", effort="quick", seed=0)
    assert default.recipe.steps[0].arguments["within_groups"] == "auto"
    old = replace(recipe, steps=(Step(do="group", k=K, method="all"),))
    again = shoal.run(old)
    assert again.facts["within_groups"] == "mdav"
    assert again.protected.frame.equals(by_mdav(method="all").protected.frame)
    assert again.recipe.steps[0].arguments["within_groups"] == "mdav"  # the new recipe says it


# -- baselines -----------------------------------------------------------------------------------------


def texts(release) -> str:
    return " ".join(block.text for block in show(release) if isinstance(block, Text))


def test_baselines_are_the_two_extremes_and_a_split_that_does_not_pay_is_reported():
    correlated = numbers()
    release = protect(correlated, evaluations=200)
    for name in ("all", "univariate"):
        alone = protect(correlated, method=name)
        for measure in ("fitness", "information_loss", "joint_k", "distance_linkage_all_columns"):
            assert release.facts["baselines"][name][measure] == pytest.approx(alone.facts[measure])
    assert release.facts["fitness"] <= min(one["fitness"] for one in release.facts["baselines"].values())
    assert release.facts["split_pays"] is False and len(release.facts["groups"]) == 1
    assert "One group of all columns has the lowest fitness." in texts(release)
    assert "baselines" not in protect(correlated, method="all", baselines=False).facts


def test_a_split_that_pays_is_not_reported():
    rng = np.random.default_rng(1)
    data = pl.DataFrame(rng.normal(size=(40, 6)), schema=list("abcdef"))
    release = shoal.group_attributes(data, 13, evaluations=400, effort="quick", seed=0)
    assert len(release.facts["groups"]) > 1 and release.facts["split_pays"] is True
    assert "One group of all columns has" not in texts(release)


def test_a_split_that_is_worse_than_one_group_is_reported():
    facts = {**protect(method="univariate").facts, "split_pays": False}
    release = replace(protect(method="univariate"), facts=facts)
    fitness = facts["baselines"]["all"]["fitness"]
    assert f"One group of all columns has a lower fitness: {fitness:.4f}. These 4 column groups have" in texts(release)


def test_nothing_is_said_of_a_split_that_was_not_compared():
    settings = {"method": "gomm", "population": 2, "generations": 0, "convention": "thesis", "effort": None}
    facts = (protect(**settings, seed=seed, baselines=False).facts for seed in range(12))
    split = next(one for one in facts if len(one["groups"]) > 1)
    assert "split_pays" not in split and "baselines" not in split


def test_an_intruder_holds_each_column_once():
    first = protect(method="all").facts["groups"][0][0]
    with pytest.raises(UsageError, match="--intruder names a column twice"):
        protect(method="all", intruder=[first, first])


def test_messages_name_the_option_of_the_command_line():
    with pytest.raises(UsageError, match=r"pick has no effect without with_front \(--front\)"):
        protect(pick=2)
    with pytest.raises(UsageError, match=r"or to with_front \(--front\)"):
        protect(method="exact", seconds=1.0)


def test_the_fitness_is_explained():
    release = protect(method="all")
    assert "Fitness F is the mean of information loss and disclosure risk in percent; lower is better." in texts(
        release
    )


# -- the front -----------------------------------------------------------------------------------------


def test_pick_takes_a_point_of_the_front(tmp_path: Path):
    common = {"evaluations": 300, "with_front": True}
    best = protect(**common)
    assert len(best.front) > 2
    assert best.facts["front"][best.facts["pick"] - 1]["groups"] == best.facts["groups"]
    for number in (1, len(best.front)):
        picked = protect(pick=number, **common)
        assert picked.facts["pick"] == number and picked.facts["groups"] == best.front[number - 1]["groups"]
        assert "split_pays" not in picked.facts
    assert [point["pick"] for point in best.front] == list(range(1, len(best.front) + 1))
    page = picked.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Pareto front" in page and f"{len(best.front)} (taken)" in page and "<svg" in page
    with pytest.raises(UsageError, match=f"pick must be between 1 and {len(best.front)}"):
        protect(pick=len(best.front) + 1, **common)
    with pytest.raises(UsageError, match="pick has no effect without with_front"):
        protect(pick=1)


# -- the floor -----------------------------------------------------------------------------------------


def cost_with(floor: Floor, n: int = 60, k: int = K) -> GroupingCost:
    return GroupingCost(scale(numbers(n).to_numpy().astype(float)), k, floor=floor)


def keeps(cost: GroupingCost, floor: Floor, grouping) -> bool:
    """Whether a grouping keeps the floor, from the protected values themselves."""
    values = np.empty((cost.n, cost.d))
    scaled = cost._columns.T
    for columns, group in zip(([c for c in range(cost.d) if g >> c & 1] for g in grouping), grouping, strict=True):
        labels = cost.labels(group)
        for label in np.unique(labels):
            values[np.ix_(labels == label, columns)] = scaled[np.ix_(labels == label, columns)].mean(axis=0)
    smallest = np.unique(np.round(values, 9), axis=0, return_counts=True)[1].min()
    linkage = distance_linkage(scaled, np.round(values, 9)).percent
    return (floor.min_joint_k is None or smallest >= floor.min_joint_k) and linkage <= floor.max_percent


def floors() -> list[Floor]:
    """Floors that split the groupings of the test data into those that keep them and those that break them."""
    return [Floor(min_joint_k=2), Floor(max_linkage=0.5), Floor(min_joint_k=2, max_linkage=0.4)]


@pytest.mark.parametrize("floor", floors(), ids=str)
def test_the_searches_accept_only_groupings_that_keep_the_floor(floor):
    everything = [from_lists(lists, 4) for lists in slow.partitions([0, 1, 2, 3])]
    plain = cost_with(Floor())
    accepted = [one for one in everything if keeps(plain, floor, one)]
    assert 0 < len(accepted) < len(everything)
    best = min(plain.evaluate(one).fitness for one in accepted)
    assert exact(cost_with(floor), evaluations=1).evaluation.fitness == pytest.approx(best)
    assert memetic(cost_with(floor), evaluations=400).evaluation.fitness == pytest.approx(best)
    settings = GommSettings(population=10, generations=20)
    result = gomm(cost_with(floor), settings, seed=1)
    assert result.population[0][1].fitness == pytest.approx(best)
    cost = cost_with(floor)
    assert [one for one in everything if cost.below(one, np.inf) is not None] == accepted
    assert set(cost.known) == set(accepted)


def test_a_floor_above_the_unlimited_optimum_changes_the_result():
    cost = cost_with(Floor(min_joint_k=2))
    assert cost.below(apart(4), np.inf) is None and cost.evaluate(apart(4)).fitness > 0
    assert cost.below(together(4), np.inf) is not None


@pytest.mark.parametrize("method", ["memetic", "gomm", "exact"])
def test_the_written_values_keep_the_floor(method):
    data = numbers()
    free = protect(data, method="univariate")
    assert free.facts["joint_k"] == 1
    options = {"memetic": {"evaluations": 200}, "gomm": {"population": 10, "generations": 3}}.get(method, {})
    release = protect(data, method=method, joint_k=3, max_linkage=0.4, **options)
    assert release.facts["joint_k"] >= 3 and release.facts["distance_linkage_all_columns"] <= 40
    assert release.facts["floor"] == {"joint_k": 3, "max_linkage": 0.4}
    front = protect(data, method="memetic", evaluations=200, joint_k=2, with_front=True).facts["front"]
    assert front and all(point["joint_k"] >= 2 for point in front)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"method": "memetic", "evaluations": 50, "max_linkage": 0.0},
            "linkage at most 0 % .*One group of all columns",
        ),
        ({"method": "gomm", "population": 4, "generations": 1, "joint_k": 50}, r"joint k 50 \(--joint-k\)"),
        ({"method": "univariate", "joint_k": 3}, "This grouping has joint k 1.*raise -k or lower --joint-k"),
    ],
)
def test_a_floor_that_nothing_keeps_ends_with_exit_code_1(arguments, message):
    with pytest.raises(PromiseError, match=message) as error:
        protect(**arguments)
    assert error.value.exit_code == 1


# -- the options of GOMM -------------------------------------------------------------------------------


def test_the_options_of_gomm_reach_the_algorithm():
    common = {"baselines": False, "within_groups": "mdav", "effort": None}
    sizes = {"population": 7, "generations": 3, "crossovers": 2, "mutations": 1}
    release = protect(method="gomm", **sizes, **common)
    assert release.facts["generations"] == 3
    assert release.facts["evaluations"] == 7 + 3 * (2 * 2 + 5 * 1)
    assert protect(method="gomm", **{**sizes, "generations": 60}, stop_rule="mean", **common).facts["generations"] < 60
    quick, slow_one = (
        protect(method="d-gomm", **{**sizes, "generations": 40}, patience=patience, **common) for patience in (1, 12)
    )
    assert min(quick.facts["dropped_operators"].values()) == 1
    assert min(slow_one.facts["dropped_operators"].values(), default=12) >= 12
    stopped = protect(method="gomm", population=7, generations=5000, seconds=0.05, **common)
    assert stopped.facts["stopped"] is True and stopped.facts["generations"] < 5000


@pytest.mark.parametrize("name", ["population", "generations", "crossovers", "mutations", "stop_rule", "patience"])
def test_the_options_of_gomm_belong_to_gomm_alone(name):
    value = "mean" if name == "stop_rule" else 3
    with pytest.raises(UsageError, match=f"does not use {name}"):
        protect(method="memetic", **{name: value})
    if name == "patience":
        with pytest.raises(UsageError, match="does not use patience: it belongs to d-gomm"):
            protect(method="gomm", patience=3)


def test_the_figures_of_tied_whole_numbers_are_those_of_the_assessment():
    """Distances between whole numbers tie exactly; the scaled values of the search would break such ties."""
    rng = np.random.default_rng(0)
    data = shoal.read(pl.DataFrame({name: rng.integers(0, 6, 60).astype(float) for name in "abc"}), quasi=list("abc"))
    release = shoal.group_attributes(data, 3, groups=[["a"], ["b", "c"]], within_groups="mdav", baselines=False)
    assessed = shoal.assess(data, release.table)
    for name in ("information_loss", "interval_disclosure", "distance_linkage", "distance_linkage_all_columns"):
        assert release.facts[name] == assessed[name], name
