"""Released columns that give a protected value away, such as a tax for the income, or a total for its parts.

An intruder can use an unchanged column as a regressor (Palley and Simonoff 1987, "The use of regression
methodology for the compromise of confidential information in statistical databases", ACM Transactions on Database
Systems 12). There are four attacks on the original values: the nearest neighbour in one column; a label or a pair of
labels that determines the value; least squares on all numbers, trimmed for records that break the formula (Rousseeuw
1984); and a dependency of the original, such as the region of a district, that the release breaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shoal.gate.undone.columns import Source, source_of, truth_of
from shoal.gate.undone.formulas import by_least_squares
from shoal.gate.undone.judging import CHANCE, GivenAway, strongest
from shoal.gate.undone.one_column import SAMPLE, by_dependency, by_one_column, by_pairs, in_order


def given_away(
    before: pl.DataFrame,
    after: pl.DataFrame,
    protected: Sequence[str],
    unchanged: Sequence[str],
    *,
    accepted: Sequence[str] = (),
    ordered: Mapping[str, Sequence[str]] | None = None,
) -> tuple[list[GivenAway], int]:
    """Find the protected columns that unchanged columns give away.

    An attack counts if it reveals more than 20 % of the values, and more than a quarter of those that neither the
    release nor a constant guess reveals.

    Args:
        before: The original.
        after: The release, with the same records in the same rows.
        protected: The protected columns.
        unchanged: The unchanged columns.
        accepted: Columns that may give values away, as the publisher states.
        ordered: The values of ordinal columns in their order.

    Returns:
        The attacks, the strongest first, and the number of records that the slow attacks used.
    """
    ordered = ordered or {}
    shuffled = np.random.default_rng(0).permutation(before.height)
    sampled = shuffled[:SAMPLE]
    names = [name for name in dict.fromkeys(unchanged) if name not in {*accepted, *protected}]
    if not names:
        return [], int(sampled.size)
    truths = [truth_of(before[name], after[name]) for name in protected]
    truths = [truth for truth in truths if truth.domain_size > 1]
    level = CHANCE / max(1, len(truths) * len(names))
    attacks: list[GivenAway] = []
    samples: list[Source] = []
    for name in names if truths else []:
        source = source_of(before[name], after[name], ordered.get(name))
        if source.is_constant:
            continue
        order = in_order(source.values, shuffled)
        attacks += by_one_column(source, order, truths, level)
        attacks += by_dependency(source, truths, level)
        samples.append(source.at(sampled))
    samples = [sample for sample in samples if not sample.is_constant]
    truths = [truth.at(sampled) for truth in truths]
    attacks += by_pairs(samples, truths, attacks)
    attacks += by_least_squares(samples, truths)
    return strongest(attacks), int(sampled.size)
