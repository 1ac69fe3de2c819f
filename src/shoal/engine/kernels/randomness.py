"""Random numbers inside kernels: splitmix64 (Steele, Lea and Flood 2014), one 64-bit word of state.

The state is an array of one uint64, so a stopped search can store it and go on exactly where it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.engine.kernels.compiling import inlined

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_GOLDEN_INVERSE = np.uint64(0xF1DE83E19937733D)  # their product is 1, modulo 2 ** 64
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_LOW32 = np.uint64(0xFFFFFFFF)
_S11, _S27, _S30, _S31, _S32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_UNIT = 1.0 / 9007199254740992.0  # 2 ** -53


@inlined
def next_state(state: np.uint64) -> np.uint64:
    """The state after a draw."""
    return np.uint64(state + _GOLDEN)


@inlined
def bits_of(state: np.uint64) -> np.uint64:
    """The 64 random bits of the draw that ended in this state."""
    z = state
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return np.uint64(z ^ (z >> _S31))


@inlined
def draw(state: NDArray[np.uint64]) -> np.uint64:
    """The next 64 random bits."""
    state[0] = next_state(state[0])
    return bits_of(state[0])


@inlined
def skip(state: NDArray[np.uint64], draws: int) -> None:
    """Advance the state by this number of draws."""
    state[0] += np.uint64(draws) * _GOLDEN


@inlined
def draws_between(before: np.uint64, after: np.uint64) -> int:
    """The number of draws that lead from one state to the other."""
    return int(np.int64((after - before) * _GOLDEN_INVERSE))


@inlined
def uniform(state: NDArray[np.uint64]) -> float:
    """A number in [0, 1)."""
    return float(np.float64(draw(state) >> _S11) * _UNIT)


@inlined
def below(state: NDArray[np.uint64], bound: int) -> int:
    """A whole number in 0 .. bound - 1, for a bound far below 2 ** 32."""
    return int(np.int64(((draw(state) >> _S32) * np.uint64(bound)) >> _S32))
