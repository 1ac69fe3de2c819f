"""Compile all kernels ahead, and pack them into the wheel: `python build_kernels.py`, and a build hook of hatchling.

A wheel that carries the library of kernels does not need Numba. Every other install does: an editable one, and a wheel
that was built without a library of its sources. SHOAL_KERNELS=ahead lets a wheel's build compile the library itself.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

TOP = Path(__file__).parent
LIBRARY = TOP / "src/shoal/engine/kernels/kernels.library"
sys.path.insert(0, str(TOP / "src"))


def is_current() -> bool:
    """Was the library built from the sources as they are?"""
    from shoal.engine.kernels.stamp import source_hash

    return LIBRARY.is_file() and source_hash().encode() in LIBRARY.read_bytes()


def build_library() -> None:
    """Compile all kernels, the generic ones for the losses that Shoal has."""
    from shoal.engine.kernels.building import build
    from shoal.engine.kernels.compiling import shipped_kernels
    from shoal.engine.kernels.stamp import source_hash
    from shoal.engine.partition.space import search_kernels
    from shoal.protections.microaggregation.kernels.squares import Squares
    from shoal.protections.recoding.shipped import recoding_kernels

    build(shipped_kernels([*search_kernels(Squares()), *recoding_kernels()]), source_hash(), LIBRARY)


def platform_tag() -> str:
    """Which systems the library runs on: x86-64 Linux with the C library that it was linked with, or a newer one."""
    minor = max(int(number) for number in re.findall(rb"GLIBC_2\.(\d+)", LIBRARY.read_bytes()))
    return f"py3-none-manylinux_2_{minor}_x86_64"


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script
    pass
else:

    class CustomBuildHook(BuildHookInterface[Any]):
        """Puts the library into the wheel, or Numba among its dependencies."""

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            if version == "standard" and not is_current() and os.environ.get("SHOAL_KERNELS") == "ahead":
                build_library()
            if version == "standard" and is_current() and os.environ.get("SHOAL_KERNELS") != "jit":
                build_data["artifacts"].append(LIBRARY.relative_to(TOP).as_posix())
                build_data.update(pure_python=False, tag=platform_tag())
            else:
                build_data["dependencies"].extend(self.metadata.core.optional_dependencies["jit"])


if __name__ == "__main__":
    if not is_current():
        build_library()
    print(f"{LIBRARY.relative_to(TOP)}: {LIBRARY.stat().st_size / 1e6:.1f} MB")
