"""User modules: Python files that are not installed, so that other processes do not have them."""

import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType


@contextmanager
def import_siblings(folder: Path) -> Iterator[None]:
    """Put a folder on `sys.path`; afterwards remove its modules from `sys.modules`.

    So another folder may have modules of the same names.
    """
    names, path = set(sys.modules), folder.resolve()
    sys.path.insert(0, str(path))
    try:
        yield
    finally:
        sys.path.remove(str(path))
        for name in set(sys.modules) - names:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(path) and is_user_module(sys.modules[name]):
                del sys.modules[name]


def is_user_module(module: ModuleType) -> bool:
    """Return whether the file of a module belongs to no installed package."""
    return _is_users(module.__name__, str(getattr(module, "__file__", None)))


@cache
def _is_users(name: str, file: str) -> bool:
    path = Path(file).resolve()
    if not file.endswith(".py") or name.partition(".")[0] == "keyhole":
        return False
    return not any(path.is_relative_to(place) for place in _installed())


@cache
def _installed() -> tuple[Path, ...]:
    """Return the folders of installed packages, including editable installs."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    places = {*map(sysconfig.get_paths().__getitem__, kinds), site.getusersitepackages()}
    lists = [file for place in places for file in Path(place).glob("*.pth")]
    # A line of a .pth file is a path, or code that begins with `import`.
    places |= {line for file in lists for line in file.read_text().splitlines() if line[:1] == "/"}
    return tuple(Path(place).resolve() for place in sorted(places))
