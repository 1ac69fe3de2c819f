"""Ctrl-C in a search of one thread: the block ends, and what was found so far is the answer. SIGTERM ends the process.

    with stoppable() as stop:
        for generation in …:
            best = …
    facts |= stop.facts

Whoever has found nothing yet calls `stop.again()`: then the run ends without an answer. A search assigns what belongs
together in one statement, so that it is whole whenever it is stopped.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TERMINATED = 128 + signal.SIGTERM  # the exit code that a shell shows


class Stop:
    """Whether a run was stopped."""

    def __init__(self) -> None:
        self.asked = False

    @property
    def facts(self) -> dict[str, Any]:
        """What a release tells of it."""
        return {"stopped": True} if self.asked else {}

    def again(self) -> None:
        """Pass the stop on."""
        if self.asked:
            raise KeyboardInterrupt


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Catch Ctrl-C in the block."""
    stop = Stop()
    try:
        yield stop
    except (KeyboardInterrupt, SystemError) as error:
        if not is_stop(error):
            raise
        stop.asked = True


def is_stop(error: BaseException) -> bool:
    """Whether an exception is Ctrl-C; one that comes within a kernel is told by Python as a SystemError."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemError) and isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
    )


@contextmanager
def ending_on_sigterm(clean_up: Callable[[], None]) -> Iterator[None]:
    """In the block, SIGTERM calls `clean_up` and ends the process with 143 at once, even within a kernel.

    Python calls a signal's handler in the main thread, and only between two of its own instructions: a kernel of an
    hour would delay it. The signal's number therefore goes through a pipe to a thread that waits for it. Where the
    program that calls Shoal has a handler of its own, or calls from another thread, nothing is changed.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    threading.Thread(target=_end_when_told, args=(reader, clean_up), daemon=True).start()
    earlier = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: None)  # the thread acts
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.set_wakeup_fd(earlier)
        os.close(writer)


def _end_when_told(reader: int, clean_up: Callable[[], None]) -> None:
    while numbers := os.read(reader, 64):
        if signal.SIGTERM in numbers:
            try:
                clean_up()
            finally:
                os._exit(TERMINATED)
    os.close(reader)
