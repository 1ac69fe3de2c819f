"""A release of several steps, each on the table that the one before it protected.

What a step promised is checked again on the final table, whatever later steps did to its columns. Over all
protected columns together fewer records may look alike: that number, the joint k, is measured and said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PromiseError, ShoalError
from shoal.gate.asked import Asked
from shoal.measures.anonymity import class_sizes
from shoal.measures.assessment import Assessment, Figure
from shoal.protections.regions.protect import GroupRelease
from shoal.release import Release
from shoal.table.frames import wrap
from shoal.table.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class ComposedRelease(Release):
    """The last step's table, with the promises of all steps. names: the steps' commands."""

    steps: tuple[Release, ...]
    names: tuple[str, ...]
    kind: ClassVar[str] = "composed"

    def verify(self) -> None:
        """The promises of every release, and those of each step on the final table."""
        super().verify()
        for number, (name, step) in enumerate(zip(self.names, self._on_final(), strict=True), start=1):
            try:
                step.verify()
            except (ShoalError, IndexError) as error:
                why = str(error).removesuffix("; nothing is written")
                way = ". A later step changed it: let the steps have different columns" * (number < len(self.steps))
                raise PromiseError(
                    f"what step {number} ({name}) promised of {', '.join(step.changed)} does not hold in the final "
                    f"table: {why}{way}; nothing is written"
                ) from None

    def asked(self) -> Asked:
        """Every step's k, l and t on its own columns; values that were only swapped are all still there."""
        parts = tuple(step.asked() for step in self.steps)
        quasi = tuple(name for name in self.changed if any(name in part.quasi for part in parts))
        swapped = tuple(name for name in self.changed if name not in quasi)
        targets = tuple(target for part in parts for target in part.targets)
        return replace(super().asked(), quasi=quasi, swapped=swapped, targets=targets, also=parts)

    @cached_property
    def assessment(self) -> Assessment:
        """Who looks alike over all steps' columns together, and each step's figures on the final table."""
        n, sizes = self.original.rows, joint_sizes(self.protected, self.steps)
        over = "over all protected columns together"
        joint = [
            Figure("k", int(sizes.min()), f"1 to {n}", f"the smallest equivalence class, {over}"),
            Figure("uniques", int((sizes == 1).sum()), f"0 to {n}", f"unique records, {over}"),
        ]
        named = zip(self.names, self._on_final(), strict=True)
        return Assessment(
            joint
            + [
                replace(figure, name=f"{figure.name} of step {number} ({name})")
                for number, (name, step) in enumerate(named, start=1)
                for figure in _figures(step)
            ]
        )

    def _on_final(self) -> Iterator[Release]:
        """Each step's release as if it had led to the final table in one go: only its own columns differ."""
        final = wrap(self.frame)
        for step in self.steps:
            kept = _places(step.original, self.original.numbering)
            before = wrap(step.original.frame)
            own = [before[name][kept].alias(name) for name in step.changed]
            original = Table(
                final.with_columns(*own).to_native(),
                step.original.roles.released(),
                self.original.source,
                numbering=self.original.numbering,
            )
            yield replace(step, original=original, frame=self.frame)


def compose(given: Table, names: Sequence[str], steps: Sequence[Release]) -> ComposedRelease:
    """One release of several steps that began with the table `given`."""
    last = steps[-1]
    numbers = last.original.numbering
    frame = wrap(given.frame)[_places(given, numbers)]
    changed: list[str] = []
    for step in steps:
        # As the step got them: missing values may have been filled in.
        fresh = [name for name in step.changed if name not in changed]
        before, kept = wrap(step.original.frame), _places(step.original, numbers)
        frame = frame.with_columns(*(before[name][kept].alias(name) for name in fresh))
        changed += fresh
    original = Table(frame.to_native(), given.roles, last.original.source, numbering=numbers)
    release = ComposedRelease(
        original=original,
        frame=last.frame,
        changed=tuple(name for name in original.columns if name in changed),
        k=None,
        facts={},
        solution=tuple(step.solution for step in steps),
        title="Release of several steps",
        trace=tuple(point for step in steps for point in step.trace),
        steps=tuple(steps),
        names=tuple(names),
    )
    release.facts.update(_facts(release))
    return release


def joint_sizes(protected: Table, steps: Sequence[Release]) -> NDArray[np.int64]:
    """The sizes of the classes of records alike in all columns of the steps; a mask's districts hide no record."""
    columns = dict.fromkeys(name for step in steps if not isinstance(step, GroupRelease) for name in step.changed)
    if not columns:
        return np.array([protected.rows])
    return class_sizes([protected.raw(name) for name in columns])


def _facts(release: ComposedRelease) -> dict[str, Any]:
    spent = {name: round(sum(step.facts[name] for step in release.steps), 4) for name in ("cpu_seconds", "seconds")}
    return {
        "n": release.original.rows,
        "d": len(release.changed),
        "joint_k": int(joint_sizes(release.protected, release.steps).min()),
        "steps": [
            {"do": name, "columns": list(step.changed), **step.facts}
            for name, step in zip(release.names, release.steps, strict=True)
        ],
        **({"stopped": True} if any(step.facts.get("stopped") for step in release.steps) else {}),
        **spent,
    }


def _figures(step: Release) -> Sequence[Figure]:
    """What is measured of a step: of a mask, what its swaps cost."""
    if isinstance(step, GroupRelease):
        cost = Figure("metric", step.facts["metric"], "0 and more", "how unlike the swapped records are, in all")
        return [cost, Figure("compatibility", step.facts["compatibility"], "0 to 1", "how far the signal is masked")]
    return step.assessment.figures


def _places(table: Table, numbers: NDArray[np.int64]) -> list[int]:
    """Where the rows with these numbers stand in the table."""
    places: list[int] = np.searchsorted(table.numbering, numbers).tolist()
    return places
