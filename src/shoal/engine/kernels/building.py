"""Compile all kernels ahead of time into one shared library with a C interface. It runs without Numba and LLVM.

Numba turns each kernel and the functions that it calls into LLVM's intermediate code. All code of one kernel is put
into one module, optimized as Numba would do it, and written as machine code for each level of x86-64. Then gcc links
the modules. All names except that of the kernel are private to its module: Numba numbers functions by process, so two
processes may give one name to two functions. No code that is compiled here runs here.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import multiprocessing
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from shoal.arrays import cores
from shoal.engine.kernels import compiling
from shoal.engine.kernels.library import ARRAY, NOTHING, PLACE, REAL, SIGNED, TRUTH, TUPLE, UNSIGNED, Library, sealed

LEVELS = (3, 2)
LONGEST = 150  # characters of a symbol; a file name has at most 255
RUN_TIME = Path(__file__).with_name("run_time.c")
Wanted = tuple[compiling.Kernel, tuple[Any, ...]]


def build(kernels: Sequence[Wanted], stamp: str, target: Path = PLACE, *, processes: int | None = None) -> Path:
    """Write a library of kernels, each with the arguments that its form depends on; return its path."""
    shares = compiling.balanced(kernels, processes or cores())
    with tempfile.TemporaryDirectory() as folder:
        names = [([(entry.name, first) for entry, first in share], folder) for share in shares]
        with ProcessPoolExecutor(len(shares), multiprocessing.get_context("spawn")) as pool:
            compiled = [item for part in pool.map(_compile_share, *zip(*names, strict=True)) for item in part]
        contents = {"stamp": stamp, "kernels": dict(sorted(compiled))}
        made = _link(Path(folder), contents)
        Library(made)  # fails if a symbol is missing
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.part")
        partial.write_bytes(sealed(made.read_bytes()))
        partial.replace(target)
    return target


def _link(folder: Path, contents: dict[str, Any]) -> Path:
    text = "".join(f"{byte}," for byte in json.dumps(contents).encode())
    (folder / "contents.c").write_text(f"const char shoal_contents[] = {{{text}0}};\n")
    made = folder / "kernels.library"
    objects = sorted(map(str, folder.glob("*.o")))
    options = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-Wl,-z,now", "-Wl,--gc-sections", "-s"]
    subprocess.run(["gcc", *options, "-o", made, RUN_TIME, folder / "contents.c", *objects, "-lm"], check=True)
    return made


def _compile_share(names: list[tuple[str, tuple[Any, ...]]], folder: str) -> list[tuple[str, dict[str, Any]]]:
    """Write the machine code of some kernels into a folder; return how to call each, by its key."""
    _keep_intermediate_code()
    machines = {level: _machine(level) for level in LEVELS}
    described = []
    for name, first in names:
        kernel = compiling.kernel_named(name)
        key = kernel.key(*first)
        symbol = _symbol(key)
        source, known, names_in_source = _entry(kernel, first)
        code = _intermediate_code(source, names_in_source, symbol)
        for level, machine in machines.items():
            (Path(folder) / f"{symbol}_v{level}.o").write_bytes(_machine_code(code, machine, symbol, level))
        described.append((key, {"symbol": symbol, **known}))
    return described


def _symbol(key: str) -> str:
    """Return the name of a kernel's function and, with an ending, of its file. Keys of long losses are cut.

    >>> _symbol("measures.kernels.linkage.link(float64)")
    'measures_kernels_linkage_link_float64'
    """
    symbol = re.sub(r"\W+", "_", key).strip("_")
    return symbol if len(symbol) <= LONGEST else f"{symbol[:LONGEST]}_{hashlib.sha256(key.encode()).hexdigest()[:16]}"


# -- the entry: from slots to the kernel's arguments, and from its result to slots -------------------


def _entry(kernel: compiling.Kernel, first: Sequence[Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the source of a function of the slots' address that calls a kernel, how to call it, and its names."""
    from numba import carray
    from numba.core import sigutils

    numba = compiling.load_numba()
    signature = kernel.types(first)
    types, result = sigutils.normalize_signature(signature)
    dispatcher = numba.njit(**compiling.PART, **compiling.FLAGS)(kernel.py_func)
    dispatcher.compile(signature)
    writer = _Writer()
    named = zip(inspect.signature(kernel.py_func).parameters, types, strict=True)
    arguments = [writer.argument(name, kind) for name, kind in named]
    after = writer.at
    lines: list[str] = []
    what = writer.result(result, "result", lines)
    source = "\n    ".join(
        [
            "def entry(address):",
            f"slots = carray(pointer(address), ({writer.at + 1},), int64)",
            f"reals = carray(pointer(address), ({writer.at + 1},), float64)",
            f"result = kernel({', '.join(arguments)})",
            *lines,
        ]
    )
    known = {
        "parts": writer.parts,
        "names": writer.names,
        "arguments": len(types),
        "result": what,
        "first": after,
        "slots": writer.at,
    }
    return source, known, {**writer.used, **_intrinsics(), "carray": carray, "kernel": dispatcher}


