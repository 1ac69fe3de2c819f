"""A data frame of Dask: each partition becomes a file, and each file a partition.

An index without a name is not part of the data: it is not written, and the release has a new one. An index with a name
is a column that would need a role, so it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.errors import UsageError
from shoal.places.dask import Dask
from shoal.places.place import Place

IN_MEMORY = "frame.compute()"


def stage(frame: Any, folder: Path) -> None:
    """Write each partition as a Parquet file."""
    if frame.index.name is not None:
        raise UsageError(
            f"The index of the Dask frame has the name {frame.index.name!r}. Make it a column, which can have a role: "
            "frame.reset_index(). Or remove it: frame.reset_index(drop=True)."
        )
    folder.mkdir(mode=0o700, parents=True)
    frame.to_parquet(str(folder), write_index=False, name_function=lambda number: f"part-{number:06d}.parquet")


def read_back(frame: Any, paths: Sequence[Path]) -> Any:
    """Return a Dask frame with one partition per file."""
    import dask.dataframe as dd

    made = dd.read_parquet([str(path) for path in paths], index=False, split_row_groups=False)
    types = {name: frame.dtypes[name] for name in made.columns}
    wanted = {name: kind for name, kind in types.items() if made.dtypes[name] != kind and not _is_averaged(made, name)}
    return made.astype(wanted) if wanted else made


def _is_averaged(made: Any, name: str) -> bool:
    """Return whether a column holds floats now, as means of whole numbers do: they must not be cut to whole numbers."""
    return str(made.dtypes[name]).lower().startswith(("float", "double"))


def place(frame: Any) -> str | Place:
    """Return the Dask cluster in use, or processes if there is none."""
    client = _client()
    return "processes" if client is None else Dask(f"dask://{client.scheduler.address}", client)


def is_local(frame: Any) -> bool:
    """Return whether the cluster in use, if any, is on this machine."""
    client = _client()
    local = ("tcp://127.", "tcp://localhost", "inproc://")
    return client is None or str(client.scheduler.address).startswith(local)


def _client() -> Any:
    """Return the connection to a cluster that Dask uses now, or None."""
    try:
        from distributed import default_client
    except ModuleNotFoundError:
        return None
    try:
        return default_client()
    except ValueError:  # there is none
        return None
