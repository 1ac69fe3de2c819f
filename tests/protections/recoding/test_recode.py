"""`shoal.recode`: true values, k on the written file, every kind of column, and planted faults."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from odd_records import odd_columns
from shoal.cli import main
from shoal.errors import PromiseError, ShoalWarning, UsageError

TREE = {"land": {"north": ["a", "b", "c"], "south": {"coast": ["d", "e"], "hills": ["f", "g", "h"]}}}
ALL = ("age", "town", "income", "born", "size")


def people(n: int = 160, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(list("abcdefgh"), n),
            "income": rng.normal(3e4, 1e4, n).round(2),
            "born": [dt.date(1950, 1, 1) + dt.timedelta(days=int(x)) for x in rng.integers(0, 20000, n)],
            "size": rng.choice(["s", "m", "l"], n),
            "ill": rng.choice(["x", "y", "z"], n),
        }
    )
    gaps = pl.col("age") % 17 == 0
    return frame.with_columns(pl.when(gaps).then(None).otherwise(pl.col("age")).alias("age"))


def read(frame: pl.DataFrame, quasi=ALL):
    order = {"size": ("s", "m", "l")} if "size" in quasi else {}
    return shoal.read(frame, quasi=quasi, order=order, confidential=["ill"], drop=[c for c in ALL if c not in quasi])


def smallest(frame: pl.DataFrame, columns=ALL) -> int:
    return int(frame.group_by(columns).len()["len"].min())


def covers(label: str, value) -> bool:
    """Whether a label is true of a value."""
    if value is None:
        return label.endswith("missing") or label == "any"
    label = label.removesuffix(" or missing")
    bounds = re.fullmatch(r"\[(-?[\d.]+)(?:-| to )(-?[\d.]+)([\])])", label)
    if bounds:
        low, high = float(bounds[1]), float(bounds[2])
        return low <= value <= high if bounds[3] == "]" else low <= value < high
    if " to " in label and isinstance(value, dt.date):
        low, high = label.split(" to ")
        return low <= value.isoformat() <= high
    return label == "any" or str(value) in label.split(" | ") or label == str(value) or float(label) == value


@pytest.mark.parametrize("method", ["search", "mondrian", "topdown"])
def test_every_record_has_k_and_a_label_that_is_true(method: str) -> None:
    frame = people()
    quick = {"effort": "quick"} if method == "search" else {}
    release = shoal.recode(read(frame), 4, method=method, labels="full", **quick)
    release.verify()
    assert smallest(release.frame) >= 4 == release.facts["k"] and release.facts["effective_k"] >= 4
    for name in ("age", "town", "income", "born"):
        for label, value in zip(release.frame[name], frame[name], strict=True):
            if label.startswith("all but "):
                assert value not in label.removeprefix("all but ").split(" | ")
            else:
                assert covers(label, value), (name, label, value)
    losses = {name: about["loss"] for name, about in release.facts["per_column"].items()}
    assert release.facts["loss"] == pytest.approx(np.mean([*losses.values()])) and set(losses) == set(ALL)
    assert 0 < release.facts["loss"] < 0.5


def test_the_search_loses_less_than_cuts_and_mondrian() -> None:
    table = read(people(400), ("age", "town"))
    loss = {
        method: shoal.recode(table, 5, method=method, **more).facts["loss"]
        for method, more in (("search", {"effort": "quick"}), ("topdown", {}), ("mondrian", {}))
    }
    assert loss["search"] < min(loss["topdown"], loss["mondrian"])


@pytest.mark.parametrize(
    ("rule", "kind"), [({"l": 2}, 2), ({"l": ("entropy", 2)}, 2), ({"t": 0.35}, 1), ({"t": 0.3, "l": 2}, 2)]
)
def test_l_and_t_hold_in_every_class(rule: dict, kind: int) -> None:
    frame = people()
    release = shoal.recode(read(frame, ("age", "town")), 4, effort="quick", **rule)
    release.verify()
    parts = release.frame.group_by(["age", "town"]).agg(pl.col("ill").n_unique().alias("l"), pl.len())
    assert parts["l"].min() >= kind and parts["len"].min() >= 4
    assert release.facts["l"] >= kind and (rule.get("t") is None or release.facts["t"] <= rule["t"] + 1e-9)
    kinds = {type(promise).__name__ for promise in release.promises}
    assert kinds == {"KAnonymity", *(["LDiversity"] if "l" in rule else []), *(["TCloseness"] if "t" in rule else [])}


@pytest.mark.parametrize("method", ["search", "peel"])
def test_nodes_of_a_taxonomy_cover_their_values(method: str) -> None:
    frame = people()
    quick = {"effort": "quick"} if method == "search" else {}
    release = shoal.recode(
        read(frame, ("age", "town")), 4, taxonomy={"town": TREE}, steps={"age": (5, 10, 20)}, method=method, **quick
    )
    release.verify()
    below = {"land": "abcdefgh", "north": "abc", "south": "defgh", "coast": "de", "hills": "fgh"}
    pairs = set(zip(release.frame["town"], frame["town"], strict=True))
    assert all(value in below.get(label, label) for label, value in pairs)
    assert {label for label, _ in pairs} <= {*below, *"abcdefgh"}
    under = np.array([len(below.get(label, label)) for label in release.frame["town"]])
    assert release.facts["per_column"]["town"]["loss"] == pytest.approx(((under - 1) / 7).mean())
    ends = [re.fullmatch(r"\[(\d+)-(\d+)\]", label) for label in release.frame["age"].unique()]
    assert {int(found[2]) - int(found[1]) + 1 for found in ends if found} <= {5, 10, 20}  # both ends included
    widths = {re.sub(r"\d+", "", label) for label in release.frame["age"]}
    assert widths <= {"[-]", "any", "", "missing"}
    # ARX's formula: shares of the leaves, normalized after averaging over the columns.
    losses = {name: about["loss"] for name, about in release.facts["per_column"].items()}
    leaves = {"town": 8, "age": frame["age"].n_unique()}
    shares = {name: (1 + (m - 1) * losses[name]) / m for name, m in leaves.items()}
    lowest = np.mean([1 / m for m in leaves.values()])
    granularity = 1 - (np.mean([*shares.values()]) - lowest) / (1 - lowest)
    assert release.facts["granularity"] == pytest.approx(granularity)


def test_records_that_occur_k_times_do_not_change() -> None:
    frame = pl.DataFrame({"a": [1] * 5 + [2, 3, 4, 5, 9], "b": ["x"] * 5 + list("yyzzz")})
    release = shoal.recode(frame, 5, quasi=["a", "b"], effort="quick")
    assert release.facts["unchanged_rows"] == 5
    assert release.frame.rows()[:5] == [("1", "x")] * 5
    same = shoal.recode(pl.DataFrame({"a": [1, 1, 2, 2]}), 2, quasi=["a"], effort="quick")
    assert same.frame["a"].to_list() == [1, 1, 2, 2] and same.facts["loss"] == 0.0


def test_the_loss_of_names_is_that_of_their_sets() -> None:
    towns = list("aabbbccdeffgg")
    release = shoal.recode(pl.DataFrame({"town": towns}), 3, quasi=["town"], labels="full", effort="quick")
    held = {label: {t for t, new in zip(towns, release.frame["town"], strict=True) if new == label} for label in "b"}
    assert held == {"b": {"b"}}
    sizes = [len(label.split(" | ")) for label in release.frame["town"]]
    assert not any("all but" in label or label == "any" for label in release.frame["town"])
    assert release.facts["loss"] == pytest.approx(np.mean([(size - 1) / 6 for size in sizes]))


def test_records_that_are_too_few_join_a_class() -> None:
    frame = pl.DataFrame({"a": [1] * 6 + [40] * 6 + [41], "b": ["x"] * 12 + ["y"]})
    release = shoal.recode(frame, 3, quasi=["a", "b"], effort="quick")
    assert smallest(release.frame, ["a", "b"]) >= 3
    assert release.frame["a"].to_list()[:6] == ["1"] * 6


def test_outliers_are_suppressed_if_that_costs_less() -> None:
    near = np.repeat(np.arange(100), 2)
    frame = pl.DataFrame({"a": [*near.tolist(), 5000, 9000, 13000], "ill": ["x", "y"] * 100 + ["x"] * 3})
    table = shoal.read(frame, quasi=["a"], confidential=["ill"])
    plain, fewer = (shoal.recode(table, 3, l=2, effort="quick", suppress=s) for s in (0.0, 0.02))
    assert fewer.facts["suppressed"] == 3 and fewer.frame["a"].to_list()[-3:] == ["*"] * 3
    assert fewer.facts["loss"] < plain.facts["loss"]
    fewer.verify()
    with pytest.warns(ShoalWarning, match="fewer than k"):
        assert shoal.recode(table, 5, effort="quick", suppress=0.01).facts["suppressed"] == 0


def test_means_and_most_frequent_values() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 6.0, 50.0, 52.0, 54.0], "b": list("xxyzwz")})
    release = shoal.recode(frame, 3, quasi=["a", "b"], style="mean", effort="quick")
    assert release.frame.rows() == [(3.0, "x")] * 3 + [(52.0, "z")] * 3
    release.verify()


@pytest.mark.parametrize("written", ["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d"])
@pytest.mark.parametrize("style", ["text", "mean"])
def test_dates_in_text_may_be_the_only_column(written: str, style: str) -> None:
    """Nearly every text is different, so the release check must read the texts as days to see which rows belong."""
    frame = pl.DataFrame({"born": [day.strftime(written) for day in people()["born"]]})
    shoal.recode(frame, 4, quasi=["born"], style=style, effort="quick").verify()
    shoal.generalize(frame, 4, quasi=["born"]).verify()
    release = shoal.recode(frame, 4, quasi=["born"], style=style, effort="quick")
    object.__setattr__(release, "frame", pl.DataFrame({"born": np.roll(release.frame["born"].to_numpy(), 60)}))
    with pytest.raises(PromiseError, match="records have the protected values of other records"):
        release.verify()


def test_ends_are_rounded_outward() -> None:
    frame = people()
    release = shoal.recode(read(frame, ("age", "town")), 4, round_ends={"age": 5}, effort="quick")
    for label in release.frame["age"].unique():
        bounds = re.match(r"\[(\d+)-(\d+)\]", label)
        assert label == "missing" or (int(bounds[1]) % 5 == 0 and int(bounds[2]) % 5 == 4)
    missing = release.frame["age"].filter(frame["age"].is_null())
    assert missing.len() and missing.str.ends_with("missing").all()


def test_labels_of_ordered_names_say_that_some_are_missing() -> None:
    frame = pl.DataFrame({"size": ["s", "s", None, "m", "l", "l", "l"]})
    table = shoal.read(frame, quasi=["size"], order={"size": ["s", "m", "l"]})
    release = shoal.recode(table, 3, effort="quick")
    assert release.frame["size"][2].endswith("missing")
    assert smallest(release.frame, ["size"]) >= 3


def test_the_command_takes_the_order_of_a_column(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "in.csv")
    command = ["recode", "in.csv", "-k", "20", "--quasi", "size,age", "--order", "size=s,m,l", "--effort", "quick"]
    more = ["--drop", "income,town,born", "--confidential", "ill", "-o", "out.csv", "--save-recipe", "recipe.toml"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        done = CliRunner().invoke(main, [*command, *more, "--keep-order", "--first-release"])
        assert done.exit_code == 0, done.output
        found = set(pl.read_csv("out.csv")["size"])
        assert found <= {"s", "m", "l", "s to m", "m to l", "s to l"} and any(" to " in label for label in found)
        again = CliRunner().invoke(main, ["run", "recipe.toml", "-o", "again.csv"])
        assert again.exit_code == 0 and Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


def test_k_holds_for_each_set_of_columns() -> None:
    frame = people()
    release = shoal.recode(read(frame), 4, sets=[["age", "town"], ["income", "born", "size"]], effort="quick")
    release.verify()
    assert smallest(release.frame, ["age", "town"]) >= 4 and smallest(release.frame, ["income", "born", "size"]) >= 4
    whole = shoal.recode(read(frame), 4, effort="quick")
    assert release.facts["loss"] < whole.facts["loss"]
    overlapping = shoal.recode(
        read(frame), 4, sets=[["age", "town"], ["town", "income", "born", "size"]], effort="quick"
    )
    assert smallest(overlapping.frame) >= 4


def test_the_bound_is_below_the_loss_and_reached_by_pairs() -> None:
    table = read(people(60), ("age", "town"))
    release = shoal.recode(table, 3, effort="standard", bound=True)
    assert 0 < release.facts["lower_bound"] <= release.facts["loss"]
    pairs = shoal.recode(pl.DataFrame({"a": [0, 1, 10, 11]}), 2, quasi=["a"], effort="quick", bound=True)
    assert pairs.facts["lower_bound"] == pytest.approx(pairs.facts["loss"], abs=1e-6)


def test_the_gate_refuses_a_label_that_breaks_k(tmp_path: Path) -> None:
    release = shoal.recode(read(people(), ("age", "town")), 4, effort="quick")
    broken = release.frame.with_columns(pl.Series("town", ["nowhere", *release.frame["town"].to_list()[1:]]))
    object.__setattr__(release, "frame", broken)
    with pytest.raises(PromiseError):
        release.save(tmp_path / "out.csv", first_release=True)
    assert not list(tmp_path.iterdir())


def test_a_recipe_repeats_the_release(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "in.csv")
    roles = {"confidential": ["ill"], "drop": ["income", "born", "size"]}
    table = shoal.read(tmp_path / "in.csv", quasi=["age", "town"], **roles)
    release = shoal.recode(table, 4, taxonomy={"town": TREE}, importance={"age": 2.0}, effort="quick", seed=7)
    release.recipe.save(tmp_path / "recipe.toml")
    again = shoal.run(tmp_path / "recipe.toml")
    assert again.frame.equals(release.frame)
    release.report(tmp_path / "r.html")
    assert "Typical groups" in (tmp_path / "r.html").read_text()
    assert "Typical groups" not in release.report(tmp_path / "public.html", external=True).read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "sets", "taxonomy": {"town": TREE}}, "need the loss nodes"),
        ({"loss": "nodes", "round_ends": {"age": 5}}, "needs the loss sets"),
        ({"round_ends": {"town": 5}}, "does not hold numbers"),
        ({"steps": {"age": (5, 7)}}, "each a multiple"),
        ({"steps": {"town": (5,)}}, "does not hold numbers"),
        ({"importance": {"town": 0}}, "above 0"),
        ({"importance": {"place": 1}}, "town"),
        ({"method": "peel"}, "needs taxonomies"),
        ({"method": "mondrian", "effort": "quick"}, "does not use effort"),
        ({"suppress": 0.1, "style": "mean"}, "need text"),
        ({"l": 9}, "not that diverse"),
        ({"sets": [["age"], ["town"]], "suppress": 0.1}, "cannot be combined"),
    ],
)
def test_what_has_no_effect_or_no_answer_is_refused(options: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        shoal.recode(read(people(), ("age", "town")), 4, **options)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["sets", "nodes"]), st.sampled_from(["search", "mondrian", "topdown"]))
def test_odd_columns_keep_k(seed: int, loss: str, method: str) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 60)), int(rng.integers(2, 5))
    frame = odd_columns(rng, n)
    names = frame.columns
    quick = {"effort": "quick"} if method == "search" else {}
    release = shoal.recode(frame, min(k, n), quasi=names, loss=loss, method=method, **quick)
    release.verify()
    assert smallest(release.frame, names) >= min(k, n)
    assert 0 <= release.facts["loss"] <= 1
