"""Random commands over nasty tables: each ends with a verified file or a clear refusal, never with a traceback.

What was written is read again without Shoal: k is counted on the texts and values, identifiers are gone, rows and
unchanged columns are kept. A short run is part of the tests; `make soak` (SHOAL_SOAK=20000) takes the long one. The
number of a case repeats it: `SHOAL_CASE=123 pytest tests/soak/test_random_commands.py`.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import os
import random
import re
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import polars as pl
from click.testing import Result

from command_line import attempt
from soak.nasty import DELIMITERS, NAMES, TEXT_ENDINGS, Nasty, make

CASES = int(os.environ.get("SHOAL_SOAK") or 150)
FIRST = int(os.environ.get("SHOAL_FIRST") or 0)
COMMANDS = ("microaggregate",) * 6 + ("generalize",) * 5 + ("group",) * 2 + ("mask", "look", "compare", "assess")
QUICK = {
    "auto": ["--effort", "quick"],
    "anneal": ["--effort", "quick"],
    "memetic": ["--effort", "quick"],
    "blocks": ["--effort", "quick"],
    "genetic": ["--generations", "20", "--population", "20"],
    "hybrid": ["--generations", "20"],
    "exact": ["--seconds", "1"],
}
LEFT_TO_US = {"--json": 0.3, "--shuffle": 0.3, "--keep-order": 0.2, "--first-release": 0.2, "--no-unit": 0.4,
              "--no-confidential": 0.1, "--round-weight": 0.03}  # fmt: skip
# Values that no command can use, or that few can: the answer is a refusal in words.
ODD_OPTIONS = (
    ["--seed", "-1"], ["--seed", str(2**70)], ["--seed", str(2**63 - 1)], ["--seed", "x"], ["--encoding", "rot13"],
    ["--encoding", "no-such"], ["--encoding", "base64"], ["--encoding", "utf-16"], ["--delimiter", ""],
    ["--delimiter", "ab"], ["--delimiter", '"'], ["--delimiter", "\n"],
    ["--decimal", ","], ["--policy", "publc"], ["--policy", "none.toml"], ["--accept-k", "0"],
    ["--previous", "nothing.csv"], ["--external"], ["--missing", "maybe"], ["--unknown"], ["--weight", ""],
    ["--quasi", ","], ["--as-is", "[!a]*"], ["--as-is", "*"], ["--drop", "no such column"], ["--order", "a"],
    ["--order", "age="], ["--derived", "x=x"], ["--roles", "nothing.toml"], ["--report", "."], ["-o", "out.xlsx"],
    ["-o", "no/such/folder.csv"], ["--save-recipe", "run.txt"], ["-k", "0"], ["-k", "1000000000000000000000"],
    ["--threads", "0"], ["--method", "none"], ["--effort", "lazy"], ["--suppress", "nan"], ["--suppress", "2"],
    ["-l", "entropy:x"], ["-l", "recursive:1"], ["-t", "nan"], ["--prefer", "nan,1"], ["--pick", "0"],
    ["--granularity", "age=0"], ["--granularity", "age=1e-300"], ["--cuts", "age=nan"], ["--cuts", "age=3,1"],
    ["--importance", "age=nan"], ["--importance", "age=-1"], ["--taxonomy", "town=nothing.json"], ["--scaling", "x"],
    ["--gamma", "-1"], ["--aggregate", "sum"], ["--groups", "nothing.json"], ["--apply", "nothing.json"],
)  # fmt: skip
TYPES = ("identifiers", "quasi", "quasi", "quasi", "confidential", "drop", "as-is", "", "")


@dataclass
class Case:
    """A command, the table it is about and the roles that it names."""

    number: int
    folder: Path
    command: str = ""
    table: Nasty | None = None
    words: list[str] = field(default_factory=list)
    roles: dict[str, list[str]] = field(default_factory=dict)
    k: int = 3
    accept_k: int | None = None
    target: Path | None = None
    twice: bool = False  # one file is named by two options


def test_a_verified_file_or_a_clear_refusal() -> None:
    numbers = [int(os.environ["SHOAL_CASE"])] if os.environ.get("SHOAL_CASE") else range(FIRST, FIRST + CASES)
    ends: Counter[str] = Counter()
    faults = []
    for number in numbers:
        end, fault = run_case(number)
        ends[end] += 1
        if fault:
            faults.append(fault)
            print(fault, flush=True)
    print(dict(ends))
    assert not faults, f"{len(faults)} of {sum(ends.values())} cases:\n\n" + "\n\n".join(faults[:10])
    assert len(numbers) < 100 or ends["written"] > len(numbers) / 20  # the driver still reaches the end of commands


def run_case(number: int) -> tuple[str, str]:
    """How a case ended, and what is wrong with that ('' if nothing)."""
    with tempfile.TemporaryDirectory(prefix="shoal-soak-") as folder:
        before = os.getcwd()
        os.chdir(folder)  # paths that are not absolute stay inside
        case = Case(number, Path(folder))
        try:
            draw = random.Random(f"commands {number}")
            compose(case, draw)
            return judge(case, draw), ""
        except Exception:
            what = traceback.format_exc(limit=-6)
            return "fault", f"case {number}: {case.command} {case.words}\n{what}"
        finally:
            os.chdir(before)


# -- the command -----------------------------------------------------------------------------------------------------


def compose(case: Case, draw: random.Random) -> None:
    """Draw a table, roles and options."""
    case.command = draw.choice(COMMANDS)
    case.table = table = make(draw, case.folder)
    case.k = draw.choice([2, 2, 3, 3, 4, 5])
    words = [table.path.name]
    if case.command == "assess":
        words.append(table.path.name)
    words += list(_role_words(case, draw))
    if case.command not in ("look", "assess", "mask"):
        words += ["-k", str(case.k)]
    words += _method_words(case, draw)
    if case.command in ("microaggregate", "group", "generalize", "mask"):
        words += _output_words(case, draw)
    if table.encoding == "latin-1" or draw.random() < 0.03:
        words += ["--encoding", table.encoding]
    if draw.random() < 0.2:
        words += draw.choice(ODD_OPTIONS)
        case.target = None if "-o" in words[-2:] else case.target
        if words[-2] == "-k":
            case.k = 10**9
        if words[-2] == "--as-is":  # a pattern, in place of the columns named before
            named = {name for role, names in case.roles.items() if role != "as-is" for name in names}
            case.roles["as-is"] = [name for name in table.columns if name not in named and fnmatchcase(name, words[-1])]
    case.words = words + _path_words(case)


def _path_words(case: Case) -> list[str]:
    """A checkpoint, damaged or not, or one file under two options; drawn apart, so that older numbers keep cases."""
    draw = random.Random(f"paths {case.number}")
    assert case.table is not None
    if case.command == "microaggregate" and draw.random() < 0.06:
        (case.folder / "state.npz").write_bytes(draw.choice([b"", b"PK\x03\x04", draw.randbytes(200)]))
        return ["--checkpoint", "state.npz", *draw.choice([[], ["--resume"]])]
    if case.target is None or draw.random() >= 0.04:
        return []
    option = draw.choice(["--report", "--external-report", "--save-recipe", "--checkpoint", "--mapping", "--swaps"])
    twice = draw.choice([case.table.path.name, f"./{case.table.path.name}", case.target.name, f"./{case.target.name}"])
    case.twice = True
    return [option, twice]


def _role_words(case: Case, draw: random.Random) -> Iterator[str]:
    assert case.table is not None
    if case.command in ("look",):
        return
    sure = draw.random() < 0.6  # every column has a role: the way to a written file
    for name in case.table.columns:
        role = draw.choice(TYPES[:-2] if sure else TYPES)
        if role:
            case.roles.setdefault(role, []).append(name)
    if case.command == "mask":
        case.roles.pop("quasi", None)
    if draw.random() < 0.03:
        case.roles.setdefault("quasi", []).append(draw.choice(NAMES))
    for role, names in case.roles.items():
        yield f"--{role}={_quoted(names)}"
    free = [name for name in case.table.columns if all(name not in names for names in case.roles.values())]
    for role in ("weight", "unit"):
        if free and draw.random() < 0.06:
            name = free.pop()
            case.roles[role] = [name]
            yield f"--{role}={name}"
    for kind in ("nominal", "numeric"):
        if draw.random() < 0.25:
            yield f"--{kind}={_quoted(draw.sample(case.table.columns, draw.randint(1, len(case.table.columns))))}"


def _quoted(names: Sequence[str]) -> str:
    """Names as the options take them: with commas between them, quoted as in CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(names)
    return out.getvalue()[:-1]


