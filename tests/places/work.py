"""Work for the processes of the tests; workers import it by name, however the tests were started."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from shoal.errors import InputError


def double(number: int) -> tuple[int, str | None]:
    """Twice the number, and how many threads the worker may use."""
    return 2 * number, os.environ.get("POLARS_MAX_THREADS")


def fail(number: int) -> int:
    raise InputError(f"part-{number} is broken.")


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_once(marker: Path) -> str:
    """End the worker at the first call, as if memory had run out."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return marker.name
