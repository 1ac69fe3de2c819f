"""Data frames of pandas, polars and pyarrow: reads them through narwhals and puts new columns into a copy.

The original data frame is never modified. Unchanged columns keep their type and bits. New columns replace the old ones
in the same order of columns and rows. Attributes of pandas and metadata of an Arrow schema may describe the original
data, so the copy does not have them.
"""

from __future__ import annotations

import importlib
import json
import math
from collections import Counter
from collections.abc import Collection, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, UsageError, counted

TYPE_METADATA = (b"_PL_", b"ARROW:extension:")  # Arrow metadata of polars categories and of extension types
_LIBRARIES = (nw.Implementation.PANDAS, nw.Implementation.POLARS, nw.Implementation.PYARROW)


def wrap(frame: Any) -> nw.DataFrame[Any]:
    """Wrap a data frame with narwhals; raise an error if it cannot be protected."""
    if type(frame).__name__ == "LazyFrame":
        raise UsageError(
            "A lazy frame has no rows yet. Call .collect() on it first, or use shoal.scan(frame) instead of shoal.read."
        )
    _check_names(frame)
    try:
        data: nw.DataFrame[Any] | None = nw.from_native(frame, eager_only=True)
    except TypeError:
        data = None
    if data is None or data.implementation not in _LIBRARIES:
        raise UsageError(
            "The data must be the path of a file or a data frame of pandas, polars or pyarrow "
            f"(DataFrame or Table), not {type(frame).__module__}.{type(frame).__qualname__}."
        )
    if not data.columns:
        raise InputError("The data frame has no columns. Pass one with at least one column.")
    if len(data) == 0:
        raise InputError(f"The data have no rows, only the columns {', '.join(data.columns)}.")
    return data


def kind(series: nw.Series[Any]) -> str:
    """The kind of a column: number, text, category, bool, date, time, empty or other."""
    dtype = series.dtype
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "bool"
    if dtype == nw.String:
        return "empty" if series.is_null().all() else "text"
    if dtype in (nw.Categorical, nw.Enum):
        return "category"
    if dtype in (nw.Date, nw.Datetime):
        return "date"
    if dtype in (nw.Time, nw.Duration):
        return "time"
    if series.is_null().all():
        return "empty"
    return _kind_of_objects(series.to_list()) if dtype == nw.Object else "other"


def replaced(
    data: nw.DataFrame[Any], new: Mapping[str, NDArray[Any]], drop: Collection[str], whole: Collection[str]
) -> Any:
    """Copy a data frame without the columns `drop` and with the values of `new`, in the same order.

    Numbers become float64 in the family of types that the frame uses. A column in `whole` is rounded and keeps its
    integer type. Other values become text.
    """
    kept = [name for name in data.columns if name not in drop]
    if not kept:
        raise UsageError("Every column is removed, so nothing remains to be released. Remove fewer columns.")
    columns = {name: _column(data[name], values, name in whole) for name, values in new.items()}
    native = data.to_native()
    if data.implementation.is_pandas():
        copy = native[kept].copy()
        copy.attrs = {}
        for name, values in columns.items():
            copy[name] = values
        return copy
    if data.implementation.is_polars():
        # polars' select would interpret a name such as '^x$' as a pattern.
        return type(native)([columns.get(name, native.get_column(name)) for name in kept])
    table = _without_metadata(native.select(kept))
    for name, values in columns.items():
        place = kept.index(name)
        field = table.schema.field(place).with_type(values.type).remove_metadata()
        table = table.set_column(place, field, values)
    return table


def with_series(frame: Any, new: Mapping[str, nw.Series[Any]]) -> Any:
    """A copy of a native frame with some columns replaced by series of the same library; types and order are kept."""
    if not new:
        return frame
    return wrap(frame).with_columns(*(series.alias(name) for name, series in new.items())).to_native()


