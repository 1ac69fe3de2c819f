"""Ctrl-C in a search of one thread: the block ends, and what was found so far is the answer.

    with stoppable() as stop:
        for generation in …:
            best = …
    facts |= stop.facts

Whoever has found nothing yet calls `stop.again()`: then the run ends without an answer. A search assigns what belongs
together in one statement, so that it is whole whenever it is stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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
