"""A folder of files on a Dask cluster with two workers, of which one is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="distributed is not installed")

from folders.here import Here
from folders.test_folders import cells, records, release_of, write
from shoal.errors import InputError, UsageError
from shoal.places.dask import Dask, open_place


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        yield cluster


def address(cluster: Any) -> str:
    return str(cluster.scheduler_address).replace("tcp://", "dask://")


def fail(number: int) -> None:
    raise InputError(f"part-{number} is broken.")


def test_the_same_bits_on_dask(cluster: Any, tmp_path: Path) -> None:
    folder = write(records(450), tmp_path / "in", (0, 200))
    release_of(folder, Here(), leaf=150, rounds=1).save(tmp_path / "one")
    killed: list[int] = []

    class Killing(Dask):
        def map(self, function: Any, units: Any, **named: Any) -> Any:
            if getattr(getattr(units[0], "function", None), "__name__", "") == "search" and not killed:
                killed.append(next(iter(self._client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)
            return super().map(function, units, **named)

    place = Killing(address(cluster))
    try:
        release_of(folder, place, leaf=150, rounds=1).save(tmp_path / "out")
        with pytest.raises(InputError, match="is broken"):
            place.map(fail, [1, 2])
    finally:
        place.close()
    assert killed
    assert cells(tmp_path / "out").equals(cells(tmp_path / "one"))


def test_messages(cluster: Any) -> None:
    with pytest.raises(UsageError, match="Remove --workers"):
        open_place(address(cluster), 2)
    with pytest.raises(UsageError, match="Cannot reach a Dask scheduler at dask://127.0.0.1:1"):
        from shoal.places import dask

        dask.CONNECT_SECONDS = 1
        open_place("dask://127.0.0.1:1", None)
