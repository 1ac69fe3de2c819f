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
            "name": [f"p{i}" for i in rng.permutation(n)],
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(9, 1, n).round(2),
            "town": rng.choice(["a", "b", "c"], n),
            "w": rng.uniform(1, 3, n).round(3),
            "illness": rng.choice(["x", "y"], n),
        }
    ).write_csv(tmp_path / "in.csv")
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        'seed = 5\n[input]\nfile = "in.csv"\nidentifiers = ["name"]\nconfidential = ["illness"]\nas_is = ["w"]\n'
        '[[steps]]\ndo = "generalize"\nquasi = ["town"]\nk = 60\neffort = "quick"\n'
        '[[steps]]\ndo = "microaggregate"\nquasi = ["age", "income"]\nk = 4\nmethod = "mdav"\n'
    )
    release = shoal.run(recipe)
    release.save(tmp_path / "kept.csv", accept_k=1)  # several steps promise no k over all columns
    with pytest.warns(ShoalWarning, match="seed"):
        release.save(tmp_path / "shuffled.csv", shuffle=True, accept_k=1)
    return tmp_path / "in.csv", tmp_path / "kept.csv", tmp_path / "shuffled.csv"


def own_text(page: Path) -> str:
    """The page without the code of its charts."""
    return re.sub(r"<script.*?</script>|<style.*?</style>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def same_figures(one: Path, two: Path) -> bool:
    """Whether two pages are the same, apart from which of several equally dominated totals a finding names."""
    texts = [re.sub(r"the largest alone \d+ %, in [^)]*", "", own_text(page)) for page in (one, two)]
    return texts[0] == texts[1]


def test_an_order_that_nobody_spoke_of_is_refused(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    original, kept, shuffled = files
    page = tmp_path / "page.html"
    told = run("report", original, shuffled, *ASKED, "-o", page, code=2).stderr
    assert "in a different order" in told and "--seed" in told and "--shuffled" in told and not page.exists()
    told = run("assess", original, shuffled, "--quasi", "age,income", code=2).stderr
    assert "in a different order" in told and "before its rows are shuffled" in told
    run("assess", original, kept, "--quasi", "age,income")
    run("report", original, kept, *ASKED, "-o", page)


def test_with_the_seed_the_page_is_that_of_the_file_in_order(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    original, kept, shuffled = files
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    weighed = (*ASKED, "--weight", "w")
    run("report", original, kept, *weighed, "-o", one)
    run("report", original, shuffled, *weighed, "--seed", 5, "-o", two)
    assert re.search(r"people found, %</th>.*?<td>\d", own_text(one), re.DOTALL)
    assert same_figures(one, two)
    told = run("report", original, shuffled, *weighed, "--seed", 6, "-o", two, code=2).stderr
    assert "The seed or secret does not restore the original row order" in told


def test_without_a_seed_the_recipe_brings_the_rows_together(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    original = files[0]
    recipe = tmp_path / "r.toml"
    recipe.write_text(recipe.read_text().replace("seed = 5", "seed = 0"))
    secret = "0123456789abcdef" * 2
    recipe.write_text(f'secret = "{secret}"\n{recipe.read_text()}')
    release = shoal.run(recipe)
    assert release.secret == secret
    shuffled, one, two = tmp_path / "secret.csv", tmp_path / "one.html", tmp_path / "two.html"
    release.save(shuffled, shuffle=True, accept_k=1)  # no warning: nobody can repeat the order
    again = tmp_path / "again.csv"
    release.save(again, accept_k=1)
    run("report", original, again, *ASKED, "-o", one)
    run("report", original, shuffled, *ASKED, "--recipe", recipe, "-o", two)
    assert same_figures(one, two)
    read = shoal.read(original, identifiers="name", quasi=["age", "income", "town"])
    shoal.report_files(read, shuffled, two, seed=release.secret)
    assert same_figures(one, two)
    told = run("report", original, shuffled, *ASKED, "--seed", 5, "-o", two, code=2).stderr
    assert "does not restore the original row order" in told


def test_without_the_seed_no_part_compares_rows(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    original, kept, shuffled = files
    one, two, other = tmp_path / "one.html", tmp_path / "two.html", tmp_path / "other.csv"
    frame = pl.read_csv(kept)
    frame[np.random.default_rng(9).permutation(frame.height)].write_csv(other)
    run("report", original, other, *ASKED, "--shuffled", "-o", one)
    run("report", original, shuffled, *ASKED, "--shuffled", "-o", two)
    assert own_text(two) == own_text(one)  # the same whatever the order
    text = own_text(two)
    assert "did not measure" in text and "unique records" in text and "detail lost" not in text
    assert text.count("interval disclosure") == 1  # where the page says that it is not measured
    figures = re.search(r"people found, %</th>.*?</table>", text, re.DOTALL)
    assert figures is not None and figures[0].count("<td>–</td>") == 3  # of all three figures
    assert "Information loss in subgroups" not in text
    assert text.count("the rows are shuffled, and their order is not known") == 1  # one answer for all such checks
    run("report", original, shuffled, *ASKED, "--weight", "w", "--shuffled", "-o", two)
    assert "not weighted" in own_text(two)


def test_a_file_of_protected_columns_only_is_warned_of(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    before, kept, shuffled = (pl.read_csv(path).select("age", "income") for path in files)
    shoal.report_files(before, kept, tmp_path / "page.html")
    with pytest.warns(ShoalWarning, match="may be in a different order"):
        shoal.report_files(before, shuffled, tmp_path / "page.html")
    shoal.report_files(before, shuffled, tmp_path / "page.html", shuffled=True)


def test_a_changed_column_is_not_another_order(files: tuple[Path, Path, Path]) -> None:
    before, kept, _ = (pl.read_csv(path) for path in files)
    other = kept.with_columns(pl.Series("illness", ["z"] * kept.height))
    shoal.assess(before, other, quasi=["age", "income"])
    with pytest.raises(InputError, match="'w', row 1"):
        shoal.assess(before, kept[::-1], quasi=["age", "income"])