def with_values(old: nw.Series[Any], values: Any, dtype: Any) -> nw.Series[Any]:
    """New values as a column of the same library and family of types; None is a missing value."""
    made: nw.Series[Any] = nw.from_native(_series(old, values, _native_type(old, dtype)), series_only=True)
    return made


def used_categories(series: nw.Series[Any]) -> nw.Series[Any]:
    """A column of categories without unused ones, in their order; any other column unchanged."""
    native, made = series.to_native(), None
    if series.implementation.is_polars() and isinstance(series.dtype, nw.Enum):
        used = native.unique().sort().drop_nulls().to_list()
        made = native.cast(series.__native_namespace__().Enum(used))
    elif series.implementation.is_pandas() and hasattr(native.dtype, "categories"):
        made = native.cat.remove_unused_categories()
    elif series.implementation.is_pandas() and hasattr(getattr(native.dtype, "pyarrow_dtype", None), "index_type"):
        held = native.array.__arrow_array__()
        made = type(native)(type(native.array)(_used_dictionary(held)), index=native.index, name=native.name)
    elif series.implementation.is_pyarrow() and hasattr(native.type, "index_type"):
        made = _used_dictionary(native)
    return series if made is None else nw.from_native(made, series_only=True)


def same(first: nw.Series[Any], second: nw.Series[Any]) -> bool:
    """Whether two columns agree in type, order and every bit; a missing cell equals a missing cell."""
    if first.dtype != second.dtype or len(first) != len(second):
        return False
    if first.dtype.is_float():
        left, right = (np.asarray(s.to_numpy(), dtype=np.float64) for s in (first, second))
        gaps = np.isnan(left)
        if not np.array_equal(gaps, np.isnan(right)):
            return False
        return np.array_equal(left[~gaps].view(np.int64), right[~gaps].view(np.int64))
    one, two = first.to_native(), second.to_native()
    return bool(one.equals(two))


def identical(first: nw.Series[Any], second: nw.Series[Any]) -> bool:
    """Whether two columns are the same, and have NaN and null in the same cells."""
    if not same(first, second):
        return False
    return not first.dtype.is_float() or bool((first.is_null() == second.is_null()).all())


def _used_dictionary(column: Any) -> Any:
    """A dictionary column of pyarrow without unused values, in their order."""
    arrow, column = importlib.import_module("pyarrow"), column.unify_dictionaries()
    codes = [chunk.indices.cast(arrow.int64()).fill_null(-1).to_numpy() for chunk in column.chunks]
    used = np.unique(np.concatenate(codes))
    used = used[used >= 0]
    chunks = []
    for chunk, chunk_codes in zip(column.chunks, codes, strict=True):
        new = arrow.array(np.searchsorted(used, chunk_codes), mask=chunk_codes < 0).cast(column.type.index_type)
        values = chunk.dictionary.take(arrow.array(used))
        chunks.append(arrow.DictionaryArray.from_arrays(new, values, ordered=column.type.ordered))
    return arrow.chunked_array(chunks, type=column.type)


def _without_metadata(table: Any) -> Any:
    """A table of pyarrow with only two kinds of metadata: types of columns, and which columns are pandas' index."""
    bare = table.replace_schema_metadata(_pandas_index(table))
    for place, field in enumerate(bare.schema):
        kept = {key: value for key, value in (field.metadata or {}).items() if key.startswith(TYPE_METADATA)}
        if len(kept) < len(field.metadata or {}):
            bare = bare.set_column(place, field.with_metadata(kept), bare.column(place))
    return bare


def _pandas_index(table: Any) -> dict[str, str] | None:
    """The metadata with which pyarrow records which columns are pandas' index, without the other entries.

    A range index is left out, because it would reveal how many rows the original had.
    """
    try:
        metadata = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
        index = [name for name in metadata.get("index_columns", ()) if name in table.column_names]
        names = {column["field_name"]: column["name"] for column in metadata.get("columns", ()) if column}
    except (ValueError, TypeError, KeyError, AttributeError):  # pyarrow did not write these metadata
        return None
    if not index:
        return None
    columns = [
        {"name": names.get(name, name), "field_name": name, "pandas_type": "", "numpy_type": "object", "metadata": None}
        for name in index
    ]
    return {"pandas": json.dumps({"index_columns": index, "column_indexes": [], "columns": columns})}


