"""A protection that is declared in a folder of its own is found everywhere, and no other file names it."""

from __future__ import annotations

import json
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import guide
import shoal
import shoal.protections
from command_line import run
from shoal.cli import commands, main
from shoal.errors import InputError
from shoal.protections import declared
from shoal.protections.form import form
from shoal.report.repeat import command
from shoal.running import load_recipe

TOY = '''
"""A toy: numbers are rounded to multiples of a step."""

from typing import Annotated, Any

from shoal.gate.promises import KAnonymity
from shoal.protections.parameters import Columns
from shoal.protections.protection import Method, Option, Protection, names

METHODS = (Method("nearest", "Up or down, to the nearest multiple"), Method("down", "Always down"))
BLUR = Protection(
    name="blur",
    title="Blurring",
    summary="Round numbers to multiples of a step.",
    promise="Every protected number is a multiple of the step, and at least k records share each.",
    promises=(KAnonymity,),
    limits=(("Rounding hides little.", "A record that is alone at its multiple can be found."),),
    methods=METHODS,
)
DECLARED = (BLUR,)


@BLUR.declares
def blur(
    data: Any,
    step: Annotated[float, Option("Step between two multiples.", 0.5, unit="years")],
    *,
    quasi: Columns = (),
    method: Annotated[str, Option("Direction of the rounding.", choices=names(METHODS))] = "nearest",
    offset: Annotated[float, Option("Where the multiples begin.", 0, 10, of=("down",))] = 0.0,
    k: Annotated[int, Option("Smallest number of records at a multiple; it is checked, not searched.", 1)] = 1,
) -> Any:
    """Round the quasi-identifiers."""
    import numpy as np

    from shoal.release import Release
    from shoal.sources.reading import as_table

    table = as_table(data, quasi=quasi)
    columns = table.quasi_columns(to_protect=True)
    values = (table.numbers(columns) - offset) / step
    rounded = (np.floor(values) if method == "down" else np.rint(values)) * step + offset
    new = {name: rounded[:, j] for j, name in enumerate(columns)}
    facts = {"n": table.rows, "step": step, "method": method}
    promises = (KAnonymity(tuple(columns), k),)
    return Release(table, table.protected(new), tuple(columns), k, facts, title=BLUR.title, promises=promises)
'''
PAGE = '''
"""What the report says of a blurring."""

from typing import Any

from shoal.report.page import Block, Text


def settings(release: Any, external: bool) -> list[list[Any]]:
    return [["width of the step", release.facts["step"]]]


def risk(release: Any) -> list[Block]:
    return [Text("A neighbour may still guess the decade.")]
'''
COMMAND = '''
"""What the command prints of a blurring, and what its recipe promises."""

from typing import Any

from shoal.report.page import Grid, Text


def show(release: Any) -> list[Grid | Text]:
    return [Text("Numbers are blurred."), Grid(["step", "records"], [[release.facts["step"], release.facts["n"]]])]


def check_arguments(arguments: Any) -> dict[str, Any]:
    return {"k": arguments.get("k")}
'''
CANDIDATES = '''
"""What is compared of a blurring."""

from typing import Any

from shoal.protections.candidate import Candidate, LeftOut


def candidates(table: Any, columns: Any, effort: str, numeric: bool) -> Any:
    yield Candidate("blur, down", {"step": 50.0, "method": "down"})
    yield LeftOut("blur, nearest", "it has a twin")
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a toy protection beside the real ones, and a file to protect."""
    folder = tmp_path / "more_protections" / "blurring"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(TOY, encoding="utf-8")
    (folder / "page.py").write_text(PAGE, encoding="utf-8")
    (folder / "command.py").write_text(COMMAND, encoding="utf-8")
    (folder / "candidates.py").write_text(CANDIDATES, encoding="utf-8")
    monkeypatch.setattr(shoal.protections, "__path__", [*shoal.protections.__path__, str(folder.parent)])
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": [23, 27, 31, 58, 62, 67], "pay": [10, 11, 12, 13, 14, 15]}).write_csv("people.csv")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("shoal.protections.blurring")]:
        del sys.modules[name]


ROLES = ("--quasi", "age", "--as-is", "pay")


def test_the_command_and_its_help(toy: Path) -> None:
    assert commands()["blur"] == "Round numbers to multiples of a step."
    assert "blur" in run("--help").stdout
    shown = run("blur", "--help").stdout
    for words in ("Required:", "--step", "Step between two multiples. [0.5 or more]", "--method [nearest|down]",
                  "Options of down:", "--offset X", "[default: 0.0; between 0 and 10]", "Always down."):  # fmt: skip
        assert words in shown
    facts = json.loads(run("blur", "people.csv", *ROLES, "--step", 10, "-o", "out.csv", "--json").stdout)
    assert facts["step"] == 10.0 and facts["method"] == "nearest"
    assert pl.read_csv("out.csv")["age"].to_list() == [20, 30, 30, 60, 60, 70]
    assert shoal.blur is declared("blur").function and "blur" in dir(shoal)  # type: ignore[attr-defined]
    assert "Numbers are blurred." in run("blur", "people.csv", *ROLES, "--step", 10).stdout
    refused = CliRunner().invoke(main, ["blur", "people.csv", "--step", "10", "--offset", "3"])
    assert refused.exit_code == 2 and "The method nearest does not use offset: it belongs to down." in refused.output


def test_the_recipe_and_the_line_that_repeats_it(toy: Path) -> None:
    typed = ("--step", "10.0", "--method", "down", "--offset", "3.0")
    run("blur", "people.csv", *ROLES, *typed, "-o", "out.csv", "--save-recipe", "r.toml")
    first = Path("out.csv").read_bytes()
    recipe = load_recipe("r.toml")
    assert recipe.steps[0].arguments == {"step": 10.0, "method": "down", "offset": 3.0}
    words = shlex.split(command(recipe, declared("blur")))
    assert words[:2] == ["shoal", "blur"] and set(typed) <= set(words)
    for again in (words[1:], ["run", "r.toml"]):
        Path("out.csv").unlink()
        run(*again)
        assert Path("out.csv").read_bytes() == first
    Path("r.toml").write_text('[[steps]]\ndo = "blur"\nstep = 0.1\noffset = 3\nstip = 2\n')
    with pytest.raises(InputError) as caught:
        load_recipe("r.toml")
    for words_of_message in ("line 3: step must be 0.5 or more", "line 4: The method nearest does not use offset",
                             "line 5: blur: Unknown argument 'stip'. Did you mean 'step'?"):  # fmt: skip
        assert words_of_message in str(caught.value)


def test_the_form_and_the_reference(toy: Path) -> None:
    fields = {field["name"]: field for field in form(declared("blur"))}
    assert list(fields) == ["step", "quasi", "method", "offset", "k"]
    assert fields["step"]["min"] == 0.5 and fields["step"]["unit"] == "years" and fields["step"]["required"]
    assert fields["offset"]["show_for"] == ["down"] and fields["method"]["choices"] == ["nearest", "down"]
    page = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_commands.py"))["page"]()
    for words in ("## shoal blur", "| `down` | Always down |", "- Rounding hides little.", "| `--offset X` |"):
        assert words in page


def test_the_report_has_its_words_and_its_limits(toy: Path) -> None:
    run("blur", "people.csv", *ROLES, "--step", 10, "--report", "page.html", "--external-report", "public.html")
    inside, outside = (Path(name).read_text(encoding="utf-8") for name in ("page.html", "public.html"))
    for page in (inside, outside):
        assert "Rounding hides little." in page and "Group means are exact." not in page
        assert "Every protected number is a multiple of the step" in page and "width of the step" in page
        assert "Round numbers to multiples of a step." in page
    assert "A neighbour may still guess the decade." in inside and "neighbour" not in outside


def test_the_release_check_refuses_what_it_does_not_keep(toy: Path) -> None:
    down = ("blur", "people.csv", *ROLES, "--method", "down", "-o", "out.csv")
    run(*down, "--step", 50, "--k", 3)
    assert pl.read_csv("out.csv")["age"].to_list() == [0, 0, 0, 50, 50, 50]
    Path("out.csv").unlink()
    refused = CliRunner().invoke(main, [str(word) for word in (*down, "--step", 10, "--k", 3)])
    assert refused.exit_code == 1 and not Path("out.csv").exists()
    assert "4 classes have fewer than 3" in refused.output


def test_a_later_check_takes_its_guarantee_from_the_recipe(toy: Path) -> None:
    typed = ("--method", "down", "--step", 50, "--k", 3, "-o", "out.csv", "--save-recipe", "r.toml")
    run("blur", "people.csv", *ROLES, *typed)
    check = ("check", "people.csv", "out.csv", "--recipe", "r.toml", "--json")
    assert run(*check).exit_code == 0
    recipe = Path("r.toml").read_text()
    Path("r.toml").write_text(recipe.replace("k = 3", "k = 4"))  # as if more had been promised
    findings = json.loads(run(*check, code=1).stdout)["findings"]
    assert [f["status"] for f in findings if f["check"] == "joint-k"] == ["block"]


def test_it_is_compared_with_the_others(toy: Path) -> None:
    found = shoal.compare("people.csv", 3, quasi=["age", "pay"], effort="quick")
    line = next(item.command for item in found.runs if item.name == "blur, down")
    assert line.startswith("shoal blur people.csv --quasi age,pay --k 3 --step 50.0 --method down")
    assert "blur, nearest" in {item.name for item in found.left_out}


def test_a_guarantee_that_is_not_declared_is_refused(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared("blur"), "promises", ())
    with pytest.raises(TypeError, match="blur does not declare KAnonymity in its promises"):
        declared("blur").function(pl.read_csv("people.csv"), 10, quasi=["age"])


def test_the_protection_of_the_contributing_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's code, as a folder of its own, works by the guide's own words."""
    folder = tmp_path / "more_protections" / "top_coding"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(guide.code("Add a protection"), encoding="utf-8")
    monkeypatch.setattr(shoal.protections, "__path__", [*shoal.protections.__path__, str(folder.parent)])
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": [70, 91, 66, 88]}).write_csv("people.csv")
    try:
        (line,) = [part for part in guide.section("Add a protection").split("`") if part.startswith("shoal top ")]
        words = line.replace("FILE", "people.csv --quasi age").split()[1:]
        run(*words)
        assert pl.read_csv("out.csv")["age"].to_list() == [65] * 4
        release = shoal.top_code("people.csv", 80, quasi=["age"])  # type: ignore[attr-defined]
        assert release.frame["age"].to_list() == [70, 80, 66, 80]
        refused = CliRunner().invoke(main, ["80" if word == "65" else word for word in words])
        assert refused.exit_code == 1 and "3 classes have fewer than 3" in refused.output
    finally:
        del sys.modules["shoal.protections.top_coding"]
