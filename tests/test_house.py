"""Rules for the source code that no linter checks: sizes of functions, places of tests and kernels, public names."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoal
from shoal import arrays
from shoal.protections import register

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "shoal"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST, MOST_PARAMETERS = 80, 12
# Protections that use the methods of another one, as (user, used).
BUILT_ON = {("grouping", "microaggregation")}
# What compiles kernels; every other module in a folder `kernels` holds kernels.
COMPILERS = {"building", "cache_files", "compiling", "library", "stamp"}
# Tests that do not belong to one package: whole runs, published results, pages, and the reference implementations.
OTHER_TESTS = {"docs", "golden", "published", "reference", "soak"}


def name_of(path: Path) -> str:
    """The dotted name of a module."""
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(tree: ast.AST) -> Iterator[str]:
    """The modules that a module imports, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def is_in_kernels(path: Path) -> bool:
    return path.parent.name == "kernels"


def public_functions() -> set[tuple[str, str]]:
    """The module and name of every function that users call: they have as many parameters as there are options."""
    functions = [getattr(shoal, name) for name in shoal.__all__]
    functions += [protection.function for protection in register().values()]
    return {(function.__module__, function.__name__) for function in functions if inspect.isfunction(function)}


def test_functions_behind_the_public_ones_are_short_and_have_few_parameters() -> None:
    public = public_functions()
    too_large = []
    for path in (path for path in MODULES if not is_in_kernels(path)):
        module = name_of(path).removesuffix(".__init__")
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (module, node.name) in public:
                continue
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            parameters = len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs)
            if lines > LONGEST or parameters > MOST_PARAMETERS:
                too_large.append(f"{module}.{node.name}: {lines} lines, {parameters} parameters")
    assert not too_large, f"at most {LONGEST} lines and {MOST_PARAMETERS} parameters: {too_large}"


def test_the_import_contract_names_every_package() -> None:
    settings = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    named = {name for layer in layers for name in layer.split(" : ")}
    packages = {name_of(path.parent) for path in SOURCE.glob("*/__init__.py")}
    modules = {name_of(path) for path in SOURCE.glob("*.py") if not path.stem.startswith("__")}
    assert named == packages | modules


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=name_of)
def test_every_package_says_in_one_sentence_what_it_is_for(path: Path) -> None:
    first_line = (ast.get_docstring(tree_of(path)) or "").split("\n")[0]
    assert first_line.endswith(".") and first_line[0] in "`ABCDEFGHIJKLMNOPQRSTUVWXYZ", first_line


def test_tests_lie_in_the_folder_of_the_package_that_they_test() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    own = {folder for folder in folders if folder.parts and folder.parts[0] not in OTHER_TESTS}
    assert sorted(str(folder) for folder in own if not (SOURCE / folder / "__init__.py").exists()) == []


def test_only_kernel_folders_import_the_compiler() -> None:
    outside = [path for path in MODULES if not is_in_kernels(path)]
    users = {
        name_of(path): imported
        for path in outside
        for imported in imports_of(tree_of(path))
        if imported.split(".")[0] in ("numba", "llvmlite")
    }
    assert users == {}


def test_kernels_import_only_kernels_and_numpy() -> None:
    kernels = [path for path in MODULES if is_in_kernels(path) and path.stem not in COMPILERS]
    assert kernels
    wrong = []
    for path in kernels:
        for imported in imports_of(tree_of(path)):
            package = imported.split(".")[0]
            is_kernel = package == "shoal" and "kernels" in imported.split(".")
            is_light = package in ("__future__", "collections", "math", "typing", "numpy") or imported == "shoal.arrays"
            is_compiler = package in ("numba", "llvmlite")
            if not (is_kernel or is_light or is_compiler):
                wrong.append(f"{name_of(path)} imports {imported}")
    assert not wrong


def test_kernels_import_only_names_of_types_from_other_packages() -> None:
    """A constant from elsewhere would be compiled in and go stale; names of types stand in annotations only."""
    names = {
        alias.name
        for path in MODULES
        if is_in_kernels(path) and path.stem not in COMPILERS
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.module == "shoal.arrays"
        for alias in node.names
    }
    assert names and all(typing.get_origin(getattr(arrays, name)) is not None for name in names), names


