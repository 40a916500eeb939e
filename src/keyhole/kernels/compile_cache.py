"""The compile cache: machine code in memory and on disk, content-addressed by its sources."""

import contextlib
import hashlib
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple, cast
from weakref import WeakValueDictionary

import numpy as np

from keyhole.kernels import cache_files
from keyhole.kernels.compiler_fork_locks import compiler_lock, import_numba
from keyhole.kernels.fingerprint import CodeDigest, Kernel
from keyhole.kernels.interpreted_mode import AtomicCall, interpret, is_interpreted, set_in_context
from keyhole.kernels.kernel_decorators import (
    changed_compiler_settings,
    import_internals,
    import_machine_code_loader,
    njit_options,
)
from keyhole.kernels.package_digest import COMPILED_PACKAGES, compiled_packages_digest
from keyhole.kernels.tiered_execution import TieredFunction, TimeBudget, is_tiered
from keyhole.status_output import print_status

# Finds the file and line of an operation that Numba could type, but not lower to LLVM code.
_LOWERED_LINE: Final = re.compile(r'^During: lowering ".*" at (.+) \((\d+)\)$', re.MULTILINE)
# Matches the colours of error texts, which Numba adds if colorama is installed.
_TERMINAL_STYLES: Final = re.compile(r"\x1b\[[0-9;]*m")
# Matches the paths of files of Numba and of Keyhole's compiled packages.
_INTERNAL_FILE: Final = re.compile(rf"(^|/)(numba|keyhole/({'|'.join(COMPILED_PACKAGES)}))/")

# Machine code in memory, by the name of the code. A function that nothing refers to is freed with
# its code. The most recently used functions stay referenced here: a simulation drops its function
# when it ends, and the next simulation may need the same function.
_functions: WeakValueDictionary[str, Kernel] = WeakValueDictionary()
_recent_functions: dict[str, Kernel] = {}
_MAX_RECENT_FUNCTIONS: Final = 32
# The time for which each piece of code has been interpreted in this process, by the code's name.
_budgets: Final[dict[str, TimeBudget]] = {}
# Whether `compile_cached` must only find the file of the code, as `find_code_file` asks.
_finds_file_only: ContextVar[bool] = ContextVar("finds_file_only", default=False)
_ANNOUNCE_AFTER_SECONDS: Final = 1.0
# Has one entry for each `quiet_compilation` in progress. Appending and popping need no lock.
_quiet_contexts: Final[list[None]] = []
_LOCK_POLL_SECONDS: Final = 0.05
_MAX_LOCK_POLLS: Final = 6000  # five minutes, since compiling takes long if all cores are busy


@cache
def _compiler_versions() -> list[str]:
    """Return the versions of Numba and llvmlite; cached, since they are read from files."""
    return [version(package) for package in ("numba", "llvmlite")]


def _code_dependencies() -> dict[str, object]:
    """Return everything that machine code depends on beyond the kernels, by name."""
    # Several versions, processors and settings may share the folder. If one of these parts were not
    # in the key, code of another version, processor or setting would be run.
    return {
        "Keyhole's own compiled packages": compiled_packages_digest(),
        "the processor": import_machine_code_loader().describe_processor(),
        "the versions of Numba and llvmlite": _compiler_versions(),
        "the version of NumPy": np.__version__,
        "the version of Python": sys.implementation.cache_tag,
        "the kind of machine": platform.machine(),
        "Numba's settings": sorted(changed_compiler_settings().items()),
        "the compiler's options": sorted(njit_options().items()),
    }


def _code_path(code_name: str) -> Path:
    key_text = repr((code_name, _code_dependencies()))
    file_name = hashlib.sha256(key_text.encode()).hexdigest() + cache_files.CODE_SUFFIX
    return cache_files.cache_folder() / file_name


class CodeFile(NamedTuple):
    """The path of a file of code, which need not exist yet; `make_key` returns its key's parts."""

    path: Path
    make_key: Callable[[], dict[str, str]]


