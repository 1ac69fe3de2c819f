"""How kernels are compiled: ahead of time or on their first call, for declared signatures, with a cache that is never
stale.

An entry point is `@kernel(signature)`: Python calls it. A function that only kernels call is `@inner`, in the innermost
loops of a search `@bare` or `@inlined`, and `@fused` where a call would cost more than the work. Importing a module of
kernels compiles nothing and does not even import Numba. A kernel comes from the library that was compiled ahead of time
(`library.py`) if that fits these sources and this machine; otherwise Numba compiles it. A search that needs several
kernels names them in `compile_missing`, which compiles them in several processes. Fast-math is off, because the engines
of one method must return the same labels, and reordered sums would change ties.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import itertools
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from shoal.arrays import cores
from shoal.engine.kernels.library import PLACE, Library, open_library
from shoal.engine.kernels.stamp import source_hash
from shoal.errors import ShoalError, ShoalWarning, UsageError

F = TypeVar("F", bound=Callable[..., Any])
Signature = str | Callable[..., Any]

FLAGS = {"nogil": True, "fastmath": False, "error_model": "numpy", "boundscheck": False}
BARE = {**FLAGS, "_nrt": False}
PART = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # code that only other kernels call


def kernel(signature: Signature) -> Callable[[F], F]:
    """Declare an entry point. It is compiled on its first call.

    Args:
        signature: Numba's text, or a function of the first arguments. The function returns the type of the result and
            of every argument, each as text or as an example. Such a kernel is compiled once per kind of these
            arguments, for example once per loss.
    """

    def decorate(function: F) -> F:
        return cast(F, Kernel(function, signature))

    return decorate


def inner(function: F) -> F:
    """Declare a function that only kernels call; it becomes part of their code."""
    return cast(F, InnerFunction(function, {**PART, **FLAGS}))


def bare(function: F) -> F:
    """Declare a function like `inner`, but without counting references to arrays.

    Counting took 40 % of a search's time. Such a function must not create, slice or return an array.
    """
    return cast(F, InnerFunction(function, {**PART, **BARE}))


def inlined(function: F) -> F:
    """Declare a function like `bare` that is always inlined: each array of a call costs several words on the stack."""
    return cast(F, InnerFunction(function, {**PART, **BARE, "forceinline": True}))


def fused(function: F) -> F:
    """Declare a function whose body is put into its callers, for loops so short that a call would cost more."""
    return cast(F, InnerFunction(function, {**FLAGS, "inline": "always"}))


class InnerFunction:
    """A function of kernels. Numba sees a compiled function, by `_numba_type_`; Python calls the source."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = options

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)

    @functools.cached_property
    def _dispatcher(self) -> Any:  # kept, because its type holds only a weak reference to it
        return load_numba().njit(**self.targetoptions)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return load_numba().typeof(self._dispatcher)


