"""The generated tables of the docs are those of the declarations."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

MAKE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_tables.py"))


@pytest.mark.parametrize("name", MAKE["TABLES"])
def test_the_table_is_up_to_date(name: str) -> None:
    path, text = MAKE["renewed"](name)
    assert path.read_text(encoding="utf-8") == text, "run: python docs/make_tables.py"
