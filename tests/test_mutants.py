"""The list of planted faults fits the sources and the tests. `make mutants` plants them, which takes long."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mutants.run import Fault, read_faults

TOP = Path(__file__).parents[1]
FAULTS = read_faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_every_fault_applies_to_the_sources(fault: Fault) -> None:
    source = (TOP / "src" / "shoal" / fault.file).read_text(encoding="utf-8")
    assert fault.planted(source) != source
    assert all((TOP / path).exists() for path in fault.tests)
    assert fault.tests and fault.breaks


def test_the_list_has_enough_faults_of_every_area() -> None:
    areas = Counter(fault.area for fault in FAULTS)
    assert len({fault.id for fault in FAULTS}) == len(FAULTS) >= 100
    assert set(areas) == {"measures", "gate", "guarantees", "losses", "releases", "studies", "algorithms"}
    assert min(areas.values()) >= 12
    assert sum(bool(fault.harmless) for fault in FAULTS) <= 0.05 * len(FAULTS)


def test_a_fault_that_no_longer_fits_is_an_error() -> None:
    fault = Fault("sign", "losses", "a.py", "a - b", "a + b", "The sign is wrong.", ("tests",))
    assert fault.planted("x = a - b\n") == "x = a + b\n"
    with pytest.raises(ValueError, match="does not have the text"):
        fault.planted("x = b - a\n")
    with pytest.raises(ValueError, match="2 times"):
        fault.planted("x = a - b\ny = a - b\n")
    second = Fault("sign", "losses", "a.py", "a - b", "a + b", "The sign is wrong.", ("tests",), occurrence=2)
    assert second.planted("x = a - b\ny = a - b\n") == "x = a - b\ny = a + b\n"
    with pytest.raises(ValueError, match="only 1 times"):
        second.planted("x = a - b\n")
    with pytest.raises(SyntaxError):
        Fault("sign", "losses", "a.py", "a - b", "a - (", "Not Python.", ("tests",)).planted("x = a - b\n")
