"""Files of the user's: what nobody has installed, and so no other process has."""

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
_AWAY: Final = "__mp_main__"
"""What a script is called where it is not the main one, as `multiprocessing` has it."""
_unnamed: Final[list[ModuleType]] = []


@dataclass(frozen=True)
class UserModule:
    """A file of the user's.

    Attributes
    ----------
    name, path : str
        Of the module, and of its file.
    source : bytes
        Its text.
    package : bool
        Whether it is the file of a package.
    imported : bool
        Whether others may import it by its name.
    """

    name: str
    path: str
    source: bytes
    package: bool = False
    imported: bool = True


def register_module(module: ModuleType) -> None:
    """Take note of a module that was loaded from a file, but is not in `sys.modules`."""
    _unnamed.append(module)


@contextmanager
def import_siblings(folder: Path) -> Iterator[None]:
    """Let what is run meanwhile import from a folder; such modules are remembered, not shared.

    Another folder may have others of the same names.
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


def module_of(thing: type | FunctionType) -> ModuleType | None:
    """Return the user's module in which a class or a function is found by its name."""
    own = sys.modules.get(thing.__module__ or "")
    for module in (own, *(one for one in _unnamed if one.__name__ == thing.__module__)):
        if module is not None and is_user_module(module):
            try:
                found = attrgetter(thing.__qualname__)(module)
            except AttributeError:
                continue
            if found is thing:
                return module
    return None


def is_user_module(module: ModuleType) -> bool:
    """Return whether a module stands in a file that nobody has installed."""
    return _is_users(module.__name__, str(getattr(module, "__file__", None)))


@cache
def _is_users(name: str, file: str) -> bool:
    path = Path(file).resolve()
    if not file.endswith(".py") or name.partition(".")[0] == "keyhole":
        return False
    return not any(path.is_relative_to(place) for place in _installed())


@cache
def _installed() -> tuple[Path, ...]:
    """Return the folders of installed packages, and of those that are installed where they lie."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    places = {*map(sysconfig.get_paths().__getitem__, kinds), site.getusersitepackages()}
    lists = [file for place in places for file in Path(place).glob("*.pth")]
    places |= {line for file in lists for line in file.read_text().splitlines() if line[:1] == "/"}
    return tuple(Path(place).resolve() for place in sorted(places))


def collect_user_modules(modules: Iterable[ModuleType]) -> list[UserModule]:
    """Return the files of users' modules, with all that these import of users' files."""
    found: dict[int, tuple[ModuleType, bool]] = {}

    def visit(module: ModuleType, imported: bool) -> None:
        known = id(module) in found
        found[id(module)] = module, imported or (known and found[id(module)][1])
        if not known:
            for other in _imports(module):
                visit(other, True)

    for module in modules:
        visit(module, sys.modules.get(module.__name__) is module)
    return [_script(module, imported) for module, imported in found.values()]


def _imports(module: ModuleType) -> Iterator[ModuleType]:
    """Yield the users' modules that a module imports, wherever in it, and their packages."""
    names: set[str] = {module.__name__.rpartition(".")[0]}
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
        other = _named(name, module)
        if other is not None and other is not module and is_user_module(other):
            yield other


def _named(name: str, importer: ModuleType) -> ModuleType | None:
    """Return the module that a user's module has imported by a name: one beside it, or of all."""
    folder = Path(str(importer.__file__)).resolve().parent
    for module in reversed(_unnamed):
        if module.__name__ == name and Path(str(module.__file__)).resolve().is_relative_to(folder):
            return module
    return sys.modules.get(name)


def _script(module: ModuleType, imported: bool) -> UserModule:
    name = _AWAY if module.__name__ == _MAIN else module.__name__
    path = str(module.__file__)
    return UserModule(name, path, Path(path).read_bytes(), hasattr(module, "__path__"), imported)
