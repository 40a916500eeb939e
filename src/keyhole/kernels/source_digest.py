"""A digest of the sources that all compiled code stands on: of what they do, not of what they say.

It is taken over the syntax trees, without comments, docstrings and places in the file: it is the
same until code is changed. To read the trees takes more than a tenth of a second, and is done once
for each version of the sources: the digest is kept beside the compiled code, under one of their
bytes.
"""

import ast
import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from keyhole.kernels.cache_files import NOTE, cache_folder, is_usable, read_file, write_file

COMPILED_PACKAGES: Final = ("kernels", "draws", "contract", "drivers")
"""The packages whose sources are part of every cache key as a whole: code is made in them that no
kernel names. All else is followed."""
_INTERPRETER: Final = "interpreter"
"""A folder in one of them of which nothing is compiled."""
_LEFT_OUT: Final = ("kind", "type_comment")  # of a node: what says nothing of what it does


def _read_sources() -> dict[str, bytes]:
    """Return the sources of `COMPILED_PACKAGES`, by their names."""
    home = Path(__file__).parents[1]
    found = [path for room in COMPILED_PACKAGES for path in sorted((home / room).rglob("*.py"))]
    paths = [path for path in found if path.parent.name != _INTERPRETER]
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in paths}


# At import: a package that is replaced later must not have its digest on the older code.
_sources: Final = _read_sources()


@cache
def code_digest() -> str:
    """Return a digest of the sources of `COMPILED_PACKAGES`, which is part of all compiled code.

    Examples
    --------
    >>> len(code_digest())
    64
    """
    known = hashlib.sha256(repr((sys.implementation.cache_tag, _sources)).encode()).hexdigest()
    folder = cache_folder()
    path = folder / f"{known}{NOTE}" if is_usable(folder) else None
    if path is not None and (found := read_file(path)) is not None:
        return found.decode()
    digest = hashlib.sha256()
    for name, source in _sources.items():
        digest.update(f"{name} {tree_digest(source)} ".encode())
    made = digest.hexdigest()
    if path is not None:
        write_file(path, made.encode())
    return made


def tree_digest(source: str | bytes) -> str:
    """Return a digest of some source text that is equal as long as it does the same.

    Examples
    --------
    >>> tree_digest("x = 1  # one") == tree_digest("x = 1")
    True
    """
    digest = hashlib.sha256()
    _write_node(ast.parse(source), lambda word: digest.update(f"{len(word)} {word}".encode()))
    return digest.hexdigest()


def _write_node(node: Any, write: Callable[[str], None]) -> None:
    """Write a part of a syntax tree, word by word; what is empty is left out.

    So it does not matter that later versions of Python have more kinds of parts.
    """
    if isinstance(node, ast.Constant):
        write(f"{type(node.value).__name__} {node.value!r}")
    elif isinstance(node, ast.AST):
        write(type(node).__name__)
        for name, value in ast.iter_fields(node):
            if value is not None and value != [] and name not in _LEFT_OUT:
                write(name)
                _write_node(value, write)
        write(")")
    elif isinstance(node, list):
        for item in node:
            if not _is_text(item):
                _write_node(item, write)
        write("]")
    else:
        write(repr(node))


def _is_text(node: Any) -> bool:
    """Tell whether a statement is a docstring, or stands where it says as little."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
