"""Released columns that give a protected value away: a tax beside the income, a total beside its parts.

A column that was released unchanged is an intruder's regressor (Palley and Simonoff 1987, "The use of regression
methodology for the compromise of confidential information in statistical databases", ACM Transactions on Database
Systems 12). Four attacks on the original values: the nearest neighbour in one column; a label, or a pair of labels,
that determines the value; least squares on all numbers, trimmed where some records break the formula (Rousseeuw
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
    """The protected columns that unchanged ones give away, the strongest first, and the number of records predicted.

    The rows of both frames stand side by side. A finding is a share above 0.2 that closes more than a quarter of the
    gap left by the release, and by guessing the most common value for everybody.
    accepted: columns that may give values away. ordered: the values of ordinal columns in their order.
    """
    ordered = ordered or {}
    shuffled = np.random.default_rng(0).permutation(before.height)
    sampled = shuffled[:SAMPLE]
    truths = [truth_of(before[name], after[name]) for name in protected]
    truths = [truth for truth in truths if truth.domain_size > 1]
    names = [name for name in dict.fromkeys(unchanged) if name not in {*accepted, *protected}]
    level = CHANCE / max(1, len(truths) * len(names))
    found: list[GivenAway] = []
    samples: list[Source] = []
    for name in names if truths else []:
        source = source_of(before[name], after[name], ordered.get(name))
        if source.is_constant:
            continue
        order = in_order(source.values, shuffled)
        found += by_one_column(source, order, truths, level)
        found += by_dependency(source, truths, level)
        samples.append(source.at(sampled))
    samples = [sample for sample in samples if not sample.is_constant]
    truths = [truth.at(sampled) for truth in truths]
    found += by_pairs(samples, truths, found)
    found += by_least_squares(samples, truths)
    return strongest(found), int(sampled.size)
