"""An external page holds no original value, no extreme, no small count, no path, no seed, no secret, no finding.

Each of them is searched for in the text of the page.
"""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import main
from shoal.errors import ShoalWarning
from shoal.report.figures import figure

SEED = 424242
LARGEST, SMALLEST = 98765.4321098, -13579.2468013
REASON = "only the registrar of Ulverholm has it"
ROLES: dict[str, Any] = {"identifiers": ["name"], "drop": ["remark"], "confidential": ["illness", "debt"]}
AS_IS: dict[str, Any] = {"as_is": {"town": REASON, "job": REASON}}


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A file in which every cell is distinct; the tests look for its folder and its name in the report."""
    rng = np.random.default_rng(3)
    n = 300
    income = rng.normal(20_000, 5_000, n).round(7)
    income[17], income[41] = LARGEST, SMALLEST
    towns = np.array(["Zwolgard", "Quexham", "Vystrine", "Jorplund", "Wexmoor", "Kviteby"])
    town = towns[rng.integers(0, 5, n)]
    town[:60] = "Wexmoor"
    town[7] = "Kviteby"
    frame = pl.DataFrame(
        {
            "name": [f"Nm{i:03d}Xq{i * 7919 % 1000:03d}" for i in rng.permutation(n)],
            "income": income,
            "spent": (income * rng.uniform(0.3, 0.9, n)).round(7),
            "height": rng.normal(170, 9, n).round(7),
            "town": town,
            "job": np.where(town == "Wexmoor", "sentry-77b", rng.choice(["clerk-31a", "smith-52c"], n)),
            "illness": rng.choice(["gloxemia", "pervitis"], n),
            "debt": rng.lognormal(8, 1, n).round(7),
            "remark": [f"remark-{i:03d}" for i in rng.permutation(n)],
        }
    )
    folder = tmp_path / "vault-of-osric"
    folder.mkdir()
    frame.write_csv(folder / "ledger-5531.csv")
    return folder / "ledger-5531.csv"


def microaggregated(file: Path) -> Any:
    data = shoal.read(file, quasi=["income", "spent", "height"], **ROLES, **AS_IS)
    return shoal.microaggregate(data, k=3, method="mdav", seed=SEED)


def mixed(file: Path) -> Any:
    data = shoal.read(file, **ROLES)
    return shoal.microaggregate(data, k=3, method="mdav", seed=SEED)


def grouped(file: Path) -> Any:
    data = shoal.read(file, quasi=["income", "spent", "height"], **ROLES, **AS_IS)
    return shoal.group_attributes(data, k=3, method="correlated", size=2, seed=SEED)


def generalized(file: Path) -> Any:
    data = shoal.read(file, quasi=["income", "town", "job"], as_is={"spent": REASON, "height": REASON}, **ROLES)
    return shoal.generalize(data, k=3, effort="quick", suppress=0.02, l=2, seed=SEED)


def masked(file: Path) -> Any:
    data = shoal.read(file, **ROLES)
    given = {"vital": ("job", ["sentry-77b"]), "parameter": "town", "influential": ["height"], "ordinal": ["height"]}
    return shoal.mask_group(
        data, **given, outliers=["Wexmoor"], thresholds=[40], sensitivity=1.0, compatibility=0.0, distortion=1.0,
        budget=3, steps=0, seed=SEED, settings="published",
    )  # fmt: skip


KINDS: dict[str, Callable[[Path], Any]] = {
    "microaggregation": microaggregated,
    "mixed": mixed,
    "grouping": grouped,
    "generalization": generalized,
    "masking": masked,
}


def own_text(page: Path) -> str:
    """The page without its style sheet."""
    return re.sub(r"<style>.*?</style>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def row_of(text: str, *first: str) -> list[str]:
    """The cells of the first table row that begins with these words."""
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]
    return next(cells for cells in rows if cells[: len(first)] == list(first))


def bars_of(text: str) -> list[list[int]]:
    """The counts before and after of every histogram, by its table; what is not drawn is 0."""
    found = []
    for figure_ in re.findall(r"<figure>.*?</figure>", text, re.DOTALL):
        if '<th scope="col">range</th>' in figure_:
            cells = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", figure_)[1:]]
            found += [
                [0 if cell == "–" else int(cell.replace(",", "")) for cell in side] for side in zip(*cells, strict=True)
            ]
    return found


def _count(cell: str) -> int:
    return 0 if cell in ("–", "not drawn") else int(cell.replace(",", ""))


def hover_counts(text: str) -> list[int]:
    """Every count that the bars say when the mouse is over them."""
    said = re.findall(r"<title>[^<]*: ([\d,]+|not drawn) before, ([\d,]+|not drawn) after</title>", text)
    return [_count(count) for pair in said for count in pair]


def leaks(text: str, file: Path) -> list[str]:
    """Every original cell, place and number that the text holds and must not."""
    frame = pl.read_csv(file)
    told = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)
    cells = {str(cell) for name in frame.columns for cell in frame[name]}
    numbers = [value for name in ("income", "spent", "height", "debt") for value in frame[name]]
    cells |= {f"{value:.8g}" for value in numbers}
    for name in ("income", "spent", "height", "debt"):
        cells |= {figure(frame[name].min()), figure(frame[name].max())}  # type: ignore[arg-type]
    places = {file.name, file.stem, file.parent.name, str(file.parent.parent)}
    own = {str(SEED), f"{SEED:,}", REASON, "remark", "INTERNAL", "Internal", "secret"}
    return sorted(secret for secret in cells | places | own if secret in told)


# What belongs to the measured risk and the findings, by the words that an internal page has for it.
RISK = ("people found", "unique records", "What an intruder finds", "Findings</h3>", "Remaining disclosure risk",
        "Information loss in subgroups", "accepted k", "average re-identification",
        "Reproduce this release")  # fmt: skip


@pytest.mark.parametrize("kind", list(KINDS))
def test_holds_nothing_of_a_record(kind: str, planted: Path, tmp_path: Path) -> None:
    release = KINDS[kind](planted)
    inside = own_text(release.report(tmp_path / "inside.html"))
    outside = own_text(release.report(tmp_path / "outside.html", external=True))
    assert leaks(inside, planted) != []  # the search finds what is there
    assert leaks(outside, planted) == []
    assert [words for words in RISK if words in outside] == [] and "Guarantees" in outside
    assert not [finding.finding for finding in release.findings if finding.finding in html.unescape(outside)]


def test_what_was_saved_with_a_secret_and_an_accepted_k_is_inside_only(planted: Path, tmp_path: Path) -> None:
    data = shoal.read(planted, quasi=["income", "spent", "height"], **ROLES)
    release = shoal.microaggregate(data, k=3, method="mdav")
    saved = release.save(tmp_path / "released.csv", shuffle=True, accept_k=1)
    inside = own_text(saved.report(tmp_path / "inside.html"))
    outside = own_text(saved.report(tmp_path / "outside.html", external=True))
    assert release.secret in inside and "accepted k" in inside and inside.startswith("<!-- INTERNAL")
    assert release.secret not in outside and leaks(outside, planted) == []
    assert [words for words in RISK if words in inside] == list(RISK)
    assert [words for words in RISK if words in outside] == []


@pytest.mark.parametrize(("changed", "shown"), [(3, False), (9, False), (10, True), (30, True), (291, False)])
def test_few_changed_labels_are_not_counted(changed: int, shown: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    n = 300
    before = pl.DataFrame(
        {"x": rng.normal(0, 1, n), "y": rng.normal(0, 1, n), "town": rng.permutation(["a", "b"] * 150)}
    )
    town = before["town"].to_list()
    moved = ["b" if old == "a" else "a" for old in town[:changed]]
    after = before.with_columns(pl.Series("town", moved + town[changed:]), pl.col("x") * 0.9, pl.col("y") * 0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        text = own_text(shoal.report_files(before, after, tmp_path / "page.html", external=True))
    assert row_of(text, "town", "nominal")[2:] == ["–", *([figure(100 * changed / n)] if shown else []), "2"]
    assert "information loss, %" in text  # of the numbers: two files show no total from which the rest would follow


def test_a_hidden_loss_does_not_follow_from_the_others(tmp_path: Path) -> None:
    """The loss of all columns is on the page: with all losses but one, the last could be computed."""
    rng = np.random.default_rng(6)
    n = 600
    frame = pl.DataFrame(
        {
            "x": rng.normal(0, 1, n),
            "y": rng.normal(0, 1, n),
            "town": np.where(rng.random(n) < 0.985, "a", "b"),
            "job": rng.choice(list("pqrstu"), n),
        }
    )
    release = shoal.microaggregate(shoal.read(frame, unit=False), k=5, method="mdav")
    counts = {
        name: round(about["changed"] * n) for name, about in release.facts["per_column"].items() if "changed" in about
    }
    assert 0 < counts["town"] < 10 <= counts["job"]
    inside = own_text(release.report(tmp_path / "inside.html"))
    outside = own_text(release.report(tmp_path / "outside.html", external=True))
    assert "changed cells of labels" in inside and "changed cells of labels" not in outside
    assert "information loss, %" in inside and "information loss, %" not in outside
    cells = {name: figure(100 * count / n) for name, count in counts.items()}
    assert all(row_of(inside, name, "nominal")[3] == cells[name] for name in ("town", "job"))
    assert cells["job"] in row_of(outside, "job", "nominal") and cells["town"] not in row_of(outside, "town", "nominal")


@pytest.mark.parametrize("kind", ["microaggregation", "mixed", "grouping"])
def test_draws_no_small_bars(kind: str, planted: Path, tmp_path: Path) -> None:
    text = own_text(KINDS[kind](planted).report(tmp_path / "outside.html", external=True))
    bars = bars_of(text)
    assert len(bars) == 6
    assert all(count == 0 or count >= 10 for counts in bars for count in counts)
    # The bars and their tooltips show the same counts, and nothing else.
    assert sorted(hover_counts(text)) == sorted(count for counts in bars for count in counts)


@pytest.mark.parametrize("kind", list(KINDS))
def test_draws_no_mark_for_a_record(kind: str, planted: Path, tmp_path: Path) -> None:
    """A histogram outlines bars, a table of colours has a cell per pair of columns: nothing has a mark per record."""
    inside, outside = (own_text(KINDS[kind](planted).report(tmp_path / "p.html", external=e)) for e in (False, True))
    drawn = re.findall(r"<svg role.*?</svg></div>", outside, re.DOTALL)
    assert "<figure>" in inside
    assert all(svg.count("<circle") <= 5 and svg.count("<title>") <= 40 for svg in drawn)
    # Bars that were hidden have no height in the drawing either: an outline has only heights of counts that are shown.
    for svg, (before, after) in zip(
        [svg for svg in drawn if "Histogram" in svg], zip(*[iter(bars_of(outside))] * 2, strict=True), strict=True
    ):
        paths = re.findall(r'<path class="(?:area|line c1)" d="([^"]*)"', svg)
        for path, counts in zip(paths, (before, after), strict=True):
            heights = {point.split()[1] for point in re.findall(r"[\d.]+ [\d.]+", path)}
            assert len(heights) <= len(set(counts) | {0})


def test_a_large_k_is_the_threshold(planted: Path, tmp_path: Path) -> None:
    data = shoal.read(planted, quasi=["income", "height"], **ROLES)
    release = shoal.microaggregate(data, k=25, method="mdav")
    text = own_text(release.report(tmp_path / "outside.html", external=True))
    assert "Bars of fewer than 25 records" in text
    bars = bars_of(text)
    assert bars and all(count == 0 or count >= 25 for counts in bars for count in counts)
    assert all(count == 0 or count >= 25 for count in hover_counts(text))


def test_two_files_after_the_fact(planted: Path, tmp_path: Path) -> None:
    released, page = tmp_path / "released.csv", tmp_path / "page.html"
    microaggregated(planted).save(released)
    given = ["report", str(planted), str(released), "--quasi", "income,spent,height", "--identifiers", "name"]
    given += ["--drop", "remark", "--confidential", "illness,debt", "--as-is", "town,job"]
    result = CliRunner().invoke(main, [*given, "-o", str(page)])
    assert result.exit_code == 0, result.output
    inside = own_text(page)
    assert "Remaining disclosure risk" in inside and "Result" not in inside and "Reproduce this release" not in inside
    assert CliRunner().invoke(main, [*given, "-o", str(page), "--external"]).exit_code == 0
    assert leaks(own_text(page), planted) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--quasi", "income,no"], "no"),
        (["--quasi", "income,name"], "name"),
        (["--quasi", "income", "-o", "INPUT"], "never overwrites the original"),
    ],
)
def test_says_what_is_wrong(wrong: list[str], said: str, planted: Path, tmp_path: Path) -> None:
    released = tmp_path / "released.csv"
    microaggregated(planted).save(released)
    options = [str(planted) if word == "INPUT" else word for word in wrong]
    options += [] if "-o" in options else ["-o", str(tmp_path / "page.html")]
    result = CliRunner().invoke(main, ["report", str(planted), str(released), *options])
    assert result.exit_code == 2 and said in result.output
    assert not (tmp_path / "page.html").exists()


def test_the_records_must_be_the_same(planted: Path, tmp_path: Path) -> None:
    fewer = tmp_path / "fewer.csv"
    pl.read_csv(planted).head(100).write_csv(fewer)
    page = str(tmp_path / "p.html")
    result = CliRunner().invoke(main, ["report", str(planted), str(fewer), "--quasi", "income", "-o", page])
    assert result.exit_code == 2 and "300 rows, but the release has 100." in result.output


def test_external_alone_is_refused(planted: Path) -> None:
    given = ["microaggregate", str(planted), "-k", "3", "--quasi", "income", "--external"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 2 and "--report" in result.output
