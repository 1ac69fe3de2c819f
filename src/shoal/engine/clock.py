"""CPU and wall-clock timer, excluding compilation."""

from __future__ import annotations

import sys
import time


class Clock:
    """Measures the time since its creation."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()
        self._compiling = _compile_seconds()

    def read(self) -> dict[str, float]:
        """Return the CPU seconds of all threads without compilation, and the wall-clock seconds."""
        cpu = time.process_time() - self._cpu - (_compile_seconds() - self._compiling)
        return {"cpu_seconds": round(max(cpu, 0.0), 4), "seconds": round(time.perf_counter() - self._wall, 4)}


def _compile_seconds() -> float:
    module = sys.modules.get("shoal.engine.kernels.compiling")
    return float(module.compile_seconds()) if module else 0.0
