"""Conversion of option values: from the text of the command line to a value, and back.

Each spelling reads all texts of an option, because some options may be repeated, and writes a value as texts. What it
writes is read as the same value. If text cannot express a value, it writes None.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import alternatives

Texts = Sequence[str]


class Spelling:
    """One way to write values; `hint` is the placeholder in the help, and `repeats` if the option may be repeated."""

    hint: str = "TEXT"
    repeats: bool = False

    def read(self, texts: Texts) -> Any:
        """The value of these texts; a ValueError says why they are not valid."""
        raise NotImplementedError

    def form(self, value: Any) -> list[str]:
        """Texts for a value, which may be read as another value; a ValueError or TypeError if there are none."""
        raise NotImplementedError

    def write(self, value: Any) -> list[str] | None:
        """The texts that are read as this value, or None if there are none."""
        try:
            texts = self.form(value)
            return texts if _is_same(self.read(texts), value) else None
        except (ValueError, TypeError, AttributeError):
            return None

    def files(self, value: Any) -> Iterator[str]:
        """The paths of the files that a value names."""
        yield from ()

    def located(self, value: Any, folder: Path) -> Any:
        """The value with its paths relative to this folder."""
        return value


@dataclass(frozen=True)
class Word(Spelling):
    """A text; one of a closed set if there are choices."""

    choices: tuple[str, ...] = ()
    hint: str = "TEXT"

    def read(self, texts: Texts) -> str:
        if self.choices and texts[-1] not in self.choices:
            raise ValueError(f"{texts[-1]!r} is not {alternatives(self.choices)}.")
        return texts[-1]

    def form(self, value: Any) -> list[str]:
        return [_word(value)]


@dataclass(frozen=True)
class Whole(Spelling):
    """A whole number."""

    hint: str = "N"

    def read(self, texts: Texts) -> int:
        try:
            return int(texts[-1])
        except ValueError:
            raise ValueError(f"{texts[-1]!r} is not a whole number.") from None

    def form(self, value: Any) -> list[str]:
        return [_word(value)]


@dataclass(frozen=True)
class Number(Spelling):
    """A number."""

    hint: str = "X"

    def read(self, texts: Texts) -> float:
        return _number(texts[-1])

    def form(self, value: Any) -> list[str]:
        return [_word(value)]


@dataclass(frozen=True)
class Names(Spelling):
    """Names separated by commas; a name that contains a comma is quoted as in CSV."""

    hint: str = "A,B,…"

    def read(self, texts: Texts) -> tuple[str, ...]:
        try:
            names = [name.strip() for row in csv.reader([texts[-1]], skipinitialspace=True) for name in row]
        except csv.Error:
            raise ValueError('Write a name that contains a line break or a quote in quotes: a,"two words".') from None
        if not all(names):
            raise ValueError("A column name is empty: write names with single commas between them, as in a,b,c.")
        return tuple(names)

    def form(self, value: Any) -> list[str]:
        if isinstance(value, str):
            raise ValueError(value)
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([_word(name) for name in value])
        return [line.getvalue()]


@dataclass(frozen=True)
class Numbers(Spelling):
    """Numbers with a separator; exactly `count` numbers if it is not 0."""

    sign: str = ","
    count: int = 0
    hint: str = "X,Y,…"

    def read(self, texts: Texts) -> tuple[float, ...]:
        numbers = tuple(_number(part) for part in texts[-1].split(self.sign))
        if self.count and len(numbers) != self.count:
            raise ValueError(f"{self.count} numbers are needed, as in {self.hint}; not {texts[-1]!r}.")
        return numbers

    def form(self, value: Any) -> list[str]:
        return [self.sign.join(_word(part) for part in value)]


@dataclass(frozen=True)
class FilePath(Spelling):
    """The path of a file; with `entry`, the name of a part of the file may follow a #."""

    entry: bool = False
    hint: str = "FILE"

    def read(self, texts: Texts) -> str:
        return texts[-1]

    def form(self, value: Any) -> list[str]:
        return [os.fspath(value)]

    def files(self, value: Any) -> Iterator[str]:
        if isinstance(value, str | os.PathLike):
            path = str(os.fspath(value))
            yield path.partition("#")[0] if self.entry else path

    def located(self, value: Any, folder: Path) -> Any:
        return str(folder / value) if isinstance(value, str | os.PathLike) else value


@dataclass(frozen=True)
class Repeated(Spelling):
    """A list with one part per occurrence of the option: --set a,b --set c."""

    part: Spelling
    repeats: bool = True

    @property
    def hint(self) -> str:  # type: ignore[override]
        return self.part.hint

    def read(self, texts: Texts) -> tuple[Any, ...]:
        return tuple(self.part.read([text]) for text in texts)

    def form(self, value: Any) -> list[str]:
        return [self.part.form(part)[0] for part in value]


