"""The released columns, by what an intruder may know.

Every check, measure and report takes its columns from here. A column without a role counts as known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.gate.guarantees import Guarantees


@dataclass(frozen=True)
class KnownColumns:
    """The columns of a release.

    Attributes:
        protected: The columns that the method protected.
        unassigned: The columns without a role.
        as_is: The columns that no intruder knows, as the publisher states.
        confidential: The confidential columns.
        weight: The weight, if it is released.
    """

    protected: tuple[str, ...]
    unassigned: tuple[str, ...]
    as_is: tuple[str, ...]
    confidential: tuple[str, ...]
    weight: tuple[str, ...]

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that an intruder may know. k over them decides."""
        return (*self.protected, *self.unassigned)

    @property
    def not_confidential(self) -> tuple[str, ...]:
        """All columns but the confidential ones, for a policy's limit on linkage."""
        return (*self.known, *self.as_is, *self.weight)

    @property
    def released(self) -> tuple[str, ...]:
        """Every released column, for an intruder who knows the confidential values too."""
        return (*self.not_confidential, *self.confidential)


def known_columns(guarantees: Guarantees, released: Sequence[str]) -> KnownColumns:
    """Sort the released columns by what an intruder may know. An unprotected quasi-identifier counts as known."""
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
