"""How hypothesis runs: here, because the doctests in src do not see the conftest of the tests."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

# A kernel's first call may load it from disk: no deadline for a single example.
settings.register_profile("shoal", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI")))
# For `make mutants`: the same examples every time, and a failure ends at once, without a search for a simpler example.
settings.register_profile(
    "mutants", deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("shoal")
