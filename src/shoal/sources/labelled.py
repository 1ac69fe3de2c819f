"""SPSS, Stata and SAS files with value labels, column labels and missing codes, read and written by pyreadstat.

SPSS declares codes such as 99 as missing: they stay in the values, and Shoal keeps the declaration. Stata and SAS have
missing values with a letter (.a): the values are null, and the source keeps the letters. Shoal writes both back into
unchanged columns. A file gets only the labels of its values, because a label of a value that no record has any more
would disclose an original value.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, UsageError, WriteError
from shoal.notices import notice
from shoal.sources.csv import check_no_zeros
from shoal.sources.format import Format, TextOptions
from shoal.table.frames import check_names
from shoal.table.source import FileSource, Labels

_READERS = {"sav": "read_sav", "por": "read_por", "dta": "read_dta", "xpt": "read_xport", "sas7bdat": "read_sas7bdat"}
_WRITERS = {"sav": "write_sav", "por": "write_por", "dta": "write_dta", "xpt": "write_xport"}
_SMALL = ("int8", "int16", "int32")
_LONGEST = {"sav": 32_767, "xpt": 32_767, "por": 255}  # most bytes of a text
_PADDED = ("sav", "xpt", "por")  # the format pads texts with blanks, so blanks at the end are lost


def labelled_format(
    name: str, title: str, endings: tuple[str, ...], *, keeps: str, loses: str, instead: tuple[str, ...] = ()
) -> Format:
    """Declare a format that pyreadstat reads and, except for sas7bdat, writes."""

    def read_form(path: Path, options: TextOptions) -> FileSource:
        return read(path, name, options.encoding)

    def write_form(
        frame: pl.DataFrame, path: Path, target: Path, source: FileSource | None, protected: Collection[str]
    ) -> None:
        write(frame, path, target, name, source, protected)

    return Format(
        name=name,
        title=title,
        endings=endings,
        read=read_form,
        write=write_form if name in _WRITERS else None,
        keeps=keeps,
        loses=loses,
        options=() if name == "por" else ("encoding",),
        warns_of_loss=True,
        is_dated=True,
        check=library,
        instead=instead,
    )


def read(path: Path, form: str, encoding: str | None) -> FileSource:
    """Read the values of a file, and its labels and missing codes."""
    options: dict[str, Any] = {"output_format": "polars"}
    if form in ("sav", "dta", "sas7bdat"):
        options["user_missing"] = True
    if encoding is not None:
        options["encoding"] = encoding
    reader: Callable[..., Any] = getattr(library(), _READERS[form])
    try:
        frame, meta = reader(str(path), **options)
    except Exception as error:  # pyreadstat has its own exceptions and passes on those of the decoder
        raise InputError(f"Cannot read {path} as .{form}: {error}.") from error
    check_names(list(meta.column_names))
    if form == "por":
        notice(f"Shoal reads codes that {path.name} declares missing as missing values, without the codes.")
    letters = {}
    for name in meta.missing_user_values:
        values, letters[name] = _split(frame[name], meta.readstat_variable_types.get(name, "double"))
        frame = frame.with_columns(values)
    return FileSource(path, form, frame, cells=letters, labels=_labels(meta))


def write(
    frame: pl.DataFrame,
    path: Path,
    target: Path,
    form: str,
    source: FileSource | None,
    protected: Collection[str] = (),
) -> None:
    """Write the values and, if the format supports them, the labels and codes of the source.

    The `protected` columns count as changed even if their values did not change.
    """
    changed = _changed(frame, source) | (set(protected) & set(frame.columns) if source is not None else set())
    labels = _kept(frame, source, changed, form)
    options: dict[str, Any] = {"column_labels": dict(labels.columns)}
    formats = {}
    if source is not None and source.format == form:
        new = {name for name in changed & set(frame.columns) if _has_new_values(frame[name], source)}
        formats = {name: f for name, f in labels.formats.items() if name not in new}
    columns = [_writable(column) for column in frame.get_columns()]
    _check_fit(columns, form)
    if form == "sav":
        whole = {c.name: "F8.0" for c in columns if c.dtype.is_integer()}
        options |= {"compress": target.suffix.lower() == ".zsav", "missing_ranges": _ranges(labels.missing)}
        options |= {"variable_value_labels": _spss_labels(columns, labels.values)}
        options |= {"variable_measure": dict(labels.measures)}
        options |= {"variable_display_width": dict(labels.widths)}
        formats = whole | formats
    elif form == "dta":
        letters = _letters(source, changed, frame.columns)
        columns = [_stata(c, labels, letters.get(c.name)) for c in columns]
        options["variable_value_labels"] = _stata_labels(columns, labels.values)
        options["missing_user_values"] = {
            name: sorted(cells.drop_nulls().unique().to_list()) for name, cells in letters.items()
        }
    _warn_about_lost(form, labels, source, changed, frame.columns)
    writer: Callable[..., Any] = getattr(library(), _WRITERS[form])
    try:
        writer(pl.DataFrame(columns), str(path), variable_format=formats, **options)
    except Exception as error:
        if "Unable to write" in str(error):  # pyreadstat does not pass on the reason of the system
            raise WriteError(f"Cannot write {target}: the disk may be full, or you may not have permission.") from error
        raise InputError(f"Cannot write the table as {target.suffix}: {error}.") from error


def _check_fit(columns: list[pl.Series], form: str) -> None:
    """Raise an error that names the row of a text that is too long, and warn about blanks that the format drops."""
    padded = []
    for column in (column for column in columns if column.dtype == pl.String):
        check_no_zeros(column, f".{form}")
        longest = _LONGEST.get(form)
        if longest is not None and (column.str.len_bytes().max() or 0) > longest:  # type: ignore[operator]
            row = int(column.str.len_bytes().fill_null(0).arg_max() or 0)
            raise InputError(
                f"The column {column.name!r} has a text of {len(column[row].encode()):,} bytes in row {row + 1}, and "
                f".{form} files hold at most {longest:,}. Shorten it, or write a .parquet file."
            )
        blank = column.str.ends_with(" ").fill_null(False)
        if form in _PADDED and blank.any():
            padded.append(f"{column.name} ({int(blank.sum()):,}, the first in row {int(blank.arg_max() or 0) + 1})")
    if padded:
        notice(f".{form} files cannot keep blanks at the end of a text. They are lost in {', '.join(padded)}.")


def library() -> Any:
    """Import pyreadstat, which only these formats need."""
    try:
        return importlib.import_module("pyreadstat")
    except ImportError as error:
        raise UsageError("Files of SPSS, Stata and SAS need pyreadstat. Run: pip install pyreadstat") from error


def _labels(meta: Any) -> Labels:
    ranges = {
        name: tuple((r["lo"], r["hi"]) if isinstance(r, Mapping) else (r, r) for r in ranges)
        for name, ranges in meta.missing_ranges.items()
    }
    return Labels(
        columns={name: label for name, label in meta.column_names_to_labels.items() if label},
        values={name: dict(texts) for name, texts in meta.variable_value_labels.items()},
        missing=ranges,
        formats={name: f for name, f in meta.original_variable_types.items() if f},
        measures={name: m for name, m in meta.variable_measure.items() if m and m != "unknown"},
        widths={name: w for name, w in meta.variable_display_width.items() if w},
        storage=dict(meta.readstat_variable_types),
        file_label=meta.file_label or None,
        notes=tuple(meta.notes or ()),
    )


def _split(column: pl.Series, storage: str) -> tuple[pl.Series, pl.Series]:
    """Split a column with letters for missing values into numbers and letters, each null where the other is not."""
    cells = column.to_list()
    letters = pl.Series(column.name, [c if isinstance(c, str) else None for c in cells], dtype=pl.String)
    rest = [None if isinstance(c, str) else c for c in cells]
    if all(c is None or isinstance(c, (int, float)) for c in rest):
        return pl.Series(column.name, rest, dtype=pl.Int64 if storage in _SMALL else pl.Float64, strict=False), letters
    return pl.Series(column.name, rest), letters


def _changed(frame: pl.DataFrame, source: FileSource | None) -> set[str]:
    return set() if source is None else {c.name for c in frame.get_columns() if not source.untouched(c)}


def _kept(frame: pl.DataFrame, source: FileSource | None, changed: set[str], form: str) -> Labels:
    """The labels that are still valid; a changed column has no missing codes, because a mean may be equal to one."""
    if source is None or source.labels is None:
        return Labels()
    old, here = source.labels, set(frame.columns)
    values = {n: _labels_held(frame[n], v, source, n in changed, form) for n, v in old.values.items() if n in here}
    # A column of means holds numbers, whatever measure the file declared.
    new = {name for name in changed & here if _has_new_values(frame[name], source)}
    return Labels(
        columns={n: v for n, v in old.columns.items() if n in here},
        values={n: v for n, v in values.items() if v},
        missing={n: v for n, v in old.missing.items() if n in here - changed},
        formats={n: v for n, v in old.formats.items() if n in here},
        measures={n: v for n, v in old.measures.items() if n in here - new},
        widths={n: v for n, v in old.widths.items() if n in here},
        storage={n: v for n, v in old.storage.items() if n in here},
        file_label=old.file_label,
        notes=old.notes,
    )


def _labels_held(
    column: pl.Series, labels: Mapping[Any, str], source: FileSource, changed: bool, form: str
) -> dict[Any, str]:
    """The labels of the values that records have; none if means replaced the codes."""
    if changed and _has_new_values(column, source):
        return {}
    codes = source.user_missing(column.name) if changed else ()
    held = {value.rstrip() if isinstance(value, str) else value for value in _plain(column).unique().to_list()}
    if form == "dta" and not changed and column.name in source.cells:  # only Stata labels letters (.a)
        held |= set(source.cells[column.name].unique().to_list())
    bare = {value: value.rstrip() if isinstance(value, str) else value for value in labels}
    return {v: label for v, label in labels.items() if bare[v] in held and not _among(v, codes)}


def _has_new_values(column: pl.Series, source: FileSource) -> bool:
    """Whether a column has values that the column of the file did not have."""
    if column.name not in source.frame.columns:
        return True
    old = set(_plain(source.frame[column.name]).unique().to_list())
    return any(value not in old for value in _plain(column).unique().to_list() if value is not None)


def _plain(column: pl.Series) -> pl.Series:
    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column


def _among(value: Any, codes: tuple[tuple[Any, Any], ...]) -> bool:
    return any(isinstance(value, str) == isinstance(low, str) and low <= value <= high for low, high in codes)


def _ranges(missing: Mapping[str, tuple[tuple[Any, Any], ...]]) -> dict[str, list[Any]]:
    return {name: [lo if lo == hi else {"lo": lo, "hi": hi} for lo, hi in ranges] for name, ranges in missing.items()}


def _writable(column: pl.Series) -> pl.Series:
    """A column in a type that the formats support."""
    kind = column.dtype
    if kind in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if kind.is_unsigned_integer():
        return column.cast(pl.Int64 if kind != pl.UInt64 else pl.Float64)
    if kind.is_decimal() or kind == pl.Null:
        return column.cast(pl.Float64)
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration):
        raise InputError(
            f"The column {column.name!r} ({kind}) cannot be written in this format. Write a .parquet file."
        )
    return column


def _letters(source: FileSource | None, changed: set[str], columns: list[str]) -> dict[str, pl.Series]:
    if source is None or source.format not in ("dta", "sas7bdat"):
        return {}
    letters = {n: c.str.to_lowercase() for n, c in source.cells.items() if n in columns and n not in changed}
    return {n: c.set(c == "_", None) for n, c in letters.items()}


def _stata(column: pl.Series, labels: Labels, letters: pl.Series | None) -> pl.Series:
    """A column as Stata stores it: small whole numbers if they were small or have labels, and with its letters."""
    labelled = column.name in labels.values and column.dtype.is_numeric()
    small = labels.storage.get(column.name) in _SMALL and column.dtype.is_integer()
    if labelled or small:
        whole = column.cast(pl.Int32, strict=False)
        if bool((whole.cast(column.dtype)).eq_missing(column).all()):
            column = whole
    if letters is None or letters.null_count() == letters.len():
        return column
    cells = [c if letter is None else letter for c, letter in zip(column.to_list(), letters.to_list(), strict=True)]
    return pl.Series(column.name, cells, dtype=pl.Object)


def _spss_labels(columns: list[pl.Series], values: Mapping[str, Mapping[Any, str]]) -> dict[str, dict[Any, str]]:
    """Value labels with keys of the type of the column, as pyreadstat requires."""
    whole = {column.name for column in columns if column.dtype.is_integer()}
    return {
        name: {int(value) if name in whole else value: label for value, label in labels.items()}
        for name, labels in values.items()
    }


def _stata_labels(columns: list[pl.Series], values: Mapping[str, Mapping[Any, str]]) -> dict[str, dict[Any, str]]:
    """Value labels with keys that Stata supports: whole numbers, and letters for missing values."""
    allowed = {c.name for c in columns if c.dtype.is_integer() or c.dtype == pl.Object}
    kept = {}
    for name, labels in values.items():
        if name in allowed:
            whole = {
                v if isinstance(v, str) else int(v): label
                for v, label in labels.items()
                if isinstance(v, str) or v == int(v)
            }
            kept[name] = whole
    lost = sorted(set(values) - set(kept))
    if lost:
        notice(f"The value labels of {', '.join(lost)} are lost: Stata labels only whole numbers.")
    return kept


def _warn_about_lost(
    form: str, labels: Labels, source: FileSource | None, changed: set[str], columns: list[str]
) -> None:
    """Warn about labels and codes that the format cannot keep."""
    if labels.values and form in ("por", "xpt"):
        notice(
            f".{form} files cannot keep value labels. The codes of {', '.join(labels.values)} are written without them."
        )
    if labels.missing and form != "sav":
        notice(
            f"Only .sav files declare missing codes. In {', '.join(labels.missing)} they are written as plain values."
        )
    if labels.notes or labels.file_label:
        what = " and ".join(w for w, text in (("file label", labels.file_label), ("notes", labels.notes)) if text)
        notice(f"Shoal does not copy the {what} of the input file, because they may name people or places.")
    if source is not None and form != "dta":
        tagged = source.cells if source.format in ("dta", "sas7bdat") else {}
        lettered = [n for n in columns if n in tagged and n not in changed]
        if lettered:
            notice(f"Missing values with a letter (.a) are written without the letter in {', '.join(lettered)}.")