@dataclass(frozen=True)
class ByColumn(Spelling):
    """COLUMN=VALUE, once for each column: --cuts age=18,30 --cuts income=1000."""

    part: Spelling
    repeats: bool = True

    @property
    def hint(self) -> str:  # type: ignore[override]
        return f"COLUMN={self.part.hint}"

    def read(self, texts: Texts) -> dict[str, Any]:
        return {column: self.part.read([text]) for column, text in map(_column_and_text, texts)}

    def form(self, value: Any) -> list[str]:
        return [f"{column}={self.part.form(part)[0]}" for column, part in value.items()]

    def files(self, value: Any) -> Iterator[str]:
        for part in value.values() if isinstance(value, Mapping) else ():
            yield from self.part.files(part)

    def located(self, value: Any, folder: Path) -> Any:
        return {column: self.part.located(part, folder) for column, part in value.items()}


@dataclass(frozen=True)
class NumberPerColumn(Spelling):
    """COLUMN=NUMBER for several columns, separated by commas: --weights age=2,sex=0.5.

    words: words that may stand for a number, as in --importance age=3,sex=never.
    """

    hint: str = "COLUMN=X,…"
    words: tuple[str, ...] = ()
    repeats: bool = True

    def read(self, texts: Texts) -> dict[str, float | str]:
        pairs = [pair for text in texts for pair in (Names().read([text]) if text else ())]
        return {column: self._value(text) for column, text in map(_column_and_text, pairs)}

    def _value(self, text: str) -> float | str:
        if text in self.words:
            return text
        try:
            return _number(text)
        except ValueError as error:
            raise ValueError(f"{error} Or write {' or '.join(self.words)}." if self.words else str(error)) from None

    def form(self, value: Any) -> list[str]:
        return Names().form([f"{column}={_word(number)}" for column, number in value.items()])


@dataclass(frozen=True)
class ColumnValues(Spelling):
    """A column and some of its values: --vital OCC=551010,552010."""

    hint: str = "COLUMN=V1,V2"

    def read(self, texts: Texts) -> tuple[str, tuple[str, ...]]:
        column, values = _column_and_text(texts[-1])
        names = tuple(value.strip() for value in values.split(",") if value.strip())
        if not names:
            raise ValueError(f"A column and its values are needed, as in OCC=551010,552010; not {texts[-1]!r}.")
        return column, names

    def form(self, value: Any) -> list[str]:
        column, values = value
        return [f"{column}={','.join(map(_word, values))}"]


@dataclass(frozen=True)
class KindAndNumbers(Spelling):
    """A number, or the name of a kind and its numbers: 3, entropy:3, recursive:2:3."""

    hint: str = "X|NAME:X"

    def read(self, texts: Texts) -> Any:
        kind, *numbers = texts[-1].split(":")
        return (kind, *map(_number, numbers)) if numbers else _number(kind)

    def form(self, value: Any) -> list[str]:
        return [_word(value) if isinstance(value, int | float) else ":".join(map(_word, value))]


@dataclass(frozen=True)
class Either(Spelling):
    """The first of several spellings that fits: a number or a word, one rule for all columns or one per column."""

    spellings: tuple[Spelling, ...]
    hint: str = "TEXT"

    @property
    def repeats(self) -> bool:  # type: ignore[override]
        return any(spelling.repeats for spelling in self.spellings)

    def read(self, texts: Texts) -> Any:
        problems = []
        for spelling in self.spellings:
            try:
                if len(texts) == 1 or spelling.repeats:
                    return spelling.read(texts)
            except ValueError as error:
                problems.append(str(error))
        raise ValueError(
            " ".join(dict.fromkeys(problems)) or f"It may be given only once, not as {' and '.join(texts)}."
        )

    def form(self, value: Any) -> list[str]:
        for spelling in self.spellings:
            texts = spelling.write(value)
            if texts is not None:
                return texts
        raise ValueError(value)

    def files(self, value: Any) -> Iterator[str]:
        for spelling in self.spellings:
            yield from spelling.files(value)


def _column_and_text(text: str) -> tuple[str, str]:
    column, sign, rest = text.partition("=")
    if not (sign and column.strip() and rest.strip()):
        raise ValueError(f"COLUMN=VALUE is needed, not {text!r}.")
    return column.strip(), rest


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number.") from None


def _word(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)


def _is_same(value: Any, other: Any) -> bool:
    """Whether a value that was read is the other one; tuples are lists, and numbers may be written as text."""
    if isinstance(value, Mapping):
        return (
            isinstance(other, Mapping) and list(value) == list(other) and _is_same([*value.values()], [*other.values()])
        )
    if isinstance(value, tuple | list):
        is_list = isinstance(other, tuple | list) and len(value) == len(other)
        return is_list and all(map(_is_same, value, other))
    if isinstance(value, str):
        return not isinstance(other, bool) and value == (_word(other) if isinstance(other, int | float) else other)
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)
