"""`shoal.look`: show what each column adds to the risk, and draft the column roles for a person to review.

By default a column is a quasi-identifier: its value is stable over time, available outside and distinguishing
(El Emam 2013). The draft makes a column confidential if its name is like one of the special categories of personal
data of article 9 of the GDPR, or like a criminal record (article 10). Unique records are counted by sums of one 64-bit
hash per column, so that leaving out a column takes one subtraction.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import counted
from shoal.gate.reading import frame_of
from shoal.sources.files import atomically, check_place
from shoal.sources.reading import read
from shoal.sources.roles_file import read_roles, roles_text
from shoal.table.cell_hashes import Hashes, cell_hashes, class_sizes, mix
from shoal.table.column_names import name_words
from shoal.table.likeness import TEXT, agreement_chance, identifier_reason, repeated_identifier_reason, unit_reason
from shoal.table.roles import WORDS, Roles
from shoal.table.table import Table

NOTE = (
    "Drafted by 'shoal look'. Review each line: is the column stable over time, available outside, distinguishing?\n"
    "Then it is a quasi-identifier. Move a column to the table of its role: [identifiers] and [drop] are removed,\n"
    "[quasi] is protected, [confidential] is released and must not be linked to a person, [as-is] is released\n"
    "unchanged because no intruder knows it (with a reason)."
)
PAIRS = 512  # pairs of rows that are tried before all rows are compared
CHANCE = 1e-3  # largest probability that a dependency is an accident

WEIGHT = re.compile(r".*(weight|wgt|wght|gewicht|wts?)|h?wt\w*|ponder\w*|poids|peso|vekt|vikt")
BODY = re.compile(r"birth|body|over|under|kg|lbs?|koerper|korper|geburt|naiss")
HEIGHT = re.compile(r"height|bmi|groesse|grosse|taille|stature|altura|altezza|hoyde|lengte")
# Stems of column names, without accents; a stem in ^…$ must be the whole word.
SPECIAL = {
    "health data": r"diagnos|^icd$|disease|illness|^hiv|^aids$|cancer|tumou?r|krebs|krank|maladie|enfermedad|malattia|"
    r"doenca|ziekte|sykdom|sygdom|sjukdom|health|gesund|^sante$|salud|salute|saude|depress|psych|disab|behinder|"
    r"handicap|discap|medicat|medikament|^drugs?$|pregnan|schwanger|abortion|therap|symptom|diabet|addict",
    "a religion": r"relig|konfession|^confession|^faith$|glaube|church|kirche|^kerk|^credo$",
    "ethnic origin": r"ethni|etnia|etnic|^race|^racial|^rasse$|^raza$|^razza$|^raca$|hautfarbe|skincolou?r|^caste$",
    "a political opinion": r"politi|^party|^partei|^parti$|^partido|^partito|^partij$|^vote|^voting|^wahl|^leftright$",
    "sexual life": r"sexual|sexuell|seksu|sessual|^lgbt|orientation$|^gay$",
    "a criminal record": r"crimin|convict|^arrest|prison|offen[cs]e|vorstraf|^straf|penal|^delit|^reato|haftstrafe",
    "union membership": r"^union|tradeunion|gewerkschaft|syndic|sindic|sindac|vakbond|fagforening|fackforen",
    "genetic or biometric data": r"genetic|genom|genotyp|^dna$|biometr|fingerprint",
}
KEY_VARIABLES = re.compile(
    r"age|sex|gender|alter|geschlecht|sexe|sexo|sesso|edad|nationality|citizenship|marital|married|education|"
    r"occupation|job|profession|beruf|region|district|county|state|country|city|town|municipality|gemeinde|kreis|zip|"
    r"postcode|plz|household|family|children|employer|industry|language|birth|born|geburtsjahr"
)


@dataclass(frozen=True)
class ColumnLook:
    """A column, what it adds to the risk, and its proposed role.

    Attributes:
        name: The name of the column.
        type: The type of its values.
        distinct: The number of distinct non-missing values.
        missing: The number of missing values.
        unique_share: The share of records whose value no other record has.
        added_uniques: How many more records are unique with this column than without it. Columns that look like
            identifiers or units do not count.
        function_of: The column with the fewest values that determines this one, or None.
        looks_like: "identifier", "unit" or "".
        role: The role, as in `Roles.of`.
        reason: The reason for the role, in a sentence.
    """

    name: str
    type: str
    distinct: int
    missing: int
    unique_share: float
    added_uniques: int
    function_of: str | None
    looks_like: str
    role: str
    reason: str


@dataclass(frozen=True)
class Look:
    """The columns of a table with their measures, and the roles drafted from them."""

    rows: int
    columns: list[ColumnLook]
    roles: Roles
    source: Path | None = field(default=None, repr=False)

    def facts(self) -> dict[str, Any]:
        """Return the same as plain values, for JSON."""
        return {"rows": self.rows, "columns": [asdict(column) for column in self.columns]}

    def save_roles(self, path: str | os.PathLike[str]) -> None:
        """Write the drafted roles as a roles file, with the reasons as comments.

        Args:
            path: The TOML file to write.
        """
        check_place(path, *([] if self.source is None else [self.source]))
        text = roles_text(self.roles, {column.name: column.reason for column in self.columns}, NOTE)
        with atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def look(data: Any, *, roles: str | os.PathLike[str] | Roles | None = None) -> Look:
    """Show what each column adds to the risk, and propose a role for each, for a person to review.

    Args:
        data: A `Table`, a data frame or a file.
        roles: A roles file or `Roles`; columns that have a role keep it.

    Returns:
        The columns with their measures, and the drafted roles.

    Raises:
        InputError: The file cannot be read.
        UsageError: A role names a column that the data do not have.

    >>> overview = look(pl.DataFrame({"id": range(10), "sex": ["f", "m"] * 5}))
    >>> [(column.name, column.role) for column in overview.columns]
    [('id', 'identifier'), ('sex', 'quasi-identifier')]
    """
    table = _table(data, roles)
    frame = frame_of(table.frame)
    likeness = _likeness(frame)
    figures = _figures(frame, likeness)
    draft = _Draft(table, frame, likeness, figures)
    columns = [
        ColumnLook(name, table.kinds[name], *figures[name], likeness.get(name, ("", ""))[0], *draft.role(name))
        for name in table.columns
    ]
    return Look(table.rows, columns, draft.roles(), None if table.source is None else table.source.path)


def _table(data: Any, roles: str | os.PathLike[str] | Roles | None) -> Table:
    if not isinstance(data, Table):
        return read(data, roles=roles)
    if roles is None:
        return data
    named_roles = roles if isinstance(roles, Roles) else read_roles(roles)
    return data.with_roles(named_roles.resolve(data.columns).over(data.roles))


# -- columns that look like identifiers or units -----------------------------------------------------


def _likeness(frame: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Return the columns that look like a unit or an identifier, with the reason."""
    alike: dict[str, tuple[str, str]] = {}
    for name in frame.columns:
        unit = unit_reason(frame, name)
        reason = unit or identifier_reason(frame.get_column(name))
        if reason is not None:
            alike[name] = ("unit" if unit else "identifier", reason)
    for name in [name for name, (what, _) in alike.items() if what == "unit"]:
        alike |= {other: ("identifier", f"its texts rename the values of {name!r}, which looks like a unit")
                  for other in _one_to_one(frame, name) if other not in alike}  # fmt: skip
    return alike


