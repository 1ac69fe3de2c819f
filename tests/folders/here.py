"""Places for tests: one in this process, and one whose workers are killed."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Sequence
from typing import Any

from shoal.errors import Stopped
from shoal.places.processes import Processes


class Here:
    """One unit after the other in this process. Tasks are pickled, as they would be for a worker.

    before: called with the name of the function before its units run.
    """

    name, workers = "here", 1

    def __init__(self, before: Callable[[str], Any] | None = None) -> None:
        self.before = before
        self.units: list[str] = []

    def map(self, function: Any, units: Sequence[Any], *, done: Any = None, going: Any = None) -> list[Any]:
        results = []
        work = getattr(units[0], "function", function).__name__ if units else ""
        if self.before is not None and units:
            self.before(work)
        for unit in units:
            self.units.append(work)
            results.append(function(pickle.loads(pickle.dumps(unit))))
            if done is not None:
                done(len(results))
            if going is not None and not going():
                raise Stopped("The work was stopped before it had a result.")
        return results

    def close(self) -> None:
        """Nothing was started."""


class Killing(Processes):
    """Processes of which one is killed after the first unit of some functions, once each."""

    def __init__(self, workers: int, *functions: str) -> None:
        super().__init__(workers)
        self.functions, self.kills = functions, 0

    def map(self, function: Any, units: Sequence[Any], *, done: Any = None, going: Any = None) -> list[Any]:
        work = getattr(units[0], "function", function).__name__
        killed = work not in self.functions
        self.functions = tuple(name for name in self.functions if name != work)

        def kill_one(count: int) -> None:
            nonlocal killed
            if not killed and self._pool is not None:
                killed = True
                self.kills += 1
                os.kill(next(iter(self._pool._processes or {})), signal.SIGKILL)
            if done is not None:
                done(count)

        return super().map(function, units, done=kill_one, going=going)
