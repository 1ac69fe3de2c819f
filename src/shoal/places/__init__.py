"""Where large work runs: processes on this machine, or the workers of a cluster.

A place has one operation, `map`: it calls a function with each of some units of work and returns the results in order.
The units exchange staged files, never messages, so that a killed worker repeats only its own unit.
"""

from __future__ import annotations

import importlib

from shoal.errors import UsageError
from shoal.places.place import Place

PLACES = {
    "processes": "shoal.places.processes",
    "dask": "shoal.places.dask",
    "spark": "shoal.places.spark",
}  # by the name, or by the scheme of an address


def place_named(name: str, workers: int | None = None) -> Place:
    """Return the place that `--on` names: processes, or the address of a cluster.

    >>> place_named("cloud")
    Traceback (most recent call last):
    shoal.errors.UsageError: Cannot run on 'cloud'. Use --on processes or --on dask://HOST:PORT or --on spark://HOST:PORT.
    """
    scheme, _, address = name.partition("://")
    if scheme not in PLACES or (bool(address) != ("://" in name)):
        ways = [known if known == "processes" else f"{known}://HOST:PORT" for known in PLACES]
        raise UsageError(f"Cannot run on {name!r}. Use --on {' or --on '.join(ways)}.")
    module = importlib.import_module(PLACES[scheme])
    place: Place = module.open_place(name, workers)
    return place
