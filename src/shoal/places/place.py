"""The interface of a place where work runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

U = TypeVar("U")
R = TypeVar("R")

Going = Callable[[], bool]  # whether to continue
Done = Callable[[int], None]  # called with the number of units that are done


class Place(Protocol):
    """Calls a function with units of work. Function, units and results must be picklable.

    Attributes:
        name: What `--on` names.
        workers: The number of units that run at once.
    """

    name: str
    workers: int

    def map(
        self, function: Callable[[U], R], units: Sequence[U], *, done: Done | None = None, going: Going | None = None
    ) -> list[R]:
        """Call the function with each unit, in any order, and return the results in the order of the units.

        A unit may run more than once, also at the same time, so the function must write its files atomically. The
        first error of a unit is raised. If `going` returns False, the work ends and `Stopped` is raised.
        """
        ...

    def close(self) -> None:
        """End the workers that this place started."""
        ...


def installed_version() -> str:
    """Return the version of Shoal, on the driver or on a worker."""
    import shoal

    return shoal.__version__
