"""How a plan travels to another process, with the files that its own classes are written in.

What an installed package has, the other process takes from its own. A file of the user's (a script,
a module beside it, a policy named in a spec) travels as its text and is run there as it was run
here; errors name it as if it were there.
"""

import ast
import hashlib
import io
import pickle
import site
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any, Final, cast

from keyhole.contract.policy import Policy
from keyhole.contract.world import Problem, World
from keyhole.play.plan import Plan

_MAIN: Final = "__main__"
_AWAY: Final = "__mp_main__"
"""What a script is called where it is not the main one, as `multiprocessing` has it."""
_unnamed: Final[list[ModuleType]] = []
_loading: Final = Lock()


@dataclass(frozen=True)
class Script:
    """A file of the user's."""

    name: str
    path: str
    source: bytes


@contextmanager
def beside(folder: Path) -> Iterator[None]:
    """Let what is run meanwhile import from a folder; such modules are remembered, not shared.

    Another folder may have others of the same names.
    """
    known, place = set(sys.modules), str(folder.resolve())
    sys.path.insert(0, place)
    try:
        yield
    finally:
        sys.path.remove(place)
        for name in set(sys.modules) - known:
            file = getattr(sys.modules[name], "__file__", None)
            if file and "." not in name and Path(file).parent == Path(place):
                remember(sys.modules.pop(name))


def remember(module: ModuleType) -> None:
    """Take note of a module that was loaded from a file, but is not in `sys.modules`."""
    _unnamed.append(module)


def pack(plan: Plan) -> bytes:
    """Return a plan as bytes, from which `unpack` makes it elsewhere.

    Raises
    ------
    ImportError
        If cloudpickle is not installed.
    ValueError
        If something of it stands in no file that could travel.
    """
    file = io.BytesIO()
    pickler = _pickler()(file)
    try:
        pickler.dump(plan)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"the plan cannot travel to other processes: {error}") from error
    scripts = [_script(module) for module in _needed(pickler.modules)]
    return pickle.dumps((scripts, file.getvalue()))


def unpack(data: bytes) -> Plan:
    """Return the plan that `pack` made bytes of; its files are run."""
    scripts, content = pickle.loads(data)
    return cast(Plan, _Unpickler(io.BytesIO(content), _loaded(scripts)).load())


@cache
def _pickler() -> Any:
    """Return the class of what makes bytes of a plan; it is not there without a cluster."""
    from cloudpickle import Pickler

    class _Pickler(Pickler):  # type: ignore[misc]
        """Names what is written in a user's file by the file and its name in there."""

        def __init__(self, file: io.BytesIO) -> None:
            super().__init__(file)
            self.modules: list[ModuleType] = []

        def persistent_id(self, thing: Any) -> tuple[str, str] | None:
            if not isinstance(thing, type | FunctionType):
                return None
            module = _module_of(thing)
            if module is None:
                _refuse_homeless(thing)
                return None
            if module not in self.modules:
                self.modules.append(module)
            return str(module.__file__), thing.__qualname__

    return _Pickler


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, modules: dict[str, ModuleType]) -> None:
        super().__init__(file)
        self._modules = modules

    def persistent_load(self, name: tuple[str, str]) -> Any:
        """Return what stands in a user's file."""
        path, within = name
        return attrgetter(within)(self._modules[path])


def _refuse_homeless(thing: Any) -> None:
    """Refuse a class of the user's that stands in no file: a class is more than its text."""
    made_here = thing.__module__ == _MAIN or "<locals>" in thing.__qualname__
    ours = isinstance(thing, type) and issubclass(thing, Policy | Problem | World)
    if made_here and ours and not thing.__module__.startswith("keyhole."):
        raise ValueError(
            f"{thing.__qualname__} must stand in a file, and there not in a function, so that it "
            "can travel to other processes"
        )


def _module_of(thing: type | FunctionType) -> ModuleType | None:
    """Return the user's module in which a class or a function is found by its name."""
    for module in (sys.modules.get(thing.__module__ or ""), *_unnamed):
        if module is None or not _is_users(module):
            continue
        try:
            found = attrgetter(thing.__qualname__)(module)
        except AttributeError:
            continue
        if found is thing:
            return module
    return None


def _is_users(module: ModuleType) -> bool:
    """Return whether a module is a single file that nobody has installed."""
    file, name = getattr(module, "__file__", None), module.__name__
    if not file or not file.endswith(".py") or "." in name or hasattr(module, "__path__"):
        return False
    return not any(Path(file).resolve().is_relative_to(place) for place in _installed())


@cache
def _installed() -> tuple[Path, ...]:
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    places = {*map(sysconfig.get_paths().__getitem__, kinds), site.getusersitepackages()}
    return tuple(Path(place).resolve() for place in sorted(places))


def _needed(modules: Sequence[ModuleType]) -> list[ModuleType]:
    """Return users' modules with all of them that they use, those first that others use."""
    done: list[ModuleType] = []
    begun: set[int] = set()

    def visit(module: ModuleType) -> None:
        if id(module) in begun:
            return
        begun.add(id(module))
        for used in _used(module):
            visit(used)
        done.append(module)

    for module in modules:
        visit(module)
    return done


def _used(module: ModuleType) -> Iterator[ModuleType]:
    """Yield the users' modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        else:
            continue
        found = (_imported_as(name, module) for name in names)
        yield from (other for other in found if other and other is not module and _is_users(other))


def _imported_as(name: str, importer: ModuleType) -> ModuleType | None:
    """Return the module that a user's module has imported by a name: one beside it, or of all."""
    folder = Path(str(importer.__file__)).parent
    for module in reversed(_unnamed):
        if module.__name__ == name and Path(str(module.__file__)).parent == folder:
            return module
    return sys.modules.get(name)


def _script(module: ModuleType) -> Script:
    path = Path(str(module.__file__))
    name = _AWAY if module.__name__ == _MAIN else module.__name__
    return Script(name, str(module.__file__), path.read_bytes())


def _loaded(scripts: Sequence[Script]) -> dict[str, ModuleType]:
    """Run users' files, each seeing those before it under their names; return them by path."""
    modules: dict[str, ModuleType] = {}
    with _loading:
        before = {script.name: sys.modules.get(script.name) for script in scripts}
        try:
            for script in scripts:
                modules[script.path] = sys.modules[script.name] = _run(script)
        finally:
            for name, module in before.items():
                sys.modules.pop(name, None)
                if module is not None:
                    sys.modules[name] = module
    return modules


def _run(script: Script) -> ModuleType:
    module = ModuleType(script.name)
    module.__file__ = script.path
    sys.modules[script.name] = module
    try:
        exec(compile(script.source, script.path, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:  # whatever a stranger's file may do
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ValueError(f"{script.path} cannot be imported on a worker: {text}") from error
    return module


def sha256(data: bytes) -> str:
    """Return a digest of bytes that travel."""
    return hashlib.sha256(data).hexdigest()
