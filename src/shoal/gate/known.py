"""Who may know what: the released columns by what an intruder may know of them.

Every check, figure and report takes its columns from here. A column without a role counts as known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.gate.guarantees import Guarantees


@dataclass(frozen=True)
class KnownColumns:
    """The columns of a release.

    protected: those that the method protected. unassigned: those without a role. as_is: those of which the publisher
    states that no intruder knows them. confidential, weight: by their roles.
    """

    protected: tuple[str, ...]
    unassigned: tuple[str, ...]
    as_is: tuple[str, ...]
    confidential: tuple[str, ...]
    weight: tuple[str, ...]

    @property
    def known(self) -> tuple[str, ...]:
        """What an intruder may know: this decides."""
        return (*self.protected, *self.unassigned)

    @property
    def not_confidential(self) -> tuple[str, ...]:
        """Everything but the confidential columns: what a policy's limit on linkage is about."""
        return (*self.known, *self.as_is, *self.weight)

    @property
    def released(self) -> tuple[str, ...]:
        """Every released column: what if somebody knew the confidential values too."""
        return (*self.not_confidential, *self.confidential)


def known_columns(guarantees: Guarantees, released: Sequence[str]) -> KnownColumns:
    """The columns of a release, sorted by who may know them; a quasi-identifier that was not protected is known."""
    roles = guarantees.roles
    protected = [name for name in (*guarantees.quasi, *guarantees.within) if name in released]
    weight = [name for name in (roles.weight,) if name in released and name is not None and name not in protected]
    as_is = [name for name in roles.as_is if name in released and name not in protected]
    confidential = [name for name in roles.confidential if name in released and name not in protected]
    taken = {*protected, *weight, *as_is, *confidential}
    return KnownColumns(
        tuple(dict.fromkeys(protected)),
        tuple(name for name in released if name not in taken),
        tuple(as_is),
        tuple(confidential),
        tuple(weight),
    )
