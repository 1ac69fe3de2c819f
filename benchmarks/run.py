"""`make bench` runs every benchmark, which takes hours; `make bench ONLY="mdav classical"` runs some of them.

Each is also a script; its first lines list its options.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIRST = ("verdicts", "mdav", "classical")  # short; the others depend on what they measure


def scripts(names: list[str]) -> list[Path]:
    """The named benchmarks, or all of them."""
    available = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.py")) if path.name != "run.py"}
    unknown = [name for name in names if name not in available]
    if unknown:
        sys.exit(f"Unknown benchmark {unknown[0]!r}. Available: {', '.join(available)}.")
    order = names or [*FIRST, *(name for name in available if name not in FIRST)]
    return [available[name] for name in order]


if __name__ == "__main__":
    failed = []
    for script in scripts(sys.argv[1:]):
        print(f"\n== {script.stem} ==", flush=True)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(script.stem)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
