"""t-closeness: the confidential values of every class are distributed as in the whole table (Li et al. 2007)."""

from __future__ import annotations

from shoal.gate.checks.l_diversity import measure_confidential, without_confidential
from shoal.gate.context import CheckContext
from shoal.gate.diversity import farthest
from shoal.gate.findings import Finding
from shoal.gate.promises import TCloseness

PROMISE = TCloseness


def check(context: CheckContext) -> Finding:
    """The largest distance between the confidential values of a class and those of the whole table."""
    threshold = context.policy.thresholds.t
    measured = measure_confidential(
        context, TCloseness, 1.0, lambda classes, column, promise: farthest(classes, column, promise.distance)
    )
    if not measured:
        return without_confidential(context, "t")
    value, worst, promise = max(measured, key=lambda result: result[0] - result[2].t)
    broken = promise.promised and value > promise.t + 1e-9
    bad = broken or (threshold is not None and value > threshold + 1e-9)
    text = f"the largest distance of a class from the whole table is t = {value:.4g} ({promise.distance}) in {worst!r}"
    return context.make_finding(
        "t", bad, text, round(value, 6), promise.t if broken else threshold,
        "use a larger k, or request t with shoal generalize -t T", promised=broken,
    )  # fmt: skip
