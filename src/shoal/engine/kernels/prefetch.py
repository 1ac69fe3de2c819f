"""Memory asked for ahead of its use: a large file's search waits for memory more than it computes.

Asking is a hint to the processor (LLVM's prefetch), which brings a row into its cache while it goes on. It changes no
answer, whatever it is given. A row comes in as few lines of memory as can be where its table starts with a line.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engine.kernels.compiling import BARE, inlined, with_numba

LINE = 64  # bytes that memory comes in
LARGE = 1 << 19  # numbers of a table that does not stay in the cache: smaller ones are not worth the asking


def filled(shape: int | tuple[int, ...], value: float, dtype: Any = np.float64) -> NDArray[Any]:
    """An array of one value that starts where a line does.

    Filled, not zeroed: NumPy then asks for huge pages, which take a quarter off the search of a large file.
    """
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    memory = np.empty(size * np.dtype(dtype).itemsize + LINE, dtype=np.uint8)
    first = -memory.ctypes.data % LINE
    array = memory[first : memory.size - LINE + first].view(dtype).reshape(shape)
    array[...] = value
    return array


def hint(array: Any, place: Any) -> None:
    """Ask for the line that holds the element at a place in the array's memory; without a compiler, do nothing."""


def _register() -> None:
    """Let `hint` mean LLVM's prefetch wherever a kernel calls it."""
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
def ask_element(array: Any, i: Any) -> None:
    """Ask for an element of a list."""
    hint(array, np.uint64(i))


@inlined
def ask_row(rows: Any, i: Any) -> None:
    """Ask for a row of a table."""
    width = np.uint64(rows.shape[1])
    first, step = np.uint64(i) * width, np.uint64(LINE // rows.itemsize)
    for c in range(np.uint64(0), width, step):
        hint(rows, first + c)
    hint(rows, first + width - np.uint64(1))  # it need not start where a line does
