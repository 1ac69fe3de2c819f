"""Tables in the terminal: whatever their width, nothing of them is cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.cli import tables
from shoal.cli.tables import print_table
from shoal.studies.reproduce import military


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.fixture(params=[60, 100])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(tables, "PIPE", request.param)
    return int(request.param)


def test_a_table_of_few_wide_rows_is_turned(capsys: pytest.CaptureFixture[str], width: int) -> None:
    signals = [[f"signal {i}", *range(100 * i, 100 * i + 38)] for i in range(1, 5)]
    print_table("Signals", ["", *(f"d{d}" for d in range(1, 39))], signals)
    shown = lines(capsys)
    assert max(map(len, shown)) <= width
    rows = [line.split() for line in shown if line.split()[:1] in ([f"d{d}"] for d in range(1, 39))]
    assert rows == [[f"d{d + 1}", *(str(100 * i + d) for i in range(1, 5))] for d in range(38)]


def test_headers_take_several_lines_before_a_table_is_printed_in_parts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "PIPE", 60)
    headers = ["name", *(f"a long header {i}" for i in range(5))]
    print_table("Figures", headers, [["x", 1, 2, 3, 4, 5]] * 4)
    shown = lines(capsys)
    assert max(map(len, shown)) <= 60 and sum("name" in line for line in shown) == 1
    print_table("Figures", headers, [["x", *(f"{i}{'7' * 11}" for i in range(5))]] * 4)
    shown = lines(capsys)
    assert max(map(len, shown)) <= 60 and sum("name" in line for line in shown) == 2
    assert sum("(continued)" in line for line in shown) == 1


def test_the_printed_solutions_are_readable_in_a_hundred_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "PIPE", 100)
    table = military.published_table()
    print_table(table["title"], table["columns"], table["rows"])
    shown = lines(capsys)
    assert max(map(len, shown)) <= 100 and not any("continued" in line for line in shown)
    assert [line.split()[0] for line in shown if line.split()[-1:] == ["same"]] == [str(i) for i in range(1, 25)]


CELLS = st.integers(0, 10**9) | st.sampled_from(["none", "a b c " * 12, "35 37 38"])


@given(
    st.integers(1, 30).flatmap(
        lambda d: st.tuples(
            st.lists(st.text("abc xyz", min_size=1, max_size=20), min_size=d, max_size=d),
            st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=1, max_size=12),
        )
    )
)
def test_every_cell_is_shown(table: tuple[list[str], list[list[Any]]]) -> None:
    headers, rows = table
    marked = [[f"row{i}", *(f"<{i}.{j}>" if isinstance(c, int) else c for j, c in enumerate(row))]
              for i, row in enumerate(rows)]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        out: list[str] = []
        patch.setattr(tables.Console, "print", lambda self, grid: out.append(_drawn(self, grid)))
        print_table("t", ["row", *headers], marked)
    shown = "\n".join(out)
    assert max(map(len, shown.splitlines())) <= tables.PIPE
    for i, row in enumerate(rows):
        assert f"row{i}" in shown
        assert all(f"<{i}.{j}>" in shown for j, cell in enumerate(row) if isinstance(cell, int))


def _drawn(console: Any, grid: Any) -> str:
    return "\n".join("".join(part.text for part in line) for line in console.render_lines(grid, pad=False))
