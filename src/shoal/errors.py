"""Errors and warnings, whose messages say what to do next.

Every message says what failed, why, which values are allowed and what to type next. The command line prints it on
stderr and ends with the exit code of the exception.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex


class ShoalError(Exception):
    """The base class of all errors whose message is meant for users."""

    exit_code = 2


class UsageError(ShoalError):
    """An option or argument is invalid."""


class ArgumentError(UsageError):
    """One argument is invalid; `argument` is its name."""

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message)
        self.argument = argument


class InputError(ShoalError):
    """A file or data frame cannot be used as it is."""


class EmptyFileError(InputError):
    """A file has no records."""


class PromiseError(ShoalError):
    """A guarantee (k, no identifiers, unchanged columns) does not hold; nothing is written.

    Attributes:
        findings: The findings of the release check, or None if it did not run.
    """

    exit_code = 1
    findings: Any = None


class WriteError(ShoalError):
    """A file could not be written, for example on a full disk; no partial file is left."""

    exit_code = 1


class Stopped(ShoalError):
    """The work was stopped from another thread before it had a result."""

    exit_code = 130


class ShoalWarning(UserWarning):
    """The run succeeded, but the user should know about something."""


def unknown(what: str, name: object, allowed: Iterable[object], error: type[ShoalError] = UsageError) -> ShoalError:
    """Make the error for a name that is not in `allowed`; it suggests the most similar allowed name.

    >>> print(unknown("column", "incme", ["age", "income"]))
    Unknown column 'incme'. Did you mean 'income'? Available columns: age, income.
    """
    names = [str(a) for a in allowed]
    near = near_name(name, names)
    hint = f" Did you mean '{near}'?" if near else ""
    return error(f"Unknown {what} {str(name)!r}.{hint} Available {plural(what)}: {', '.join(names) or 'none'}.")


def near_name(name: object, allowed: Iterable[str]) -> str | None:
    """Return the allowed name that is most similar to this one, or None if no name is similar."""
    names = list(allowed)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    return next(iter(near or [n for n in names if n.lower() == str(name).lower()]), None)


def plural(noun: str) -> str:
    """Return the plural of a noun; of a phrase with "of" or "in", the plural of its first part.

    >>> plural("policy"), plural("class"), plural("key of a roles file")
    ('policies', 'classes', 'keys of a roles file')
    """
    head, link, rest = noun, "", ""
    for word in (" of ", " in ", " with "):
        if word in noun:
            head, link, rest = noun.partition(word)
            break
    if head.endswith("y") and not head.endswith(("ay", "ey", "oy", "uy")):
        return f"{head[:-1]}ies{link}{rest}"
    return f"{head}{'es' if head.endswith(('s', 'x')) else 's'}{link}{rest}"


def counted(number: SupportsIndex, noun: str) -> str:
    """Return a number and its noun, in the singular or the plural.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class")
    ('1 row', '1,200 rows', '2 classes')
    """
    count = operator.index(number)
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def printable(text: str) -> str:
    """Return a text from the data with its control characters escaped, so that a terminal does not act on them.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def printable_rows(rows: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return the texts of a table with their control characters escaped."""
    return [[printable(text) for text in row] for row in rows]


def check_choice(what: str, value: str, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of `allowed`; otherwise raise an error that lists them."""
    names = list(allowed)
    if value not in names:
        raise UsageError(choice_problem(what, value, names))
    return value


def choice_problem(what: str, value: object, allowed: Sequence[str]) -> str:
    """Return the message for a value that is not one of `allowed`.

    >>> choice_problem("missing", "drops", ("error", "drop", "median"))
    "missing must be error, drop or median, not 'drops'. Did you mean 'drop'?"
    """
    near = near_name(value, allowed)
    hint = f" Did you mean {near!r}?" if near else ""
    return f"{what} must be {alternatives(allowed)}, not {value!r}.{hint}"


def alternatives(names: Sequence[str]) -> str:
    """Join names as a sentence lists them.

    >>> alternatives(("error", "drop", "median"))
    'error, drop or median'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def check_k(k: int, n: int) -> int:
    """Return `k` if n records can form groups of k; otherwise raise an error that gives the allowed range."""
    if isinstance(k, bool) or int(k) != k:
        raise UsageError(f"k must be a whole number, not {k!r}.")
    if n < 2:
        raise UsageError(f"The file has {counted(n, 'record')}. At least two records are needed to form a group.")
    if k < 2:
        raise UsageError(
            f"k must be between 2 and {n} (the number of records), not {k}. A group of one record protects nobody."
        )
    if k > n:
        raise UsageError(
            f"k must be between 2 and {n} (the number of records), not {k}. Use a smaller k or more records."
        )
    return int(k)


def check_seed(seed: object) -> int:
    """Return `seed` if it is a valid seed; otherwise raise an error that gives the allowed range."""
    largest = 2**63 - 1  # the largest whole number of TOML, in which a recipe is written
    whole = isinstance(seed, SupportsIndex) and not isinstance(seed, bool)
    if not whole or not 0 <= operator.index(seed) <= largest:  # type: ignore[arg-type]
        raise UsageError(f"The seed must be a whole number from 0 to {largest}, not {seed!r}.")
    return operator.index(seed)  # type: ignore[arg-type]
