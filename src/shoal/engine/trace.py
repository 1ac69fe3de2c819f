"""The progress of a search, kept for the release: the curve of the best result over the work done.

A trace is bounded. When it is full, it drops every second point and from then on keeps only every second new one.
"""

from __future__ import annotations

from typing import NamedTuple

from shoal.engine.progress import Progress, silent

MOST_POINTS = 2_000


class TracePoint(NamedTuple):
    """One point of a search: the stage, the work done of the total, the best result so far."""

    what: str
    done: float
    total: float
    best: float | None


class Trace:
    """A progress function that keeps what a search reports, and passes it on."""

    def __init__(self, progress: Progress = silent) -> None:
        self._progress = progress
        self._kept: list[TracePoint] = []
        self._last: TracePoint | None = None
        self._step = 1  # calls per point that is kept
        self._calls = 0

    def __call__(self, done: float, total: float, best: float | None = None, what: str = "") -> None:
        point = TracePoint(what, float(done), float(total), None if best is None else float(best))
        if self._calls % self._step == 0:
            self._kept.append(point)
            if len(self._kept) >= MOST_POINTS:
                self._kept, self._step = self._kept[::2], 2 * self._step
        self._calls, self._last = self._calls + 1, point
        self._progress(done, total, best, what)

    @property
    def points(self) -> tuple[TracePoint, ...]:
        """The points kept, in order. The last point is always one of them."""
        last = () if self._last is None or (self._kept and self._kept[-1] is self._last) else (self._last,)
        return (*self._kept, *last)
