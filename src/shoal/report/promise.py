"""What a release keeps, in a sentence."""

from __future__ import annotations

from typing import Any

from shoal.report.by_protection import described


def promise(release: Any, external: bool) -> str:
    """The sentence of a release, in the words of its protection if it has some."""
    if len(release.parts) == 1:
        return str(described(release, "promise", _usual)(release, external))
    joint = f" Over all protected columns together the joint k is {release.facts['joint_k']:,}."
    kept = f"{len(release.parts)} steps one after another, each on the table of the one before."
    return kept if external else kept + joint


def _usual(release: Any, external: bool) -> str:
    if (release.k or 1) > 1 or release.protection is None:
        return k_promise(release)
    return str(release.protection.promise)


def k_promise(release: Any) -> str:
    """The k of a release over its protected columns."""
    facts, columns = release.facts, len(release.changed) + len(release.within)
    starred = " that is not suppressed" if facts.get("suppressed") else ""
    what = "protected columns" if columns > 1 else "protected column"
    others = f"at least {(release.k or 1) - 1} others"
    if isinstance(release.original.roles.unit, str):
        others = f"records of {others.replace('others', 'other persons or households')}"
    return f"Every record{starred} shares its {columns} {what} with {others}."
