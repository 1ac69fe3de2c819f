"""Real clusters on this machine for tests, each with two workers, started by the commands of docs/howto/clusters.md."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "clusters.md"
PYTHON = [sys.executable, "-m"]
# Memory that suffices for the tests.
SMALL = {
    "SPARK_DAEMON_MEMORY": "256m",
    "PYSPARK_SUBMIT_ARGS": "--executor-memory 600m --driver-memory 512m pyspark-shell",
}


@dataclass(frozen=True)
class Cluster:
    """The address of a cluster on loopback, what an example of the page becomes here, and the workers' processes."""

    address: str
    environment: dict[str, str]
    workers: tuple[int, ...]

    def children(self) -> list[int]:
        """The processes that the workers started: Spark's executors, or Dask's workers under their nannies."""
        return [child for worker in self.workers for child in children_of(worker)]

    def kill_one(self) -> int:
        """Kill one process that runs units of work, as the system does when memory runs out."""
        for _ in range(600):
            running = self.children()
            if running:
                os.kill(running[0], signal.SIGKILL)
                return running[0]
            time.sleep(0.1)
        raise AssertionError("The cluster has no process that runs units of work.")

    def command(self, line: str, data: Path) -> list[str]:
        """A command of the page, for this cluster and with this folder instead of /data."""
        here = re.sub(r"(?<=[ '])/data/", f"{data}/", re.sub(r"\S*://10\.0\.0\.5:\d+", self.address, line))
        words = shlex.split(here)
        if words[0] == "spark-submit":
            memory = SMALL["PYSPARK_SUBMIT_ARGS"].split()[:-1]  # by default, more than a worker of the tests has
            return [str(spark_home() / "bin" / "spark-submit"), *memory, *words[1:]]
        return [*PYTHON, *words]


def commands(start: str) -> list[str]:
    """The commands of the page that start with these words."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if line.startswith(start)]
    assert found, f"The page has no command that starts with {start!r}."
    return found


def children_of(process: int) -> list[int]:
    texts = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    return [int(child) for text in texts for child in text.split()]


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


@contextmanager
def spark_cluster(folder: Path) -> Iterator[Cluster]:
    """A standalone master and two workers of one core each."""
    address = f"spark://127.0.0.1:{free_port()}"
    environment = {
        **os.environ, **SMALL, "SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder),
    }  # fmt: skip
    [master], [worker] = (commands(f"$SPARK_HOME/bin/spark-class org.apache.spark.deploy.{w}") for w in ("ma", "wo"))
    here = {"$SPARK_HOME": str(spark_home()), "10.0.0.5:7077": address.removeprefix("spark://"),
            "10.0.0.5 --port 7077": f"127.0.0.1 --port {address.rpartition(':')[2]} --webui-port 0",
            "--cores 8 --memory 32g": "--cores 1 --memory 700m --host 127.0.0.1 --webui-port 0"}  # fmt: skip
    with daemons([changed(line, here) for line in (master, worker, worker)], environment, folder) as started:
        for number in (1, 2):
            wait_for(folder / f"{number}.log", "Successfully registered", started)
        yield Cluster(address, environment, tuple(one.pid for one in started[1:]))


@contextmanager
def dask_cluster(folder: Path) -> Iterator[Cluster]:
    """A scheduler and two workers of one thread each."""
    port = free_port()
    environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__DASHBOARD__LINK": ""}
    [scheduler], [worker] = commands("dask scheduler"), commands("dask worker")
    here = {"dask ": shlex.join([*PYTHON, "dask", ""]).removesuffix("''"), "--nworkers 8": "--nworkers 1",
            "--host 10.0.0.5": f"--host 127.0.0.1 --port {port} --no-dashboard",
            "tcp://10.0.0.5:8786": f"tcp://127.0.0.1:{port} --no-dashboard --local-directory {folder}"}  # fmt: skip
    with daemons([changed(line, here) for line in (scheduler, worker, worker)], environment, folder) as started:
        for number in (1, 2):
            wait_for(folder / f"{number}.log", "Registered to", started)
        yield Cluster(f"dask://127.0.0.1:{port}", environment, tuple(one.pid for one in started[1:]))


@contextmanager
def daemons(lines: list[str], environment: dict[str, str], folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that run until the end of the test; each writes a log named by its number."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number, line in enumerate(lines):
            if number == 1:  # the master first: a worker that does not find it waits long
                wait_for(folder / "0.log", r"Starting Spark master|Scheduler at", started)
            with open(folder / f"{number}.log", "wb") as log:
                started.append(
                    subprocess.Popen(
                        shlex.split(line), env=environment, stdout=log, stderr=log, start_new_session=True, cwd=folder
                    )
                )
        yield started
    finally:
        for daemon in started:
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()


def wait_for(log: Path, text: str, started: list[subprocess.Popen[bytes]]) -> None:
    while not re.search(text, log.read_text(errors="replace")):
        assert all(daemon.poll() is None for daemon in started), log.read_text(errors="replace")
        time.sleep(0.1)


def changed(line: str, replacements: dict[str, str]) -> str:
    for old, new in replacements.items():
        line = line.replace(old, new)
    return line


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