class Kernel:
    """An entry point: compiled, or loaded from the cache, on its first call. Only Python may call it."""

    def __init__(self, function: Callable[..., Any], signature: Signature) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._signature = signature
        self.generic = 0 if isinstance(signature, str) else signature.__code__.co_argcount
        self._compiled: dict[Any, Callable[..., Any]] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Return its name, module:function."""
        return f"{self.py_func.__module__}:{self.py_func.__name__}"

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments[: self.generic])(*arguments)

    def compiled(self, *first: Any) -> Callable[..., Any]:
        """Return the compiled function for the first arguments that its signature depends on."""
        key = tuple(_kind(argument) for argument in first)
        if key not in self._compiled:
            with self._lock:
                if key not in self._compiled:
                    self._compiled[key] = self.ahead(*first) or self.by_numba(*first)
        return self._compiled[key]

    def ahead(self, *first: Any) -> Callable[..., Any] | None:
        """Return the function of the library that was compiled ahead of time, if it has one."""
        library = load_library()
        return library.kernel(self.key(*first)) if library else None

    def by_numba(self, *first: Any) -> Callable[..., Any]:
        """Return the function that Numba compiles or loads from its cache."""
        made = _compile(self.py_func, self.types(first), is_ours(first))
        if is_ours(first):
            with contextlib.suppress(OSError):  # no folder for a cache is writable
                self.mark(*first).touch()
        return made

    def is_ready(self, *first: Any) -> bool:
        """Return whether it can be called without compiling anything."""
        return self.ahead(*first) is not None or self.mark(*first).exists()

    def key(self, *first: Any) -> str:
        """Return its key in the library: its name, and the kinds of arguments that decide its form."""
        return "-".join([self.name, *map(_kind_name, first)])

    def mark(self, *first: Any) -> Path:
        """Return the path of the file that marks the kernel as cached."""
        kinds = "".join(f"-{type(argument).__name__}" for argument in first)
        return cache_folder() / f"{self.name.replace(':', '.')}{kinds}.ready"

    def types(self, first: Sequence[Any]) -> Any:
        """Return the signature for Numba: text, or types for these first arguments."""
        if isinstance(self._signature, str):
            return self._signature
        numba = load_numba()
        named = vars(numba.types)
        result, *arguments = self._signature(*first)
        kinds = [eval(kind, {}, named) if isinstance(kind, str) else numba.typeof(kind) for kind in arguments]
        return eval(result, {}, named)(*kinds)


def _kind(argument: Any) -> Any:
    """Return what decides the compiled form of an argument: its class, and the types of the arrays that it holds."""
    if isinstance(argument, tuple):
        return type(argument), tuple(getattr(part, "dtype", None) for part in argument)
    return type(argument)


def _kind_name(argument: Any) -> str:
    """Return `_kind` as text, such as shoal.toy.kernels.state.State(float64, int32)."""
    parts = [str(getattr(part, "dtype", "")) for part in argument] if isinstance(argument, tuple) else []
    return f"{type(argument).__module__}.{type(argument).__qualname__}({', '.join(filter(None, parts))})"


def is_ours(first: Iterable[Any]) -> bool:
    """Return whether all classes belong to this package: the name of the cache folder covers only its sources."""
    return all(type(argument).__module__.partition(".")[0] == __package__.partition(".")[0] for argument in first)


def _compile(function: Callable[..., Any], signature: Any, keep: bool) -> Callable[..., Any]:
    numba = load_numba()
    started, inside = time.process_time(), _account.seconds
    with _one_at_a_time, _own_cache():
        try:
            compiled: Callable[..., Any] = numba.njit(signature, cache=keep, **FLAGS)(function)
        except RuntimeError:  # no folder for a cache is writable: every process compiles for itself
            compiled = numba.njit(signature, **FLAGS)(function)
    # Loading from the cache is not part of the search either, so it counts as compilation.
    _account.seconds = inside + (time.process_time() - started)
    return compiled


@functools.cache
def load_numba() -> Any:
    """Return Numba with Shoal's settings, imported when the first kernel needs it."""
    try:
        import numba
        from numba.core import bytecode, event
    except ImportError as error:
        raise ShoalError(
            "Shoal has no compiled code for this machine, and Numba, which could compile it, is not installed "
            f"({error}). Install it with: pip install numba"
        ) from error

    # Numba distinguishes functions of one name by a counter. Two processes would count in the same way and give one
    # name to two functions, such as the sorting within np.sort and np.argsort. A process that loads both kernels would
    # then call one function instead of the other.
    bytecode.FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(6)))
    # Lanes written by hand become vector instructions. The order of operations stays, and so does every result.
    numba.config.SLP_VECTORIZE = 1

    class Listener(event.Listener):  # type: ignore[misc]
        """Announces the first compilation, because it takes a moment."""

        def on_start(self, event: Any) -> None:
            _account.announce(str(event.data["dispatcher"].py_func.__name__))

        def on_end(self, event: Any) -> None:
            return

    event.register("numba:compile", Listener())
    for register in _waiting:
        register()
    _waiting.clear()
    return numba


def with_numba(register: Callable[[], Any]) -> None:
    """Call `register` as soon as Numba is loaded, for extensions of Numba itself."""
    if load_numba.cache_info().currsize:
        register()
    else:
        _waiting.append(register)


@functools.cache
def load_library() -> Library | None:
    """Return the library compiled ahead of time if it fits sources and machine and SHOAL_KERNELS is not `jit`."""
    choice = os.environ.get("SHOAL_KERNELS", "")
    if choice not in ("", "ahead", "jit"):
        raise UsageError(f"SHOAL_KERNELS must be ahead or jit, not {choice!r}.")
    library = None if choice == "jit" else open_library(PLACE, source_hash())
    if choice == "ahead" and not library:
        raise UsageError(
            f"SHOAL_KERNELS is ahead, but {PLACE} is missing or was built from other sources or for another machine. "
            "In a checkout, run: make library"
        )
    return library


# -- compiling several at once -------------------------------------------------------------------------------


def compile_missing(*kernels: Any) -> None:
    """Compile the kernels that are not in the cache, in as many processes as there are cores.

    Numba compiles one function at a time in a process, and kernels of one folder share code. Therefore a process gets
    kernels of one folder if that uses all cores. A kernel that fails here is compiled when it is called.

    Args:
        kernels: Each a kernel, or (kernel, first arguments...) if its form depends on them.
    """
    wanted = [item if isinstance(item, tuple) else (item,) for item in kernels]
    missing = [(kernel, first) for kernel, *first in wanted if is_ours(first) and not kernel.is_ready(*first)]
    processes = cores()
    if len(missing) < 2 or processes < 2:
        return
    _account.announce(missing[0][0].py_func.__name__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    call = "import sys, pickle; from shoal.engine.kernels import compiling; compiling.load(sys.stdin.buffer.read())"

    def run(share: list[Any]) -> None:
        import pickle

        pickled = pickle.dumps([(kernel.name, first) for kernel, first in share])
        subprocess.run([sys.executable, "-c", call], input=pickled, env=environment, capture_output=True)

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(run, balanced(missing, processes)))