class _Writer:
    """Writes the code that turns slots into arguments and a result into slots, and lists the parts for run_time.c."""

    def __init__(self) -> None:
        import numpy as np

        self.at = 0
        self.parts: list[tuple[int, int, int, int]] = []
        self.names: list[str] = []
        self.used: dict[str, Any] = {"int64": np.int64, "float64": np.float64}

    def argument(self, name: str, kind: Any) -> str:
        """Return the expression of an argument, or of a member of a tuple, that reads the next slots."""
        from numba import types
        from numba.np.numpy_support import as_dtype

        if isinstance(kind, types.BaseTuple):
            self._part(name, TUPLE, count=len(kind.types))
            fields = getattr(kind, "fields", range(len(kind.types)))
            members = [self.argument(f"{name}.{field}", part) for field, part in zip(fields, kind.types, strict=True)]
            if isinstance(kind, types.BaseNamedTuple):
                self.used[kind.instance_class.__name__] = kind.instance_class
                return f"{kind.instance_class.__name__}({', '.join(members)})"
            return f"({', '.join(members)},)"
        at = self.at
        if isinstance(kind, types.Array):
            if kind.layout != "C" or not kind.mutable:
                raise TypeError(f"{name}: a kernel takes writable C-contiguous arrays, not {kind}.")
            dtype = as_dtype(kind.dtype)
            self._part(name, ARRAY, ord(dtype.kind), dtype.itemsize, kind.ndim)
            self.used[f"t_{dtype}"] = dtype.type
            self.at += 1 + kind.ndim
            shape = "".join(f"slots[{at + 1 + axis}], " for axis in range(kind.ndim))
            return f"carray(pointer(slots[{at}]), ({shape}), t_{dtype})"
        self.at += 1
        if isinstance(kind, types.Float):
            self._part(name, REAL)
            return f"reals[{at}]"
        if isinstance(kind, types.Boolean):
            self._part(name, TRUTH)
            return f"slots[{at}] != 0"
        if isinstance(kind, types.Integer):
            self._part(name, SIGNED if kind.signed else UNSIGNED)
            self.used[f"t_{kind}"] = as_dtype(kind).type
            return f"t_{kind}(slots[{at}])"
        raise TypeError(f"{name}: a kernel that is compiled ahead cannot take {kind}.")

    def _part(self, name: str, what: int, kind: int = 0, size: int = 0, count: int = 0) -> None:
        self.parts.append((what, kind, size, count))
        self.names.append(name)

    def result(self, kind: Any, expression: str, lines: list[str]) -> list[Any]:
        """Add the lines that write a result into the next slots; return how to read it."""
        from numba import types
        from numba.np.numpy_support import as_dtype

        if isinstance(kind, types.NoneType):
            return [NOTHING]
        if isinstance(kind, types.BaseTuple):
            return [TUPLE, [self.result(t, f"{expression}[{i}]", lines) for i, t in enumerate(kind.types)]]
        at = self.at
        if isinstance(kind, types.Array):
            self.at += 2 + kind.ndim
            lines.append(f"slots[{at}], slots[{at + 1}] = handle({expression}), {expression}.ctypes.data")
            lines.extend(f"slots[{at + 2 + axis}] = {expression}.shape[{axis}]" for axis in range(kind.ndim))
            return [ARRAY, as_dtype(kind.dtype).str, kind.ndim]
        self.at += 1
        lines.append(f"{'reals' if isinstance(kind, types.Float) else 'slots'}[{at}] = {expression}")
        if isinstance(kind, types.Float):
            return [REAL]
        if isinstance(kind, types.Boolean):
            return [TRUTH]
        return [SIGNED if kind.signed else UNSIGNED]


