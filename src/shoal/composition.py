"""Releases of several steps, each on the table of the step before it.

The release has the guarantees of all steps. The release check verifies each of them on the final table, even if later
steps changed the same columns. Over all protected columns together k may be smaller: Shoal measures this joint k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.gate.promises import Step
from shoal.measures.anonymity import class_sizes
from shoal.measures.assessment import Assessment, Figure
from shoal.release import Release
from shoal.table.frames import wrap
from shoal.table.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class ComposedRelease(Release):
    """The table of the last step, with the guarantees of all steps.

    Attributes:
        steps: The release of each step.
        names: The command of each step.
    """

    steps: tuple[Release, ...]
    names: tuple[str, ...]

    @property
    def parts(self) -> tuple[Release, ...]:
        return self.steps

    @cached_property
    def assessment(self) -> Assessment:
        """The joint k and unique records over the columns of all steps, and each step's measures on the final table."""
        n, sizes = self.original.rows, joint_sizes(self)
        over = "over all protected columns together"
        joint = [
            Figure("k", int(sizes.min()), f"1 to {n}", f"the smallest equivalence class, {over}"),
            Figure("uniques", int((sizes == 1).sum()), f"0 to {n}", f"unique records, {over}"),
        ]
        named = zip(self.names, self._on_final(), strict=True)
        return Assessment(
            joint
            + [
                replace(figure, name=f"{figure.name} of step {number} ({name})", title="")
                for number, (name, step) in enumerate(named, start=1)
                for figure in step.step_figures
            ]
        )

    def _on_final(self) -> Iterator[Release]:
        """Yield each step's release as if it alone had made the final table: only its own columns differ."""
        final = wrap(self.frame)
        for step in self.steps:
            kept = _places(step.original, self.original.numbering)
            before = wrap(step.original.frame)
            unprotected = [before[name][kept].alias(name) for name in step.changed]
            original = Table(
                final.with_columns(*unprotected).to_native(),
                step.original.roles.released(),
                self.original.source,
                numbering=self.original.numbering,
            )
            yield replace(step, original=original, frame=self.frame)


def compose(first: Table, names: Sequence[str], steps: Sequence[Release]) -> ComposedRelease:
    """Return one release for several steps, the first of which protected the table `first`."""
    last = steps[-1]
    numbers = last.original.numbering
    frame = wrap(first.frame)[_places(first, numbers)]
    changed: list[str] = []
    for step in steps:
        # The columns as the step read them: missing values may have been filled in.
        fresh = [name for name in step.changed if name not in changed]
        before, kept = wrap(step.original.frame), _places(step.original, numbers)
        frame = frame.with_columns(*(before[name][kept].alias(name) for name in fresh))
        changed += fresh
    original = Table(frame.to_native(), first.roles, last.original.source, numbering=numbers)
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
        promises=tuple(
            replace(promise, step=Step(number, name))
            for number, (name, step) in enumerate(zip(names, steps, strict=True), start=1)
            for promise in step.promises
        ),
    )
    release.facts.update(_facts(release))
    return release


def joint_sizes(release: Release) -> NDArray[np.int64]:
    """Return the class sizes over the protected columns of all steps, without swapped regions, which hide no record."""
    columns = release.columns.protected
    if not columns:
        return np.array([release.original.rows])
    return class_sizes([release.protected[name].exact_codes for name in columns])


def _facts(release: ComposedRelease) -> dict[str, Any]:
    spent = {name: round(sum(step.facts[name] for step in release.steps), 4) for name in ("cpu_seconds", "seconds")}
    return {
        "n": release.original.rows,
        "d": len(release.changed),
        "joint_k": int(joint_sizes(release).min()),
        "steps": [
            {"do": name, "columns": list(step.changed), **step.facts}
            for name, step in zip(release.names, release.steps, strict=True)
        ],
        **({"stopped": True} if any(step.facts.get("stopped") for step in release.steps) else {}),
        **spent,
    }


def _places(table: Table, numbers: NDArray[np.int64]) -> list[int]:
    """Return the positions in the table of the rows with these numbers."""
    places: list[int] = np.searchsorted(table.numbering, numbers).tolist()
    return places
