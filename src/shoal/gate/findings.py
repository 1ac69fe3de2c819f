"""What a check says: one finding each, in plain words, with its figure, its threshold and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

OK, WARN, BLOCK = "ok", "warn", "block"


@dataclass(frozen=True)
class Finding:
    """The answer of one check; `todo` is empty where nothing has to be done."""

    check: str
    status: str
    finding: str
    figure: float | int | None = None
    threshold: float | int | None = None
    todo: str = ""


class Findings(Sequence[Finding]):
    """The findings of all checks, and the policy they were judged by."""

    def __init__(self, findings: Sequence[Finding], policy: str) -> None:
        self._all = tuple(findings)
        self.policy = policy

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

    def facts(self) -> dict[str, Any]:
        """Everything as plain values, as the command line prints it."""
        return {
            "policy": self.policy,
            "passed": self.passed,
            "blocking": [f.check for f in self.blocking],
            "warnings": [f.check for f in self.warnings],
            "findings": [asdict(f) for f in self._all],
        }
