"""How a long search reports its progress: `progress(done, total, best, what)`, called a few times per second.

`best` is the lowest loss so far (in percent, if there is one), and `what` names the stage in a word or two. The command
line draws a bar from it. A caller may pass any function with these parameters.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A function that shows the progress of a search."""

    def __call__(self, done: float, total: float, best: float | None = None, what: str = "") -> None: ...


def silent(done: float, total: float, best: float | None = None, what: str = "") -> None:
    """Show nothing."""
