"""What can go wrong, in words that tell the way out.

Every message says what is wrong, which value, what is allowed and what to do next.
The command line prints it on stderr and ends with the kind's exit code.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex


class ShoalError(Exception):
    """The root of all errors that are meant for the user's eyes."""

    exit_code = 2


class UsageError(ShoalError):
    """An option or argument that cannot be used as given."""


class InputError(ShoalError):
    """A file or frame that cannot be used as it is."""


class PromiseError(ShoalError):
    """A guarantee (k, no identifiers, unchanged columns) that could not be kept; nothing is written.

    findings: what the release check found, where it ran.
    """

    exit_code = 1
    findings: Any = None


class WriteError(ShoalError):
    """A file that could not be written, such as on a full disk; nothing half-written is left."""

    exit_code = 1


class ShoalWarning(UserWarning):
    """Something that succeeds and that the user should know of all the same."""


def unknown(what: str, name: object, allowed: Iterable[object], error: type[ShoalError] = UsageError) -> ShoalError:
    """An error for a name that is not among `allowed`, with the nearest one proposed.

    >>> print(unknown("column", "incme", ["age", "income"]))
    there is no column 'incme'; did you mean 'income'? The columns are: age, income
    """
    names = [str(a) for a in allowed]
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    if not near:
        near = [n for n in names if n.lower() == str(name).lower()][:1]
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return error(f"there is no {what} {str(name)!r}{hint} The {_plural(what)} are: {', '.join(names)}")


def _plural(noun: str) -> str:
    """Several of a thing: policies, methods, keys of a roles file."""
    head, of, rest = noun.partition(" of ")
    if head.endswith("y") and not head.endswith(("ay", "ey", "oy", "uy")):
        return f"{head[:-1]}ies{of}{rest}"
    return f"{head}{'es' if head.endswith(('s', 'x')) else 's'}{of}{rest}"


def printable(text: str) -> str:
    """A text from the data as it may be shown: control characters, which a terminal would obey, are spelled out.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def check_choice(what: str, value: str, allowed: Iterable[str]) -> str:
    """`value` if it is one of `allowed`, else an error that lists them."""
    names = list(allowed)
    if value not in names:
        raise unknown(what, value, names)
    return value


def check_k(k: int, n: int) -> int:
    """`k` if groups of k can be formed from n records."""
    if isinstance(k, bool) or int(k) != k:
        raise UsageError(f"k must be a whole number, not {k!r}")
    if n < 2:
        raise UsageError(f"there {'is 1 record' if n else 'are no records'}: nobody can be hidden among fewer than two")
    if k < 2:
        raise UsageError(f"k must be between 2 and {n} (the number of records), not {k}: a group of one hides nobody")
    if k > n:
        raise UsageError(
            f"k must be between 2 and {n} (the number of records), not {k}: take a smaller k or more records"
        )
    return int(k)


def check_seed(seed: object) -> int:
    """`seed` if random numbers can start from it; TOML, which a recipe is written in, has no larger whole numbers."""
    largest = 2**63 - 1
    whole = isinstance(seed, SupportsIndex) and not isinstance(seed, bool)
    if not whole or not 0 <= operator.index(seed) <= largest:  # type: ignore[arg-type]
        raise UsageError(f"The seed must be a whole number from 0 to {largest}, not {seed!r}.")
    return operator.index(seed)  # type: ignore[arg-type]
