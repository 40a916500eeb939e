"""Machine code kept between processes, addressed by what it was compiled from."""

import contextlib
import hashlib
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

from keyhole.kernels.atomic_call import AtomicCall
from keyhole.kernels.cache_files import (
    CODE,
    cache_folder,
    cache_limit,
    has_code,
    is_usable,
    read_file,
    write_file,
)
from keyhole.kernels.compiler_lock import compiler_lock, import_numba
from keyhole.kernels.execution import interpret, is_interpreted
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.first_use import (
    Account,
    FirstUse,
    interpreted_at_first,
    is_interpreted_at_first,
)
from keyhole.kernels.jit import (
    has_internals,
    import_internals,
    import_loader,
    is_bounds_checked,
    options,
)
from keyhole.kernels.numba_settings import changed_settings
from keyhole.kernels.source_digest import COMPILED_PACKAGES, code_digest

# An operation of a kernel that the compiler could not turn into code.
_LOWERED: Final = re.compile(r'^During: lowering ".*" at (.+) \((\d+)\)$', re.MULTILINE)
_STYLES: Final = re.compile(r"\x1b\[[0-9;]*m")  # bold letters, where colorama is found
_WITHIN: Final = re.compile(rf"(^|/)(numba|keyhole/({'|'.join(COMPILED_PACKAGES)}))/")

# Functions that nobody holds any more are let go, but for the ones used last.
_alive: WeakValueDictionary[str, Kernel] = WeakValueDictionary()
_recent: dict[str, Kernel] = {}
_RECENT: Final = 32
# What Python has spent on code before it was compiled.
_accounts: Final[dict[str, Account]] = {}
_ANNOUNCE_AFTER_SECONDS: Final = 1.0
_WAIT_SECONDS: Final = 0.05
_WAITS: Final = 6000  # five minutes: some compile on machines full of workers


@cache
def _compilers() -> list[str]:
    """Return the versions of what compiles, which stand in files."""
    return [version(package) for package in ("numba", "llvmlite")]


def _path(digest: str) -> Path:
    # Several Python versions and processors may share the folder.
    words = (
        code_digest(),
        digest,
        import_loader().processor(),
        _compilers(),
        np.__version__,
        sys.implementation.cache_tag,
        platform.machine(),
        sorted(changed_settings().items()),
        sorted(options().items()),
    )
    return cache_folder() / f"{hashlib.sha256(repr(words).encode()).hexdigest()}{CODE}"


def _load(path: Path) -> Kernel | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, ImportError):
        if (data := read_file(path)) is not None:
            loader = import_loader()
            loaded: Kernel = loader.load(loader.MachineCode.from_bytes(data))
            return loaded
    return None


def _error_text(error: Exception) -> str:
    """Return the compiler's complaint on one line, with the place if it names one."""
    complaint = _STYLES.sub("", str(error))
    lines = [line for line in complaint.splitlines() if not line.startswith("Failed in")]
    text = lines[0] if lines else type(error).__name__
    if re.search(r"NRT required|built-in function (zeros|empty|ones|array|arange)", complaint):
        text = (
            "a kernel cannot allocate memory (a new array, or a copy of one array into another "
            "by a slice); declare arrays in State and write loops"
        )
    if "returning of array" in text:
        text = "a kernel returns no array: it fills the arrays of the group that it names"
        lowered = [place for place in _LOWERED.findall(complaint) if not _WITHIN.search(place[0])]
        if lowered:
            text = "a kernel cannot call what may make a new array, such as `ravel`"
            return f"{text}: take entries by their indices ({lowered[0][0]}, line {lowered[0][1]})"
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', complaint):
        if file != "<string>" and not _WITHIN.search(Path(file).as_posix()):
            return f"{text} ({file}, line {line})"
    return text


@contextlib.contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    """Let one process at a time compile a piece: the others wait, and then find it on file."""
    lock = path.with_suffix(".lock")
    handle = -1
    if sys.platform != "win32":
        import fcntl

        with contextlib.suppress(OSError):
            handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
            for _ in range(_WAITS):  # not for ever: the other may have been stopped
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(_WAIT_SECONDS)
    try:
        yield
    finally:
        if handle >= 0:
            lock.unlink(missing_ok=True)
            os.close(handle)


