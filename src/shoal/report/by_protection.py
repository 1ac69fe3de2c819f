"""Parts of the report that a protection defines.

The folder of a protection may have a module `page` with any of the following names; the report has a default for each.

- promise(release, external): the guarantee of the release, in a sentence
- settings(release, external): rows of settings
- IN_SETTINGS: the parameters that those rows show
- uses(release): what columns without a role are for
- done(release, min_records), lost(release, external), risk(release): blocks of the report
- OWN_LOSSES: whether the blocks of `done` show the loss of each column, in a unit of their own
- SHOWS_CLASSES: whether the blocks of `done` have a chart of the equivalence classes

`min_records` is the smallest number of records that a public report may show; None in an internal report.
"""

from __future__ import annotations

from typing import Any


def described(release: Any, name: str, otherwise: Any) -> Any:
    """What the protection of a release defines under this name, or `otherwise`."""
    page = None if release.protection is None else release.protection.module("page")
    return getattr(page, name, otherwise)


def nothing(*_: Any) -> list[Any]:
    """The default: no rows and no blocks."""
    return []