def _make_code_file(owner: str, digest: str, code_name: str) -> CodeFile | None:
    """Return the file of a piece of code; None if the folder is not trusted.

    `digest` covers the sources; `code_name` is the name that `compile_cached` gives to the code.
    """
    if not cache_files.prepare_folder(cache_files.cache_folder()):
        return None

    def make_key() -> dict[str, str]:
        sources = digest.parts() if isinstance(digest, CodeDigest) else {}
        dependencies = {name: str(value) for name, value in _code_dependencies().items()}
        return {"owner": owner, **dependencies, **sources}

    return CodeFile(_code_path(code_name), make_key)


def _load_cached_code(path: Path) -> Kernel | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, ImportError):
        if (data := cache_files.read_cache_file(path)) is not None:
            loader = import_machine_code_loader()
            return cast(Kernel, loader.load_machine_code(loader.MachineCode.from_bytes(data)))
    return None


def _compiler_error_text(error: Exception) -> str:
    """Return the compiler's error on one line, with the user's file and line if they are known."""
    # Numba has no structured errors, so the cause and the line are searched in the error's text.
    message = _TERMINAL_STYLES.sub("", str(error))
    lines = [line for line in message.splitlines() if not line.startswith("Failed in")]
    text = next(iter(lines), type(error).__name__)
    # NRT is the part of Numba that allocates memory.
    if re.search(r"NRT required|built-in function (zeros|empty|ones|array|arange)", message):
        text = (
            "a kernel cannot allocate memory (a new array, or a copy of one array into another "
            "by a slice); declare arrays in State and write loops"
        )
    if "setitem(readonly array" in message:
        text = (
            "a kernel writes to an array of its module, which is a constant for it: "
            "only the arrays of State change"
        )
    if "returning of array" in text:
        text = "a kernel cannot return an array: it names a group, and fills the group's arrays"
        # Pairs of a file and a line.
        matches = [
            match for match in _LOWERED_LINE.findall(message) if not _INTERNAL_FILE.search(match[0])
        ]
        if matches:
            text = "a kernel cannot call what may make a new array, such as `ravel`"
            return f"{text}: take entries by their indices ({matches[0][0]}, line {matches[0][1]})"
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', message):
        if file != "<string>" and not _INTERNAL_FILE.search(Path(file).as_posix()):
            return f"{text} ({file}, line {line})"
    return text


def read_cache_keys() -> list[dict[str, str]]:
    """Return the parts of each key in the cache, by name, the least recently used key first."""
    keys = []
    # Reading a file marks it as used. Since the files are read in the order of their last use, they
    # keep this order.
    for path, _ in cache_files.cached_files():
        with contextlib.suppress(ValueError, TypeError):
            data = cache_files.read_cache_file(path) or b""
            keys.append(import_machine_code_loader().MachineCode.from_bytes(data).key)
    return keys


@contextlib.contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    """Let one process at a time compile the code of `path`; the others wait, and then load it."""
    lock = path.with_suffix(".lock")
    handle = -1  # no file
    if sys.platform != "win32":
        import fcntl

        with contextlib.suppress(OSError):
            handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
            # The operating system releases the lock if its process dies. But that process may be
            # suspended, so the wait is limited; both processes then compile the code.
            for _ in range(_MAX_LOCK_POLLS):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(_LOCK_POLL_SECONDS)
    try:
        yield
    finally:
        if handle >= 0:
            lock.unlink(missing_ok=True)
            os.close(handle)


@contextlib.contextmanager
def quiet_compilation() -> Iterator[None]:
    """Announce no compilation, in any thread, while this context lasts."""
    _quiet_contexts.append(None)
    try:
        yield
    finally:
        _quiet_contexts.pop()


def _print_unless_quiet(message: str) -> None:
    if not _quiet_contexts:
        print_status(message)


@contextlib.contextmanager
def _announce_compilation(owner: str, path: Path | None) -> Iterator[None]:
    """Print to standard error what is being compiled, if that takes more than a second."""
    frequency = "once, in every process"
    if path is not None and os.access(path.parent, os.W_OK):
        frequency = "once, and kept for later runs"
    message = f"keyhole: compiling {owner} ({frequency})"
    timer = threading.Timer(_ANNOUNCE_AFTER_SECONDS, partial(_print_unless_quiet, message))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _compile(
    owner: str, file: CodeFile | None, build: Callable[[], Kernel], signature: str, hold_gil: bool
) -> Kernel:
    flags = njit_options() | {"nogil": not hold_gil}
    with _announce_compilation(owner, file and file.path):
        numba = import_numba()
        try:
            code = import_internals().compile_entry_point(build(), signature, flags)
        except numba.NumbaError as error:
            raise TypeError(f"{owner} cannot be compiled: {_compiler_error_text(error)}") from error
    if file is not None and code.is_lasting:
        cache_files.write_cache_file(file.path, replace(code, key=file.make_key()).to_bytes())
    return cast(Kernel, import_machine_code_loader().load_machine_code(code))