def _intrinsics() -> dict[str, Any]:
    """Return what an entry needs besides Numba's functions: pointers from addresses, and an array's memory."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def pointer(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.inttoptr(values[0], context.get_value_type(types.voidptr))

        return types.voidptr(types.int64), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def handle(typing: Any, array: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            context.nrt.incref(builder, signature.args[0], values[0])
            memory = context.make_array(signature.args[0])(context, builder, values[0]).meminfo
            return builder.ptrtoint(memory, context.get_value_type(types.int64))

        return types.int64(array), generate

    return {"pointer": pointer, "handle": handle}


# -- from Numba's intermediate code to machine code ----------------------------------------------------


def _keep_intermediate_code() -> None:
    """Make Numba stop at the intermediate code of each function; by default it compiles each one separately."""
    from numba.core import codegen, cpu
    from numba.core.registry import cpu_target

    compiling.load_numba()
    _ = cpu_target.target_context  # its own run time is compiled and called, so that comes first

    def finalize(self: Any) -> None:
        self._finalized = True

    def add_llvm_module(self: Any, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        self._final_module.link_in(module)

    codegen.CPUCodeLibrary.finalize = finalize
    codegen.CPUCodeLibrary.add_llvm_module = add_llvm_module
    codegen.CPUCodeLibrary._get_module_for_linking = lambda self: self._final_module
    cpu.CPUContext.get_executable = _no_machine_code


def _no_machine_code(context: Any, library: Any, description: Any, environment: Any) -> Any:
    """Return a stand-in for the machine code of a function; it is never called."""
    import ctypes

    from numba import _dynfunc

    address = ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value
    name = description.qualname.rpartition(".")[2]
    return _dynfunc.make_function(description.lookup_module(), name, "", address, environment, (library,))


def _intermediate_code(source: str, names: dict[str, Any], symbol: str) -> bytes:
    """Return one module with an entry and all functions that it calls; only the entry has a public name."""
    import llvmlite.binding as llvm
    from numba import types

    exec(source, names)
    dispatcher = compiling.load_numba().njit(**compiling.PART, **compiling.FLAGS)(names["entry"])
    dispatcher.compile((types.int64,))
    compiled = dispatcher.overloads[(types.int64,)]
    module = llvm.parse_assembly("")
    module.name = symbol
    module.triple = compiled.library._final_module.triple
    module.data_layout = compiled.library._codegen._data_layout
    for library in _linked(compiled.library, set()):
        for function in library._final_module.functions:
            if not function.is_declaration and function.linkage in (llvm.Linkage.external, llvm.Linkage.linkonce_odr):
                function.linkage = "weak_odr"  # two libraries may hold the same function, and the linker keeps one
        module.link_in(library._final_module, preserve=True)
    for value in [*module.functions, *module.global_variables]:
        if not value.is_declaration:
            value.linkage = "internal"
    entry = module.get_function(compiled.fndesc.llvm_func_name)
    entry.linkage, entry.name = "external", symbol
    return bytes(module.as_bitcode())


def _linked(library: Any, seen: set[int]) -> Iterator[Any]:
    """Yield a library of Numba's and all libraries that it calls, each once."""
    if id(library) not in seen:
        seen.add(id(library))
        yield library
        for other in library._linking_libraries:
            yield from _linked(other, seen)


def _machine(level: int) -> Any:
    """Return a target machine of this level, with position-independent code."""
    import llvmlite.binding as llvm

    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=f"x86-64-v{level}", features="", opt=3, reloc="pic", codemodel="default")


def _machine_code(code: bytes, machine: Any, symbol: str, level: int) -> bytes:
    """Optimize a module by Numba's passes, first cheaply to remove reference counts, and return its machine code."""
    import llvmlite.binding as llvm
    from numba.core.codegen import _parse_refprune_flags

    module = llvm.parse_bitcode(code)
    for thorough in (False, True):
        tuning = llvm.create_pipeline_tuning_options(speed_level=3 if thorough else 0)
        tuning.loop_vectorization = tuning.slp_vectorization = thorough
        builder = llvm.create_pass_builder(machine, tuning)
        passes = builder.getModulePassManager()
        if not thorough:
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.add_refprune_pass(_parse_refprune_flags())
        passes.run(module, builder)
    module.get_function(symbol).name = f"{symbol}_v{level}"
    module.verify()
    return bytes(machine.emit_object(module))
