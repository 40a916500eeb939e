"""Machine code kept between processes, addressed by what it was compiled from."""

import contextlib
import hashlib
import os
import platform
import re
import stat
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

from keyhole.kernels.jit import (
    has_internals,
    import_internals,
    import_loader,
    is_bounds_checked,
    options,
)
from keyhole.kernels.link import COMPILED_ROOMS, Kernel
from keyhole.kernels.lock import compiler_lock
from keyhole.kernels.numba_settings import changed_settings
from keyhole.validate import Range, integer

_FOLDER: Final = "KEYHOLE_CACHE_DIR"
_SIZE: Final = "KEYHOLE_CACHE_MB"
_DEFAULT_SIZE: Final = 500  # some 4,000 pairs of policy and world
_ENDING: Final = ".code"
# Nothing else in the folder is ever removed. Drafts and locks are there while somebody compiles.
_OURS: Final = re.compile(r"[0-9a-f]{64}(\.code|\.lock|-.*\.draft)")
_DIGEST: Final = 32
_WITHIN: Final = re.compile(rf"(^|/)(numba|keyhole/({'|'.join(COMPILED_ROOMS)}))/")

# Functions that nobody holds any more are let go, but for the ones used last.
_alive: WeakValueDictionary[str, Kernel] = WeakValueDictionary()
_recent: dict[str, Kernel] = {}
_RECENT: Final = 32
_SAY_AFTER_SECONDS: Final = 1.0
_WAIT_SECONDS: Final = 0.05
_WAITS: Final = 6000  # five minutes: some compile on machines full of workers


def cache_folder() -> Path:
    """Return the folder of compiled code: `$KEYHOLE_CACHE_DIR`, else `keyhole` in the user's cache.

    It may be deleted at any time; the next run compiles again.

    Examples
    --------
    >>> cache_folder().is_absolute()
    True
    """
    if chosen := os.environ.get(_FOLDER):
        return Path(chosen).absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not base.is_absolute():  # as the standard of these folders has it
            base = Path.home() / ".cache"
    return base / "keyhole"


def cache_limit() -> int:
    """Return how many bytes the folder may hold: `$KEYHOLE_CACHE_MB` megabytes, else 500."""
    given = os.environ.get(_SIZE) or str(_DEFAULT_SIZE)
    if not given.isascii() or not given.isdigit():
        raise ValueError(f"{_SIZE} must be a whole number of megabytes, got {given!r}")
    return integer(_SIZE, int(given), Range(ge=1)) * 10**6


def cached_files() -> list[tuple[Path, os.stat_result]]:
    """Return the files of compiled code, those used last at the end; none if unreadable."""
    found = []
    with contextlib.suppress(OSError):
        for path in cache_folder().iterdir():
            with contextlib.suppress(OSError):  # another process may remove it
                if _OURS.fullmatch(path.name) and stat.S_ISREG((state := path.stat()).st_mode):
                    found.append((path, state))
    return sorted(found, key=lambda item: (item[1].st_mtime_ns, item[0].name))


def clear_cache() -> int:
    """Remove all compiled code; return how many files were removed."""
    files = cached_files()
    for path, _ in files:
        path.unlink(missing_ok=True)
    return len(files)


