"""The guarantee of a release, in a sentence."""

from __future__ import annotations

from typing import Any

from shoal.report.by_protection import described


def promise(release: Any, external: bool) -> str:
    """The guarantee of a release; its protection may define the sentence."""
    if len(release.parts) == 1:
        return str(described(release, "promise", _usual)(release, external))
    joint = f" The joint k over all protected columns is {release.facts['joint_k']:,}."
    kept = f"{len(release.parts)} steps were applied in sequence, each to the result of the step before."
    return kept if external else kept + joint


def _usual(release: Any, external: bool) -> str:
    if (release.k or 1) > 1 or release.protection is None:
        return k_promise(release)
    return str(release.protection.promise)


def k_promise(release: Any) -> str:
    """The sentence on the k of a release over its protected columns."""
    facts, columns = release.facts, len(release.changed) + len(release.within)
    starred = " that is not suppressed" if facts.get("suppressed") else ""
    what = "protected columns" if columns > 1 else "protected column"
    others = f"at least {(release.k or 1) - 1} others"
    if isinstance(release.original.roles.unit, str):
        others = f"records of {others.replace('others', 'other persons or households')}"
    return f"Every record{starred} shares its {columns} {what} with {others}."
