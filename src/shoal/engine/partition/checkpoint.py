"""The state of a long search in a file, written atomically, so that a stopped search can continue where it was.

A checkpoint holds the chains of the current stage, the number of the stage, the partitions collected before it, and the
state of the recombinations that follow. It belongs to one input and one set of options: it contains their fingerprint,
and another search refuses it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Indices
from shoal.atomic import atomically
from shoal.engine.partition.chains import COLD, HOT, STEP_LOCK, Chain
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.recombine import Recombination
from shoal.errors import InputError, UsageError, WriteError

State = tuple[list[Chain], int, list[Indices], list[Recombination]]

SPARED = 5  # a recombination is saved again only after this many times the duration of the last write
EVERY = 20.0  # seconds between two writes, at most
DAMAGED = (
    OSError, KeyError, TypeError, ValueError, IndexError, EOFError, MemoryError, RecursionError, NotImplementedError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
MOST_SNAPSHOTS = 1_000  # per chain, many more than a search takes
WRITES = 30  # per search, at least: a killed search loses at most a thirtieth of its work and the current batches


class Checkpoint:
    """Writes and reads the state of one search; does nothing without a path."""

    def __init__(self, path: Path | None, loss: GroupLoss, options: tuple[object, ...], work: int) -> None:
        self.path = None if path is None else Path(path)
        self._step = work / WRITES
        self._last, self._stage, self._done = time.monotonic(), 0, 0
        self._took = 0.0  # seconds, the last write
        self._lock = threading.Lock()
        self._fingerprint = ""
        self._bounds = Bounds(loss.n, loss.k, loss.most, work)
        if self.path is not None:
            _check_place(self.path)
            digest = hashlib.sha256(repr((loss.identity[0].shape, loss.k, options)).encode())
            for array in loss.identity:
                digest.update(np.ascontiguousarray(array).tobytes())
            self._fingerprint = digest.hexdigest()

    def save(
        self,
        chains: Sequence[Chain],
        *,
        stage: int = 0,
        kept: Sequence[Indices] = (),
        recombined: Sequence[Recombination] = (),
        now: bool = False,
    ) -> None:
        """Write the state, unless little was done since the last write; do not wait for the write of another thread."""
        due = now or self._due(chains, stage, bool(recombined))
        if self.path is None or not due or not self._lock.acquire(blocking=now):
            return
        clock = time.monotonic()
        try:
            with STEP_LOCK:
                self._stage, self._done = stage, sum(c.done for c in chains)
                states = json.dumps([state._asdict() for state in recombined], default=np.ndarray.tolist)
                arrays: dict[str, NDArray[np.generic]] = {
                    "fingerprint": np.array(self._fingerprint),
                    "stage": np.array(stage),
                    "kept": np.array(kept, dtype=np.int32),
                    "labels": np.array([c.labels for c in chains], dtype=np.int32),
                    "words": np.array([c.random_state for c in chains], dtype=np.uint64),
                    "proposals": np.array([c.proposals for c in chains]),
                    "hot": np.array([c.hot for c in chains]),
                    "snapshots": np.array([c.snapshots for c in chains]),
                    "done": np.array([c.done for c in chains]),
                    "loss": np.array([c.loss for c in chains]),
                    "finished": np.array([c.finished for c in chains]),
                    "unsettled": np.array([c.unsettled for c in chains]),
                    "seen_by": np.array([i for i, c in enumerate(chains) for _ in c.seen], dtype=np.int64),
                    "seen": np.array([labels for c in chains for labels in c.seen], dtype=np.int32),
                    "recombined": np.frombuffer(states.encode(), dtype=np.uint8),
                }
            arrays["digest"] = np.array(_digest(arrays))
            _write(self.path, arrays)
            self._last = time.monotonic()
            self._took = self._last - clock
        finally:
            self._lock.release()

    def _due(self, chains: Sequence[Chain], stage: int, recombining: bool) -> bool:
        done = sum(c.done for c in chains) - self._done
        spared = SPARED * self._took if recombining else EVERY
        return stage != self._stage or done >= self._step or time.monotonic() - self._last > min(EVERY, spared)

    def load(self, fits: Callable[..., bool] = lambda *state: True) -> State:
        """Return the chains, the number of the stage, the partitions before it, and the recombinations after it.

        Args:
            fits: Returns whether the search could have written this state.

        Raises:
            UsageError: There is no path.
            InputError: The file is missing or damaged, or it belongs to another search.
        """
        if self.path is None:
            raise UsageError("There is nothing to resume: name the file with --checkpoint.")
        try:
            with np.load(self.path, allow_pickle=False) as file:
                a = {name: file[name] for name in file.files}
            intact = str(a.pop("digest")) == _digest(a)
            if intact and str(a["fingerprint"]) != self._fingerprint:
                raise InputError(
                    f"{self.path} is the checkpoint of another search. Records, weights, k, method, effort and seed "
                    "must be the same. Start without --resume."
                )
            state = _state(a, self._bounds) if intact else None
        except FileNotFoundError:
            raise InputError(f"There is no checkpoint {self.path}: start without --resume.") from None
        except DAMAGED:
            state = None
        if state is None or not fits(*state):
            raise self.damaged()
        return state

    def damaged(self) -> InputError:
        """Return the error for a file that no search has written."""
        return InputError(
            f"{self.path} is damaged, or it is not a checkpoint of Shoal. Remove it, or start without --resume."
        )


class Bounds(NamedTuple):
    """The limits of the state of a search: its records, the sizes of a group, and its proposals."""

    n: int
    k: int
    most: int
    work: int


def _state(a: Mapping[str, NDArray[Any]], bounds: Bounds) -> State | None:
    """Return the search that the arrays describe, or None if it is not within the bounds."""
    chains = [
        Chain(
            a["labels"][i],
            int(a["words"][i]),
            int(a["proposals"][i]),
            float(a["hot"][i]),
            int(a["snapshots"][i]),
            int(a["done"][i]),
            float(a["loss"][i]),
            bool(a["finished"][i]),
            a["unsettled"][i],
            [labels for labels, owner in zip(a["seen"], a["seen_by"], strict=True) if owner == i],
        )
        for i in range(len(a["words"]))
    ]
    recombined = [Recombination(**state) for state in json.loads(a["recombined"].tobytes())]
    kept: list[Indices] = list(a["kept"])
    stage = int(a["stage"])
    sound = all(_is_sound(chain, bounds) for chain in chains) and all(_is_partition(labels, bounds) for labels in kept)
    return (chains, stage, kept, recombined) if sound and 0 <= stage < 2**31 else None


def _is_sound(chain: Chain, bounds: Bounds) -> bool:
    """Return whether a search can continue from the chain: kernels trust its labels, and its numbers limit the work."""
    unsettled = chain.unsettled
    return (
        0 <= chain.random_state < 2**64
        and 0 <= chain.done <= chain.proposals <= bounds.work
        and COLD < chain.hot <= HOT
        and 0 <= chain.snapshots <= MOST_SNAPSHOTS
        and not math.isnan(chain.loss)
        and unsettled.dtype == np.float64
        and bool(((unsettled >= 0) & (unsettled <= 1)).all())
        and all(_is_partition(labels, bounds) for labels in (chain.labels, *chain.seen))
    )


def _is_partition(labels: NDArray[Any], bounds: Bounds) -> bool:
    """Return whether the labels form groups of k to `most` records, with numbers that the kernels have room for."""
    n, k = bounds.n, bounds.k
    if labels.shape != (n,) or labels.dtype != np.int32 or labels.min() < 0 or labels.max() > max(1, n // k):
        return False
    sizes = np.bincount(labels)
    return bool((sizes[sizes > 0] >= k).all() and (sizes <= bounds.most).all())


def _digest(arrays: Mapping[str, NDArray[np.generic]]) -> str:
    """Return a checksum of everything in a checkpoint: kernels trust their arguments, so damage must be detected."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _check_place(path: Path) -> None:
    """Raise an error before any work if a checkpoint cannot be written here; never replace another file."""
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"Cannot write the checkpoint {path}: name a file in a folder that exists.")
    if path.exists() and not _is_checkpoint(path):
        raise UsageError(
            f"Cannot write the checkpoint {path}: the file exists and is not a checkpoint. Name another file."
        )


def _is_checkpoint(path: Path) -> bool:
    """Return whether a file begins like a checkpoint, damaged or not, or is empty."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
    except OSError as error:
        raise UsageError(f"Cannot write the checkpoint {path}: {error.strerror}.") from None
    return not head or (head.startswith(b"PK\x03\x04") and b"fingerprint.npy" in head)


def _write(path: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write the arrays completely or not at all; on a full disk the previous state is kept."""
    packed = io.BytesIO()  # zipfile would report a file that the full disk has closed
    np.savez(packed, **arrays)  # type: ignore[arg-type]  # compressing takes thirty times as long
    try:
        with atomically(path) as temporary:
            temporary.write_bytes(packed.getbuffer())
    except WriteError as error:
        kept = (
            " It still holds the previous state. Continue from it with --resume."
            if path.exists() and path.stat().st_size
            else ""
        )
        raise WriteError(f"{error}{kept}") from error
