"""How a long search reports where it is: `progress(done, total, best, what)`, called a few times a second.

`best` is the lowest loss so far (in percent where there is one), `what` the stage in a word or two.
The command line draws a bar from it; a library user may pass any function of that shape.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    def __call__(self, done: float, total: float, best: float | None = None, what: str = "") -> None: ...


def silent(done: float, total: float, best: float | None = None, what: str = "") -> None:
    """The progress that nobody looks at."""
