"""Policies: which findings block a release and from which figure on, as named TOML files with their justification.

What a method promises blocks under every policy; a policy adds to it. A file of one's own has the same form.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from shoal.errors import InputError, unknown

FOLDER = Path(__file__).parent / "policies"
ORDERS = ("kept", "shuffled")
# Checks that a policy may make block; the others say what every release promises, and always block.
JUDGED = (
    "known-k", "joint-k", "missing", "suppressed", "l", "t", "spread", "maximum-risk", "average-risk", "row-risk",
    "small-counts", "distance-linkage", "released-linkage", "group-linkage", "dominance", "unchanged-rows",
    "unchanged-cells", "exact-means", "float-residue", "few-valued", "weight", "as-is", "identifier-role", "traces",
    "previous", "formulas", "labels", "minimality", "swapped-signal",
)  # fmt: skip


# What a check compares its figure with: a policy that blocks on the check must say it.
NEEDED = {
    "known-k": "k", "joint-k": "k", "l": "l", "t": "t", "maximum-risk": "maximum_risk", "average-risk": "average_risk",
    "row-risk": "row_risk", "small-counts": "small_count", "distance-linkage": "linkage", "group-linkage": "linkage",
    "released-linkage": "released_linkage",
}  # fmt: skip


@dataclass(frozen=True)
class Thresholds:
    """The figures from which on a finding is more than a figure; None: only told."""

    k: int | None = None
    l: float | None = None  # noqa: E741
    t: float | None = None
    maximum_risk: float | None = None
    average_risk: float | None = None
    row_risk: float | None = None
    linkage: float | None = None
    released_linkage: float | None = None
    dominance_units: int = 5
    dominance_share: float = 0.85
    small_count: int = 0
    unchanged_rows: int = 0


@dataclass(frozen=True)
class Policy:
    """A named set of thresholds with their sources, the checks that block, and why.

    explicit: every column needs a role, as-is columns are named one by one, each with its reason.
    """

    name: str
    title: str
    justification: str
    order: str = "kept"
    blocks: frozenset[str] = frozenset()
    thresholds: Thresholds = Thresholds()
    explicit: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)


def policy_named(name: str | Path) -> Policy:
    """The policy of that name, or that of a TOML file."""
    text = str(name)
    if text.endswith(".toml"):
        return _read(Path(name).expanduser(), text)
    known = names()
    if text not in known:
        raise unknown("policy", text, [*known, "or a file FILE.toml"])
    return _read(FOLDER / f"{text}.toml", text)


def names() -> list[str]:
    """The policies that come with the package, the default first."""
    found = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return sorted(found, key=lambda name: name != "default")


def _read(path: Path, name: str) -> Policy:
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the policy {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the policy {path} is not TOML: {error}") from None
    _check_keys(
        given, ("title", "justification", "order", "explicit", "blocks", "thresholds", "sources"), "key of a policy"
    )
    for key in ("title", "justification"):
        if not isinstance(given.get(key), str) or not given[key].strip():
            raise InputError(f"the policy {path} needs a {key}: a text that a privacy board can read")
    order, blocks = given.get("order", "kept"), given.get("blocks", [])
    if order not in ORDERS:
        raise InputError(f"order must be kept or shuffled in the policy {path}, not {order!r}")
    if not isinstance(blocks, list):
        raise InputError(f"blocks must be a list of checks in the policy {path}, not {blocks!r}")
    for check in blocks:
        if check not in JUDGED:
            raise unknown("check", check, JUDGED, InputError)
        if NEEDED.get(check, "") not in ("", *given.get("thresholds", {})):
            raise InputError(
                f"the policy {path} blocks on {check} and has no threshold for it: add {NEEDED[check]} = … under "
                "[thresholds], and its source under [sources]"
            )
    thresholds = _thresholds(given.get("thresholds", {}), path)
    explicit, sources = given.get("explicit", False), given.get("sources", {})
    if not isinstance(explicit, bool):
        raise InputError(f"explicit must be true or false in the policy {path}, not {explicit!r}")
    _check_sources(sources, given.get("thresholds", {}), path)
    justification = " ".join(given["justification"].split())
    return Policy(name, given["title"], justification, order, frozenset(blocks), thresholds, explicit, dict(sources))


def _check_sources(sources: Any, thresholds: Any, path: Path) -> None:
    """Every threshold needs a source that a privacy board can follow."""
    if not isinstance(sources, Mapping):
        raise InputError(f"sources must be a table with one text per threshold in the policy {path}, not {sources!r}")
    for key in sources:
        if key not in thresholds:
            raise unknown("threshold with a source", key, thresholds, InputError)
    for key in thresholds:
        if not isinstance(sources.get(key), str) or not sources[key].strip():
            raise InputError(
                f'the threshold {key} of the policy {path} has no source: add {key} = "…" under [sources], '
                "a publication or the decision of your board"
            )


def _thresholds(given: Any, path: Path) -> Thresholds:
    if not isinstance(given, Mapping):
        raise InputError(f"thresholds must be a table of numbers in the policy {path}, not {given!r}")
    _check_keys(given, [field.name for field in fields(Thresholds)], "threshold")
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise InputError(f"the threshold {key} must be a number, 0 or more, in the policy {path}, not {value!r}")
    return Thresholds(**given)


def _check_keys(given: Mapping[str, Any], allowed: Any, what: str) -> None:
    for key in given:
        if key not in allowed:
            raise unknown(what, key, allowed, InputError)


def stricter(asked: float | None, demanded: float | None) -> float | None:
    """The larger of two least figures, either of which may be missing."""
    given = [value for value in (asked, demanded) if value is not None]
    return max(given) if given else None


def check_policy(name: str | Path | None) -> None:
    """An error now, before any work, if a policy that is named cannot be read."""
    if name is not None:
        policy_named(name)