@cache
def code_digest() -> str:
    """Return a digest of the sources of `COMPILED_ROOMS`, which is part of all compiled code.

    Examples
    --------
    >>> len(code_digest())
    64
    """
    digest = hashlib.sha256()
    for room in COMPILED_ROOMS:
        for path in sorted((Path(__file__).parents[1] / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


# At import: a package that is replaced later must not have its digest on the older code.
code_digest()


def _path(digest: str) -> Path:
    # Several Python versions and processors may share the folder.
    words = (
        code_digest(),
        digest,
        import_loader().processor(),
        [version(package) for package in ("numba", "llvmlite")],
        np.__version__,
        sys.implementation.cache_tag,
        platform.machine(),
        sorted(changed_settings().items()),
        sorted(options().items()),
    )
    return cache_folder() / f"{hashlib.sha256(repr(words).encode()).hexdigest()}{_ENDING}"


def _trusted(found: os.stat_result) -> bool:
    """Tell whether a file or folder is the user's own, and nobody else may write to it."""
    if sys.platform == "win32":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _usable(folder: Path) -> bool:
    """Tell whether a folder may hold code that this process runs; warn if not."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _trusted(folder.stat()):
            warnings.warn(
                f"{folder} is not used for compiled code: it must belong to you, and nobody else "
                f"may write to it; set {_FOLDER} to such a folder",
                stacklevel=2,
            )
            return False
    return True


# A cache may lose, but never fail: whatever goes wrong below (an unwritable folder, a file cut
# short), the function is compiled instead.


def _load(path: Path) -> Kernel | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, ImportError):
        with path.open("rb") as file:
            if not _trusted(os.fstat(file.fileno())):
                return None
            data = file.read()
        if _checksum(path, data[_DIGEST:]) != data[:_DIGEST]:
            return None
        loader = import_loader()
        loaded: Kernel = loader.load(loader.MachineCode.from_bytes(data[_DIGEST:]))
        with contextlib.suppress(OSError):
            os.utime(path)  # what is used stays
        return loaded
    return None


def _checksum(path: Path, payload: bytes) -> bytes:
    """Return a digest that is right for this name alone."""
    return hashlib.sha256(path.name.encode() + payload).digest()


def _save(path: Path, payload: bytes) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=".draft", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_checksum(path, payload) + payload)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
        _shrink()


def _shrink() -> None:
    """Remove what was not used for longest, until the rest fits."""
    files = cached_files()
    over = sum(found.st_size for _, found in files) - cache_limit()
    for path, found in files:
        if over <= 0:
            return
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            over -= found.st_size


def _reason(error: Exception) -> str:
    """Return the compiler's complaint on one line, with the place if it names one."""
    lines = [line for line in str(error).splitlines() if not line.startswith("Failed in")]
    text = lines[0] if lines else type(error).__name__
    if re.search(r"NRT required|built-in function (zeros|empty|ones|array|arange)", str(error)):
        text = (
            "a kernel cannot allocate memory (a new array, or a copy of one array into another "
            "by a slice); declare arrays in State and write loops"
        )
    if "returning of array" in text:
        text = "a kernel returns no array: it fills the arrays of the group that it names"
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', str(error)):
        if file != "<string>" and not _WITHIN.search(Path(file).as_posix()):
            return f"{text} ({file}, line {line})"
    return text


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
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
def _said(owner: str, path: Path | None) -> Iterator[None]:
    """Say on standard error what is being compiled, if that takes long."""
    how = " with every index checked" if is_bounds_checked() else ""
    kept = "in every process"
    if path is not None and os.access(path.parent, os.W_OK):
        kept = "and kept for later runs"
    elif path is not None:
        kept += f": nothing can be kept in {path.parent}"

    def say() -> None:
        print(f"keyhole: compiling {owner}{how} (once, {kept})", file=sys.stderr)  # noqa: T201

    timer = threading.Timer(_SAY_AFTER_SECONDS, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _compile(
    owner: str, path: Path | None, build: Callable[[], Any], signature: str, alone: bool
) -> Kernel:
    chosen = options() | {"nogil": not alone}
    with _said(owner, path):
        from numba import NumbaError, njit

        try:
            if not has_internals():
                usual: Kernel = njit(signature, **chosen)(build())
                return usual
            machine = import_internals().compile_entry(build(), signature, chosen)
        except NumbaError as error:
            raise TypeError(f"{owner} cannot be compiled: {_reason(error)}") from error
    if path is not None and machine.lasting:
        _save(path, machine.to_bytes())
    loaded: Kernel = import_loader().load(machine)
    return loaded


def _loaded_or_compiled(
    owner: str, path: Path | None, build: Callable[[], Any], signature: str, alone: bool
) -> Kernel:
    if path is None:
        return _compile(owner, None, build, signature, alone)
    if (found := _load(path)) is not None:
        return found
    cache_limit()  # refused before the work, not after it
    with _alone(path):
        return _load(path) or _compile(owner, path, build, signature, alone)


def compile_cached(
    owner: str, digest: str, build: Callable[[], Any], signature: str, *, alone: bool = False
) -> Kernel:
    """Return the machine code filed under a digest, compiling it if nobody has yet.

    `digest` stands for everything that goes into the function: equal digest, equal code. `build`
    makes the function, not yet compiled; it is called only when the code is not on file, and only
    then Numba is imported. `signature` is text, such as ``"int64(float64[::1], int64)"``. What is
    returned does not check the types of its arguments, and lets other threads run meanwhile, unless
    it is to run `alone`: nothing else of Python happens during a call then. The code is let go when
    nobody holds it any more (the ones used last are held here).
    """
    name = f"{digest} {options()} {signature} {alone}"
    with compiler_lock():
        function = _alive.get(name)
        if function is None:
            folder = cache_folder()
            path = _path(name) if has_internals() and _usable(folder) else None
            function = _loaded_or_compiled(owner, path, build, signature, alone)
            _alive[name] = function
        _recent.pop(name, None)
        _recent[name] = function
        while len(_recent) > _RECENT:
            del _recent[next(iter(_recent))]
        return function
