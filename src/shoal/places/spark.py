"""A Spark cluster that is already running: one partition, and so one task, per unit of work.

Every executor needs Python with the same version of Shoal, and the input, staging and output folders under the same
paths. Spark gives the unit of a killed executor to another one. Inside an application that has a Spark session, such as
a notebook, units run in that session.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from shoal.errors import ShoalError, Stopped, UsageError, WriteError
from shoal.places.place import Done, Going, installed_version

U = TypeVar("U")
R = TypeVar("R")

LOOK_SECONDS = 0.2  # between two checks whether to continue
# Numerical libraries of a task get one core: a Spark task stands for one core, too.
ONE_CORE = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def open_place(name: str, workers: int | None) -> Spark:
    """Return the cluster with this address, such as spark://10.0.0.5:7077."""
    if workers is not None:
        raise UsageError("The Spark cluster decides how many units run at once. Remove --workers.")
    return Spark(name)


class Spark:
    """The executors of a Spark cluster."""

    def __init__(self, name: str, session: Any = None) -> None:
        self.name = name
        try:
            from pyspark.sql import SparkSession
        except ModuleNotFoundError as error:
            raise UsageError("Running on Spark needs PySpark. Install it with: pip install pyspark") from error
        active = session or SparkSession.getActiveSession()
        self._is_ours = active is None
        self._session: Any = active or self._started(name)
        self._context: Any = self._session.sparkContext
        self.workers = int(self._context.defaultParallelism)
        self._check_versions()

    def map(
        self, function: Callable[[U], R], units: Sequence[U], *, done: Done | None = None, going: Going | None = None
    ) -> list[R]:
        """Call the function with each unit, and return the results in the order of the units."""
        if not units:
            return []
        group = f"shoal-{os.getpid()}-{id(units)}"
        results: list[Any] = []
        failures: list[BaseException] = []

        def work() -> None:
            try:
                self._context.setJobGroup(group, "shoal", interruptOnCancel=True)
                rdd = self._context.parallelize(list(units), len(units))
                results.extend(rdd.map(_Guarded(function)).collect())
            except BaseException as error:
                failures.append(error)

        thread = _thread_of(work)
        thread.start()
        shown = 0
        while thread.is_alive():
            thread.join(LOOK_SECONDS)
            ended = self._ended(group)
            if done is not None and ended > shown:
                shown = ended
                done(min(ended, len(units)))
            if going is not None and not going():
                self._context.cancelJobGroup(group)
                thread.join()
                raise Stopped("The work was stopped before it had a result.")
        if failures:
            raise WriteError(
                f"A Spark task failed again and again: {_cause(failures[0])} If executors ran out of memory, use a "
                "smaller --leaf, and run the command again to continue."
            ) from failures[0]
        for result in results:
            if isinstance(result, _Raised):
                raise result.error
        return results

    def close(self) -> None:
        """Leave the cluster, if the session is not the user's own."""
        if self._is_ours:
            self._session.stop()

    def _started(self, name: str) -> Any:
        from pyspark.sql import SparkSession

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(name).appName("shoal").config("spark.ui.enabled", "false")
        for variable in ONE_CORE:
            builder = builder.config(f"spark.executorEnv.{variable}", "1")
        try:
            return builder.getOrCreate()
        except Exception as error:  # of Java, or because there is no Java
            raise UsageError(
                f"Cannot start on {name}: {_cause(error)} Check the address, and that Java 17 is installed."
            ) from error

    def _check_versions(self) -> None:
        here = installed_version()
        [there] = self.map(_version, [0])
        if there != here:
            raise UsageError(f"The Spark executors have shoal {there}, and this is shoal {here}. Install {here}.")

    def _ended(self, group: str) -> int:
        """Return how many tasks of the work have ended."""
        tracker = self._context.statusTracker()
        ended = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in () if info is None else info.stageIds:
                of_stage = tracker.getStageInfo(stage)
                ended += 0 if of_stage is None else of_stage.numCompletedTasks
        return ended


class _Raised:
    """An error for the user, which Spark must not retry and print as the trace of a task."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Guarded:
    """Calls a function, and returns its error if Shoal raised it."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, unit: Any) -> Any:
        try:
            return self.function(unit)
        except Exception as error:
            if isinstance(error, ShoalError) or type(error).__module__.startswith("shoal."):
                return _Raised(error)
            raise


def _cause(error: BaseException) -> str:
    """Return what an error says happened: its line with the name of an exception, of which Java's traces have many."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    named = [line.strip(" :") for line in lines if re.match(r"[\s:]*[\w.]+(Error|Exception): ", line)]
    return (named or lines)[0].rstrip(".") + "."


def _version(_: int) -> str:
    return installed_version()


def _thread_of(work: Callable[[], None]) -> threading.Thread:
    """Return a thread whose Spark jobs have a group of their own."""
    from pyspark import InheritableThread

    thread: threading.Thread = InheritableThread(target=work, daemon=True)
    return thread
