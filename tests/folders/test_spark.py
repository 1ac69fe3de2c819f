"""A folder of files and a Spark frame on a real Spark cluster: a master and two workers on this machine.

Skipped where PySpark or Java is not installed. `make soak` kills an executor in every stage (tests/soak).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed")
if shutil.which("java") is None:
    pytest.skip("Java is not installed", allow_module_level=True)

import polars as pl

from folders.clusters import Cluster, spark_cluster
from folders.here import Here
from folders.test_folders import cells, records, release_of, write
from folders.test_lazy import protected
from shoal.engine.warming import kernels_of_node
from shoal.errors import UsageError, check_k
from shoal.places.spark import Spark, open_place


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with spark_cluster(tmp_path_factory.mktemp("spark")) as cluster, pytest.MonkeyPatch.context() as patch:
        for name in ("SPARK_LOCAL_IP", "PYSPARK_SUBMIT_ARGS"):
            patch.setenv(name, cluster.environment[name])
        yield cluster


def test_the_same_bits_on_spark(cluster: Cluster, tmp_path: Path) -> None:
    folder = write(records(400), tmp_path / "in", (0, 200))
    release_of(folder, Here(), leaf=150, rounds=1).save(tmp_path / "one")
    expected = cells(tmp_path / "one")
    killed: list[int] = []

    class Killing(Spark):
        def map(self, function: Any, units: Any, **named: Any) -> Any:
            if getattr(getattr(units[0], "function", None), "__name__", "") == "search" and not killed:
                killed.append(cluster.kill_one())
            return super().map(function, units, **named)

    place = Killing(cluster.address)
    counts: list[int] = []
    try:
        assert place.map(abs, [-3, -1, -2], done=counts.append) == [3, 1, 2]
        if kernels_of_node() == "ahead":
            assert place.map(kernels_of_node, [1, 2, 3]) == ["ahead"] * 3  # no executor compiles
        release_of(folder, place, leaf=150, rounds=1).save(tmp_path / "out")
        assert killed
        assert cells(tmp_path / "out").equals(expected)
        with pytest.raises(UsageError, match="k must be between 2 and 5"):
            place.map(partial(check_k, n=5), [3, 9])  # an executor cannot import this file
        check_a_spark_frame(place._session, expected)
    finally:
        place.close()


def check_a_spark_frame(session: Any, expected: pl.DataFrame) -> None:
    """A Spark frame comes back as a Spark frame with the same types of the unchanged columns."""
    frame = session.createDataFrame(records(400).to_pandas()).selectExpr(
        *("age", "income", "x", "diagnosis", "'person' as name", "timestamp '2026-01-31 10:00:00' as seen"),
        "cast(1.25 as decimal(5, 2)) as fee",
    )
    release = protected(frame.coalesce(1), as_is=["seen", "fee"])
    table = release.table
    assert type(table) is type(frame)
    types = dict(frame.dtypes)
    assert dict(table.dtypes) == {**{n: types[n] for n in types if n != "name"}, "age": "double"}
    made = pl.from_pandas(table.drop("seen", "fee").toPandas())
    assert made.equals(expected)
    assert table.select("seen", "fee").distinct().collect() == frame.select("seen", "fee").distinct().collect()
    with pytest.raises(UsageError, match=r"Pass frame.toPandas\(\) instead"):
        import shoal

        shoal.group_attributes(frame, 5)


def test_the_number_of_workers_is_that_of_the_cluster() -> None:
    with pytest.raises(UsageError, match="Remove --workers"):
        open_place("spark://127.0.0.1:7077", 2)
