"""An earlier release of the same records: what an intruder who has both can join, and what is then left of k."""

from __future__ import annotations

from shoal.gate.case import UNALIGNED, UNALIGNED_TODO, Case
from shoal.gate.cells import differing
from shoal.gate.earlier import exact_again, join_earlier, smallest_intersection
from shoal.gate.findings import Finding, counted, percent

TODO = "keep the groups of the earlier release, release the same version again, or withdraw the earlier one"
EXACT = 0.01  # share of original values that an earlier release may hold without being an alarm of its own


def previous(case: Case) -> Finding:
    """The classes of this release and of an earlier one, intersected: only these hide a record that is in both."""
    if case.previous is None:
        return _not_given(case)
    if not case.aligned:
        return case.unmeasured("previous", UNALIGNED, UNALIGNED_TODO)
    keeps_order = case.order == "kept"
    joined = join_earlier(case.before, case.after, case.previous.frame, case.columns.known, keeps_order=keeps_order)
    if joined.frame is None or joined.rows is None:
        return case.unmeasured("previous", joined.why, "compare the two releases by hand, or release only one of them")
    least = smallest_intersection(case.after, joined, case.columns.known, case.kept) or 0
    # What this release holds exactly anyway, the earlier one cannot add.
    here = {name: float((~differing(case.before[name], case.after[name])).mean()) for name in case.quasi}
    again = exact_again(case.before, joined, case.quasi)
    exact = {name: share for name, share in again.items() if share - here[name] > EXACT}
    how = "the order of the rows" if joined.how == "order" else f"the columns {', '.join(joined.shared_exact)}"
    text = (
        f"an intruder can join {int((joined.rows >= 0).sum()):,} records to the earlier release by {how}; over both, "
        f"the smallest class has {counted(least, 'record')}"
    )
    if exact:
        worst = max(exact, key=lambda name: exact[name])
        text += f", and the earlier release holds the original {worst!r} of {percent(exact[worst])} of the records"
    k = case.wanted_k
    return case.judged("previous", least < k or bool(exact), text, least, k, TODO)


def _not_given(case: Case) -> Finding:
    """Nothing was said of earlier releases, or that there is none."""
    if case.first_release:
        return case.judged("previous", False, "the publisher states that this is the first release of these records")
    if "previous" in case.policy.blocks:
        return case.unmeasured(
            "previous", "no earlier release is named",
            "name it (--previous FILE), or state that there is none (--first-release)",
        )  # fmt: skip
    return case.judged("previous", False, "not measured: no earlier release is named")
