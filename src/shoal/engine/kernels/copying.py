"""Copy numbers between arrays, element by element.

For `target[:] = source` Numba also compiles an error message about shapes, which takes seconds in each process.
"""

from __future__ import annotations

from typing import Any

from shoal.engine.kernels.compiling import bare


@bare
def copy_first(count: int, source: Any, target: Any) -> None:
    """Copy the first elements of a list into another one."""
    for i in range(count):
        target[i] = source[i]
