"""Bad input through the command line: a message on stderr, exit code 2, nothing on stdout, no file."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from command_line import attempt

# Neither sorted nor numbered: such columns are refused for other reasons than those of these tests.
GOOD = "a,b,c\n" + "".join(f"{i * 37 % 101},{i * i % 17},{i % 5}\n" for i in range(40))
EIGHTH = "\n57,15,2\n"  # row 8 of it


def refused(tmp_path: Path, text: str | bytes, *arguments: object, name: str = "in.csv") -> str:
    """Protect a file that must be refused; gives the message."""
    source = tmp_path / name
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    target = tmp_path / "out.csv"
    before = sorted(p.name for p in tmp_path.iterdir())
    result = attempt("microaggregate", source, "-k", "3", "--method", "mdav", "-o", target, *arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    return result.stderr


def test_missing_value_names_column_row_and_ways_out(tmp_path: Path) -> None:
    message = refused(tmp_path, GOOD.replace(EIGHTH, "\n57,,2\n"))
    assert "'b'" in message and "row 8" in message
    assert "--missing drop" in message and "median" in message


def test_infinity(tmp_path: Path) -> None:
    message = refused(tmp_path, GOOD.replace(EIGHTH, "\n57,inf,2\n"))
    assert "'b'" in message and "row 8" in message and "inf" in message


def test_text_in_a_number_column(tmp_path: Path) -> None:
    message = refused(tmp_path, GOOD.replace(EIGHTH, "\n57,many,2\n"), "--quasi", "a,b")
    assert "'b'" in message and "row 8" in message and "many" in message
    assert "correct the file" in message and "--nominal b" in message


def test_unknown_column_proposes_a_near_one(tmp_path: Path) -> None:
    message = refused(tmp_path, GOOD.replace("a,b,c", "income,age,sex"), "--quasi", "incom,age")
    assert "Did you mean 'income'" in message


@pytest.mark.parametrize("k", [1, 0, -3])
def test_k_below_two(tmp_path: Path, k: int) -> None:
    assert "k must be 2 or more" in refused(tmp_path, GOOD, "-k", k)


def test_fewer_records_than_k(tmp_path: Path) -> None:
    assert "between 2 and 40" in refused(tmp_path, GOOD, "-k", 41)


def test_all_columns_constant(tmp_path: Path) -> None:
    assert "constant" in refused(tmp_path, "a,b\n" + "1,2\n" * 20)


def test_duplicate_column_names(tmp_path: Path) -> None:
    message = refused(tmp_path, GOOD.replace("a,b,c", "a,b,a"))
    assert "Several columns have the name 'a'" in message


@pytest.mark.parametrize("text", ["", "a,b,c\n", "\n\n"])
def test_empty_file(tmp_path: Path, text: str) -> None:
    message = refused(tmp_path, text)
    assert "empty" in message or "no rows" in message or "no records" in message


def test_missing_file(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text(GOOD)
    result = attempt("microaggregate", tmp_path / "survay.csv", "-k", 3)
    assert result.exit_code == 2
    assert "survay.csv" in result.stderr and "Did you mean" in result.stderr


def test_unreadable_file(tmp_path: Path) -> None:
    assert "in.parquet" in refused(tmp_path, b"PAR1 this is not parquet", name="in.parquet")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    result = attempt("microaggregate", tmp_path, "-k", 3)
    assert result.exit_code == 2 and "folder" in result.stderr


def test_target_in_a_missing_folder(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(GOOD)
    result = attempt("microaggregate", source, "-k", 3, "-o", tmp_path / "nowhere" / "out.csv")
    assert result.exit_code == 2 and "nowhere" in result.stderr
    assert not (tmp_path / "nowhere").exists()


def test_output_equal_to_input(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(GOOD)
    link = tmp_path / "link.csv"
    link.symlink_to(source)
    for target in (source, link):
        result = attempt("microaggregate", source, "-k", 3, "-o", target)
        assert result.exit_code == 2 and "input" in result.stderr
    assert source.read_text() == GOOD


def test_an_option_the_method_does_not_have(tmp_path: Path) -> None:
    message = refused(tmp_path, GOOD, "--method", "md", "--remainder", "solanas")
    assert "md" in message and "remainder" in message and "mdav" in message


def test_unknown_method(tmp_path: Path) -> None:
    assert "Did you mean 'mdav'" in refused(tmp_path, GOOD, "--method", "mdva")


def test_univariate_of_several_columns_names_the_ways_out(tmp_path: Path) -> None:
    message = refused(tmp_path, GOOD, "--method", "univariate")
    assert "exactly one column" in message and "--method univariate" in message and "--quasi" in message


def test_an_identifier_without_a_role_is_refused_and_named(tmp_path: Path) -> None:
    names = "name,a,b\n" + "".join(f"n{i},{i * 37 % 101},{i * 7 % 11}\n" for i in range(20))
    numbers = "a,b\n" + "".join(f"{i},{i * 7 % 11}\n" for i in range(20))
    for text, column in ((names, "name"), (numbers, "a")):
        message = refused(tmp_path, text)
        assert f"'{column}' has no role and looks like an identifier" in message
        assert f"--identifiers {column}" in message and "--quasi" in message


def test_text_without_a_role_is_protected_as_labels(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("town,a,b\n" + "".join(f"{'xyz'[i % 3]},{i * 37 % 101},{i * 7 % 11}\n" for i in range(30)))
    facts = json.loads(attempt("microaggregate", source, "-k", "3", "-o", target, "--json").stdout)
    assert facts["columns"] == ["town", "a", "b"] and facts["per_column"]["town"]["kind"] == "nominal"
    after = pl.read_csv(target)
    assert set(after["town"]) <= set("xyz") and after.group_by("town", "a", "b").len()["len"].min() >= 3
    assert facts["figures"]["known"]["k"] >= 3 and facts["written"] is True


def test_weight_refused_by_a_method_that_cannot_honour_it(tmp_path: Path) -> None:
    message = refused(tmp_path, GOOD, "--method", "univariate", "--quasi", "a", "--weight", "b")
    assert "weight" in message


def test_a_broken_promise_exits_with_1_and_writes_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b\n" + "".join(f"{i * 37 % 101},{i * 5 % 7}\n" for i in range(11)))
    result = attempt("microaggregate", source, "-k", 4, "--method", "mdav", "--remainder", "thesis", "-o", target)
    assert result.exit_code == 1, result.output
    assert "fewer than k" in result.stderr and not target.exists()


def test_single_group_is_warned_of_and_succeeds(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(GOOD)
    result = attempt("microaggregate", source, "-k", 30, "--json", "-o", target)
    assert result.exit_code == 0
    assert "form one group" in result.stderr
    assert json.loads(result.stdout)["groups"] == 1
    assert pl.read_csv(target).n_unique() == 1


def test_constant_column_is_warned_of_and_succeeds(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("a,b\n" + "".join(f"{i * 37 % 101},4\n" for i in range(20)))
    result = attempt("microaggregate", source, "-k", 3, "--json")
    assert result.exit_code == 0
    assert "'b'" in result.stderr and "constant" in result.stderr


EVERY = ("microaggregate", "group", "generalize")
BROKEN: dict[str, tuple[str | bytes, list[str], str]] = {
    "one row": ("a,b\n1,2\n", [], "At least two records are needed"),
    "empty": ("", [], "It needs a header line and at least one record"),
    "header only": ("a,b\n", [], "Add one line per record."),
    "k too large": (GOOD, ["-k", "41"], "Use a smaller k or more records."),
    "wrong column": (GOOD, ["--quasi", "a,bb"], "Did you mean 'b'?"),
    "all missing": ("a,b\n" + "".join(f"{i},\n" for i in range(20)), ["--quasi", "a,b", "--missing", "drop"],
                    "in b, so no row remains without them. Remove the column"),
    "no text": (bytes(range(256)) * 8, [], "is not text"),
    "no folder": (GOOD, ["-o", "nowhere/out.csv"], "the folder nowhere does not exist. Create it first."),
    "no format": (GOOD, ["-o", "out.xyz"], "Supported endings: "),
    "itself": (GOOD, ["-o", "in.csv"], "Shoal never overwrites the original"),
    "page over the input": (GOOD, ["--report", "in.csv"], "Shoal never overwrites the original"),
}  # fmt: skip


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("what", BROKEN)
def test_every_command_says_what_to_type(
    command: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content, words, said = BROKEN[what]
    raw = content if isinstance(content, bytes) else content.encode()
    Path("in.csv").write_bytes(raw)
    result = attempt(command, "in.csv", "-k", "3", *words)
    assert result.exit_code == 2 and result.stdout == "", result.output
    assert said in result.stderr and "Traceback" not in result.stderr
    assert Path("in.csv").read_bytes() == raw and [p.name for p in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_text_of_another_encoding_is_read(command: str, encoding: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(
        ("größe,x,ort\n" + "".join(f"{i * 37 % 101},{i % 7},Köln\n" for i in range(40))).encode(encoding)
    )
    result = attempt(command, source, "-k", 3, "--quasi", "größe,x", "-o", target, "--json")
    assert result.exit_code == 0, result.output
    assert target.read_bytes().decode(encoding).splitlines()[0] == "größe,x,ort"
    assert "Köln" in target.read_bytes().decode(encoding)


def test_a_column_without_values_is_named(tmp_path: Path) -> None:
    message = refused(tmp_path, "a,b\n" + "".join(f"{i},\n" for i in range(20)), "--quasi", "a,b")
    assert "'b' has no values. Remove it (--drop b)." in message