def _method_words(case: Case, draw: random.Random) -> list[str]:
    assert case.table is not None
    words: list[str] = []
    columns = case.table.columns
    if case.command == "microaggregate":
        method = draw.choice([*QUICK, "auto", "auto", "mdav", "mdav", "md", "vmdav", "mst", "path", "univariate"])
        words = ["--method", method, *QUICK.get(method, []), "--threads", "1"]
        words += ["--missing", draw.choice(["drop", "median"])] if draw.random() < 0.5 else []
        words += ["--round"] if draw.random() < 0.2 else []
        words += ["--aggregate", "median"] if draw.random() < 0.2 else []
        words += [f"--within={_quoted([draw.choice(columns)])}"] if draw.random() < 0.1 else []
    elif case.command == "group":
        method = draw.choice(["memetic", "all", "univariate", "correlated"])
        words = ["--method", method, "--threads", "1"]
        words += {"memetic": ["--evaluations", "20"], "correlated": ["--size", "2"]}.get(method, [])
        words += ["--missing", "drop"] if draw.random() < 0.5 else []
    elif case.command == "generalize":
        method = draw.choice(["search", "search", "nsga2", "exact"])
        words = ["--method", method]
        words += {"search": ["--effort", "quick"], "nsga2": ["--population", "10", "--evaluations", "60"]}.get(
            method, []
        )
        words += ["--suppress", draw.choice(["0.1", "0.3"])] if draw.random() < 0.3 else []
        words += ["--missing", draw.choice(["drop", "error"])] if draw.random() < 0.3 else []
        words += [f"--set={_quoted(draw.sample(columns, min(2, len(columns))))}"] if draw.random() < 0.1 else []
        words += ["--mapping", "mapping.json"] if draw.random() < 0.2 else []
    elif case.command == "mask":
        words = [f"--vital={draw.choice(columns)}={draw.choice(['a', '1', '7', 'True'])}"]
        words += [f"--parameter={draw.choice(columns)}", f"--influential={_quoted([draw.choice(columns)])}"]
        words += ["--budget", "20", "--steps", "5", "--distortion", "1", "--swaps", "swaps.csv"]
    elif case.command == "compare":
        words = ["--effort", "quick", "--threads", "1"]
    elif case.command == "look":
        words = ["--save-roles", "roles.toml"] if draw.random() < 0.5 else []
    return words


