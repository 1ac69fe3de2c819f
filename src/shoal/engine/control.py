"""Run and stop work: one `Control` for threads, a time limit, progress, notices, Ctrl-C and cancelling.

    control = Control(threads=2, progress=show)
    threading.Timer(10, control.stop).start()       # any thread may stop the work
    release = shoal.microaggregate(table, 5, control=control)

The body of a protection runs on a worker thread (`call`). The caller's thread only waits, so Ctrl-C reaches it at
once, even during a kernel. It then sets `flag`, which searches read as `stopped` and long kernels read themselves.
A stopped search returns its best result so far. A search without any result calls `check`, which raises Stopped.
A second Ctrl-C does not wait for the workers.
"""

from __future__ import annotations

import contextvars
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import cores
from shoal.engine.progress import Progress, silent
from shoal.errors import Stopped, UsageError
from shoal.notices import collecting, show

T = TypeVar("T")
LOOK_SECONDS = 0.05  # between two checks of `cancel` by the waiting thread

# The control of the code that this thread runs: a kernel far below a search finds its flag here.
_current: contextvars.ContextVar[Control | None] = contextvars.ContextVar("control", default=None)


class Control:
    """Runs pieces of work on threads, and knows whether to continue.

    flag: one byte, 0 until the work is stopped. notices: what the user should know about the result.

    Args:
        seconds: The time limit. After it a search returns its best result so far.
        cancel: An event that another thread may set, instead of calling `stop`.
    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        seconds: float | None = None,
        progress: Progress | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        self.threads = max(1, threads or 1)
        self.flag: NDArray[np.uint8] = np.zeros(1, dtype=np.uint8)
        self.notices: list[str] = []
        self.progress = progress or silent
        self._seconds, self._cancel = seconds, cancel
        self._lock = threading.RLock()
        self._root = self
        self._interrupted = False  # by Ctrl-C; of the root
        self._parts: weakref.WeakSet[Control] = weakref.WeakSet()
        self._at_stop: list[Callable[[], None]] = []
        self._latest: float | None = None  # when the whole ends that this is a part of
        self.stage()

    # -- stopping ------------------------------------------------------------------------------------

    @property
    def stopped(self) -> bool:
        """Whether the work should end with the best result so far."""
        return bool(self.flag[0])

    @property
    def facts(self) -> dict[str, Any]:
        """What a release says about the end of its run: that it was stopped."""
        return {"stopped": True} if self.stopped else {}

    def stop(self) -> None:
        """End the work and its parts soon. Any thread may call this, more than once."""
        with self._lock:
            first, self.flag[0] = not self.flag[0], 1
            parts, actions = list(self._parts), list(self._at_stop) if first else []
        for part in parts:
            part.stop()
        for action in actions:
            action()

    def check(self) -> None:
        """Raise `Stopped` if the work is stopped."""
        if self.stopped:
            raise Stopped("The work was stopped before it had a result.")

    @contextmanager
    def when_stopped(self, action: Callable[[], None]) -> Iterator[None]:
        """Within the block, call `action` once the work is stopped, from the thread that stops it."""
        with self._lock:
            self._at_stop.append(action)
            late = self.stopped
        if late:
            action()
        try:
            yield
        finally:
            with self._lock:
                self._at_stop.remove(action)

    def part(
        self, share: float = 1.0, *, seconds: float | None = None, progress: Progress | None = None, threads: int = 0
    ) -> Control:
        """Return a control for a part of the work. It stops with the whole; its own time limit does not stop the whole.

        Args:
            share: The share of the seconds that the part gets.
            progress: By default that of the whole.
            threads: By default those of the whole.
        """
        part = Control(
            threads=threads or self.threads,
            seconds=None if seconds is None else seconds * share,
            progress=progress or self.progress,
        )
        part._root, part.notices, part._latest = self._root, self.notices, self._deadline
        self._adopt(part)
        part.stage()
        return part

    def _adopt(self, part: Control) -> None:
        with self._lock:
            self._parts.add(part)
            part._cancel = part._cancel or self._cancel
        if self.stopped:
            part.stop()

    # -- progress ------------------------------------------------------------------------------------

    def stage(self, name: str = "", total: float = 1.0, unit: float = 1.0) -> None:
        """Begin a stage of `total` work, and its time limit; progress shows a loss times the unit."""
        self.total, self._unit, self._stage = total, unit, name
        self.done = 0.0
        self.best: float | None = None
        ends = [self._latest, None if self._seconds is None else time.monotonic() + self._seconds]
        self._deadline = min((end for end in ends if end is not None), default=None)

    def advance(self, work: float, best: float | None = None, what: str = "") -> bool:
        """Count work that was done, in the stage `what` or the last one named; return whether to continue."""
        with self._lock:
            self.done += work
            self._stage = what or self._stage
            if best is not None and (self.best is None or best * self._unit < self.best):
                self.best = best * self._unit
            return self.show(min(self.done, self.total), self.total, self.best, self._stage)

    def show(self, done: float, total: float, best: float | None = None, what: str = "") -> bool:
        """Show progress; return whether to continue. KeyboardInterrupt from the progress function stops the work."""
        with self._lock:
            try:
                self.progress(done, total, best, what)
            except KeyboardInterrupt:
                self._interrupt()
            if self._deadline is not None and time.monotonic() > self._deadline:
                self.stop()
            self._look()
        return not self.stopped

    def notice(self, text: str) -> None:
        """Keep a notice for the user with the result; `shoal.notices.notice` does so from anywhere."""
        if text not in self.notices:
            self.notices.append(text)

    def _look(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            self.stop()

    def _interrupt(self) -> None:
        self._root._interrupted = True
        self._root.stop()

    # -- threads -------------------------------------------------------------------------------------

    def call(self, body: Callable[[], T]) -> T:
        """Run the body on a worker thread, wait for it and for Ctrl-C, and return its result.

        Within the body of another control the thread is a worker already; then this control stops with the other.

        Raises:
            Stopped: The work was stopped before it had a result.
            KeyboardInterrupt: Ctrl-C stopped it.
        """
        outer = _current.get()
        if outer is not None:
            if outer._root is not self._root:
                outer._adopt(self)
            return self._do(body)
        self._root.stage()  # its time limit begins
        self._latest = None if self._root is self else self._root._deadline
        self.stage()
        try:
            return self._on_threads([body], 1)[0]
        except Stopped:
            if self._root._interrupted:
                raise KeyboardInterrupt from None
            raise

    def run(self, pieces: Sequence[Callable[[], T]]) -> list[T]:
        """Run all pieces and return their results, in their order. A piece may read `stopped` and end early."""
        workers = min(self.threads, len(pieces))
        if workers <= 1 and _current.get() is not None:
            return [self._do(piece) for piece in pieces]
        return self._on_threads(pieces, workers)

    def map(self, work: Callable[..., T], *items: Sequence[Any]) -> list[T]:
        """Call `work` with one item of each sequence at a time, and return the results in order."""
        return self.run([partial(work, *item) for item in zip(*items, strict=True)])

    def _do(self, piece: Callable[[], T]) -> T:
        token = _current.set(self)
        try:
            with collecting(self.notices):
                return piece()
        finally:
            _current.reset(token)

    def _show_notices(self, shown: int, outermost: bool) -> int:
        """Show new notices from the calling thread, as soon as they come; return how many were shown."""
        fresh = self.notices[shown:] if outermost else []
        for text in fresh:
            show(text)
        return shown + len(fresh)

    @contextmanager
    def _first_interrupt(self) -> Iterator[None]:
        """Within the block, let the first Ctrl-C stop the work and only the second raise KeyboardInterrupt.

        An exception could arrive between any two lines, even while a thread starts. Handlers other than Python's stay.
        """

        def handle(number: int, frame: FrameType | None) -> None:
            if self._root._interrupted:
                signal.default_int_handler(number, frame)
            self._interrupt()

        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        ):
            yield
            return
        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _on_threads(self, pieces: Sequence[Callable[[], T]], workers: int) -> list[T]:
        """Run the pieces on daemon threads: unlike those of a pool, they let the process end at a second Ctrl-C."""
        results: dict[int, T] = {}
        errors: dict[int, BaseException] = {}
        places = iter(range(len(pieces)))
        lock, ended = threading.Lock(), threading.Event()
        at_work = set(range(workers))

        def work(worker: int) -> None:
            try:
                while True:
                    with lock:
                        place = -1 if errors else next(places, -1)
                    if place < 0:
                        break
                    try:
                        results[place] = self._do(pieces[place])
                    except BaseException as error:  # raised again by the waiting thread
                        errors[place] = error
            finally:
                with lock:
                    at_work.remove(worker)
                    if not at_work:
                        ended.set()

        with self._first_interrupt():
            try:
                for worker in range(workers):
                    context = contextvars.copy_context()
                    threading.Thread(target=context.run, args=(work, worker), name="shoal", daemon=True).start()
            except BaseException:
                self.stop()
                raise
            outermost, shown = _current.get() is None, 0
            while workers and not ended.is_set():
                try:
                    ended.wait(LOOK_SECONDS)
                    self._look()
                    shown = self._show_notices(shown, outermost)
                except KeyboardInterrupt:  # from a caller that handles Ctrl-C itself
                    if self._root._interrupted:
                        raise
                    self._interrupt()
            self._show_notices(shown, outermost)
        if errors:
            raise errors[min(errors)]
        return [results[place] for place in range(len(pieces))]


def control_of(
    control: Control | None, threads: int | None, progress: Progress | None, usual_threads: int | None = None
) -> Control:
    """Return the control of a public function: its argument, or a new one from its other arguments."""
    if control is None:
        return Control(threads=threads or usual_threads or cores(), progress=progress)
    if threads is not None or progress is not None:
        raise UsageError("threads and progress belong to the control: write Control(threads=…, progress=…).")
    return control


def shielded(body: Callable[[], T]) -> T:
    """Run the body to its end even though the work is stopped, and return its result."""
    control = Control()
    control.notices = current().notices
    return control._do(body)


def current() -> Control:
    """Return the control of this thread, or a new one that nothing stops."""
    return _current.get() or Control()
