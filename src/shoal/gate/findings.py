"""The result of a release check: one finding per check, with its value, its threshold and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import counted

if TYPE_CHECKING:
    from shoal.gate.figures import Figures

OK, INFO, WARN, BLOCK = "ok", "info", "warn", "block"
WORST_FIRST = (BLOCK, WARN, INFO, OK)


def percent(share: float, digits: int = 0) -> str:
    """Return a share as a percentage.

    >>> percent(0.953)
    '95 %'
    """
    return f"{100 * share:.{digits}f} %"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: The name of the check.
        status: ok (within its threshold), info (a value without a threshold), warn or block.
        finding: What the check found, as a clause without a final stop.
        figure: The measured value, if there is one.
        threshold: What the value is compared with, if anything.
        todo: What the publisher should do; empty if the status is ok or info.
    """

    check: str
    status: str
    finding: str
    figure: float | int | None = None
    threshold: float | int | None = None
    todo: str = ""


def as_sentences(finding: Finding) -> str:
    """Return a finding and what to do, as sentences."""
    parts = [part[0].upper() + part[1:] for part in (finding.finding, finding.todo) if part]
    return " ".join(f"{part.rstrip('.')}." for part in parts)


class Findings(Sequence[Finding]):
    """The findings of all checks.

    Attributes:
        policy: The name of the policy that decided which findings block.
        figures: k, unique records and linkage over the three sets of known columns.
        cpu_seconds: The CPU time of the checks.
    """

    def __init__(
        self, findings: Sequence[Finding], policy: str, figures: Figures | None = None, cpu_seconds: float = 0.0
    ) -> None:
        self._all = tuple(findings)
        self.policy = policy
        self.figures = figures
        self.cpu_seconds = cpu_seconds

    def __getitem__(self, key: Any) -> Any:
        return self.named(key) if isinstance(key, str) else self._all[key]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._all)

    def __repr__(self) -> str:
        return f"<{len(self)} findings: {len(self.blocking)} block, {len(self.warnings)} warn>"

    def named(self, check: str) -> Finding:
        """Return the finding of a check."""
        return next(f for f in self._all if f.check == check)

    @property
    def passed(self) -> bool:
        """Whether nothing blocks the release."""
        return not self.blocking

    @property
    def blocking(self) -> tuple[Finding, ...]:
        return tuple(f for f in self._all if f.status == BLOCK)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(f for f in self._all if f.status == WARN)

    @property
    def verdict(self) -> str:
        """One line that sums up the findings. A release without broken guarantees may still have warnings."""
        blocked, warned = len(self.blocking), len(self.warnings)
        if blocked:
            names = ", ".join(f.check for f in self.blocking)
            return f"Blocked by {counted(blocked, 'finding')}: {names}."
        if warned:
            need = "needs" if warned == 1 else "need"
            return f"No guarantee is broken. {counted(warned, 'warning')} {need} your judgement."
        return "No guarantee is broken, and there are no warnings."

    def worst(self, most: int) -> tuple[Finding, ...]:
        """Return at most so many blocking findings and warnings, the blocking ones first."""
        grave = [f for f in self._all if f.status in (BLOCK, WARN)]
        return tuple(sorted(grave, key=lambda f: WORST_FIRST.index(f.status))[:most])

    def facts(self) -> dict[str, Any]:
        """Return the findings as plain values, as `shoal check --json` prints them."""
        return {
            "policy": self.policy,
            "passed": self.passed,
            "blocking": [f.check for f in self.blocking],
            "warnings": [f.check for f in self.warnings],
            **({} if self.figures is None else {"figures": self.figures.facts()}),
            "findings": [asdict(f) for f in self._all],
            "check_cpu_seconds": round(self.cpu_seconds, 4),
        }
