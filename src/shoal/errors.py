"""What can go wrong, in words that tell the way out.

Every message says what is wrong, which value, what is allowed and what to do next.
The command line prints it on stderr and ends with the kind's exit code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ShoalError(Exception):
    """The root of all errors that are meant for the user's eyes."""

    exit_code = 2


class UsageError(ShoalError):
    """An option or argument that cannot be used as given."""


class InputError(ShoalError):
    """A file or frame that cannot be used as it is."""


class PromiseError(ShoalError):
    """A promise (k, no identifiers, untouched columns) that could not be kept; nothing is written."""

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
    plural = what + ("es" if what.endswith(("s", "x")) else "s")
    return error(f"there is no {what} {str(name)!r}{hint} The {plural} are: {', '.join(names)}")


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
