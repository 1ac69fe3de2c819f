"""`make bench`: every benchmark, one after the other (hours); `make bench ONLY="mdav classical"`: some of them.

Each is also a script of its own, with options that its first lines tell.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIRST = ("verdicts", "mdav", "classical")  # short, and what the others build on


def scripts(names: list[str]) -> list[Path]:
    """The named benchmarks, or all of them."""
    found = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.py")) if path.name != "run.py"}
    unknown = [name for name in names if name not in found]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(found)}")
    order = names or [*FIRST, *(name for name in found if name not in FIRST)]
    return [found[name] for name in order]


if __name__ == "__main__":
    failed = []
    for script in scripts(sys.argv[1:]):
        print(f"\n== {script.stem} ==", flush=True)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(script.stem)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
