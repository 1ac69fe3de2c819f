"""What a check found: one finding each, in plain words, with its figure, its threshold and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.gate.figures import Figures

OK, INFO, WARN, BLOCK = "ok", "info", "warn", "block"
WORST_FIRST = (BLOCK, WARN, INFO, OK)


def percent(share: float, digits: int = 0) -> str:
    """A share as a person writes it.

    >>> percent(0.953)
    '95 %'
    """
    return f"{100 * share:.{digits}f} %"


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "record"), counted(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Finding:
    """The result of one check; `todo` is empty where nothing has to be done.

    status: ok (within its threshold), info (a figure without a threshold), warn, block.
    """

    check: str
    status: str
    finding: str
    figure: float | int | None = None
    threshold: float | int | None = None
    todo: str = ""


def as_sentences(finding: Finding) -> str:
    """A finding and what to do, as sentences."""
    parts = [part[0].upper() + part[1:] for part in (finding.finding, finding.todo) if part]
    return " ".join(f"{part.rstrip('.')}." for part in parts)


class Findings(Sequence[Finding]):
    """The findings of all checks, the policy they were judged by, and the three figures of the release."""

    def __init__(
        self, findings: Sequence[Finding], policy: str, figures: Figures | None = None, cpu_seconds: float = 0.0
    ) -> None:
        self._all = tuple(findings)
        self.policy = policy
        self.figures = figures
        self.cpu_seconds = cpu_seconds

    def __getitem__(self, place: Any) -> Any:
        return self.named(place) if isinstance(place, str) else self._all[place]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._all)

    def __repr__(self) -> str:
        return f"<{len(self)} findings: {len(self.blocking)} block, {len(self.warnings)} warn>"

    def named(self, check: str) -> Finding:
        """The finding of a check."""
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
        """One line on the whole: a release without broken promises may still have warnings to judge."""
        blocked, warned = len(self.blocking), len(self.warnings)
        if blocked:
            names = ", ".join(f.check for f in self.blocking)
            return f"Blocked by {blocked} {'finding' if blocked == 1 else 'findings'}: {names}."
        if warned:
            return f"No promise is broken. {warned} {'warning is' if warned == 1 else 'warnings are'} for you to judge."
        return "No promise is broken, and there are no warnings."

    def worst(self, most: int) -> tuple[Finding, ...]:
        """The findings that need attention, the gravest first."""
        grave = [f for f in self._all if f.status in (BLOCK, WARN)]
        return tuple(sorted(grave, key=lambda f: WORST_FIRST.index(f.status))[:most])

    def facts(self) -> dict[str, Any]:
        """Everything as plain values, as the command line prints it."""
        return {
            "policy": self.policy,
            "passed": self.passed,
            "blocking": [f.check for f in self.blocking],
            "warnings": [f.check for f in self.warnings],
            **({} if self.figures is None else {"figures": self.figures.facts()}),
            "findings": [asdict(f) for f in self._all],
            "check_cpu_seconds": round(self.cpu_seconds, 4),
        }