def _load_or_compile(file: CodeFile | None, compile_it: Callable[[], Kernel]) -> Kernel:
    if file is None:
        return compile_it()
    if (function := _load_cached_code(file.path)) is not None:
        return function
    cache_files.cache_limit()  # refuses a wrong limit before the work
    # The file is read again under the lock: another process may have written it meanwhile.
    with _file_lock(file.path):
        return _load_cached_code(file.path) or compile_it()


class _CodeFileFoundError(Exception):
    """Ends `compile_cached` early, and hands `find_code_file` the file of the code."""

    def __init__(self, file: CodeFile | None) -> None:
        super().__init__(file)
        self.file = file


def find_code_file(compile_it: Callable[[], object]) -> CodeFile | None:
    """Return the file of the code that `compile_it` would compile; compile nothing.

    `compile_it` is a function that calls `compile_cached`. The result is None if the code is not
    kept in a file, or is interpreted.
    """
    try:
        with set_in_context(_finds_file_only, True):
            compile_it()
    except _CodeFileFoundError as error:
        return error.file
    return None


def compile_cached(
    owner: str, digest: str, build: Callable[[], Kernel], signature: str, *, hold_gil: bool = False
) -> Kernel:
    """Return the machine code for a digest, compiling it if neither memory nor disk has it.

    `digest` covers everything that goes into the function: equal digests mean equal code. If it is
    a `CodeDigest`, its parts are stored with the code, to show later why the code was compiled.
    `build` returns the function in plain Python. It is called only if the function is compiled or
    interpreted, and Numba is imported only to compile. `signature` is text, such as
    ``"int64(float64[::1], int64)"``. The compiled function does not check the types of its
    arguments. It releases the GIL during a call, unless `hold_gil` is set. Its code is freed with
    the last reference to it; this module holds references to the most recently used functions.

    Within `interpret_first`, the result for code that is neither in memory nor on disk is a
    `TieredFunction`, unless the code's time budget is spent, or the code cannot be interpreted.
    """
    # Interpreted copies are not cached. They hold their caller's arrays, and are made in
    # milliseconds.
    if is_interpreted():
        interpreted_function = interpret(owner, build())
        return AtomicCall(owner, interpreted_function) if hold_gil else interpreted_function
    code_name = f"{digest} {njit_options()} {signature} {hold_gil}"
    if _finds_file_only.get():
        raise _CodeFileFoundError(_make_code_file(owner, digest, code_name))
    with compiler_lock():
        function = _functions.get(code_name)
        if function is None:
            budget = _budgets.setdefault(code_name, TimeBudget())
            if is_tiered() and not budget.is_spent:
                # Computing the file's name takes 0.2 s, which is saved if the cache has no code.
                has_code = any(cache_files.cache_folder().glob(f"*{cache_files.CODE_SUFFIX}"))
                if has_code and (file := _make_code_file(owner, digest, code_name)):
                    function = _load_cached_code(file.path)
                if function is None:
                    compile_now = partial(
                        compile_cached, owner, digest, build, signature, hold_gil=hold_gil
                    )
                    with contextlib.suppress(TypeError):  # what cannot be interpreted is compiled
                        return TieredFunction(owner, build, budget, compile_now, hold_gil)
            if function is None:
                file = _make_code_file(owner, digest, code_name)
                compile_it = partial(_compile, owner, file, build, signature, hold_gil)
                function = _load_or_compile(file, compile_it)
            _functions[code_name] = function
        _recent_functions.pop(code_name, None)
        _recent_functions[code_name] = function
        while len(_recent_functions) > _MAX_RECENT_FUNCTIONS:
            del _recent_functions[next(iter(_recent_functions))]
        return function
