"""Real clusters on which something breaks in every stage: the result stays the same bit for bit. For `make soak`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from folders.clusters import Cluster, commands, dask_cluster, spark_cluster, spark_home
from folders.here import Here
from folders.test_dask import ROLES_FILE
from folders.test_folders import cells, records, release_of, write
from shoal.places.dask import Dask
from shoal.places.spark import Spark

pytestmark = pytest.mark.skipif(not os.environ.get("SHOAL_SOAK"), reason="longer: make soak")
STAGES = ("look", "read", "measure", "route", "search", "write", "recount", "find_closest", "count_within", "seal")
ENGINES = {"dask": (dask_cluster, Dask), "spark": (spark_cluster, Spark)}


@pytest.fixture(scope="module", params=["dask", "spark"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Any]]:
    name = request.param
    if name == "spark" and (importlib.util.find_spec("pyspark") is None or shutil.which("java") is None):
        pytest.skip("PySpark or Java is not installed")
    start, place = ENGINES[name]
    with start(tmp_path_factory.mktemp(name)) as cluster, pytest.MonkeyPatch.context() as patch:
        for variable in ("SPARK_LOCAL_IP", "PYSPARK_SUBMIT_ARGS"):
            if variable in cluster.environment:
                patch.setenv(variable, cluster.environment[variable])
        yield cluster, place


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(records(600), tmp_path_factory.mktemp("data") / "claims", (0, 200, 400))


@pytest.fixture(scope="module")
def expected(data: Path) -> pl.DataFrame:
    release_of(data, Here(), leaf=150, rounds=2).save(data.parent / "out")
    return cells(data.parent / "out")


def test_a_worker_is_killed_in_every_stage(
    engine: tuple[Cluster, Any], data: Path, expected: pl.DataFrame, tmp_path: Path
) -> None:
    cluster, kind = engine
    left = list(STAGES)

    class Killing(kind):  # type: ignore[misc, valid-type]
        def map(self, function: Any, units: Any, **named: Any) -> Any:
            work = getattr(units[0], "function", function).__name__ if len(units) else ""
            if work in left:
                left.remove(work)
                cluster.kill_one()
            return super().map(function, units, **named)

    place = Killing(cluster.address)
    try:
        release_of(data, place, leaf=150, rounds=2).save(tmp_path / "out")
    finally:
        place.close()
    assert left == []
    assert cells(tmp_path / "out").equals(expected)


def test_a_killed_driver_continues_on_the_cluster(
    engine: tuple[Cluster, Any], data: Path, expected: pl.DataFrame, tmp_path: Path
) -> None:
    cluster, _ = engine
    options = "-k 5 --confidential diagnosis --no-unit --effort quick --leaf 150 --rounds 2"
    line = f"shoal microaggregate {data} {options} --on {cluster.address} --staging {tmp_path}/staged -o {tmp_path}/out"
    environment = {**os.environ, **cluster.environment}
    driver = subprocess.Popen(cluster.command(line, tmp_path), env=environment, start_new_session=True)
    while not (tmp_path / "staged" / "search-1" / "000000.json").exists():
        assert driver.poll() is None
        time.sleep(0.05)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    assert not (tmp_path / "out").exists()
    subprocess.run(cluster.command(line, tmp_path), env=environment, check=True)
    assert cells(tmp_path / "out").equals(expected)


def test_the_commands_of_the_page_on_spark(engine: tuple[Cluster, Any], data: Path, tmp_path: Path) -> None:
    cluster, kind = engine
    if kind is not Spark:
        pytest.skip("tests/folders/test_dask.py runs those of Dask")
    shutil.copytree(data, tmp_path / "claims")
    (tmp_path / "roles.toml").write_text(ROLES_FILE)
    page = (Path(__file__).parents[2] / "docs" / "howto" / "clusters.md").read_text(encoding="utf-8")
    (tmp_path / "protect.py").write_text(page.split("```py\n")[1].split("```")[0])
    environment = {**os.environ, **cluster.environment, "SPARK_HOME": str(spark_home())}
    for line in [*[c for c in commands("shoal microaggregate") if "spark://" in c], *commands("spark-submit")]:
        subprocess.run(cluster.command(line, tmp_path), env=environment, check=True)
    one = cells(tmp_path / "protected")
    frame = pl.read_parquet(tmp_path / "protected-frame" / "*.parquet")
    assert one.height == frame.height == 600
    # Spark reads files in an order of its own, largest first, so the groups of the frame may be others.
    assert frame["diagnosis"].sort().equals(one["diagnosis"].sort())
    assert frame.group_by("age", "income", "x").len()["len"].min() >= 5
    assert frame["income"].mean() == pytest.approx(one["income"].mean(), rel=1e-12)
    assert [path.name for path in (tmp_path / "frame-staging").iterdir()] == ["table"]
