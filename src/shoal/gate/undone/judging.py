"""Which attacks count: those that reveal more than the release, a constant guess and chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Bools, Ints
from shoal.gate.undone.columns import MIN_GAIN, MIN_SHARE, Truth, best_guess

CHANCE = 1e-5  # probability of a finding among independent columns
PURE = 0.95  # a label determines a value if at least this share of its records have it
QUICK = 4_000  # records of the quick test that decides whether to run the full test
STRONGEST = 3  # attacks reported per protected column


@dataclass(frozen=True)
class GivenAway:
    """A protected column whose original values other released columns reveal.

    Attributes:
        column: The protected column.
        by: The columns that reveal its values.
        attack_kind: The attack: neighbour, label, labels (a pair), least squares or dependency.
        share: The share of records whose original value is revealed; for a dependency, the share of changed records
            whose change shows.
        release_share: The share of records whose original value the released column itself reveals.
    """

    column: str
    by: tuple[str, ...]
    attack_kind: str
    share: float
    release_share: float


@dataclass(frozen=True)
class Attack:
    """The result of an attack.

    Attributes:
        rows: The records that it could predict.
        share: The share of them whose value it reveals.
        hits: The number of correct independent predictions, for the comparison with chance.
        trials: The number of independent predictions.
    """

    rows: Ints
    share: float
    hits: float
    trials: int


def judged(
    truth: Truth, attack: Attack | None, by: Sequence[str], attack_kind: str, level: float
) -> Iterator[GivenAway]:
    """Yield the attack if it reveals clearly more than the release, a constant guess and chance."""
    if attack is None or attack.share <= MIN_SHARE:
        return
    release_share = float(truth.revealed[attack.rows].mean())
    guess = best_guess(truth.values[attack.rows], truth.margin[attack.rows])
    already = max(release_share, guess)
    if attack.share - already <= MIN_GAIN * (1 - already):
        return
    from scipy.special import bdtrc

    if bdtrc(np.ceil(attack.hits) - 1, attack.trials, guess) < level:
        yield GivenAway(truth.name, tuple(by), attack_kind, float(attack.share), release_share)


def share_of(hits: Bools) -> float:
    return float(hits.mean()) if hits.size else 0.0


def strongest(attacks: Sequence[GivenAway]) -> list[GivenAway]:
    """Return the strongest attacks on each protected column, without those that only add columns to a stronger one."""
    kept: list[GivenAway] = []
    for attack in sorted(attacks, key=lambda attack: (-round(attack.share, 3), len(attack.by))):
        better = [set(other.by) for other in kept if other.column == attack.column]
        if len(better) < STRONGEST and not any(columns <= set(attack.by) for columns in better):
            kept.append(attack)
    return kept
