"""A folder of files on a real Dask cluster, started by the commands of the documentation; a worker is killed.

`make soak` kills a worker in every stage (tests/soak).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="distributed is not installed")

from folders.clusters import Cluster, commands, dask_cluster
from folders.here import Here
from folders.test_folders import cells, records, release_of, write
from folders.test_lazy import protected
from shoal.errors import UsageError, check_k
from shoal.places.dask import Dask, open_place

ROLES_FILE = 'unit = false\n\n[confidential]\ncolumns = ["diagnosis"]\n'


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with dask_cluster(tmp_path_factory.mktemp("dask")) as cluster:
        yield cluster


def test_the_same_bits_on_dask(cluster: Cluster, tmp_path: Path) -> None:
    folder = write(records(400), tmp_path / "in", (0, 200))
    release_of(folder, Here(), leaf=150, rounds=1).save(tmp_path / "one")
    killed: list[int] = []

    class Killing(Dask):
        def map(self, function: Any, units: Any, **named: Any) -> Any:
            if getattr(getattr(units[0], "function", None), "__name__", "") == "search" and not killed:
                killed.append(cluster.kill_one())
            return super().map(function, units, **named)

    place = Killing(cluster.address)
    try:
        release_of(folder, place, leaf=150, rounds=1).save(tmp_path / "out")
        with pytest.raises(UsageError, match="k must be between 2 and 5"):
            place.map(partial(check_k, n=5), [3, 9])  # a worker cannot import this file
    finally:
        place.close()
    assert killed
    assert cells(tmp_path / "out").equals(cells(tmp_path / "one"))
    check_a_dask_frame(cluster, tmp_path)


def check_a_dask_frame(cluster: Cluster, folder: Path) -> None:
    """A frame is protected on the cluster that Python is connected to."""
    pytest.importorskip("dask.dataframe", reason="Dask's data frames are not installed")
    import dask.dataframe as dd
    from distributed import Client

    frame = dd.from_pandas(records(400).to_pandas().assign(name="person"), npartitions=2)
    with Client(cluster.address.replace("dask", "tcp")):
        release = protected(frame)
        assert isinstance(release.place, Dask)
        made = release.table.compute()
    import polars as pl

    assert pl.from_pandas(made.reset_index(drop=True)).equals(cells(folder / "one"))


def test_the_command_of_the_documentation(cluster: Cluster, tmp_path: Path) -> None:
    write(records(400), tmp_path / "claims", (0, 200))
    (tmp_path / "roles.toml").write_text(ROLES_FILE)
    [line] = [line for line in commands("shoal microaggregate") if "dask://" in line]
    done = subprocess.run(cluster.command(line, tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert cells(tmp_path / "protected").height == 400


def test_messages(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="Remove --workers"):
        open_place(cluster.address, 2)
    monkeypatch.setattr("shoal.places.dask.CONNECT_SECONDS", 1)
    with pytest.raises(UsageError, match="Cannot reach a Dask scheduler at dask://127.0.0.1:1"):
        open_place("dask://127.0.0.1:1", None)
