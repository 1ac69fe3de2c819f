"""`shoal.generalize` on odd tables: what is written is k-anonymous, l-diverse and t-close in pycanon's opinion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycanon import anonymity

import shoal
from shoal.errors import InputError, PromiseError, ShoalWarning, UsageError
from shoal.protections.generalization import apply_mapping, generalize


@st.composite
def tables(draw, most_columns=12):
    """Mixed columns with missing values and single-valued ones, a confidential one, and k."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(4, 60)), draw(st.integers(1, most_columns))
    frame = {}
    for j in range(d):
        kind = draw(st.sampled_from(["number", "real", "name", "constant", "gaps"]))
        values = {
            "number": rng.integers(-3, 30, n).astype(object),
            "real": rng.choice([0.5, 1.25, -7.0, 1e9], n).astype(object),
            "name": rng.choice(["a", "b", "*", "missing", "any", ""], n).astype(object),
            "constant": np.array(["same"] * n, dtype=object),
            "gaps": rng.choice(["x", "y"], n).astype(object),
        }[kind]
        if kind == "gaps" or draw(st.booleans()):
            values[rng.random(n) < 0.2] = None
        if all(v is None for v in values):
            values[0] = "x" if kind in ("name", "gaps") else 1
        frame[f"q{j}"] = values.tolist()
    frame["secret"] = rng.choice(["u", "v", "w"], n).tolist()
    return pl.DataFrame(frame, strict=False), draw(st.integers(2, max(2, n // 3)))


def kept(path: Path, quasi: list[str]) -> pd.DataFrame:
    """The written rows that are not suppressed, every cell as text."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame[~(frame[quasi] == "*").all(axis=1)].reset_index(drop=True)


@settings(max_examples=20)
@given(tables(), st.sampled_from([0.0, 0.1, 0.4]))
@pytest.mark.filterwarnings("ignore:--suppress")  # a share of fewer than k rows
def test_written_files_are_k_anonymous(tmp_path_factory, case, suppress):
    frame, k = case
    quasi = [c for c in frame.columns if c != "secret"]
    release = generalize(shoal.read(frame, quasi=quasi, as_is="secret"), k, suppress=suppress, effort="quick")
    path = tmp_path_factory.mktemp("out") / "out.csv"
    release.save(path, keep_order=True)  # a few drawn rows may be in order
    written = kept(path, quasi)
    assert release.facts["suppressed"] <= suppress * frame.height
    assert release.facts["suppressed"] == 0 or release.facts["suppressed"] >= k
    if len(written):
        assert anonymity.k_anonymity(written, quasi) == release.facts["effective_k"] >= k
    assert pl.read_csv(path, infer_schema=False)["secret"].to_list() == frame["secret"].to_list()


@settings(max_examples=12)
@given(
    tables(most_columns=4),
    st.sampled_from([2, ("entropy", 1.5), ("recursive", 3, 2), None]),
    st.sampled_from([None, 0.3]),
)
def test_written_files_keep_l_and_t(tmp_path_factory, case, diverse, t):
    frame, k = case
    quasi = [c for c in frame.columns if c != "secret"]
    data = shoal.read(frame, quasi=quasi, confidential="secret")
    try:
        release = generalize(data, k, l=diverse, t=t, effort="quick")
    except UsageError as error:
        assert "single class does not reach l" in str(error)
        return
    path = tmp_path_factory.mktemp("out") / "out.csv"
    release.save(path, keep_order=True)
    written = kept(path, quasi)
    assert anonymity.k_anonymity(written, quasi) >= k
    if diverse == 2:
        assert anonymity.l_diversity(written, quasi, ["secret"]) >= 2
    if diverse == ("entropy", 1.5):
        assert anonymity.entropy_l_diversity(written, quasi, ["secret"]) >= 1
        assert release.assessment["l of secret"] >= 1.5 - 1e-9
    if t is not None:
        assert anonymity.t_closeness(written, quasi, ["secret"]) <= t + 1e-9


def people(n=300, seed=1):
    rng = np.random.default_rng(seed)
    names = np.random.default_rng(seed + 1).permutation(n)
    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in names],
            "age": rng.integers(18, 90, n),
            "town": rng.choice(list("abcdef"), n),
            "sex": rng.choice(["f", "m"], n),
            "income": rng.lognormal(10, 1, n),
            "illness": rng.choice(["none", "flu", "asthma"], n),
        }
    )


ROLES = {"identifiers": "name", "confidential": "illness", "as_is": "income"}


def test_several_sets_are_each_k_anonymous(tmp_path):
    quasi = ["age", "town", "sex"]
    sets = [["age", "town"], ["town", "sex"]]
    data = shoal.read(people(), quasi=quasi, **ROLES)
    release = generalize(data, 5, sets=sets, granularity={"age": 5}, effort="quick")
    release.verify()
    after = release.frame.to_pandas()
    for chosen in sets:
        assert anonymity.k_anonymity(after, chosen) >= 5
    together = generalize(data, 5, granularity={"age": 5}, effort="quick")
    assert release.facts["nwp"] <= together.facts["nwp"] + 1e-9
    joint = anonymity.k_anonymity(after, quasi)  # whoever knows all three columns finds a smaller class
    assert release.findings.figures.known.k == joint < 5
    with pytest.warns(ShoalWarning, match="does not have k = 5"):
        assert release.table is release.frame
    with pytest.raises(PromiseError, match=f"may know, k is {joint} instead of 5"):
        release.save(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
    assert release.save(tmp_path / "out.csv", accept_k=joint).exists()


@pytest.mark.parametrize("suppress", [0.0, 0.1])
def test_a_column_without_a_role_counts_as_known(tmp_path, suppress):
    """Where it is coarse enough it is released, but not in suppressed rows; where it is not, nothing is written."""
    sex = ["f", "f", "m", "m"] * 18 + ["f"] * 8  # the six records of rare towns have one sex
    frame = pl.DataFrame({"town": ["a", "b"] * 37 + list("cdefgh"), "sex": sex})
    release = generalize(shoal.read(frame, quasi="town"), 5, suppress=suppress, effort="quick")
    saved = release.save(tmp_path / "out.csv", keep_order=True)
    after = pl.read_csv(saved)
    starred = after["town"] == "*"
    assert starred.sum() == release.facts["suppressed"] == (6 if suppress else 0)
    assert after.filter(~starred)["sex"].to_list() == frame.filter(~starred)["sex"].to_list()
    assert set(after.filter(starred)["sex"]) <= {"*"}
    assert saved.findings.figures.known.k == after.filter(~starred).group_by("town", "sex").len()["len"].min() >= 5
    finer = frame.with_columns(sex=(pl.int_range(80) // 4).cast(pl.String))
    release = generalize(shoal.read(finer, quasi="town"), 5, suppress=suppress, effort="quick")
    with pytest.raises(PromiseError, match="1 column has no role and would be released unchanged: sex"):
        release.save(tmp_path / "finer.csv", keep_order=True)
    assert not (tmp_path / "finer.csv").exists()


def test_frames_come_back_as_they_came():
    frame = people().to_pandas()
    data = shoal.read(frame, quasi=["age", "town"], **(ROLES | {"as_is": ["income", "sex"]}))
    release = generalize(data, 10, granularity={"age": 10}, effort="quick")
    assert isinstance(release.table, pd.DataFrame) and list(release.table.columns) == [*frame.columns[1:]]
    assert release.table["income"].equals(frame["income"])
    assert frame["age"].dtype.kind == "i"  # the input is as it was
    tampered = release.table.copy()
    tampered.loc[0, "town"] = "somewhere else"
    object.__setattr__(release, "frame", tampered)
    with pytest.raises(PromiseError, match="smallest class"):
        release.verify()


def test_a_mapping_applies_to_new_data(tmp_path):
    roles = ROLES | {"as_is": ["income", "sex"], "quasi": ["age", "town"]}
    release = generalize(shoal.read(people(), **roles), 5, granularity={"age": 5}, effort="quick")
    path = release.save_mapping(tmp_path / "mapping.json")
    again = apply_mapping(shoal.read(people(), **roles), path)
    assert again.table.equals(release.table)
    other = apply_mapping(shoal.read(people(50, seed=2), **roles), path)
    assert set(other.table["town"]) <= set(release.table["town"]) and other.k is None
    measured = other.table.group_by("age", "town").len()["len"].min()
    assert other.facts["effective_k"] == other.findings.figures.known.k == measured < 5
    with pytest.raises(PromiseError, match="Nothing was written"):  # its k is lower than the mapping's
        other.save(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    assert other.save(tmp_path / "out.csv", accept_k=measured).exists()
    with pytest.raises(InputError, match="'z', which the mapping does not know"):
        apply_mapping(pl.DataFrame({"age": [30], "town": ["z"]}), path)
    with pytest.raises(InputError, match="none of the mapping's intervals"):
        apply_mapping(pl.DataFrame({"age": [300], "town": ["a"]}), path)


def test_the_front_can_be_picked_from(tmp_path):
    first = generalize(people(), 5, quasi=["age", "town"], granularity={"age": 5}, effort="quick")
    last = len(first.facts["front"])
    picked = generalize(people(), 5, quasi=["age", "town"], granularity={"age": 5}, effort="quick", pick=last)
    assert picked.facts["effective_k"] == first.facts["front"][-1]["effective_k"] >= 5
    page = picked.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Cost of a higher k" in page and "(taken)" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quasi": ["income"]}, "granularity income="),
        ({"quasi": ["age"], "suppress": 1.0}, "suppress must be a share"),
        ({"quasi": ["age"], "l": 2}, "l and t need confidential columns"),
        ({"quasi": ["age"], "granularity": {"agee": 5}}, "Did you mean 'age'"),
        ({"quasi": ["town"], "granularity": {"town": 5}}, "holds names: granularity"),
        ({"quasi": ["town"], "method": "nsga2", "effort": "quick"}, "The method nsga2 does not use effort"),
        ({"quasi": ["town"], "method": "nsga2", "order": "auto"}, "nsga2 needs an order"),
        ({"quasi": ["town"], "order": "taxonomy"}, "but no taxonomy"),
        ({"quasi": ["town"], "weights": {"town": -1}}, "needs a weight of 0 or more"),
    ],
)
def test_messages_tell_what_is_wrong(options, message):
    with pytest.raises(UsageError, match=message):
        generalize(people(1000), 5, **options)
