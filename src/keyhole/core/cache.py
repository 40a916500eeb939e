"""Machine code kept between processes, addressed by what it was compiled from.

All use of Numba's private interfaces for caching stands in this file.
"""

import contextlib
import hashlib
import os
import pickle
import platform
import re
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.errors import NumbaError

from keyhole.core.jit import KERNEL_OPTIONS, compiled, names_ending_in
from keyhole.core.link import Kernel

_VARIABLE: Final = "KEYHOLE_CACHE_DIR"


def cache_folder() -> Path:
    """Return the folder that holds compiled code.

    Returns
    -------
    Path
        `$KEYHOLE_CACHE_DIR` if set, else `keyhole` in the user's cache folder. It may be deleted
        at any time; the next run compiles again.

    Examples
    --------
    >>> cache_folder().is_absolute()
    True
    """
    if chosen := os.environ.get(_VARIABLE):
        return Path(chosen).absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "keyhole"


@cache
def core_digest() -> str:
    """Return a digest of the source of `keyhole.core`, which is part of all compiled code.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> len(core_digest())
    64
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _ContentCache(_Cache):
    """One file a compiled function, named by a digest of everything that went into it."""

    def __init__(self, digest: str) -> None:
        self._digest = digest
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Do nothing: entries never go stale, since their name is their content."""

    def _path(self, signature: object, codegen: Any) -> Path:
        # Several Python versions and processors may share the folder.
        words = (
            core_digest(),
            self._digest,
            str(signature),
            codegen.magic_tuple(),
            numba.__version__,
            np.__version__,
            sys.implementation.cache_tag,
            platform.machine(),
            repr(config.OPT),  # type: ignore[attr-defined]
        )
        name = hashlib.sha256(repr(words).encode()).hexdigest()
        return cache_folder() / f"{name}.bin"

    # A cache may lose, but never fail: whatever goes wrong below (an unwritable folder, a file
    # cut short, an interface of Numba that has moved), the function is compiled instead.

    def load_overload(self, sig: object, target_context: Any) -> CompileResult | None:
        with contextlib.suppress(Exception):
            target_context.refresh()
            data = self._path(sig, target_context.codegen()).read_bytes()
            digest, payload = data[:32], data[32:]
            if hashlib.sha256(payload).digest() == digest:
                found: CompileResult = CompileResult._rebuild(  # type: ignore[no-untyped-call]
                    target_context, *pickle.loads(payload)
                )
                return found
        return None

    def save_overload(self, sig: object, data: CompileResult) -> None:
        with contextlib.suppress(Exception):
            payload = pickle.dumps(data._reduce())  # type: ignore[no-untyped-call]
            path = self._path(sig, data.codegen)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(path, hashlib.sha256(payload).digest() + payload)


def _write(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


_compiled: dict[str, Kernel] = {}


def _reason(error: NumbaError) -> str:
    """Return the compiler's complaint on one line, with the place if it names one."""
    lines = [line for line in str(error).splitlines() if not line.startswith("Failed in")]
    text = lines[0] if lines else type(error).__name__
    if re.search(r"NRT required|built-in function (zeros|empty|ones|array|arange)", str(error)):
        text = (
            "a kernel cannot allocate memory (a new array, or a copy of one array into another "
            "by a slice); declare arrays in State and write loops"
        )
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', str(error)):
        if "core" not in Path(file).parts:
            return f"{text} ({file}, line {line})"
    return text


def compile_cached(owner: str, digest: str, build: Callable[[], Kernel], signature: Any) -> Kernel:
    """Return the machine code filed under a digest, compiling it if nobody has yet.

    Parameters
    ----------
    owner : str
        Whose code it is, for the error message.
    digest : str
        Stands for everything that goes into the function: equal digest, equal code.
    build : callable
        Makes the function (not yet compiled); called only when this process has not used it.
    signature : numba signature
        Its argument types.

    Returns
    -------
    callable
        The compiled function; it runs without the interpreter's lock.

    Raises
    ------
    TypeError
        If it cannot be compiled.
    """
    if digest not in _compiled:
        with names_ending_in(f"_{core_digest()[:8]}{digest[:24]}"):
            dispatcher = compiled(build(), KERNEL_OPTIONS | {"nogil": True})
        dispatcher._cache = _ContentCache(digest)
        try:
            dispatcher.compile(signature)
        except NumbaError as error:
            raise TypeError(f"{owner} cannot be compiled: {_reason(error)}") from error
        dispatcher.disable_compile()
        _compiled[digest] = dispatcher
    return _compiled[digest]
