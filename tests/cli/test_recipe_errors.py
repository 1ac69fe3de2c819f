"""Messages on a recipe that is wrong or no longer fits: they name the line and what to type."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import shoal
from command_line import run
from shoal.errors import InputError
from shoal.running import load_recipe

ROLES = ("--identifiers", "name", "--quasi", "age,income", "--as-is", "town,sex,job,district")


def test_a_changed_input_is_refused_unless_it_is_meant(people: Path, tmp_path: Path) -> None:
    recipe, out = tmp_path / "r.toml", tmp_path / "out.csv"
    run("microaggregate", people, "-k", 4, *ROLES, "--method", "mdav", "--save-recipe", recipe)
    with people.open("a") as file:
        file.write("person 999,44,1000.5,ayr,f,cook,D01\n")
    result = run("run", recipe, "-o", out, code=2)
    assert "has changed since the recipe was written" in result.stderr and "--changed-input" in result.stderr
    assert not out.exists()
    result = run("run", recipe, "-o", out, "--changed-input")
    assert "Warning" in result.stderr and pl.read_csv(out).height == 241


def test_another_version_is_named(people: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    run("microaggregate", people, "-k", 4, *ROLES, "--method", "mdav", "--save-recipe", recipe)
    recipe.write_text(recipe.read_text().replace(f'shoal = "{shoal.__version__}"', 'shoal = "0.0.7"'))
    result = run("run", recipe)
    assert f"written by shoal 0.0.7, and this is shoal {shoal.__version__}" in result.stderr


def test_a_recipe_is_called_toml_and_checked_before_the_work(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    result = run("microaggregate", people, "-k", 4, "--quasi", "age,income", "-o", out, "--save-recipe", out, code=2)
    assert "Use out.toml instead" in result.stderr and not out.exists()
    result = run("run", tmp_path / "none.toml", code=2)
    assert "Cannot read the recipe" in result.stderr


WRONG = {
    'seed = 1\n\n[[steps]]\ndo = "microagregate"\nk = 3': (4, "Did you mean 'microaggregate'?"),
    '[[steps]]\ndo = "microaggregate"\n': (1, "'k' is missing"),
    '[[steps]]\nk = 3\n': (1, "'do' is missing"),
    '[[steps]]\ndo = "microaggregate"\n# three\nk = "3"': (4, "k = '3' is not valid"),
    '[[steps]]\ndo = "microaggregate"\nk = true': (3, "k = True is not valid"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nmetod = "mdav"': (4, "Did you mean 'method'?"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nmethod = "mdav"\neffort = "quick"': (5, "mdav does not use effort"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nmethod = "mdv"': (4, "Did you mean 'mdav'?"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\n[[steps]]\ndo = "mask"\nk = 3': (6, "mask: Unknown argument 'k'"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nseed = 4': (4, "'seed': it belongs in the top of the recipe"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nthreads = 4': (4, "on the command line (--threads)"),
    'quasi = ["a"]\n[[steps]]\ndo = "microaggregate"\nk = 3': (1, "may belong in [input]"),
    '[input]\nfile = "a.csv"\nquasi = [\n  "a",\n  3,\n]\n[[steps]]\ndo = "group"\nk = 3': (3, "input.quasi.1 = 3"),
    '[input]\nsha256 = "abc"\n[[steps]]\ndo = "group"\nk = 3': (2, "input.sha256 = 'abc' is not valid"),
    'seed = 1\n[[steps]]\ndo = "group"\nk = ': (4, "is not valid TOML"),
    "[[steps]]\ndo = 'generalize'\nk = 3\ngranularity = {age = 5}\ncuts = {age = [1, 'x']}": (5, "cuts = {"),
    'seed = 1\nseed = 2': (2, "is not valid TOML"),
    'secret = "abc"\n[[steps]]\ndo = "group"\nk = 3': (1, "secret = 'abc' is not valid"),
    '[[steps]]\ndo = "group"\nk = 3\nsecret = "abc"': (4, "'secret'"),
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_names_its_line(tmp_path: Path, text: str) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(text)
    line, words = WRONG[text]
    with pytest.raises(InputError) as caught:
        load_recipe(recipe)
    assert f"line {line}" in str(caught.value) and words in str(caught.value)


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('[[steps]]\ndo = "microaggregate"\nk = 1.5\nround = 1\nquasi = "age"\n')
    result = run("run", recipe, code=2)
    assert [f"line {n}" in result.stderr for n in (3, 4, 5)] == [True] * 3


UNFIT = {
    'file = "none.csv"': (2, "none.csv"),
    'file = "people.csv"\nidentifiers = ["name"]\nquasi = ["agee"]': (4, "Did you mean 'age'?"),
    'file = "people.csv"\nidentifiers = ["name"]\nquasi = ["age", "name"]': (3, "'name'"),
    'file = "people.csv"\n\nweight = "wealth"': (4, "'wealth'"),
    'file = "people.csv"\nencoding = "latin-77"': (3, "latin-77"),
    f'file = "people.csv"\nsha256 = "{"0" * 64}"': (3, "has changed since the recipe was written"),
    'quasi = ["age"]': (1, "The recipe does not name an input file"),
}


@pytest.mark.parametrize("text", UNFIT)
def test_what_does_not_fit_the_input_names_its_line(people: Path, text: str) -> None:
    recipe = people.parent / "r.toml"
    recipe.write_text(f'[input]\n{text}\n[[steps]]\ndo = "microaggregate"\nk = 3\nmethod = "mdav"\n')
    line, words = UNFIT[text]
    told = run("run", recipe, code=2).stderr
    assert f"r.toml, line {line}: " in told and words in told


def test_the_message_on_a_recipe_without_roles_says_what_to_add(people: Path) -> None:
    recipe, out = people.parent / "r.toml", people.parent / "out.csv"
    step = '[[steps]]\ndo = "microaggregate"\nk = 3\nmethod = "mdav"\n[output]\nfile = "out.csv"\n'
    recipe.write_text(f'[input]\nfile = "people.csv"\nidentifiers = ["name"]\nquasi = ["age", "income"]\n{step}')
    refused = run("run", recipe, "--json", code=1)
    facts = json.loads(refused.stdout)
    assert facts["written"] is False and facts["figures"]["known"]["k"] == 1 and not out.exists()
    assert "town, sex, job, district" in refused.stderr and "shoal look FILE --save-roles" in refused.stderr
    roles = 'as_is = ["town", "sex", "job", "district"]\n'
    recipe.write_text(recipe.read_text().replace("[[steps]]", f"{roles}[[steps]]"))
    assert json.loads(run("run", recipe, "--json").stdout)["written"] is True and out.exists()


def test_what_is_wrong_with_the_output_names_its_line(people: Path) -> None:
    recipe = people.parent / "r.toml"
    start = '[input]\nfile = "people.csv"\nquasi = ["age"]\n[[steps]]\ndo = "microaggregate"\nk = 3\n[output]\n'
    for output, line, words in (
        ('file = "nowhere/out.csv"', 8, "nowhere"),
        ('file = "people.csv"', 8, "input"),
        ('file = "out.csv"\npolicy = "publik"', 9, "Did you mean 'public'?"),
        ('file = "out.csv"\nprevious = "old.csv"', 9, "does not exist"),
        ('file = "out.csv"\nshufle = true', 9, "Did you mean 'shuffle'?"),
    ):
        recipe.write_text(start + output)
        told = run("run", recipe, code=2).stderr
        assert f"r.toml, line {line}: " in told and words in told, told
