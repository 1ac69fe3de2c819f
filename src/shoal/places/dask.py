"""A Dask cluster that is already running: one task per unit of work.

Every worker needs the same version of Shoal, and the input, staging and output folders under the same paths. Dask gives
the unit of a killed worker to another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from shoal.errors import Stopped, UsageError, WriteError
from shoal.places.place import Done, Going, installed_version

U = TypeVar("U")
R = TypeVar("R")

LOOK_SECONDS = 0.05  # between two checks whether to continue
CONNECT_SECONDS = 20
RETRIES = 3  # of a unit whose worker was killed


def open_place(name: str, workers: int | None) -> Dask:
    """Return the cluster whose scheduler has this address, such as dask://10.0.0.5:8786."""
    if workers is not None:
        raise UsageError("The Dask cluster decides how many units run at once. Remove --workers.")
    return Dask(name)


class Dask:
    """The workers of a Dask cluster."""

    def __init__(self, name: str, client: Any = None) -> None:
        self.name, self.workers = name, 0
        self._is_ours = client is None
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise UsageError(
                "Running on Dask needs its packages. Install them with: pip install dask distributed"
            ) from error
        address = f"tcp://{name.removeprefix('dask://')}"
        try:
            self._client: Any = client or Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise UsageError(f"Cannot reach a Dask scheduler at {name}: {error}. Start one, or check --on.") from None
        self._check_versions()

    def map(
        self, function: Callable[[U], R], units: Sequence[U], *, done: Done | None = None, going: Going | None = None
    ) -> list[R]:
        """Call the function with each unit, and return the results in the order of the units."""
        from distributed.scheduler import KilledWorker

        futures: list[Any] = [self._client.submit(function, unit, pure=False, retries=RETRIES) for unit in units]
        open_, ended = set(futures), 0
        try:
            while open_:
                finished = [future for future in open_ if future.done()]
                if not finished:
                    time.sleep(LOOK_SECONDS)
                for future in finished:
                    future.result()  # raises the error of the unit
                    ended += 1
                    if done is not None:
                        done(ended)
                open_.difference_update(finished)
                if going is not None and not going():
                    raise Stopped("The work was stopped before it had a result.")
            return [future.result() for future in futures]
        except KilledWorker as error:
            raise WriteError(
                f"Dask workers were killed again and again ({error}). If they ran out of memory, use a smaller "
                "--leaf, and run the command again to continue."
            ) from None
        finally:
            self._client.cancel([future for future in futures if not future.done()])

    def close(self) -> None:
        """Leave the cluster, if the connection is not the user's own; its workers stay."""
        if self._is_ours:
            self._client.close()

    def _check_versions(self) -> None:
        """Raise an error if there is no worker, or one with another version of Shoal."""
        versions: dict[str, str] = self._client.run(installed_version)
        if not versions:
            raise UsageError(f"The Dask cluster at {self.name} has no workers. Start some with: dask worker ADDRESS")
        self.workers = len(versions)
        here = installed_version()
        for worker, version in versions.items():
            if version != here:
                raise UsageError(
                    f"The Dask worker {worker} has shoal {version}, and this is shoal {here}. Install {here}."
                )