def test_a_protection_imports_no_other_protection() -> None:
    folder = SOURCE / "protections"
    protections = {path.parent.name for path in folder.glob("*/__init__.py")}
    used = {
        (path.relative_to(folder).parts[0], imported.split(".")[2])
        for path in folder.glob("*/**/*.py")
        for imported in imports_of(tree_of(path))
        if imported.startswith("shoal.protections.")
    }
    assert {(user, other) for user, other in used if other in protections and user != other} == BUILT_ON


def test_no_module_reads_source_code() -> None:
    """What a program knows of itself is declared; reading its own source would make comments and names matter."""
    for path in MODULES:
        tree = tree_of(path)
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        readers = names & {"getsource", "getsourcelines", "getsourcefile"}
        assert "ast" not in set(imports_of(tree)) and not readers, path


def static_names() -> dict[str, str]:
    """The names that the block for type checkers in `shoal/__init__.py` imports, and their modules."""
    for node in tree_of(SOURCE / "__init__.py").body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return {
                alias.asname or alias.name: statement.module or ""
                for statement in node.body
                if isinstance(statement, ast.ImportFrom)
                for alias in statement.names
            }
    raise AssertionError("shoal/__init__.py has no block for type checkers")


def test_editors_and_programs_see_the_same_public_names() -> None:
    static = static_names()
    assert sorted(static) == sorted(shoal.__all__)
    for name, module in static.items():
        assert getattr(shoal, name) is getattr(importlib.import_module(module), name), name


@pytest.mark.parametrize("name", register())
def test_every_declared_protection_is_a_public_function(name: str) -> None:
    function = register()[name].function
    assert static_names()[function.__name__] == function.__module__
    assert getattr(shoal, function.__name__) is function


def constants_in(node: ast.AST) -> Iterator[str]:
    """The texts in a list, tuple, set or mapping, its keys included."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def test_no_other_module_lists_protections_or_methods() -> None:
    """Their names stand in the declaration; a second list would miss a new one."""
    protections = set(register())
    methods = {method for protection in register().values() for method in protection.method_names}
    names = (protections | methods) - {"auto", "search", "exact", "group", "apply"}  # words with other meanings too
    lists = {}
    for path in MODULES:
        if path.is_relative_to(SOURCE / "protections") or path.is_relative_to(SOURCE / "studies"):
            continue  # a protection may list its own methods, and a study those that it compares
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
                found = sorted(names & set(constants_in(node)))
                if len(found) > 1:
                    lists[f"{name_of(path)}, line {node.lineno}"] = found
    assert names >= {"microaggregate", "mdav", "flow"} and lists == {}


def users_of(*names: str) -> set[str]:
    """The modules that call or name one of these attributes or functions."""
    users = set()
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
            if name in names:
                users.add(name_of(path))
    return users


def test_only_the_control_starts_threads_for_a_search() -> None:
    """What another thread starts could not be stopped. The others compile kernels, or run large work elsewhere."""
    assert users_of("Thread", "ThreadPoolExecutor", "InheritableThread") == {
        "shoal.engine.control",
        "shoal.engine.kernels.compiling",
        "shoal.places.processes",
        "shoal.places.spark",
        "shoal.cli.sigterm",
    }


def test_the_number_of_cores_is_counted_in_one_place() -> None:
    assert users_of("cpu_count", "sched_getaffinity") == {"shoal.arrays"}


def test_notices_are_given_in_one_place() -> None:
    """They are data on the release; the compiler alone warns by itself, as it has no release."""
    assert users_of("warn") == {"shoal.notices", "shoal.engine.kernels.compiling"}


def test_the_engine_takes_the_largest_group_from_the_loss() -> None:
    """`2k - 1` holds for losses whose large groups never cost less than their parts, such as sums of squares."""
    double = [
        f"{name_of(path)}, line {node.lineno}"
        for path in MODULES
        if path.is_relative_to(SOURCE / "engine")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.BinOp) and ast.unparse(node).replace(" ", "").endswith("2*k-1")
    ]
    assert double == []


def test_the_whole_check_requires_the_data_of_the_golden_hashes() -> None:
    """Without the data, cases on it would be skipped and a changed answer could pass."""
    script = (TESTS.parent / ".ci" / "run").read_text(encoding="utf-8")
    assert "export SHOAL_REQUIRE_DATA=1" in script and "make test" in script