def _one_to_one(frame: pl.DataFrame, name: str) -> list[str]:
    """Return the text columns that rename the values of this one, up to a few exceptions."""
    unit = cell_hashes(frame.get_column(name))
    renaming = []
    for other in frame.columns:
        column = frame.get_column(other)
        if other == name or column.dtype not in TEXT:
            continue
        names = mix(cell_hashes(column))  # mixed once more, so that equal cells of both columns do not cancel out
        fewest = min(np.unique(unit).size, np.unique(names).size)
        if np.unique(unit + names).size <= 1.05 * fewest:
            renaming.append(other)
    return renaming


# -- measures of the columns -------------------------------------------------------------------------

Figures = tuple[int, int, float, int, str | None]  # distinct, missing, unique_share, added_uniques, function_of


def _figures(frame: pl.DataFrame, marked: Mapping[str, Any]) -> dict[str, Figures]:
    hashes = {name: mix(cell_hashes(frame.get_column(name)) + np.uint64(j)) for j, name in enumerate(frame.columns)}
    sizes = {name: class_sizes(column) for name, column in hashes.items()}
    depends = _determinants(hashes, sizes, marked)
    known = [column for name, column in hashes.items() if name not in marked]
    total = np.zeros(frame.height, dtype=np.uint64)
    for column in known:
        total += column  # the sum is taken modulo 2^64
    uniques = _uniques(class_sizes(total))
    figures = {}
    for name, column in hashes.items():
        if name in marked:
            added = _uniques(class_sizes(total + column)) - uniques
        else:
            added = uniques - _uniques(class_sizes(total - column))
        missing = _missing(frame.get_column(name))
        alone = _uniques(sizes[name]) / frame.height
        figures[name] = (sizes[name].size - (missing > 0), missing, round(alone, 6), added, depends[name])
    return figures


def _uniques(sizes: NDArray[np.int64]) -> int:
    return int((sizes == 1).sum())


def _missing(column: pl.Series) -> int:
    nan = int(column.is_nan().sum() or 0) if column.dtype.is_float() else 0
    return column.null_count() + nan


