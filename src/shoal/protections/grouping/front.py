"""The Pareto front of column groupings: those that no other grouping beats in both loss and risk.

The memetic search runs for several balances of loss and risk, and each run uses the evaluations of the runs before it.
The front consists of all evaluated groupings that keep the floor and that no other one beats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from shoal.engine.control import Control, current
from shoal.protections.grouping.cost import Evaluation, GroupingCost
from shoal.protections.grouping.grouping import Grouping, apart, together
from shoal.protections.grouping.memetic import memetic

Choice = tuple[Grouping, Evaluation]

BALANCES = (0.5, 0.3, 0.7, 0.15, 0.85)


def front(
    cost: GroupingCost,
    *,
    evaluations: int = 40_000,
    seconds: float | None = None,
    seed: int = 0,
    starts: Sequence[Grouping] = (),
    control: Control | None = None,
) -> list[Choice]:
    """The Pareto front by rising loss. Each balance gets an equal share of the search budget."""
    control = control or current()
    balance_before, share = cost.balance, evaluations // len(BALANCES)
    ends: list[Grouping] = [together(cost.d), apart(cost.d), *starts]

    def show(number: int, done: float, total: float, best: float | None = None, what: str = "") -> None:
        control.show(number * total + done, len(BALANCES) * total, best, what)

    try:
        for number, balance in enumerate(BALANCES):
            control.check()
            cost.balance = balance
            limit = None if seconds is None else seconds / len(BALANCES)
            part = control.part(progress=partial(show, number))
            run = memetic(cost, evaluations=share, seconds=limit, seed=seed + number, starts=ends, control=part)
            ends.append(run.best)
    finally:
        cost.balance = balance_before
    control.check()
    return non_dominated(cost.known.items())


def non_dominated(choices: Iterable[Choice]) -> list[Choice]:
    """The choices that no other choice beats in loss or risk without being worse in the other; equal points once."""
    front: list[Choice] = []
    lowest_risk = float("inf")
    for choice in sorted(choices, key=lambda c: (c[1].information_loss, c[1].risk, c[0])):
        if choice[1].risk < lowest_risk:
            front.append(choice)
            lowest_risk = choice[1].risk
    return front
