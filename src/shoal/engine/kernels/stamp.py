"""The stamp of compiled kernels: a hash of their sources, so that code of other sources is never used.

It needs only Python, so that the build of a wheel can use it too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parents[2]


def source_hash(package: Path = PACKAGE) -> str:
    """Return the hash of every source in a folder called `kernels`, with its path; flags and signatures are part of it.

    Numba checks only the file of a kernel, not the files of the functions it calls.
    """
    digest = hashlib.sha256()
    for source in sorted(path for path in package.glob("**/kernels/**/*") if path.suffix in (".py", ".c")):
        content = source.read_bytes()
        digest.update(f"{source.relative_to(package).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
