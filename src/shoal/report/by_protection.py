"""What the report says in the words of a protection, found through its declaration.

The folder of a protection may have a module `page` with any of these, and the report has something for what is missing:
promise(release, external), what the release keeps, in a sentence; settings(release, external), rows of settings;
IN_SETTINGS, the parameters that those rows show; uses(release), the part of columns that have no role;
done(release, least), lost(release, external), risk(release), blocks of the page; SHOWS_CLASSES, that the blocks of
`done` have a chart of the equivalence classes. `least` is the smallest number a public report may show, else None.
"""

from __future__ import annotations

from typing import Any


def described(release: Any, name: str, otherwise: Any) -> Any:
    """What the protection of a release says under this name."""
    page = None if release.protection is None else release.protection.module("page")
    return getattr(page, name, otherwise)


def nothing(*_: Any) -> list[Any]:
    """No rows and no blocks."""
    return []
