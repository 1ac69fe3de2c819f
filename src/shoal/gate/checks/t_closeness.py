"""Whether the confidential values of every class are like those of the whole table (Li et al. 2007)."""

from __future__ import annotations

from shoal.gate.checks.l_diversity import measure_confidential, without_confidential
from shoal.gate.context import CheckContext
from shoal.gate.diversity import farthest
from shoal.gate.findings import Finding
from shoal.gate.promises import TCloseness

PROMISE = TCloseness


def check(context: CheckContext) -> Finding:
    """How far a class's confidential values lie from those of the whole table."""
    threshold = context.policy.thresholds.t
    measured = measure_confidential(
        context, TCloseness, 1.0, lambda classes, column, promise: farthest(classes, column, promise.distance)
    )
    if not measured:
        return without_confidential(context, "t")
    value, worst, promise = max(measured, key=lambda found: found[0] - found[2].t)
    broken = promise.promised and value > promise.t + 1e-9
    bad = broken or (threshold is not None and value > threshold + 1e-9)
    text = (
        f"the values of {worst!r} in a class lie at most {value:.4g} ({promise.distance}) from those of the whole table"
    )
    return context.make_finding(
        "t", bad, text, round(value, 6), promise.t if broken else threshold,
        "ask the method for t (shoal generalize -t), or take a larger k", promised=broken,
    )  # fmt: skip
