"""The groupings that no other beats in both loss and risk: the choice that a single mean hides.

The memetic search is run for several balances of loss and risk; what one run learnt serves the next. The front is
taken over every grouping that any of them costed.
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
    """The non-dominated groupings, by rising loss; the budget is shared by the balances."""
    control = control or current()
    kept, share = cost.balance, evaluations // len(BALANCES)
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
        cost.balance = kept
    control.check()
    return non_dominated(cost.known.items())


def non_dominated(choices: Iterable[Choice]) -> list[Choice]:
    """Those that no other is at least as good as in loss and risk and better in one; equal points once."""
    front: list[Choice] = []
    least = float("inf")
    for choice in sorted(choices, key=lambda c: (c[1].information_loss, c[1].risk, c[0])):
        if choice[1].risk < least:
            front.append(choice)
            least = choice[1].risk
    return front