def _output_words(case: Case, draw: random.Random) -> list[str]:
    assert case.table is not None
    words = [option for option, share in LEFT_TO_US.items() if draw.random() < share]
    if draw.random() < 0.95:
        same = case.table.ending if draw.random() < 0.7 else draw.choice(["csv", "tsv", "parquet", "arrow", "sav"])
        case.target = case.folder / f"out.{same}"
        words += ["-o", case.target.name]
    if case.command in ("group", "mask") or draw.random() < 0.2:
        case.accept_k = draw.choice([1, 1, 2])
        words += ["--accept-k", str(case.accept_k)]
    words += ["--report", "page.html"] if draw.random() < 0.15 else []
    words += ["--save-recipe", "run.toml"] if draw.random() < 0.3 else []
    words += ["--seed", str(draw.randint(0, 9))] if draw.random() < 0.3 else []
    words += ["--policy", draw.choice(["default", "public", "scientific"])] if draw.random() < 0.1 else []
    return words


# -- the judgement ---------------------------------------------------------------------------------------------------


def judge(case: Case, draw: random.Random) -> str:
    """How the command ended; an assertion fails where it ended badly."""
    assert case.table is not None
    source = case.table.path.read_bytes()
    state = {"state.npz"} if (case.folder / "state.npz").exists() else set()  # a checkpoint may stay and may change
    earlier = b"something of value\n"
    kept = case.target is not None and draw.random() < 0.2  # a file that a refusal must leave alone
    if kept and case.target is not None:
        case.target.write_bytes(earlier)
    result = attempt(case.command, *case.words)
    check_answer(result, json_asked="--json" in case.words)
    assert case.table.path.read_bytes() == source, "the input was changed"
    assert result.exit_code == 2 or not case.twice, f"two options named one file: {result.output}"
    left = {path.name for path in case.folder.iterdir()} - {case.table.path.name} - state
    if result.exit_code != 0:
        expected = {case.target.name} if kept and case.target is not None else set()
        assert left == expected, f"left behind: {left}, {result.stderr}"
        assert not kept or case.target is None or case.target.read_bytes() == earlier, "an older file was changed"
        return "refused" if result.exit_code == 2 else "blocked"
    assert not [name for name in left if name.endswith(".part")], f"left behind: {left}"
    if "page.html" in left:
        page = (case.folder / "page.html").read_text(encoding="utf-8")
        assert page.rstrip().endswith("</html>") and "<i id=shoal>" not in page
    if case.target is None or case.command not in ("microaggregate", "group", "generalize", "mask"):
        return "answered"
    verify(case)
    repeat(case, left, draw)
    return "written"


