"""An external page holds no original value, no extreme, no small count, no path and no seed: looked for one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from plotly.offline import get_plotlyjs

import shoal
from shoal.cli import main
from shoal.report.figures import figure

SEED = 424242
LARGEST, SMALLEST = 98765.4321098, -13579.2468013
ROLES: dict[str, Any] = {"identifiers": ["name"], "confidential": ["illness", "debt"]}


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A file whose every cell can be told from all others, in a folder and under a name to look for."""
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
            "name": [f"Nm{i:03d}Xq{i * 7919 % 1000:03d}" for i in range(n)],
            "income": income,
            "spent": (income * rng.uniform(0.3, 0.9, n)).round(7),
            "height": rng.normal(170, 9, n).round(7),
            "town": town,
            "job": np.where(town == "Wexmoor", "sentry-77b", rng.choice(["clerk-31a", "smith-52c"], n)),
            "illness": rng.choice(["gloxemia", "pervitis"], n),
            "debt": rng.lognormal(8, 1, n).round(7),
        }
    )
    folder = tmp_path / "vault-of-osric"
    folder.mkdir()
    frame.write_csv(folder / "ledger-5531.csv")
    return folder / "ledger-5531.csv"


def microaggregated(file: Path) -> Any:
    data = shoal.read(file, quasi=["income", "spent", "height"], **ROLES)
    return shoal.microaggregate(data, k=3, method="mdav", seed=SEED)


def grouped(file: Path) -> Any:
    data = shoal.read(file, quasi=["income", "spent", "height"], **ROLES)
    return shoal.group_attributes(data, k=3, method="correlated", size=2, seed=SEED)


def generalized(file: Path) -> Any:
    data = shoal.read(file, quasi=["income", "town", "job"], **ROLES)
    return shoal.generalize(data, k=3, effort="quick", suppress=0.02, l=2, seed=SEED)


def masked(file: Path) -> Any:
    data = shoal.read(file, **ROLES)
    given = {"vital": ("job", ["sentry-77b"]), "parameter": "town", "influential": ["height"], "ordinal": ["height"]}
    return shoal.mask_group(
        data, **given, outliers=["Wexmoor"], thresholds=[40], sensitivity=1.0, compatibility=0.0, distortion=1.0,
        budget=3, steps=0, seed=SEED,
    )  # fmt: skip


KINDS: dict[str, Callable[[Path], Any]] = {
    "microaggregation": microaggregated,
    "grouping": grouped,
    "generalization": generalized,
    "masking": masked,
}


def own_text(page: Path) -> str:
    """The page without plotly's code."""
    return page.read_text(encoding="utf-8").replace(get_plotlyjs(), "")


def charts_of(text: str) -> list[dict[str, Any]]:
    found = re.search(r"^const charts = (.*);$", text, re.MULTILINE)
    return json.loads(found[1]) if found else []


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
    return sorted(secret for secret in cells | places | {str(SEED), f"{SEED:,}"} if secret in told)


@pytest.mark.parametrize("kind", list(KINDS))
def test_holds_nothing_of_a_record(kind: str, planted: Path, tmp_path: Path) -> None:
    release = KINDS[kind](planted)
    inside = own_text(release.report(tmp_path / "inside.html"))
    outside = own_text(release.report(tmp_path / "outside.html", external=True))
    assert leaks(inside, planted) != []  # the search finds what is there
    assert leaks(outside, planted) == []
    assert "What risk is left" not in outside and "What is promised" in outside


@pytest.mark.parametrize("kind", ["microaggregation", "grouping"])
def test_draws_no_small_bars(kind: str, planted: Path, tmp_path: Path) -> None:
    text = own_text(KINDS[kind](planted).report(tmp_path / "outside.html", external=True))
    bars = [
        trace["y"] for chart in charts_of(text) for trace in chart["data"] if trace.get("name") in ("before", "after")
    ]
    assert len(bars) == 6
    assert all(count == 0 or count >= 10 for counts in bars for count in counts)


def test_a_large_k_is_the_threshold(planted: Path, tmp_path: Path) -> None:
    data = shoal.read(planted, quasi=["income", "height"], **ROLES)
    release = shoal.microaggregate(data, k=25, method="mdav")
    text = own_text(release.report(tmp_path / "outside.html", external=True))
    assert "Bars of fewer than 25 records" in text
    bars = [t["y"] for c in charts_of(text) for t in c["data"] if t.get("name") in ("before", "after")]
    assert bars and all(count == 0 or count >= 25 for counts in bars for count in counts)


def test_two_files_after_the_fact(planted: Path, tmp_path: Path) -> None:
    released, page = tmp_path / "released.csv", tmp_path / "page.html"
    microaggregated(planted).save(released)
    given = ["report", str(planted), str(released), "--quasi", "income,spent,height", "--identifiers", "name"]
    result = CliRunner().invoke(main, [*given, "-o", str(page)])
    assert result.exit_code == 0, result.output
    inside = own_text(page)
    assert "What risk is left" in inside and "What was done" not in inside and "How to repeat it" not in inside
    assert CliRunner().invoke(main, [*given, "-o", str(page), "--external"]).exit_code == 0
    assert leaks(own_text(page), planted) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--quasi", "income,no"], "no"),
        (["--quasi", "income,name"], "name"),
        (["--quasi", "income", "-o", "INPUT"], "never overwritten"),
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
    assert result.exit_code == 2 and "300 rows and the release 100" in result.output


def test_external_alone_is_refused(planted: Path) -> None:
    given = ["microaggregate", str(planted), "-k", "3", "--quasi", "income", "--external"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 2 and "--report" in result.output
