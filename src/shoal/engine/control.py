"""How a search is run: work on threads, progress, a clock that caps, and Ctrl-C.

Work is done in short pieces on worker threads; the caller's thread only waits, so that Ctrl-C reaches it at
once. It then raises the flag `stopped`, the workers end after their piece, and what they have is the result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from shoal.engine.progress import Progress, silent

T = TypeVar("T")


class Control:
    """Runs pieces of work and knows whether to go on."""

    def __init__(
        self,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
        seconds: float | None = None,
    ) -> None:
        self.threads = max(1, threads or 1)
        self.stopped = False
        self._progress = progress or silent
        self._seconds = seconds
        self._lock = threading.Lock()
        self.begin()

    def begin(self, total: float = 1.0, unit: float = 1.0) -> None:
        """Start the clock of a search of so much work; a loss times the unit is what is shown."""
        self.total, self._unit = total, unit
        self.done = 0.0
        self.best: float | None = None
        self._stage = ""
        self._deadline = None if self._seconds is None else time.monotonic() + self._seconds

    def advance(self, work: float, best: float | None = None, what: str = "") -> bool:
        """Note that work was done, in the stage told last if none is; says whether to go on."""
        with self._lock:
            self.done += work
            self._stage = what or self._stage
            if best is not None and (self.best is None or best * self._unit < self.best):
                self.best = best * self._unit
            self._progress(min(self.done, self.total), self.total, self.best, self._stage)
            if self._deadline is not None and time.monotonic() > self._deadline:
                self.stopped = True
        return not self.stopped

    def run(self, pieces: Sequence[Callable[[], T]]) -> list[T]:
        """The results of all pieces, in their order; on Ctrl-C the flag goes up and the pieces finish early."""
        ready = threading.Event()  # no piece starts before Ctrl-C is caught

        def when_ready(piece: Callable[[], T]) -> T:
            ready.wait()
            return piece()

        with ThreadPoolExecutor(self.threads) as pool:
            try:
                futures = [pool.submit(when_ready, piece) for piece in pieces]
            except BaseException:
                self.stopped = True
                ready.set()
                raise
            while True:
                try:
                    ready.set()
                    if not wait(futures, timeout=0.2).not_done:
                        break
                except KeyboardInterrupt:
                    self.stopped = True
        return [future.result() for future in futures]
