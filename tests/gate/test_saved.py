"""A release does not change when it is saved: what belongs to the written file stands in what `save` returns."""

from __future__ import annotations

import copy
import os
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from planted import ORIGINAL, PARTS, K
from shoal.errors import ShoalWarning


def made(path: Path, **given: Any) -> shoal.Release:
    ORIGINAL.write_csv(path / "people.csv")
    return shoal.microaggregate(shoal.read(path / "people.csv", **PARTS), K, method="mdav", **given)


def state(release: shoal.Release) -> dict[str, Any]:
    """Every field of a release, as text or bytes that can be compared."""
    held = {field.name: getattr(release, field.name) for field in fields(release)}
    held["original"] = (pickle.dumps(held["original"].frame), held["original"].roles, held["original"].columns)
    held["frame"], held["solution"] = pickle.dumps(held["frame"]), held["solution"].labels.tobytes()
    held["protection"] = held["protection"].name
    return {name: copy.deepcopy(value) for name, value in held.items()}


@pytest.mark.parametrize("saving", [{"keep_order": True}, {"shuffle": True, "policy": "default", "accept_k": 3}])
def test_a_release_does_not_change_when_it_is_saved(saving: dict[str, Any], tmp_path: Path) -> None:
    release = made(tmp_path)
    before, findings = state(release), [finding for finding in release.findings if finding.check != "rows"]
    known = set(vars(release))
    with pytest.warns(ShoalWarning) if "policy" in saving else nothing():
        first = release.save(tmp_path / "out.csv", **saving)
    assert state(release) == before and set(vars(release)) == known
    assert [finding for finding in release.findings if finding.check != "rows"] == findings
    assert release.recipe is not None and release.recipe.output is None and release.checked is None
    content = first.read_bytes()
    with pytest.warns(ShoalWarning) if "policy" in saving else nothing():
        second = release.save(tmp_path / "out.csv", **saving)
    assert second.read_bytes() == content and second.recipe == first.recipe
    assert list(second.findings) == list(first.findings) and second.notices == first.notices
    assert state(release) == before


class nothing:
    """No warning is expected."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_what_was_saved_is_a_path_with_its_check_and_recipe(tmp_path: Path) -> None:
    release = made(tmp_path, seed=3)
    with pytest.warns(ShoalWarning) as warned:
        saved = release.save(tmp_path / "out.csv", shuffle=True, policy="default")
    assert os.fspath(saved) == str(saved) == str(tmp_path / "out.csv") and saved.path == tmp_path / "out.csv"
    assert saved.exists() and saved.name == "out.csv" and pl.read_csv(saved).height == ORIGINAL.height
    assert (
        saved.findings["rows"].finding.endswith("shuffled") and "original's order" in release.findings["rows"].finding
    )
    assert saved.recipe.output.shuffle and saved.recipe.output.sha256 and saved.release.recipe is saved.recipe
    assert set(saved.notices) == {str(w.message) for w in warned if w.category is ShoalWarning}
    assert any("depend on a seed" in notice for notice in saved.notices)
    page = saved.report(tmp_path / "page.html").read_text()
    assert "Options of saving" in page and "Options of saving" not in release.report(tmp_path / "page.html").read_text()


def test_each_file_has_its_own_check(tmp_path: Path) -> None:
    """The second file does not continue the first: each has its own findings and its own recipe."""
    release = made(tmp_path)
    kept = release.save(tmp_path / "kept.csv", keep_order=True)
    moved = release.save(tmp_path / "moved.csv", shuffle=True)
    assert "shuffled" not in kept.findings["rows"].finding and "shuffled" in moved.findings["rows"].finding
    assert [Path(s.recipe.output.file).name for s in (kept, moved)] == ["kept.csv", "moved.csv"]
    assert not moved.recipe.output.keep_order