@contextlib.contextmanager
def _announce(owner: str, path: Path | None) -> Iterator[None]:
    """Say on standard error what is being compiled, if that takes long."""
    how = " with every index checked" if is_bounds_checked() else ""
    kept = "in every process"
    if path is not None and os.access(path.parent, os.W_OK):
        kept = "and kept for later runs"
    elif path is not None:
        kept += f": nothing can be kept in {path.parent}"

    def say() -> None:
        print(f"keyhole: compiling {owner}{how} (once, {kept})", file=sys.stderr)  # noqa: T201

    timer = threading.Timer(_ANNOUNCE_AFTER_SECONDS, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _compile(
    owner: str, path: Path | None, build: Callable[[], Any], signature: str, hold_gil: bool
) -> Kernel:
    chosen = options() | {"nogil": not hold_gil}
    with _announce(owner, path):
        numba = import_numba()
        try:
            if not has_internals():
                usual: Kernel = numba.njit(signature, **chosen)(build())
                return usual
            machine = import_internals().compile_entry(build(), signature, chosen)
        except numba.NumbaError as error:
            raise TypeError(f"{owner} cannot be compiled: {_error_text(error)}") from error
    if path is not None and machine.lasting:
        write_file(path, machine.to_bytes())
    loaded: Kernel = import_loader().load(machine)
    return loaded


def _load_or_compile(
    owner: str, path: Path | None, build: Callable[[], Any], signature: str, hold_gil: bool
) -> Kernel:
    if path is None:
        return _compile(owner, None, build, signature, hold_gil)
    if (found := _load(path)) is not None:
        return found
    cache_limit()  # refused before the work, not after it
    with _file_lock(path):
        return _load(path) or _compile(owner, path, build, signature, hold_gil)


def compile_cached(
    owner: str, digest: str, build: Callable[[], Any], signature: str, *, hold_gil: bool = False
) -> Kernel:
    """Return the machine code filed under a digest, compiling it if nobody has yet.

    `digest` stands for everything that goes into the function: equal digest, equal code. `build`
    makes the function, not yet compiled; it is called only when the code is not on file, and only
    then Numba is imported. `signature` is text, such as ``"int64(float64[::1], int64)"``. The
    result does not check the types of its arguments. It releases the GIL during a call, unless
    `hold_gil` is set. Its code is freed with the last reference to it (those used last are
    referenced here).

    Within `interpreted_at_first`, what is not on file is not compiled: a `FirstUse` is returned.
    """
    if is_interpreted():
        run = interpret(owner, build())
        return AtomicCall(owner, run) if hold_gil else run
    name = f"{digest} {options()} {signature} {hold_gil}"
    with compiler_lock():
        function = _alive.get(name)
        if function is None:
            kept = has_internals() and is_usable(cache_folder())
            account = _accounts.setdefault(name, Account())
            if is_interpreted_at_first() and not account.is_spent:
                # An empty folder is not asked for a name, which takes 0.2 s to find.
                function = _load(_path(name)) if kept and has_code() else None
                if function is None:
                    again = partial(
                        compile_cached, owner, digest, build, signature, hold_gil=hold_gil
                    )
                    with contextlib.suppress(TypeError):  # what cannot be interpreted is compiled
                        return _first_use(owner, build, account, again, hold_gil)
            if function is None:
                path = _path(name) if kept else None
                function = _load_or_compile(owner, path, build, signature, hold_gil)
            _alive[name] = function
        _recent.pop(name, None)
        _recent[name] = function
        while len(_recent) > _RECENT:
            del _recent[next(iter(_recent))]
        return function


def _first_use(
    owner: str,
    build: Callable[[], Any],
    account: Account,
    again: Callable[[], Kernel],
    hold_gil: bool,
) -> FirstUse:
    """Return what Python runs; `again` is asked for the machine code, as it would be here."""
    with account.charged():
        run = interpret(owner, build())
    context = copy_context()

    def compiled() -> Kernel:
        with interpreted_at_first(False):
            return again()

    return FirstUse(owner, run, account, lambda: context.copy().run(compiled), hold_gil)
