"""User modules: Python files that are not installed, so that other processes do not have them."""

import ast
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Final

_MAIN: Final = "__main__"
MAIN_ELSEWHERE: Final = "__mp_main__"
"""The name of the main script in another process, as in `multiprocessing`."""
_registered: Final[list[ModuleType]] = []


@dataclass(frozen=True)
class UserModule:
    """The source of a user module.

    Attributes
    ----------
    name, path : str
        The name of the module, and the path of its file.
    source : bytes
        The content of the file.
    package : bool
        Whether it is the ``__init__`` of a package.
    imported : bool
        Whether other modules may import it by its name.
    """

    name: str
    path: str
    source: bytes
    package: bool = False
    imported: bool = True


def register_module(module: ModuleType) -> None:
    """Register a module that was loaded from a file and is not in `sys.modules`."""
    _registered.append(module)


@contextmanager
def import_siblings(folder: Path) -> Iterator[None]:
    """Put a folder on `sys.path`; afterwards move its modules from `sys.modules` to the register.

    So another folder may have modules of the same names.
    """
    known, place = set(sys.modules), folder.resolve()
    sys.path.insert(0, str(place))
    try:
        yield
    finally:
        sys.path.remove(str(place))
        for name in set(sys.modules) - known:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(place) and _is_users(name, file):
                register_module(sys.modules.pop(name))


def find_user_module(thing: type | FunctionType) -> ModuleType | None:
    """Return the user module in which a class or function is found by its name, or None."""
    own = sys.modules.get(thing.__module__ or "")
    for module in (own, *(one for one in _registered if one.__name__ == thing.__module__)):
        if module is not None and is_user_module(module):
            try:
                found = attrgetter(thing.__qualname__)(module)
            except AttributeError:
                continue
            # Another process finds it by this name, which must not mean another object by now.
            if found is thing:
                return module
    return None


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


def collect_user_modules(modules: Iterable[ModuleType]) -> list[UserModule]:
    """Return the sources of user modules and of all user modules that they import."""
    found: dict[int, tuple[ModuleType, bool]] = {}

    def visit(module: ModuleType, imported: bool) -> None:
        known = id(module) in found
        found[id(module)] = module, imported or (known and found[id(module)][1])
        if not known:
            for other in _imports(module):
                visit(other, True)

    for module in modules:
        visit(module, sys.modules.get(module.__name__) is module)
    return [_read_module(module, imported) for module, imported in found.values()]


def _imports(module: ModuleType) -> Iterator[ModuleType]:
    """Yield the user modules that a module imports, also within functions, and their packages."""
    names: set[str] = {module.__name__.rpartition(".")[0]}
    # In the source, since an import within a function may not have run yet.
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            base = resolve_name(base, module.__package__) if node.level else base
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    # a.b.c is preceded by a.b and a.
    names |= {name[:i] for name in names for i, sign in enumerate(name) if sign == "."}
    for name in sorted(names):
        other = _find_module(name, module)
        if other is not None and other is not module and is_user_module(other):
            yield other


def _find_module(name: str, importer: ModuleType) -> ModuleType | None:
    """Return the module that a user module imported by a name: a sibling, or any other."""
    folder = Path(str(importer.__file__)).resolve().parent
    # The last one registered: a file that has changed meanwhile was loaded again as a new module.
    for module in reversed(_registered):
        if module.__name__ == name and Path(str(module.__file__)).resolve().is_relative_to(folder):
            return module
    return sys.modules.get(name)


def _read_module(module: ModuleType, imported: bool) -> UserModule:
    name = MAIN_ELSEWHERE if module.__name__ == _MAIN else module.__name__
    path = str(module.__file__)
    return UserModule(name, path, Path(path).read_bytes(), hasattr(module, "__path__"), imported)
