"""The library of kernels that were compiled ahead: the same bits as Numba's, for every kernel and both processors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden.cases import CASES
from shoal.engine.kernels import compiling
from shoal.engine.kernels.library import PLACE, Library, open_library
from shoal.engine.kernels.nsga2 import ranks
from shoal.engine.kernels.stamp import source_hash
from shoal.engine.partition.kernels.groups import build_state, claim, empty_groups
from shoal.measures.linkage import distance_linkage
from shoal.measures.probabilistic import probabilistic_linkage
from shoal.protections import generic_kernels
from shoal.protections.microaggregation.kernels.squares import Squares

EXAMPLES = Path(__file__).parents[2] / "examples"
CALLS = 6  # of each kernel that are compared, in each case

needs_library = pytest.mark.skipif(
    open_library(PLACE, source_hash()) is None, reason="no library was built: make library"
)


uses_library = pytest.mark.skipif(os.environ.get("SHOAL_KERNELS") == "jit", reason="SHOAL_KERNELS=jit: Numba is used")


@pytest.fixture(scope="module")
def libraries() -> list[Library]:
    newest = Library(PLACE).level
    return [Library(PLACE, level) for level in (2, 3) if level <= newest]


def copied(value: Any) -> Any:
    """Arguments that a kernel may change, members of a tuple too."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        return type(value)(*map(copied, value)) if hasattr(value, "_fields") else tuple(map(copied, value))
    return value


def bits(value: Any) -> Any:
    """A value by its bits: NaN equals itself, and 0.0 differs from -0.0."""
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return type(value).__name__, np.asarray(value).tobytes()


class Comparison:
    """Calls each kernel in every way on copies of the arguments of real calls."""

    def __init__(self, libraries: list[Library]) -> None:
        self.libraries = libraries
        self.calls: Counter[str] = Counter()
        self.different: set[str] = set()

    def call(self, kernel: compiling.Kernel, *arguments: Any) -> Any:
        first = arguments[: kernel.generic]
        key = kernel.key(*first)
        self.calls[key] += 1
        if self.calls[key] > CALLS:
            return kernel.compiled(*first)(*arguments)
        answers = []
        for way in (kernel.by_numba(*first), *(library.kernel(key) for library in self.libraries)):
            assert way is not None, f"the library does not have {key}"
            mine = copied(arguments)
            answers.append(bits((way(*mine), mine)))
        if any(answer != answers[0] for answer in answers):
            self.different.add(key)
        return kernel.compiled(*first)(*arguments)


# -- every kernel of the library ---------------------------------------------------------------------

COVERING = (
    "microaggregate auto thorough",
    "microaggregate auto 20,500 records",
    "microaggregate exact by bounds",
    "microaggregate exact by subsets, weights",
    "microaggregate hybrid, seed 1",
    "microaggregate mst ties",
    "microaggregate path mdav weights",
    "microaggregate refine vmdav, weights, seed 1",
    "microaggregate bound, proved",
    "microaggregate mixed gini anneal, l and t",
    "microaggregate mixed gini memetic, l and t",
    "microaggregate mixed gini blocks, l and t",
    "microaggregate mixed changes anneal",
    "microaggregate mixed changes memetic, l and t",
    "microaggregate mixed changes blocks, l and t",
    "group exact sound",
    "generalize exact taxonomy",
    "generalize nsga2 suppress, seed 1",
    "recode search",
    "recode search nodes",
    "recode mondrian",
    "recode topdown nodes",
    "suppress value, seed 1",
    "suppress wildcard",
    "suppress subsets",
    "mask memetic flow seeds",
    "mask flow",
)


def run_cases(shared_data: Path) -> Iterator[None]:
    """Golden cases that reach nearly all kernels, in one thread: no other may change what is copied."""
    for case in (case for case in CASES if case.name in COVERING):
        case.answer(shared_data, {**case.variants[0], **({"threads": 1} if "threads" in case.variants[0] else {})})
        yield
    flow = next(case for case in CASES if case.name == "mask flow")
    hiding = {**flow.arguments, "settings": "hiding"}
    replace(flow, arguments=hiding, facts=()).answer(shared_data, {})
    yield


def call_others() -> None:
    """The kernels of the measures, and that of windows, which only large files have."""
    values = np.random.default_rng(0).normal(size=(300, 3))
    protected = np.round(values)
    distance_linkage(values, protected)
    probabilistic_linkage(values, protected)
    groups = empty_groups(np.zeros((8, 4)), np.ones(8), 2, 3, 4)
    groups.label[:] = np.repeat(np.arange(4), 2)
    near = np.arange(16, dtype=np.int32).reshape(8, 2) % 8
    claim(groups, near, 2, 2, 5)
    for kernel, first, *_ in generic_kernels():
        if kernel is claim:
            claim(first, near[:4] % 4, 2, 0, 3)


@needs_library
def test_every_kernel_gives_the_bits_of_numba(
    libraries: list[Library], monkeypatch: pytest.MonkeyPatch, shared_data: Path
) -> None:
    comparison = Comparison(libraries)
    reached: set[str] = set()
    monkeypatch.setattr(compiling.Kernel, "__call__", lambda kernel, *given: comparison.call(kernel, *given))
    for _ in run_cases(shared_data):
        reached |= set(comparison.calls)
        comparison.calls.clear()
    call_others()
    assert not comparison.different
    assert reached | set(comparison.calls) == set(libraries[0].keys)


@needs_library
def test_the_library_has_every_kernel(libraries: list[Library]) -> None:
    names = {key.partition("-")[0] for key in libraries[0].keys}
    assert names == {kernel.name for kernel in compiling.every_kernel()}


# -- arguments ---------------------------------------------------------------------------------------