def check_answer(result: Result, json_asked: bool, findings: bool = False) -> None:
    """Words, and no traceback; nothing that a terminal would obey. `findings`: exit 1 is an answer, not an error."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2), f"exit code {result.exit_code}: {result.output}"
    shown = result.stderr if json_asked else result.stdout + result.stderr
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", shown), "a control character"
    assert "Traceback" not in result.stderr
    if result.exit_code == 2 or (result.exit_code == 1 and not findings):
        assert result.stderr.count("Error: ") == 1, result.stderr
        message = result.stderr.partition("Error: ")[2].strip()
        assert len(message) >= 15 and "\n\n" not in message, result.stderr
        assert not re.search(r"numpy|polars|<class|object at 0x|Error\b.*Error\b", message), message
    if result.exit_code == 2:
        assert result.stdout == "", result.stdout
    if json_asked and result.exit_code == 0:
        json.loads(result.stdout)


def verify(case: Case) -> None:
    """The written file, read without Shoal: its columns, rows, unchanged columns, and k over what may be known."""
    assert case.table is not None and case.target is not None
    roles = case.roles
    gone = {name for role in ("identifiers", "drop", "unit") for name in roles.get(role, [])}
    expected = [name for name in case.table.columns if name not in gone]
    columns = read_back(case.target, expected, case.table.encoding)
    rows = {len(cells) for cells in columns.values()}
    assert len(rows) == 1 and not gone & set(columns)
    dropped = "drop" in _given(case.words, "--missing")
    assert rows == {case.table.rows} or (dropped and max(rows) <= case.table.rows), f"{rows} of {case.table.rows} rows"
    outside = {name for role in ("confidential", "as-is", "weight") for name in roles.get(role, [])}
    within = {name for text in _given(case.words, "--within") for row in csv.reader([text]) for name in row}
    known = [name for name in columns if name not in outside or name in within]
    counts = Counter(zip(*(columns[name] for name in known), strict=True)) if known else Counter()
    stars = {"*", "", "None"}
    starred = sum(count for row, count in counts.items() if set(row) <= stars)
    if case.command == "generalize" and "--suppress" in case.words:
        counts = Counter({row: count for row, count in counts.items() if not set(row) <= stars})
        assert starred <= 0.3 * case.table.rows + 1 or not counts
        assert starred == 0 or starred >= min(case.k, case.accept_k or case.k), f"{starred} suppressed rows"
    least = case.k if case.accept_k is None else min(case.k, case.accept_k)
    if case.command == "mask" and case.accept_k is not None:
        least = case.accept_k
    assert not counts or min(counts.values()) >= least, f"k is {min(counts.values())}, not {least}: {counts}"
    unchanged = [name for name in expected if name in outside and name not in roles.get("weight", [])]
    if not dropped and case.command != "mask":
        check_unchanged(case, columns, unchanged)


def _given(words: Sequence[str], option: str) -> list[str]:
    """The values of an option in a command."""
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    return joined + [value for word, value in itertools.pairwise(words) if word == option]


def check_unchanged(case: Case, columns: dict[str, list[Any]], names: Sequence[str]) -> None:
    """Unchanged columns hold the same cells: in the same rows, or at least the same cells if rows were shuffled."""
    assert case.table is not None and case.target is not None
    if case.table.cells and case.target.name.endswith(TEXT_ENDINGS):
        before = {name: [row[j] for row in case.table.cells] for j, name in enumerate(case.table.columns)}
    elif case.table.ending in ("parquet", "arrow") and case.target.suffix in (".parquet", ".arrow"):
        before = _shown(case.table.frame, case.table.columns)
    else:
        return
    for name in names:
        one, two = before[name], columns[name]
        if "--shuffle" in case.words:
            one, two = sorted(one), sorted(two)
        assert one == two, f"the unchanged column {name!r} changed: {one} {two}"


def read_back(path: Path, expected: Sequence[str], encoding: str) -> dict[str, list[Any]]:
    """The cells of a written file by column: texts of a text file, and else the values as Python shows them."""
    if path.suffix == ".parquet":
        return _shown(pl.read_parquet(path, glob=False), expected)
    if path.suffix == ".arrow":
        return _shown(pl.read_ipc(path.read_bytes()), expected)
    if path.suffix in (".sav", ".dta"):
        import pyreadstat

        read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
        return _shown(pl.DataFrame(read(str(path), output_format="dict")[0], strict=False), expected)
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if path.name.endswith(".gz") else raw
    for coded in dict.fromkeys((encoding, "utf-8")):
        try:
            text = raw.decode(coded)
        except UnicodeDecodeError:
            continue
        for delimiter in DELIMITERS:
            head, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            if [name.strip() for name in head] == [name.strip() for name in expected]:
                rows = [row if row else [""] for row in rows]  # one column, an empty cell
                return {name: [row[j] for row in rows] for j, name in enumerate(expected)}
    raise AssertionError(f"the header of {path.name} is not {expected}: {raw[:200]!r}")


def _shown(frame: pl.DataFrame, expected: Sequence[str]) -> dict[str, list[Any]]:
    names = [name.strip() for name in frame.columns]  # of a text file: blanks around a name do not belong to it
    assert names == [name.strip() for name in expected], f"columns {names}, not {expected}"
    return {
        name: ["*" if value == "*" else repr(value) for value in c.to_list()]
        for name, c in zip(expected, frame, strict=True)
    }


def repeat(case: Case, left: set[str], draw: random.Random) -> None:
    """A saved recipe gives the same file again, and the release check has an answer for the file."""
    assert case.table is not None and case.target is not None
    if "run.toml" in left:
        again = f"again{case.target.name.removeprefix('out')}"
        result = attempt("run", "run.toml", "-o", again)
        check_answer(result, json_asked=False)
        assert result.exit_code == 0, f"the recipe does not run: {result.stderr}"
        timed = case.target.suffix in (".sav", ".dta")  # these hold the time of writing
        assert timed or (case.folder / again).read_bytes() == case.target.read_bytes(), "the recipe gave another file"
    if draw.random() < 0.2:
        roles = ("--identifiers=", "--quasi=", "--as-is=", "--drop=", "--confidential=")
        asked = [word for word in case.words if word.startswith(roles)]
        result = attempt("check", case.table.path.name, case.target.name, "-k", case.k, *asked)
        check_answer(result, json_asked=False, findings=True)
