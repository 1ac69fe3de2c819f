"""Annotations of the parameters that several protections share."""

from collections.abc import Sequence
from typing import Annotated, Literal

from shoal.engine.effort import EFFORTS as EFFORTS
from shoal.engine.effort import Effort as Effort
from shoal.protections.protection import Option

Columns = Annotated[Sequence[str], Option("Columns an intruder may know; they are protected.")]
Missing = Annotated[
    Literal["error", "drop", "median"],
    Option("Handling of missing values. error: stop. drop: remove the records. median: fill in the median."),
]
Seed = Annotated[
    int,
    Option(
        "Seed of the search.",
        default_text="0, and a random secret for choices that hide something",
        in_recipe=False,  # a recipe has one seed for all steps, at its top
    ),
]
Threads = Annotated[
    int | None,
    Option("Largest number of threads; the result is the same.", 1, default_text="all cores", in_recipe=False),
]


def share(help: str, of: tuple[str, ...] = ()) -> Option:
    """Return the option of a number between 0 and 1."""
    return Option(help, 0, 1, of=of)
