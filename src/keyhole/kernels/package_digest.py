"""Digests of the packages that generate code, and of the C library's elementary functions.

The digest of the packages is taken over syntax trees, without comments, docstrings and line
numbers, so it changes only with code. Reading the trees takes more than a tenth of a second, so the
digest is stored beside the compiled code, in a file that is named by a hash of the sources' bytes.
"""

import ast
import hashlib
import math
import sys
from functools import cache
from pathlib import Path
from typing import Final

from keyhole.kernels import cache_files

# Three of these packages are layers above this one. If they registered themselves when they are
# imported, the keys would depend on which packages a process has imported.
COMPILED_PACKAGES: Final = ("kernels", "draws", "contract", "drivers")
"""The packages whose sources are part of every cache key as a whole, since they generate code that
no kernel refers to. Other functions are followed one by one (`keyhole.kernels.fingerprint`)."""
_INTERPRETER_FOLDER: Final = "interpreter"
"""The folder that is left out, since nothing in it is compiled."""


def _read_sources() -> dict[str, bytes]:
    """Return the sources of `COMPILED_PACKAGES` by path, without those of the interpreter."""
    home = Path(__file__).parents[1]
    paths = [path for name in COMPILED_PACKAGES for path in sorted((home / name).rglob("*.py"))]
    paths = [path for path in paths if path.parent.name != _INTERPRETER_FOLDER]
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in paths}


# The sources are read at import. If the package is upgraded while this process runs, the running
# code must not be filed under the digest of the new package.
_sources: Final = _read_sources()


@cache
def compiled_packages_digest() -> str:
    """Return the digest of the sources of `COMPILED_PACKAGES`, a part of every cache key.

    Examples
    --------
    >>> len(compiled_packages_digest())
    64
    """
    content = repr((sys.implementation.cache_tag, _sources)).encode()
    bytes_digest = hashlib.sha256(content).hexdigest()
    folder = cache_files.cache_folder()
    path = folder / f"{bytes_digest}{cache_files.DIGEST_SUFFIX}"
    can_store = cache_files.prepare_folder(folder)
    if can_store and (stored_digest := cache_files.read_cache_file(path)) is not None:
        return stored_digest.decode()
    digests = [f"{name} {tree_digest(source)} " for name, source in _sources.items()]
    trees_digest = hashlib.sha256("".join(digests).encode()).hexdigest()
    if can_store:
        cache_files.write_cache_file(path, trees_digest.encode())
    return trees_digest


def tree_digest(source: str | bytes) -> str:
    """Return a digest of source text that does not depend on comments, docstrings and layout.

    Examples
    --------
    >>> tree_digest("x = 1  # one") == tree_digest("x = 1")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [item for item in node.body if not _is_string_statement(item)]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_string_statement(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or another string that has no effect."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


_POINT_COUNT: Final = 4_000
# 1 / golden ratio: the fractional parts of its multiples are spread evenly over [0, 1).
_STEP: Final = (math.sqrt(5.0) - 1.0) / 2.0
_FUNCTIONS: Final = (math.log, math.log1p, math.log2, math.exp, math.expm1, math.lgamma, math.cos)


@cache
def math_library_digest() -> str:
    """Return a digest of the values that elementary functions have in this process.

    A C library chooses its implementation of the logarithm by the processor. With fused
    multiply-add, the last bit of some values differs (glibc 2.36: at 2 of 20,000 points). All other
    arithmetic of Keyhole is the same everywhere. So machines with equal digests play a simulation
    with the same bits.
    """
    points = [1e-9 + (i * _STEP) % 1.0 for i in range(_POINT_COUNT)]
    values = [function(x) for function in _FUNCTIONS for x in points]
    values += [math.pow(x, _STEP) for x in points]
    return hashlib.sha256("".join(map(float.hex, values)).encode()).hexdigest()[:16]
