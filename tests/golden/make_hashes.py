"""Renew the golden hashes: `SHOAL_DATA=FOLDER python tests/golden/make_hashes.py [WORD ...]`.

Without words it renews all cases, else those whose names contain one of the words. A change that renews golden hashes
does nothing else: one commit holds the code that gives the new answers, their hashes, and a line in CHANGELOG.md that
says which answers changed and why. The script prints the CPU seconds of each case. It writes nothing if two variants
of a case (its threads, engines, frames or formats) have different answers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.cases import CASES, Case

HASHES = Path(__file__).parent / "hashes.json"
LIBRARIES = ("numpy", "scipy", "numba", "highspy")  # those that take part in an answer


def made_with() -> dict[str, str]:
    """The versions of the libraries whose numbers the hashes depend on."""
    return {name: version(name) for name in LIBRARIES}


def main(words: list[str]) -> None:
    folder = Path(os.environ["SHOAL_DATA"])
    chosen = [case for case in CASES if not words or any(word in case.name for word in words)]
    known: dict[str, Any] = {}
    if words:
        golden = json.loads(HASHES.read_text(encoding="utf-8"))
        if golden["made_with"] != made_with():
            sys.exit(f"The other hashes were made with {golden['made_with']}, not {made_with()}: renew all of them.")
        known = golden["cases"]
    known |= {case.name: _agreed(case, folder) for case in chosen}
    cases = {case.name: known[case.name] for case in CASES if case.name in known}
    text = json.dumps({"made_with": made_with(), "cases": cases}, indent=1, ensure_ascii=False)
    HASHES.write_text(text + "\n", encoding="utf-8")
    print(f"{len(chosen)} of {len(CASES)} cases written to {HASHES}")


def _agreed(case: Case, folder: Path) -> dict[str, Any]:
    """The answer that all variants of a case share."""
    started = time.process_time()
    answers = [case.answer(folder, variant) for variant in case.variants]
    print(f"{time.process_time() - started:7.2f} s  {case.name}", flush=True)
    for variant, answer in zip(case.variants, answers, strict=True):
        if answer != answers[0]:
            first = f"{case.variants[0]} gives {answers[0]}"
            sys.exit(f"{case.name}: {variant} gives {answer}, but {first}. Nothing was written.")
    return answers[0]


if __name__ == "__main__":
    main(sys.argv[1:])
