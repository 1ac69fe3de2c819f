"""An earlier release of the same records: which records an intruder can join, and k over both releases."""

from __future__ import annotations

from shoal.errors import counted
from shoal.gate.cells import differing
from shoal.gate.context import UNALIGNED, UNALIGNED_TODO, CheckContext
from shoal.gate.earlier import exact_again, join_earlier, smallest_intersection
from shoal.gate.findings import Finding, percent

TODO = "use the groups of the earlier release, release the earlier file again, or withdraw it"
EXACT = 0.01  # share of original values that the earlier release may add without a finding


def previous(context: CheckContext) -> Finding:
    """k over the intersection of the classes of this release and of an earlier one."""
    if context.previous is None:
        return _without_earlier(context)
    if not context.aligned:
        return context.unmeasured("previous", UNALIGNED, UNALIGNED_TODO)
    keeps_order = context.order == "kept"
    joined = join_earlier(
        context.before, context.after, context.previous.frame, context.columns.known, keeps_order=keeps_order
    )
    if joined.frame is None or joined.rows is None:
        return context.unmeasured(
            "previous", joined.why, "compare the two releases yourself, or release only one of them"
        )
    smallest = smallest_intersection(context.after, joined, context.columns.known, context.kept) or 0
    # The earlier release adds nothing to values that this release already holds exactly.
    here = {name: float((~differing(context.before[name], context.after[name])).mean()) for name in context.quasi}
    again = exact_again(context.before, joined, context.quasi)
    exact = {name: share for name, share in again.items() if share - here[name] > EXACT}
    how = "the order of the rows" if joined.how == "order" else f"the columns {', '.join(joined.shared_exact)}"
    text = (
        f"an intruder can join {int((joined.rows >= 0).sum()):,} records to the earlier release by {how}; over both "
        f"releases, the smallest class has {counted(smallest, 'record')}"
    )
    if exact:
        worst = max(exact, key=lambda name: exact[name])
        text += f", and the earlier release holds the original {worst!r} of {percent(exact[worst])} of the records"
    k = context.wanted_k
    return context.make_finding("previous", smallest < k or bool(exact), text, smallest, k, TODO)


def _without_earlier(context: CheckContext) -> Finding:
    """Return the finding without an earlier release. It passes only if the publisher states that there is none."""
    if context.first_release:
        return context.make_finding(
            "previous", False, "the publisher states that this is the first release of these records"
        )
    if "previous" in context.policy.blocks:
        return context.unmeasured(
            "previous", "no earlier release is named",
            "name it with --previous FILE, or state with --first-release that there is none",
        )  # fmt: skip
    return context.make_finding("previous", False, "not measured: no earlier release is named")