def _determinants(
    hashes: Mapping[str, Hashes], sizes: Mapping[str, NDArray[np.int64]], marked: Mapping[str, Any]
) -> dict[str, str | None]:
    """Return for each column the column with the fewest values that determines it, unless this may be an accident.

    Columns that look like identifiers or units do not count: they are removed from a release. A column whose values
    hardly repeat does not count either: it determines every other column.
    """
    determinants: dict[str, str | None] = dict.fromkeys(hashes)
    rows = next(iter(hashes.values())).size
    candidates = [name for name in hashes if name not in marked and 2 <= sizes[name].size <= rows / 2]
    for other in sorted(candidates, key=lambda name: sizes[name].size):
        order = np.argsort(hashes[other])
        again = np.flatnonzero(hashes[other][order][1:] == hashes[other][order][:-1])  # a row like the one before it
        tried = again[:: max(1, again.size // PAIRS)]
        left, right = order[tried], order[tried + 1]
        for name, column in hashes.items():
            if determinants[name] is not None or name == other or not 2 <= sizes[name].size <= sizes[other].size:
                continue
            if not np.array_equal(column[left], column[right]):
                continue
            if not np.array_equal(column[order[again]], column[order[again + 1]]):
                continue
            if agreement_chance(sizes[name], again.size) < CHANCE:
                determinants[name] = other
    return determinants


# -- roles -----------------------------------------------------------------------------------------


class _Draft:
    """The roles of the table, and a proposal for each column without a role."""

    def __init__(
        self,
        table: Table,
        frame: pl.DataFrame,
        likeness: Mapping[str, tuple[str, str]],
        figures: Mapping[str, Figures],
    ) -> None:
        self.stated, self.frame, self.likeness, self.figures = table.roles, frame, likeness, figures
        self.free = table.without_role()
        self.unit = None if self.stated.unit is not None else self._coarsest_unit()
        self.weight = None if self.stated.weight is not None else self._first_weight(table)
        self.drafted = {name: self._propose(name) for name in self.free}

    def role(self, name: str) -> tuple[str, str]:
        """Return a column's role in a word, and the reason in a sentence."""
        if name in self.drafted:
            role, reason = self.drafted[name]
            return WORDS.get(role, role), reason
        reason = self.stated.reasons.get(name, "You set this role.")
        if name in self.stated.identifiers and self.stated.unit is None:
            repeated = repeated_identifier_reason(self.frame.get_column(name))
            reason = f"You set this role, but {repeated}." if repeated else reason
        return self.stated.of(name), reason

    def roles(self) -> Roles:
        """Return the roles of the table, completed by the drafted ones."""
        lists: dict[str, Any] = {}
        for name, (role, _) in self.drafted.items():
            if role in ("unit", "weight"):
                lists[role] = name
            else:
                lists.setdefault(role, []).append(name)
        reasons = {name: self.drafted[name][1] for name in lists.get("as_is", ())}
        return self.stated.over(Roles(**lists, reasons=reasons))

    def _coarsest_unit(self) -> str | None:
        """Return the unit with the fewest values: k households have at least k persons."""
        units = [name for name in self.free if self.likeness.get(name, ("",))[0] == "unit"]
        return min(units, key=lambda name: self.figures[name][0], default=None)

    def _first_weight(self, table: Table) -> str | None:
        body = any(HEIGHT.search(word) for name in table.columns for word in name_words(name))
        for name in self.free:
            words = "".join(name_words(name))
            if table.kinds[name] != "number" or not WEIGHT.fullmatch(words) or BODY.search(words):
                continue
            if not (body and words in ("weight", "gewicht", "poids", "peso")) and _weighs(self.frame.get_column(name)):
                return name
        return None

    def _propose(self, name: str) -> tuple[str, str]:
        """Return the role and the reason for a column without a role."""
        what, why = self.likeness.get(name, ("", ""))
        distinct, missing = self.figures[name][:2]
        if name == self.unit:
            return "unit", f"Looks like the unit: {why}."
        if what:
            return "identifiers", f"Looks like {'a unit' if what == 'unit' else 'an identifier'}: {why}."
        if distinct + (missing > 0) <= 1:
            return "as_is", "A constant column does not distinguish records."
        if name == self.weight:
            return "weight", "Named like a survey weight; if it weighs people or goods, it is a quasi-identifier."
        special = _special_category(name)
        if special:
            return "confidential", f"Named like {special}; if others may know it, it is a quasi-identifier."
        return "quasi", self._quasi_reason(name)

    def _quasi_reason(self, name: str) -> str:
        distinct, _, alone, added, determinant = self.figures[name]
        known = any(KEY_VARIABLES.fullmatch(word) for word in name_words(name))
        parts = [f"it has {counted(distinct, 'value')}"]
        if determinant is not None:
            parts.append(f"follows from {determinant!r}")
        if alone > 0:
            parts.append(f"singles out {counted(round(alone * self.frame.height), 'record')} alone")
        uniques = counted(added, "unique record") if added else "no unique record"
        parts.append(f"adds {uniques} to the other columns")
        start = "Others often know it" if known else "An intruder may know it"
        return f"{start}; {', '.join(parts[:-1])} and {parts[-1]}."


def _weighs(column: pl.Series) -> bool:
    """Return whether the values can be weights: positive, and either large or not all whole."""
    values = column.cast(pl.Float64).drop_nulls().drop_nans()
    if values.len() < column.len() or not bool((values > 0).all()):
        return False
    return float(np.mean(values.to_numpy())) >= 10 or bool((values != values.floor()).any())


def _special_category(name: str) -> str | None:
    words: Sequence[str] = (*name_words(name), "".join(name_words(name)))
    return next((kind for kind, stems in SPECIAL.items() if any(re.search(stems, word) for word in words)), None)
