"""What a page says of how to repeat a release does repeat it: its command and its Python are run."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import main

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "microaggregate": ("microaggregate", {"k": 4, "method": "vmdav", "gamma": 0.3, "round": True}),
    "mst": ("microaggregate", {"k": 3, "method": "mst", "split": False, "aggregate": "median"}),
    "group": ("group_attributes", {"k": 4, "method": "correlated", "size": 2}),
    "own groups": ("group_attributes", {"k": 4, "groups": [["age"], ["income", "hours, weekly"]]}),
    "generalize": (
        "generalize",
        {
            "k": 4, "quasi": ["age", "town"], "granularity": {"age": [5, 0, 100]}, "order": {"town": "frequency"},
            "weights": {"age": 2.0}, "prefer": (0.3, 1.0), "suppress": 0.05, "l": ("entropy", 1.5), "effort": "quick",
        },
    ),
    "sets": ("generalize", {"k": 3, "quasi": ["age", "town"], "sets": [["age"], ["town"]], "effort": "quick"}),
    "mask": (
        "mask_group",
        {
            "vital": ("job", ["guard"]), "parameter": "town", "influential": ["age", "illness"], "ordinal": ["age"],
            "outliers": ["b"], "thresholds": [8.0], "sensitivity": 1.0, "compatibility": 0.0, "distortion": 1.0,
            "weights": {"age": 2.0, "illness": 0.5}, "budget": 3, "steps": 0,
        },
    ),
}  # fmt: skip


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    n = 120
    town = rng.choice(["a", "b", "c", "d e"], n)
    frame = pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(9, 1, n).round(2),
            "hours, weekly": rng.integers(0, 60, n),
            "town": town,
            "job": np.where((town == "b") & (rng.random(n) < 0.6), "guard", "clerk"),
            "illness": rng.choice(["x", "y"], n),
        }
    )
    path = tmp_path / "people.csv"
    frame.write_csv(path)
    return path


@pytest.mark.parametrize("name", list(RUNS))
def test_repeats(name: str, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function, given = RUNS[name]
    quasi = ["age", "income", "hours, weekly"] if function in ("microaggregate", "group_attributes") else []
    data = shoal.read(people, identifiers=["name"], quasi=quasi, confidential=["illness"] if name != "mask" else [])
    release = getattr(shoal, function)(data, **given, seed=7)
    release.save(tmp_path / "first.csv")
    first = (tmp_path / "first.csv").read_bytes()
    page = release.report(tmp_path / "page.html").read_text(encoding="utf-8")
    told = {
        title: html.unescape(text)
        for title, text in re.findall(r"<h3>([^<]*)</h3>\s*<pre><code>(.*?)</code></pre>", page, re.DOTALL)
    }
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text(told["Recipe (recipe.toml)"], encoding="utf-8")
    words = shlex.split(told["Command"])
    assert (words[1] == "run") == (name == "own groups")
    result = CliRunner().invoke(main, words[1:])
    assert result.exit_code == 0, f"{told['Command']}\n{result.output}"
    assert (tmp_path / "release.csv").read_bytes() == first
    (tmp_path / "release.csv").unlink()
    exec(told["Python"], {})
    assert (tmp_path / "release.csv").read_bytes() == first


def test_a_release_of_several_steps(people: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(
        'seed = 7\n[input]\nfile = "people.csv"\nidentifiers = ["name"]\nconfidential = ["illness"]\n'
        '[[steps]]\ndo = "generalize"\nk = 4\nquasi = ["town", "job"]\neffort = "quick"\n'
        '[[steps]]\ndo = "microaggregate"\nk = 3\nquasi = ["age", "income"]\nmethod = "mdav"\n',
        encoding="utf-8",
    )
    release = shoal.run(tmp_path / "recipe.toml")
    inside = release.report(tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("Step 1, generalize", "Step 2, microaggregate", "Groups of values", "k of a column group (2)"):
        assert words in inside
    assert "shoal run recipe.toml" in inside
    outside = release.report(tmp_path / "page.html", external=True).read_text(encoding="utf-8")
    assert "Groups of values" not in outside and "people.csv" not in outside
