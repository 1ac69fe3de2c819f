"""Notices: what the user should know about a result, such as dropped rows. They are stored with the result.

The code that makes a result collects them: `read` for a table, a protection's `Control` for a release. Shoal also
shows each notice once as a `ShoalWarning`, from the calling thread, because a person in a notebook reads the output
and not `release.notices`. Code on another thread, or within another call, only collects them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from shoal.errors import ShoalWarning

_collected: ContextVar[list[str] | None] = ContextVar("notices", default=None)
_PACKAGE = str(Path(__file__).parent)


def notice(text: str) -> None:
    """Add a notice, once, to the result that is being made; if nothing collects notices, show it."""
    kept = _collected.get()
    if kept is None:
        show(text)
    elif text not in kept:
        kept.append(text)


@contextmanager
def collecting(kept: list[str]) -> Iterator[None]:
    """Collect the notices of the block in the list."""
    token = _collected.set(kept)
    try:
        yield
    finally:
        _collected.reset(token)


def show(text: str) -> None:
    """Show a ShoalWarning that names the line outside of Shoal that made the call."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ShoalWarning, stacklevel=level)
