"""Processes on this machine: one unit of work per process at a time, each on one core.

A process that is killed, for example by the system because memory ran out, is replaced, and its unit runs again. If
processes are killed again and again, an error says so. The processes end with the one that started them, even if that
one is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from typing import Any, TypeVar

from shoal.arrays import cores
from shoal.errors import Stopped, UsageError, WriteError
from shoal.places.place import Done, Going

U = TypeVar("U")
R = TypeVar("R")

LOOK_SECONDS = 0.1  # between two checks whether to continue
MAX_LOSSES = 3  # killed processes in a row, without any finished unit between
# A process has one core: more threads would compete with the other processes.
ONE_CORE = {"POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def open_place(name: str, workers: int | None) -> Processes:
    """Return processes on this machine."""
    if name != "processes":
        raise UsageError(f"Cannot run on {name!r}: processes have no address. Use --on processes.")
    return Processes(workers)


class Processes:
    """A number of processes; they start with the first work and stay until `close`."""

    name = "processes"

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"workers must be 1 or more, not {workers}.")
        self.workers = workers or cores()
        self._pool: ProcessPoolExecutor | None = None

    def map(
        self, function: Callable[[U], R], units: Sequence[U], *, done: Done | None = None, going: Going | None = None
    ) -> list[R]:
        """Call the function with each unit, and return the results in the order of the units."""
        results: dict[int, R] = {}
        losses = 0
        while len(results) < len(units):
            before = len(results)
            try:
                self._run(function, units, results, done, going)
            except BrokenProcessPool:
                losses = losses + 1 if len(results) == before else 0
                self.close()
                if losses == MAX_LOSSES:
                    raise WriteError(
                        f"A worker process was killed {MAX_LOSSES} times in a row. If the system has run out of "
                        "memory, use fewer --workers or a smaller --leaf, and run the command again to continue."
                    ) from None
            except BaseException:
                self.close()
                raise
        return [results[place] for place in range(len(units))]

    def close(self) -> None:
        """Kill the processes; a unit that is running leaves no file."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join()

    def _run(
        self,
        function: Callable[[U], R],
        units: Sequence[U],
        results: dict[int, R],
        done: Done | None,
        going: Going | None,
    ) -> None:
        """Run the units that have no result yet, the first ones first."""
        pool = self._started()
        left = iter([place for place in range(len(units)) if place not in results])
        running: dict[Future[R], int] = {}

        def submit() -> None:
            place = next(left, None)
            if place is not None:
                running[pool.submit(function, units[place])] = place

        for _ in range(self.workers):
            submit()
        broken: BrokenProcessPool | None = None
        while running:
            ended, _ = wait(running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in ended:
                place = running.pop(future)
                try:
                    results[place] = future.result()
                except BrokenProcessPool as error:
                    broken = error
                    continue
                if done is not None:
                    done(len(results))
                if broken is None:
                    submit()
            if going is not None and not going():
                raise Stopped("The work was stopped before it had a result.")
        if broken is not None:
            raise broken

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
            self._pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=_begin)
            saved = {name: os.environ.get(name) for name in ONE_CORE}
            os.environ.update(ONE_CORE)
            try:  # processes inherit the environment when they start, which is now
                list(self._pool.map(_nothing, range(self.workers)))
            finally:
                for name, value in saved.items():
                    if value is None:
                        os.environ.pop(name, None)
                    else:
                        os.environ[name] = value
        return self._pool


def _begin() -> None:
    """Prepare a worker: Ctrl-C is for the process that started it, and without that one there is no work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent(sentinel: Any) -> None:
        wait_for([sentinel])
        os._exit(1)

    threading.Thread(target=end_with_parent, args=(parent.sentinel,), daemon=True).start()


def _nothing(_: int) -> None:
    """Do nothing: the first work starts the processes."""
