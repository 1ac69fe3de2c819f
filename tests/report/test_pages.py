"""The pages in a real browser: no errors, no calls to the outside, every chart drawn, nothing wider than the screen."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.gate.findings import Findings, as_sentences
from shoal.studies import datasets
from shoal.studies.microfile import INFLUENTIAL, TARGET_VALUES

EXAMPLES = Path(__file__).parents[2] / "examples"


def survey() -> Any:
    data = shoal.read(EXAMPLES / "survey.csv", roles=EXAMPLES / "roles.toml")
    return shoal.microaggregate(data, k=5, method="vmdav")


def census(folder: Path) -> Any:
    return shoal.group_attributes(
        folder / "census.csv", k=5, method="correlated", size=4, evaluations=10, with_front=True, effort="quick"
    )


def adult(folder: Path) -> Any:
    quasi = ["age", "workclass", "race", "sex"]
    data = shoal.read(folder / "adult.csv", quasi=quasi, confidential=["salary"])
    return shoal.generalize(data, k=5, granularity={"age": 5}, effort="quick", suppress=0.01)


def microfile() -> Any:
    data = datasets.generate("military")
    vital = ("OCCSOC", list(TARGET_VALUES))
    return shoal.mask_group(data, vital=vital, parameter="PWPUMA00", influential=INFLUENTIAL, budget=5, steps=0)


MADE: dict[str, Callable[..., Any]] = {"survey": survey, "census": census, "adult": adult, "microfile": microfile}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by playwright; without either of them the tests are skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    place = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if place is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages made so far, by name."""
    return {"": tmp_path_factory.mktemp("pages")}


def page_of(name: str, pages: dict[str, Path], request: pytest.FixtureRequest) -> Path:
    """The page of a release, made once for both its kinds."""
    of = name.split()[0]
    if name not in pages:
        made = MADE[of](request.getfixturevalue("shared_data")) if of in ("census", "adult") else MADE[of]()
        pages[of] = made.report(pages[""] / f"{of}.html")
        pages[f"{of} external"] = made.report(pages[""] / f"{of}-external.html", external=True)
        if of == "survey":
            made.save(pages[""] / "release.csv", shuffle=True)
            given = (made.original, pages[""] / "release.csv", pages[""] / "files.html")
            pages["survey files"] = shoal.report_files(*given, seed=made.secret)
    return pages[name]


DRAWN = "[...document.querySelectorAll('.plot > svg')].every(svg => svg.querySelector('rect, path, circle'))"
WIDEST = "Math.max(0, ...[...document.querySelectorAll('.plot')].map(s => s.getBoundingClientRect().width))"
BOXES = "[...document.querySelectorAll('.plot')].map(p => p.getBoundingClientRect().toJSON())"
# Texts of one drawing that cover each other, or leave the page.
COVERED = """
[...document.querySelectorAll('.plot > svg')].flatMap(svg => {
  const shown = t => getComputedStyle(t).display !== 'none' && t.getBBox().width;
  const texts = [...svg.querySelectorAll('text')].filter(shown);
  const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]);
  const wide = document.documentElement.clientWidth;
  const bad = boxes.filter(([, b]) => b.left < 0 || b.right > wide).map(([t]) => 'outside: ' + t);
  boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([two, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 4) bad.push(one + ' over ' + two);
  }));
  return bad;
})
"""


@pytest.mark.parametrize(
    ("name", "charts"),
    [
        ("survey", 11),  # group sizes, five distributions, two of correlations, three columns of labels
        ("survey external", 7),  # neither group sizes nor labels
        ("survey files", 11),  # classes for groups
        ("census", 16),  # a front and thirteen distributions
        ("census external", 15),
        ("adult", 7),  # four columns, two views of the front, classes
        ("adult external", 0),
        ("microfile", 1),
        ("microfile external", 0),
    ],
)
def test_opens_in_a_browser(
    name: str, charts: int, browser: Any, pages: dict[str, Path], request: pytest.FixtureRequest
) -> None:
    path = page_of(name, pages, request)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda call: asked.append(call.url))
    page.goto(path.as_uri())
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"{DRAWN} && {WIDEST} <= {width}")
        boxes = page.evaluate(BOXES)
        curves = path.read_text(encoding="utf-8").count(
            "<figcaption>Best result during the search"
        )  # where releases have a trace
        assert len(boxes) == charts + curves
        assert all(box["width"] > 250 and box["height"] > 40 for box in boxes)
        assert page.evaluate(COVERED) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert wrong == []
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    page.close()


def test_prints_on_paper(browser: Any, pages: dict[str, Path], request: pytest.FixtureRequest) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(page_of("survey", pages, request).as_uri())
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 900})  # A4 without its margins
    assert page.evaluate(DRAWN) and page.evaluate(WIDEST) <= 680 and page.evaluate(COVERED) == []
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
    page.close()


@pytest.mark.parametrize("name", list(MADE))
def test_says_everything(name: str, pages: dict[str, Path], request: pytest.FixtureRequest) -> None:
    html = page_of(name, pages, request).read_text(encoding="utf-8")
    heads = ("Input data", "Settings", "Result", "Information loss", "Remaining disclosure risk", "Limitations")
    assert all(f"<h2>{head}</h2>" in html for head in heads)
    assert len(html.encode()) < 200_000 and "<script" not in html
    first, *lines = html.splitlines()
    assert first.startswith("<!-- INTERNAL") and lines[0] == "<!doctype html>" and "Never hand it out" in first
    own = {
        "survey": ["people found, %", "interval disclosure", "l of diagnosis", "Correlations before", "Groups by"],
        "census": ["Column groups", "Pareto front", "k of a column group", "joint k"],
        "adult": ["Categories", "Cost of a higher k", "detail lost", "suppressed records", "classes by size"],
        "microfile": ["outliers marked", "Feasible solutions", "swapped pairs that agree", "target group"],
    }
    assert [words for words in own[name] if words not in html] == []


def test_the_figures_are_those_of_the_release_check(tmp_path: Path) -> None:
    """The report reads them, and measures no linkage of its own."""
    release = survey()
    figures = release.findings.figures
    planted = replace(figures.known, k=4321, uniques=8765, linked=0.97531)
    findings = Findings(list(release.findings), "default", replace(figures, known=planted))
    release.__dict__["checked"] = findings
    text = release.report(tmp_path / "page.html").read_text(encoding="utf-8")
    row = re.search(r"<b>Protected columns and those without a role</b>.*?</tr>", text)
    assert row is not None and re.findall(r"<td>(.*?)</td>", row[0]) == ["8", "4,321", "8,765", "97.53"]
    opening = unescape(text.split("<h2>")[0])  # the verdict and the three figures come first
    assert findings.verdict in opening and "97.5 %" in opening and "k is 4,321, 8,765 unique records." in opening
    assert opening.count("people found") == 3
    told = unescape(text.split("<h2>Remaining disclosure risk</h2>")[1])
    for finding in findings:
        assert (as_sentences(finding) in told) == (finding.status in ("warn", "block")), finding