@uses_library
@needs_library
@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.zeros((4, 2), dtype=np.float32), "objectives .* array of float64 with 2 dimensions"),
        (np.zeros((4, 2), dtype=np.int64), "array of float64"),
        (np.zeros(4), "2 dimensions"),
        (np.zeros((4, 2))[:, :1], "C-contiguous"),
        (np.zeros((4, 2), order="F"), "C-contiguous"),
        (np.broadcast_to(0.0, (4, 2)), "writable"),
        ([[0.0, 1.0]], "array"),
        (None, "array"),
    ],
)
def test_an_array_of_another_kind_is_refused_as_by_numba(points: Any, words: str) -> None:
    ahead = ranks.ahead()
    assert ahead is not None
    with pytest.raises(TypeError, match=words):
        ahead(points)
    with pytest.raises(TypeError):
        ranks.by_numba()(points)


@uses_library
@needs_library
def test_a_member_of_a_tuple_is_named() -> None:
    groups = empty_groups(np.zeros((4, 4)), np.ones(4), 2, 3, 4)
    ahead = build_state.ahead(Squares(), groups)
    assert ahead is not None
    with pytest.raises(TypeError, match="g.label .* array of int32"):
        ahead(Squares(), groups._replace(label=groups.label.astype(np.int64)))
    with pytest.raises(TypeError, match="g .* a tuple of"):
        ahead(Squares(), groups[:-1])
    with pytest.raises(TypeError, match="takes 2 arguments, not 1"):
        ahead(Squares())


# -- a library of its own: what kernels give back and raise --------------------------------------------

TOY = """
import numpy as np
from shoal.engine.kernels.compiling import kernel

@kernel(
    "Tuple((int64, float64, boolean, uint64, int32[:, ::1], float64[::1]))"
    "(int64, float64, boolean, uint64, float64[::1])"
)
def several(a, b, c, d, e):
    return a - 1, b / 2.0, not c, d + np.uint64(1), np.full((2, 3), 7, dtype=np.int32), e

@kernel("int64[::1](int64)")
def room(n):
    return np.empty(n, dtype=np.int64)

@kernel("void(float64[::1])")
def fails(x):
    if x[0] < 0.0:
        raise ValueError("x must not be negative")
    x[0] = np.sqrt(x[0])
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    from shoal.engine.kernels.building import build

    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy_kernels.py").write_text(TOY)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        names = [f"toy_kernels:{name}" for name in ("several", "room", "fails")]
        path = build([(compiling.kernel_named(name), ()) for name in names], "toy", folder / "toy.so", processes=1)
        yield Library(path)


def test_numbers_arrays_and_tuples_come_back(toy: Library) -> None:
    several = toy.kernel("toy_kernels:several")
    assert several is not None
    array = np.array([0.5, np.nan])
    a, b, c, d, e, f = several(-(2**63) + 1, 3, np.True_, 2**64 - 2, array)
    assert (a, b, c, d) == (-(2**63), 1.5, False, 2**64 - 1)
    assert e.tolist() == [[7, 7, 7], [7, 7, 7]] and e.dtype == np.int32
    assert bits(f) == bits(array) and f is not array
    for wrong in ((0.5, 1, True, 1), ("1", 1, True, 1), (2**63, 1, True, 1), (1, "1", True, 1), (1, 1, True, -1)):
        with pytest.raises(TypeError, match="must be a"):
            several(*wrong, array)


def test_an_exception_of_a_kernel_reaches_the_caller(toy: Library) -> None:
    fails, room = toy.kernel("toy_kernels:fails"), toy.kernel("toy_kernels:room")
    assert fails is not None and room is not None
    x = np.array([4.0])
    assert fails(x) is None and x[0] == 2.0
    with pytest.raises(ValueError, match="x must not be negative"):
        fails(np.array([-1.0]))
    assert room(3).shape == (3,)
    with pytest.raises(MemoryError):
        room(2**59)


def test_a_library_of_other_sources_or_a_damaged_one_is_not_used(toy: Library, tmp_path: Path) -> None:
    path = Path(toy._code._name)
    assert open_library(path, "toy") is not None
    assert open_library(path, "other") is None
    assert open_library(tmp_path / "none.so", "toy") is None
    (tmp_path / "half.so").write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert open_library(tmp_path / "half.so", "toy") is None


def test_the_libraries_symbols_are_those_of_the_kernels(toy: Library) -> None:
    """Functions within kernels are private: those of two processes may have one name."""
    words = ["nm", "-D", "--defined-only", toy._code._name]
    names = {line.split()[-1] for line in subprocess.run(words, capture_output=True, text=True).stdout.splitlines()}
    assert {name for name in names if "toy" in name} == {
        f"toy_kernels_{name}_v{level}" for name in ("several", "room", "fails") for level in (2, 3)
    }
    assert not [name for name in names if name.startswith("_ZN")]


# -- which of the two is used --------------------------------------------------------------------------

CODE = """
import sys
import numpy as np
from shoal.engine.kernels.nsga2 import ranks
ranks(np.zeros((2, 2)))
print("numba" in sys.modules)
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True
    )


@needs_library
def test_the_variable_chooses() -> None:
    assert run(CODE, SHOAL_KERNELS="ahead").stdout == "False\n"
    assert run(CODE, SHOAL_KERNELS="jit").stdout == "True\n"
    assert "SHOAL_KERNELS must be ahead or jit, not 'fast'" in run(CODE, SHOAL_KERNELS="fast").stderr


def test_without_numba_and_a_library_a_message_says_what_to_install() -> None:
    hidden = "import sys; sys.modules['numba'] = None\n" + CODE
    assert "pip install numba" in run(hidden, SHOAL_KERNELS="jit").stderr
