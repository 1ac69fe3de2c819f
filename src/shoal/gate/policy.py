"""Policies: named TOML files with the findings that block a release, the thresholds, and a justification.

A broken guarantee blocks under every policy; a policy adds to that. Users can write policies in the same form.
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
# The checks that a policy may make block. All others verify what every release guarantees, and always block.
JUDGED = (
    "known-k", "joint-k", "missing", "suppressed", "l", "t", "spread", "maximum-risk", "average-risk", "row-risk",
    "small-counts", "distance-linkage", "released-linkage", "group-linkage", "dominance", "unchanged-rows",
    "unchanged-cells", "exact-means", "float-residue", "few-valued", "weight", "as-is", "identifier-role", "traces",
    "previous", "formulas", "labels", "minimality", "swapped-signal",
)  # fmt: skip

# The threshold that a check compares its value with. A policy that blocks on the check must set it.
NEEDED = {
    "known-k": "k", "joint-k": "k", "l": "l", "t": "t", "maximum-risk": "maximum_risk", "average-risk": "average_risk",
    "row-risk": "row_risk", "small-counts": "small_count", "distance-linkage": "linkage", "group-linkage": "linkage",
    "released-linkage": "released_linkage",
}  # fmt: skip


@dataclass(frozen=True)
class Thresholds:
    """The limits of the measured values; None: the value is only reported."""

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
    """A named set of thresholds with their sources, the checks that block, and the reason.

    Attributes:
        name: The name, or the file as the user typed it.
        title: One line that says what the policy is for.
        justification: Why these thresholds apply, for a privacy board.
        order: kept or shuffled: the row order that the policy demands.
        blocks: The checks that block in addition to broken guarantees.
        thresholds: The limits of the measured values.
        explicit: Whether every column needs a role, and every as-is column a reason and its full name.
        sources: The source of each threshold.
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
    """Return a policy.

    Args:
        name: The name of a policy that comes with Shoal, or the path of a TOML file.

    Raises:
        UsageError: There is no policy of this name.
        InputError: The file is not a valid policy.
    """
    text = str(name)
    if text.endswith(".toml"):
        return _read(Path(name).expanduser(), text)
    known = names()
    if text not in known:
        raise unknown("policy", text, [*known, "or a file FILE.toml"])
    return _read(FOLDER / f"{text}.toml", text)


def names() -> list[str]:
    """Return the names of the policies that come with Shoal, the default first."""
    stems = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return sorted(stems, key=lambda name: name != "default")


def _read(path: Path, name: str) -> Policy:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read the policy {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The policy {path} is not valid TOML: {error}.") from None
    _check_keys(
        content, ("title", "justification", "order", "explicit", "blocks", "thresholds", "sources"), "key of a policy"
    )
    for key in ("title", "justification"):
        if not isinstance(content.get(key), str) or not content[key].strip():
            raise InputError(f'The policy {path} has no {key}. Add {key} = "…" with a text for your privacy board.')
    order, blocks = content.get("order", "kept"), content.get("blocks", [])
    if order not in ORDERS:
        raise InputError(f"order must be kept or shuffled in the policy {path}, not {order!r}.")
    if not isinstance(blocks, list):
        raise InputError(
            f'blocks must be a list of checks in the policy {path}, such as ["known-k", "l"], not {blocks!r}.'
        )
    for check in blocks:
        if check not in JUDGED:
            raise unknown("check", check, JUDGED, InputError)
        if NEEDED.get(check, "") not in ("", *content.get("thresholds", {})):
            raise InputError(
                f"The policy {path} blocks on {check} but has no threshold for it. Add {NEEDED[check]} = … under "
                "[thresholds], and its source under [sources]."
            )
    thresholds = _thresholds(content.get("thresholds", {}), path)
    explicit, sources = content.get("explicit", False), content.get("sources", {})
    if not isinstance(explicit, bool):
        raise InputError(f"explicit must be true or false in the policy {path}, not {explicit!r}.")
    _check_sources(sources, content.get("thresholds", {}), path)
    justification = " ".join(content["justification"].split())
    return Policy(name, content["title"], justification, order, frozenset(blocks), thresholds, explicit, dict(sources))


def _check_sources(sources: Any, thresholds: Any, path: Path) -> None:
    """Raise an error unless every threshold has a source that a privacy board can follow."""
    if not isinstance(sources, Mapping):
        raise InputError(f"sources must be a table with one text per threshold in the policy {path}, not {sources!r}.")
    for key in sources:
        if key not in thresholds:
            raise unknown("threshold with a source", key, thresholds, InputError)
    for key in thresholds:
        if not isinstance(sources.get(key), str) or not sources[key].strip():
            raise InputError(
                f'The threshold {key} of the policy {path} has no source. Add {key} = "…" under [sources]: a '
                "publication or the decision of your board."
            )


def _thresholds(values: Any, path: Path) -> Thresholds:
    if not isinstance(values, Mapping):
        raise InputError(f"thresholds must be a table of numbers in the policy {path}, not {values!r}.")
    _check_keys(values, [field.name for field in fields(Thresholds)], "threshold")
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise InputError(f"The threshold {key} must be a number, 0 or more, in the policy {path}, not {value!r}.")
    return Thresholds(**values)


def _check_keys(table: Mapping[str, Any], allowed: Any, what: str) -> None:
    for key in table:
        if key not in allowed:
            raise unknown(what, key, allowed, InputError)


def stricter(guaranteed: float | None, demanded: float | None) -> float | None:
    """Return the larger of two lower limits, either of which may be None."""
    limits = [value for value in (guaranteed, demanded) if value is not None]
    return max(limits) if limits else None


def check_policy(name: str | Path | None) -> None:
    """Read a policy before the run starts, so that an invalid one is reported at once.

    Raises:
        UsageError: There is no policy of this name.
        InputError: The file is not a valid policy.
    """
    if name is not None:
        policy_named(name)
