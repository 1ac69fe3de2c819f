"""Software prefetching: memory latency limits the search of a large file.

A prefetch is a hint to the processor (LLVM's prefetch), which loads a row into its cache while it continues. It never
changes a result. A row takes the fewest cache lines if its table starts at the beginning of a line.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engine.kernels.compiling import BARE, inlined, with_numba

LINE = 64  # size of a cache line in bytes
LARGE = 1 << 19  # numbers in a table that does not fit into the cache: prefetching a smaller one does not pay


def filled(shape: int | tuple[int, ...], value: float, dtype: Any = np.float64) -> NDArray[Any]:
    """Return an array of one value that starts at the beginning of a cache line.

    The array is filled, not zeroed: NumPy then requests huge pages, which makes the search of a large file a quarter
    faster.
    """
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    memory = np.empty(size * np.dtype(dtype).itemsize + LINE, dtype=np.uint8)
    first = -memory.ctypes.data % LINE
    array = memory[first : memory.size - LINE + first].view(dtype).reshape(shape)
    array[...] = value
    return array


def zeros_of(*tables: tuple[int | tuple[int, ...], Any]) -> list[NDArray[Any]]:
    """Return an array of zeros, as `filled` makes them, for each shape and type."""
    return [filled(shape, 0, dtype) for shape, dtype in tables]


def hint(array: Any, place: Any) -> None:
    """Prefetch the cache line of the element at a place in the array's memory; uncompiled, do nothing."""


def _register() -> None:
    """Make `hint` LLVM's prefetch wherever a kernel calls it."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic  # type: ignore[untyped-decorator]
    def prefetch(typingctx: Any, array: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            byte = ir.IntType(8).as_pointer()
            number = ir.IntType(32)
            pointer = builder.bitcast(builder.gep(data, [args[1]]), byte)
            callee = builder.module.declare_intrinsic(
                "llvm.prefetch", (byte,), ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            )
            builder.call(callee, [pointer, number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(array, types.uint64), generate

    @overload(hint, jit_options={**BARE, "forceinline": True}, strict=False)  # type: ignore[untyped-decorator]
    def choose(array: Any, place: Any) -> Any:
        return lambda array, place: prefetch(array, place)


with_numba(_register)


@inlined
def prefetch_element(array: Any, i: Any) -> None:
    """Prefetch an element of a list."""
    hint(array, np.uint64(i))


@inlined
def prefetch_row(rows: Any, i: Any) -> None:
    """Prefetch a row of a table."""
    width = np.uint64(rows.shape[1])
    first, step = np.uint64(i) * width, np.uint64(LINE // rows.itemsize)
    for c in range(np.uint64(0), width, step):
        hint(rows, first + c)
    hint(rows, first + width - np.uint64(1))  # a row need not start at the beginning of a line