def balanced(kernels: Sequence[tuple[Any, Any]], parts: int) -> list[list[tuple[Any, Any]]]:
    """Return the kernels in `parts` lists of about equal length, those of one folder together.

    A folder with more kernels than the share of one list is split.
    """
    folders: dict[str, list[tuple[Any, Any]]] = {}
    for item in kernels:
        folders.setdefault(item[0].py_func.__module__.rpartition(".")[0], []).append(item)
    share = -(-len(kernels) // parts)
    pieces = [group[i : i + share] for group in folders.values() for i in range(0, len(group), share)]
    lists: list[list[tuple[Any, Any]]] = [[] for _ in range(min(parts, len(pieces)))]
    for piece in sorted(pieces, key=len, reverse=True):
        min(lists, key=len).extend(piece)
    return lists


def load(pickled: bytes) -> None:
    """Compile kernels by name into the cache."""
    import pickle

    for name, first in pickle.loads(pickled):
        entry = kernel_named(name)
        entry.by_numba(*first)


def kernel_named(name: str) -> Kernel:
    """Return the kernel with the name module:function."""
    module, _, function = name.partition(":")
    entry: Kernel = getattr(importlib.import_module(module), function)
    return entry


def every_kernel() -> list[Kernel]:
    """Return all kernels of the package, sorted by name."""
    kernels = {
        entry.name: entry
        for module in kernel_modules()
        for entry in vars(importlib.import_module(module)).values()
        if isinstance(entry, Kernel)
    }
    return [kernels[name] for name in sorted(kernels)]


def kernel_modules() -> list[str]:
    """Return the names of the modules in the folders called `kernels`."""
    import shoal

    names = (module.name for module in pkgutil.walk_packages(shoal.__path__, "shoal.") if not module.ispkg)
    return [name for name in names if ".kernels." in name and name != __name__]


def shipped_kernels(generic: Iterable[tuple[Any, ...]] = ()) -> list[tuple[Kernel, tuple[Any, ...]]]:
    """Return every kernel; `generic` names those whose form depends on arguments, with these arguments."""
    plain = [(entry, ()) for entry in every_kernel() if not entry.generic]
    return [*plain, *((entry, tuple(first)) for entry, *first in generic)]


def warm_up(generic: Iterable[tuple[Any, ...]] = ()) -> int:
    """Compile every kernel that the library does not have; return the number of all kernels."""
    kernels = shipped_kernels(generic)
    compile_missing(*((entry, *first) for entry, first in kernels))
    for entry, first in kernels:
        entry.compiled(*first)
    return len(kernels)


# -- the cache and the time spent ---------------------------------------------------------------------


def compile_seconds() -> float:
    """Return the CPU seconds that this process has spent on compiling and loading kernels."""
    return _account.seconds


def when_compiling(say: Callable[[str], None]) -> None:
    """Call `say` once, with the name of the first kernel that has to be compiled."""
    _account.say = say


@functools.cache
def cache_folder() -> Path:
    """Return the folder of compiled kernels. Its name covers everything that decides the code, so it is never stale."""
    from importlib.metadata import version

    decisive = f"{source_hash()} {version('numba')}"
    return _cache_root() / f"kernels-{hashlib.sha256(decisive.encode()).hexdigest()[:12]}"


def _cache_root() -> Path:
    """Return the user's cache folder, or a temporary folder of this user if that is not writable."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "shoal")
    root = Path(os.environ["NUMBA_CACHE_DIR"]) if os.environ.get("NUMBA_CACHE_DIR") else usual
    if _can_write(root):
        return root
    temporary = Path(tempfile.gettempdir(), f"shoal-{os.getuid()}")
    if not _can_write(temporary) or temporary.lstat().st_uid != os.getuid() or temporary.is_symlink():
        return root  # code that another user may have written must not run
    warnings.warn(
        f"Compiled code cannot be kept in {root}, which is not writable. It is kept in {temporary} instead, where it "
        "may be deleted. Set XDG_CACHE_HOME to a folder that you can write.",
        ShoalWarning,
        stacklevel=2,
    )
    return temporary


def _can_write(folder: Path) -> bool:
    """Create a folder for this user only, if it does not exist; return whether it is writable."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


@contextmanager
def _own_cache() -> Iterator[None]:
    """Use Shoal's cache folder and cache files while a kernel is looked up; other packages keep theirs."""
    from numba.core import caching

    from shoal.engine.kernels.cache_files import CheckedCacheFile

    config = load_numba().config
    before = config.CACHE_DIR, caching.IndexDataCacheFile
    config.CACHE_DIR, caching.IndexDataCacheFile = str(cache_folder()), CheckedCacheFile
    try:
        yield
    finally:
        config.CACHE_DIR, caching.IndexDataCacheFile = before


class _Account:
    """The time that compiling took, and the function that announces it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.say: Callable[[str], None] | None = None

    def announce(self, name: str) -> None:
        if self.say is not None:
            say, self.say = self.say, None
            say(name)


_waiting: list[Callable[[], Any]] = []
_one_at_a_time = threading.RLock()  # Numba's settings are global, and it compiles only one function at a time
_account = _Account()
