"""The state of a long search in a file, written atomically, so that a stopped search can go on where it was.

A checkpoint holds the chains of the current stage, the stage's number, the partitions collected before it, and how far
the recombinations are that follow. It belongs to one input and one set of options: their fingerprint is in it, and
another search refuses it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, UsageError, WriteError
from shoal.partition.chains import STEP, Chain
from shoal.partition.recombine import Recombination

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]

SPARED = 5  # times what a write took: so long there is no other for the sake of a recombination
EVERY = 20.0  # seconds between two writes, at most
DAMAGED = (OSError, KeyError, TypeError, ValueError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error)
WRITES = 30  # in a whole search, at least: a killed one loses a thirtieth of its work and the pieces under way


class Checkpoint:
    """Writes and reads the state of one search; does nothing without a path."""

    def __init__(
        self, path: Path | None, values: Floats, weights: Floats | None, k: int, options: tuple[object, ...], work: int
    ) -> None:
        self.path = None if path is None else Path(path)
        self._step = work / WRITES
        self._last, self._stage, self._done = time.monotonic(), 0, 0
        self._took = 0.0  # seconds, the last write
        self._lock = threading.Lock()
        self._fingerprint = ""
        if self.path is not None:
            _check_place(self.path)
            digest = hashlib.sha256(repr((values.shape, k, options)).encode())
            digest.update(np.ascontiguousarray(values).tobytes())
            digest.update(b"" if weights is None else np.ascontiguousarray(weights).tobytes())
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
        """Write the state, unless little was done since it was written; another thread's write is not waited for."""
        due = now or self._due(chains, stage, bool(recombined))
        if self.path is None or not due or not self._lock.acquire(blocking=now):
            return
        clock = time.monotonic()
        try:
            with STEP:
                self._stage, self._done = stage, sum(c.done for c in chains)
                told = json.dumps([state._asdict() for state in recombined], default=np.ndarray.tolist)
                arrays: dict[str, NDArray[np.generic]] = {
                    "fingerprint": np.array(self._fingerprint),
                    "stage": np.array(stage),
                    "kept": np.array(kept, dtype=np.int32),
                    "labels": np.array([c.labels for c in chains], dtype=np.int32),
                    "words": np.array([c.word for c in chains], dtype=np.uint64),
                    "proposals": np.array([c.proposals for c in chains]),
                    "hot": np.array([c.hot for c in chains]),
                    "snapshots": np.array([c.snapshots for c in chains]),
                    "done": np.array([c.done for c in chains]),
                    "loss": np.array([c.loss for c in chains]),
                    "finished": np.array([c.finished for c in chains]),
                    "unsettled": np.array([c.unsettled for c in chains]),
                    "seen_by": np.array([i for i, c in enumerate(chains) for _ in c.seen], dtype=np.int64),
                    "seen": np.array([labels for c in chains for labels in c.seen], dtype=np.int32),
                    "recombined": np.frombuffer(told.encode(), dtype=np.uint8),
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

    def load(self) -> tuple[list[Chain], int, list[Indices], list[Recombination]]:
        """The chains, the stage's number, the partitions collected before it, and the recombinations after it."""
        if self.path is None:
            raise UsageError("there is nothing to resume: name the file with the checkpoint")
        try:
            with np.load(self.path, allow_pickle=False) as file:
                a = {name: file[name] for name in file.files}
            if str(a.pop("digest")) != _digest(a):
                raise InputError(f"The checkpoint {self.path} is damaged: start without --resume.")
            if str(a["fingerprint"]) != self._fingerprint:
                raise InputError(
                    f"{self.path} is the checkpoint of another search: records, weights, k, method, effort and seed "
                    "must be the same; start without --resume"
                )
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
            return chains, int(a["stage"]), list(a["kept"]), recombined
        except FileNotFoundError:
            raise InputError(f"there is no checkpoint {self.path}; start without --resume") from None
        except DAMAGED as error:
            raise InputError(f"{self.path} is not a checkpoint of Shoal ({error}); start without --resume") from None


def _digest(arrays: Mapping[str, NDArray[np.generic]]) -> str:
    """A checksum of everything in a checkpoint: nothing damaged may reach a kernel, which trusts its arguments."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _check_place(path: Path) -> None:
    """An error now, before any work, if a checkpoint cannot be written here; no other file is ever replaced."""
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"Cannot write the checkpoint {path}: name a file in a folder that exists.")
    if path.exists() and not _is_checkpoint(path):
        raise UsageError(
            f"Cannot write the checkpoint {path}: the file exists and is not a checkpoint. Name another file."
        )


def _is_checkpoint(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as packed:
            return "fingerprint.npy" in packed.namelist()
    except (OSError, zipfile.BadZipFile):
        # A damaged checkpoint still begins as one; an empty file holds nothing to lose.
        with open(path, "rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"")


def _write(path: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write the arrays, all or nothing."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as out:
            np.savez(out, **arrays)  # type: ignore[arg-type]  # compressing takes thirty times as long
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    except OSError as error:
        raise WriteError(f"Cannot write the checkpoint {path}: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)
