"""SIGTERM ends the command line at once, even within a kernel, and leaves no half-written file."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TERMINATED = 128 + signal.SIGTERM  # the exit code that a shell shows


@contextmanager
def ending_on_sigterm(clean_up: Callable[[], None]) -> Iterator[None]:
    """In the block, SIGTERM calls `clean_up` and ends the process with 143 at once, even within a kernel.

    Python calls a signal handler in the main thread, and only between two of its own instructions: a kernel that runs
    for an hour would delay it. A thread therefore reads the signal's number from a pipe. If the calling program has
    its own handler, or calls from another thread, nothing changes.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    threading.Thread(target=_end_on_signal, args=(reader, clean_up), daemon=True).start()
    earlier = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: None)  # the thread acts
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.set_wakeup_fd(earlier)
        os.close(writer)


def _end_on_signal(reader: int, clean_up: Callable[[], None]) -> None:
    while numbers := os.read(reader, 64):
        if signal.SIGTERM in numbers:
            try:
                clean_up()
            finally:
                os._exit(TERMINATED)
    os.close(reader)