def _check_names(frame: Any) -> None:
    columns = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    if columns is None or not isinstance(getattr(frame, "shape", None), tuple):
        return  # not a data frame: the caller raises the error
    check_names(list(columns) if not hasattr(columns, "tolist") else columns.tolist())


def check_names(names: list[Any]) -> None:
    """Raise an error if a column name is empty, repeated, not text, or a pattern to polars."""
    check_unique(names)
    if "" in names:
        raise InputError(f"Column {names.index('') + 1} has no name. Give it one.")
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"Column names must be text, not {name!r}. In pandas: frame.columns = frame.columns.astype(str)."
            )
        if name.startswith("^") and name.endswith("$"):  # polars interprets such a name as a regular expression
            raise InputError(
                f"The column name {name!r} begins with ^ and ends with $. Other programs interpret such a name as a "
                "pattern that matches other columns. Rename the column."
            )


def check_unique(names: list[Any]) -> None:
    """Raise an error that names the repeated column name and its positions, if there is one."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        positions = [str(i + 1) for i, name in enumerate(names) if name == twice[0]]
        more = f" The same is true of {counted(len(twice) - 1, 'other name')}." if len(twice) > 1 else ""
        raise InputError(
            f"Several columns have the name {twice[0]!r}: columns {', '.join(positions)}.{more} Give every column a "
            "different name."
        )


def _kind_of_objects(values: list[Any]) -> str:
    present = [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]
    if all(isinstance(v, (Real, Decimal)) and not isinstance(v, (bool, np.bool_)) for v in present):
        return "number"
    return "text"


def _column(old: nw.Series[Any], values: NDArray[Any], whole: bool) -> Any:
    """New values of a column as a series of the same library and family of types."""
    values = np.asarray(values)
    if values.shape != (len(old),):
        raise UsageError(f"The column {old.name!r} needs {len(old)} new values, not an array of shape {values.shape}.")
    if values.dtype.kind not in "iuf":
        return _series(old, [None if v is None else str(v) for v in values.tolist()], _native_type(old, nw.String))
    if whole:
        values = np.rint(values)
    stays = old.dtype.is_integer() and (whole or values.dtype.kind in "iu")
    if stays:
        with np.errstate(invalid="ignore"):
            whole_values = values.astype(np.uint64 if old.dtype.is_unsigned_integer() else np.int64)
        if not np.array_equal(whole_values.astype(np.float64), values):
            raise UsageError(
                f"The rounded values of {old.name!r} do not fit its type {old.dtype}. Do not round this column."
            )
        return _series(old, whole_values, _native_type(old, old.dtype))
    return _series(old, values.astype(np.float64), _native_type(old, nw.Float64))


def _native_type(old: nw.Series[Any], dtype: Any) -> Any:
    """A type of the frame's library; pandas has three families of types, and the column keeps its family."""
    empty = old.head(0)
    native = empty.to_native() if old.dtype == dtype else _cast(empty, dtype)
    return native.type if old.implementation.is_pyarrow() else native.dtype


def _cast(empty: nw.Series[Any], dtype: Any) -> Any:
    if empty.dtype.is_numeric() or empty.dtype in (nw.String, nw.Boolean):
        return empty.cast(dtype).to_native()
    return nw.new_series(empty.name, [], dtype, backend=empty.implementation).to_native()


def _series(old: nw.Series[Any], values: Any, dtype: Any) -> Any:
    library = old.__native_namespace__()
    if old.implementation.is_pandas():
        return library.Series(values, index=old.to_native().index, name=old.name).astype(dtype)
    if old.implementation.is_polars():
        return library.Series(old.name, values).cast(dtype)
    return library.chunked_array([library.array(values).cast(dtype)])
