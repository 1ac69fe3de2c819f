"""A stage of a search: its name, the loss before and after it, and the CPU seconds it took.

A release lists the stages among its facts, so a stage is a dictionary that JSON can hold.
"""

from __future__ import annotations

from typing import TypedDict


class Stage(TypedDict):
    """One part of a search. The losses are in the unit of the objective, and in a release in percent."""

    name: str
    loss_before: float
    loss_after: float
    cpu_seconds: float


def rescaled(stage: Stage, factor: float) -> Stage:
    """Return the stage with its losses in another unit."""
    return {**stage, "loss_before": stage["loss_before"] * factor, "loss_after": stage["loss_after"] * factor}
