"""Random numbers inside kernels: splitmix64 (Steele, Lea and Flood 2014), one 64-bit word of state.

The state is an array of one uint64, so a stopped search can store it and go on exactly where it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.engine.kernels.compiling import inlined

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_LOW32 = np.uint64(0xFFFFFFFF)
_S11, _S27, _S30, _S31, _S32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_UNIT = 1.0 / 9007199254740992.0  # 2 ** -53


@inlined
def draw(state: NDArray[np.uint64]) -> np.uint64:
    """The next 64 random bits."""
    state[0] += _GOLDEN
    z = state[0]
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return np.uint64(z ^ (z >> _S31))


@inlined
def uniform(state: NDArray[np.uint64]) -> float:
    """A number in [0, 1)."""
    return float(np.float64(draw(state) >> _S11) * _UNIT)


@inlined
def below(state: NDArray[np.uint64], bound: int) -> int:
    """A whole number in 0 .. bound - 1, for a bound far below 2 ** 32."""
    return int(np.int64(((draw(state) >> _S32) * np.uint64(bound)) >> _S32))
