"""What counts as a finding: an attack that reveals more than the release, a constant guess and chance do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Bools, Ints
from shoal.gate.undone.columns import MIN_GAIN, MIN_SHARE, Truth, best_guess

CHANCE = 1e-5  # probability of a finding among independent columns
PURE = 0.95  # a label determines a value that so many of its records have
QUICK = 4_000  # records that decide whether a full test is worth its time
STRONGEST = 3  # findings per protected column


@dataclass(frozen=True)
class GivenAway:
    """A protected column whose original values other released columns reveal.

    by: the columns that reveal them. way: neighbour, label, labels (a pair), least squares or dependency.
    share: of the records whose original value these columns reveal. release_share: of those that the release itself
    reveals. For a dependency, share counts the changed records whose change it betrays.
    """

    column: str
    by: tuple[str, ...]
    way: str
    share: float
    release_share: float


@dataclass(frozen=True)
class Attack:
    """The records that an attack could be tried on, the share of them whose value it reveals, and its evidence.

    hits of trials: independent predictions that were right, for the comparison with chance.
    """

    rows: Ints
    share: float
    hits: float
    trials: int


def judged(truth: Truth, attack: Attack | None, by: Sequence[str], way: str, level: float) -> Iterator[GivenAway]:
    """A finding, where the attack reveals clearly more than the release, than a constant guess, and than chance."""
    if attack is None or attack.share <= MIN_SHARE:
        return
    release_share = float(truth.revealed[attack.rows].mean())
    guess = best_guess(truth.values[attack.rows], truth.margin[attack.rows])
    already = max(release_share, guess)
    if attack.share - already <= MIN_GAIN * (1 - already):
        return
    from scipy.special import bdtrc

    if bdtrc(np.ceil(attack.hits) - 1, attack.trials, guess) < level:
        yield GivenAway(truth.name, tuple(by), way, float(attack.share), release_share)


def share_of(hits: Bools) -> float:
    return float(hits.mean()) if hits.size else 0.0


def strongest(found: Sequence[GivenAway]) -> list[GivenAway]:
    """The best findings of each protected column, the best first; none that only adds columns to a better one."""
    kept: list[GivenAway] = []
    for finding in sorted(found, key=lambda finding: (-round(finding.share, 3), len(finding.by))):
        better = [set(other.by) for other in kept if other.column == finding.column]
        if len(better) < STRONGEST and not any(columns <= set(finding.by) for columns in better):
            kept.append(finding)
    return kept
