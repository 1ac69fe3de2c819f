"""A folder of files on a real Spark cluster: a master and two workers on this machine, of which one loses its executor.

Skipped where PySpark or Java is not installed.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed")
if shutil.which("java") is None:
    pytest.skip("Java is not installed", allow_module_level=True)

from folders.here import Here
from folders.test_folders import cells, records, release_of, write
from shoal.errors import UsageError, check_k
from shoal.places.spark import Spark, open_place

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[int]]]:
    """The address of a standalone master, and the processes of its two workers of one core each."""
    import pyspark

    home, folder = Path(pyspark.__file__).parent, tmp_path_factory.mktemp("spark")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
    }  # fmt: skip
    daemons = []

    def start(*arguments: str) -> None:
        command = [str(home / "bin" / "spark-class"), *arguments]
        with open(folder / f"{len(daemons)}.log", "wb") as log:
            daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))

    try:
        start(MASTER, "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        for _ in range(2):
            start(
                WORKER, "--host", "127.0.0.1", "--webui-port", "0", "-c", "1", "-m", "700m", f"spark://127.0.0.1:{port}"
            )
        for number in (1, 2):
            while b"Successfully registered" not in (folder / f"{number}.log").read_bytes():
                assert all(daemon.poll() is None for daemon in daemons)
                time.sleep(0.1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
            patch.setenv("PYSPARK_SUBMIT_ARGS", "--executor-memory 600m --driver-memory 512m pyspark-shell")
            yield f"spark://127.0.0.1:{port}", [daemon.pid for daemon in daemons[1:]]
    finally:
        for daemon in daemons:
            daemon.kill()
            daemon.wait()


def test_the_same_bits_on_spark(cluster: tuple[str, list[int]], tmp_path: Path) -> None:
    address, workers = cluster
    folder = write(records(450), tmp_path / "in", (0, 200))
    release_of(folder, Here(), leaf=150, rounds=1).save(tmp_path / "one")
    killed: list[int] = []

    class Killing(Spark):
        def map(self, function: Any, units: Any, **named: Any) -> Any:
            if getattr(getattr(units[0], "function", None), "__name__", "") == "search" and not killed:
                killed.extend(_executors(workers)[:1])
                os.kill(killed[0], signal.SIGKILL)
            return super().map(function, units, **named)

    place = Killing(address)
    counts: list[int] = []
    try:
        assert place.map(abs, [-3, -1, -2], done=counts.append) == [3, 1, 2]
        release_of(folder, place, leaf=150, rounds=1).save(tmp_path / "out")
        with pytest.raises(UsageError, match="k must be between 2 and 5"):
            place.map(partial(check_k, n=5), [3, 9])  # an executor cannot import this file
    finally:
        place.close()
    assert killed
    assert cells(tmp_path / "out").equals(cells(tmp_path / "one"))


def _executors(workers: list[int]) -> list[int]:
    """The processes that the workers started, which are the executors."""
    children = [
        text.read_text().split() for worker in workers for text in Path(f"/proc/{worker}/task").glob("*/children")
    ]
    return [int(child) for listed in children for child in listed]


def test_the_number_of_workers_is_that_of_the_cluster() -> None:
    with pytest.raises(UsageError, match="Remove --workers"):
        open_place("spark://127.0.0.1:7077", 2)
