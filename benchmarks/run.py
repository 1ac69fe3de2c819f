"""`make bench`: every benchmark, one after the other; each is also a script of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    for script in sorted(Path(__file__).parent.glob("*.py")):
        if script.name != "run.py":
            print(f"\n== {script.stem} ==", flush=True)
            subprocess.run([sys.executable, str(script), *sys.argv[1:]], check=True)
