"""Two files whose rows do not stand side by side: no row is compared with another one's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import run
from shoal.errors import InputError, ShoalWarning

ASKED = ("--identifiers", "name", "--quasi", "age,income,town")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The original, its release in the original's order, and the same release shuffled with the seed 5."""
    rng = np.random.default_rng(2)
    n = 150
    pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(9, 1, n).round(2),
            "town": rng.choice(["a", "b", "c"], n),
            "w": rng.uniform(1, 3, n).round(3),
            "illness": rng.choice(["x", "y"], n),
        }
    ).write_csv(tmp_path / "in.csv")
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        'seed = 5\n[input]\nfile = "in.csv"\nidentifiers = ["name"]\n'
        '[[steps]]\ndo = "generalize"\nquasi = ["town"]\nk = 60\neffort = "quick"\n'
        '[[steps]]\ndo = "microaggregate"\nquasi = ["age", "income"]\nk = 4\nmethod = "mdav"\n'
    )
    release = shoal.run(recipe)
    release.save(tmp_path / "kept.csv")
    release.save(tmp_path / "shuffled.csv", shuffle=True)
    return tmp_path / "in.csv", tmp_path / "kept.csv", tmp_path / "shuffled.csv"


def own_text(page: Path) -> str:
    """The page without the code of its charts."""
    return re.sub(r"<script.*?</script>|<style.*?</style>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_an_order_that_nobody_spoke_of_is_refused(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    original, kept, shuffled = files
    page = tmp_path / "page.html"
    told = run("report", original, shuffled, *ASKED, "-o", page, code=2).stderr
    assert "in another order" in told and "--seed" in told and "--shuffled" in told and not page.exists()
    told = run("assess", original, shuffled, "--quasi", "age,income", code=2).stderr
    assert "in another order" in told and "before its rows are shuffled" in told
    run("assess", original, kept, "--quasi", "age,income")
    run("report", original, kept, *ASKED, "-o", page)


def test_with_the_seed_the_page_is_that_of_the_file_in_order(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    original, kept, shuffled = files
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    weighed = (*ASKED, "--weight", "w")
    run("report", original, kept, *weighed, "-o", one)
    run("report", original, shuffled, *weighed, "--seed", 5, "-o", two)
    assert "distance linkage" in own_text(one)
    assert own_text(two) == own_text(one)
    told = run("report", original, shuffled, *weighed, "--seed", 6, "-o", two, code=2).stderr
    assert "the seed 6 does not bring the rows" in told


def test_without_the_seed_nothing_that_compares_rows_is_told(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    original, kept, shuffled = files
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    run("report", original, kept, *ASKED, "--shuffled", "-o", one)
    run("report", original, shuffled, *ASKED, "--shuffled", "-o", two)
    assert own_text(two) == own_text(one)  # the same whatever the order
    text = own_text(two)
    assert "were not measured" in text and "uniques" in text and "detail lost" not in text
    assert (
        text.count("distance linkage") == text.count("interval disclosure") == 1
    )  # where it is said that they are not
    run("report", original, shuffled, *ASKED, "--weight", "w", "--shuffled", "-o", two)
    assert "without weights" in own_text(two)


def test_a_file_of_protected_columns_only_is_warned_of(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    before, kept, shuffled = (pl.read_csv(path).select("age", "income") for path in files)
    shoal.report_files(before, kept, tmp_path / "page.html")
    with pytest.warns(ShoalWarning, match="do not seem to be in the original's order"):
        shoal.report_files(before, shuffled, tmp_path / "page.html")
    shoal.report_files(before, shuffled, tmp_path / "page.html", shuffled=True)


def test_a_changed_column_is_no_other_order(files: tuple[Path, Path, Path]) -> None:
    before, kept, _ = (pl.read_csv(path) for path in files)
    other = kept.with_columns(pl.Series("illness", ["z"] * kept.height))
    shoal.assess(before, other, quasi=["age", "income"])
    with pytest.raises(InputError, match="in 'w', row 1"):
        shoal.assess(before, kept[::-1], quasi=["age", "income", "town"][:2])
