"""Processes: results in order, errors of workers, lost workers, and work that is stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from places.work import die, die_once, double, fail
from shoal.errors import InputError, Stopped, UsageError, WriteError
from shoal.places import place_named
from shoal.places.processes import Processes


@pytest.fixture(scope="module")
def place() -> Iterator[Processes]:
    place = Processes(2)
    yield place
    place.close()


def test_results_are_in_order(place: Processes) -> None:
    counts: list[int] = []
    results = place.map(double, range(7), done=counts.append)
    assert results == [(2 * n, "1") for n in range(7)]
    assert counts == list(range(1, 8))
    assert "POLARS_MAX_THREADS" not in os.environ or os.environ["POLARS_MAX_THREADS"] != "1"
    assert place.map(double, []) == []


def test_an_error_of_a_worker_is_raised(place: Processes) -> None:
    with pytest.raises(InputError, match="is broken"):
        place.map(fail, range(3))


def test_a_killed_worker_is_replaced(place: Processes, tmp_path: Path) -> None:
    assert place.map(die_once, [tmp_path / "a", tmp_path / "b"]) == ["a", "b"]


def test_workers_that_are_always_killed(place: Processes) -> None:
    with pytest.raises(WriteError, match="was killed 3 times in a row"):
        place.map(die, [1])


def test_stopped_work_ends(place: Processes) -> None:
    with pytest.raises(Stopped):
        place.map(double, range(100), going=lambda: False)


def test_places_that_do_not_exist() -> None:
    with pytest.raises(UsageError, match="Cannot run on 'moon://a:1'"):
        place_named("moon://a:1")
    with pytest.raises(UsageError, match="Cannot run on 'processes://a'"):
        place_named("processes://a")
    with pytest.raises(UsageError, match="workers must be 1 or more"):
        place_named("processes", 0)
