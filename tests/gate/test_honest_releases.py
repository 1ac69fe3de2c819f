"""Honest releases are written: the release check raises no false alarm where a careful steward gives all roles.

With a role forgotten, each of them is refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from command_line import run
from gate.honest import NAMES, Honest, honest
from shoal.errors import PromiseError, ShoalError
from shoal.gate.findings import Findings
from shoal.sources.roles_file import roles_text

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

SAID = ("quasi", "order", "nominal", "numeric")  # how columns are protected; without these, a column is protected too


def release_of(made: Honest, roles: Any) -> shoal.Release:
    return shoal.microaggregate(shoal.read(made.frame, **roles), method="mdav", **made.protect)


def smallest_class(path: Path, made: Honest) -> int:
    """The records of the smallest class over everything known, counted in the file itself."""
    table = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    hidden = {name for role in ("confidential", "as_is") for name in _names(made.roles.get(role, ()))}
    known = [name for name in table.columns if name not in {*hidden, made.roles.get("weight")}]
    return int(table.group_by(known).len()["len"].min())  # type: ignore[arg-type]


def _names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draw", [0, 1])
def test_an_honest_release_is_written(name: str, draw: int, tmp_path: Path) -> None:
    made = honest(name, draw)
    release = release_of(made, made.roles)
    path = release.save(tmp_path / f"out.{made.ending}", **made.saving)
    found = path.findings
    assert found.passed and found.figures is not None
    assert found.figures.known.k >= made.protect["k"] and found.figures.known.uniques == 0
    assert smallest_class(path, made) >= made.protect["k"]
    assert found.figures.known.linked is not None and found.figures.known.linked <= 1 / made.protect["k"] + 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_writes_it_with_a_roles_file(name: str, tmp_path: Path) -> None:
    made = honest(name)
    source, out, roles = tmp_path / f"in.{made.ending}", tmp_path / f"out.{made.ending}", tmp_path / "roles.toml"
    made.frame.write_parquet(source) if made.ending == "parquet" else made.frame.write_csv(source)
    roles.write_text(roles_text(shoal.read(made.frame, **made.roles).roles))
    options: list[object] = ["--roles", roles, "--method", "mdav", "-o", out, "--json"]
    for option, value in {**made.protect, **made.saving}.items():
        flag = "-k" if option == "k" else f"--{option.replace('_', '-')}"
        options += [flag] if value is True else [flag, ",".join(value) if isinstance(value, list) else value]
    shown = json.loads(run("microaggregate", source, *options).stdout)
    assert shown["written"] is True and out.exists()
    assert not [finding for finding in shown["findings"] if finding["status"] == "block"]


FORGOTTEN = [(name, role) for name in NAMES for role, value in honest(name).roles.items() if value and role not in SAID]


@pytest.mark.parametrize(("name", "role"), FORGOTTEN)
def test_with_a_role_forgotten_it_is_refused(name: str, role: str, tmp_path: Path) -> None:
    made = honest(name)
    roles = {given: columns for given, columns in made.roles.items() if given != role}
    saving = {given: value for given, value in made.saving.items() if (given, role) != ("round_weight", "weight")}
    found = refusal(made, roles, saving, tmp_path)
    assert found is None or "known-k" in {finding.check for finding in found.blocking}


def refusal(made: Honest, roles: Any, saving: Any, folder: Path) -> Findings | None:
    """What blocks the save; None where the roles are refused before any work. Nothing is written."""
    path = folder / f"out.{made.ending}"
    with pytest.raises(ShoalError) as raised:
        release_of(made, roles).save(path, **saving)
    assert not path.exists()
    return raised.value.findings if isinstance(raised.value, PromiseError) else None


def test_the_order_of_a_file_must_be_given_up(tmp_path: Path) -> None:
    for name in ("hospital_stays", "panel", "sorted_register"):
        made = honest(name)
        found = refusal(made, made.roles, {**made.saving, "shuffle": False}, tmp_path)
        assert found is not None and [finding.check for finding in found.blocking] == ["order"]


def test_rows_of_one_household_do_not_stay_together(tmp_path: Path) -> None:
    """The unit is removed, and the order of the rows would tell it all the same."""
    made = honest("households")
    found = refusal(made, made.roles, {**made.saving, "shuffle": False}, tmp_path)
    assert found is not None and [finding.check for finding in found.blocking] == ["order"]


def test_means_of_decimals_pass_the_public_policy(tmp_path: Path) -> None:
    for draw in range(8):
        made = honest("clinical_trial", draw)
        release_of(made, made.roles).save(tmp_path / "out.csv", policy="public", shuffle=True, first_release=True)


def test_missing_labels_have_a_way_through_the_public_policy(tmp_path: Path) -> None:
    made = honest("missing_values")
    roles = {**made.roles, "confidential": ["vote"]}
    release = shoal.microaggregate(shoal.read(made.frame, **roles), k=15, method="mdav", missing="drop")
    release.save(tmp_path / "out.csv", policy="public", shuffle=True, first_release=True)
