"""An earlier release of the same records: what an intruder who has both can join, and what is then left of k."""

from __future__ import annotations

from shoal.gate.cells import differing
from shoal.gate.context import UNALIGNED, UNALIGNED_TODO, CheckContext
from shoal.gate.earlier import exact_again, join_earlier, smallest_intersection
from shoal.gate.findings import Finding, counted, percent

TODO = "keep the groups of the earlier release, release the same version again, or withdraw the earlier one"
EXACT = 0.01  # share of original values that an earlier release may hold without being an alarm of its own


def previous(context: CheckContext) -> Finding:
    """The classes of this release and of an earlier one, intersected: only these hide a record that is in both."""
    if context.previous is None:
        return _not_given(context)
    if not context.aligned:
        return context.unmeasured("previous", UNALIGNED, UNALIGNED_TODO)
    keeps_order = context.order == "kept"
    joined = join_earlier(
        context.before, context.after, context.previous.frame, context.columns.known, keeps_order=keeps_order
    )
    if joined.frame is None or joined.rows is None:
        return context.unmeasured(
            "previous", joined.why, "compare the two releases by hand, or release only one of them"
        )
    least = smallest_intersection(context.after, joined, context.columns.known, context.kept) or 0
    # What this release holds exactly anyway, the earlier one cannot add.
    here = {name: float((~differing(context.before[name], context.after[name])).mean()) for name in context.quasi}
    again = exact_again(context.before, joined, context.quasi)
    exact = {name: share for name, share in again.items() if share - here[name] > EXACT}
    how = "the order of the rows" if joined.how == "order" else f"the columns {', '.join(joined.shared_exact)}"
    text = (
        f"an intruder can join {int((joined.rows >= 0).sum()):,} records to the earlier release by {how}; over both, "
        f"the smallest class has {counted(least, 'record')}"
    )
    if exact:
        worst = max(exact, key=lambda name: exact[name])
        text += f", and the earlier release holds the original {worst!r} of {percent(exact[worst])} of the records"
    k = context.wanted_k
    return context.make_finding("previous", least < k or bool(exact), text, least, k, TODO)


def _not_given(context: CheckContext) -> Finding:
    """Nothing was said of earlier releases, or that there is none."""
    if context.first_release:
        return context.make_finding(
            "previous", False, "the publisher states that this is the first release of these records"
        )
    if "previous" in context.policy.blocks:
        return context.unmeasured(
            "previous", "no earlier release is named",
            "name it (--previous FILE), or state that there is none (--first-release)",
        )  # fmt: skip
    return context.make_finding("previous", False, "not measured: no earlier release is named")
