"""Pickling of a plan (a checked description of a simulation), to send it to other machines.

User modules that define its classes go with it.

Classes of installed packages are pickled by name. A user module (a script, its siblings, a policy
named in a spec) is sent as source, and executed by the other process under its original path, which
errors show. What was typed in a notebook is sent as source, too: see `keyhole.notebook_code`.
"""

import hashlib
import io
import json
import pickle
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from operator import attrgetter
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any, Final, cast

from keyhole.contract.environment import Environment
from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.interrupts import replaced_errors
from keyhole.notebook_code import NotebookCode, NotebookCodeError, execute_typed, is_typed
from keyhole.play.plan import Plan
from keyhole.play.user_modules import (
    MAIN_ELSEWHERE,
    UserModule,
    collect_user_modules,
    find_user_module,
    is_user_module,
)

TYPED: Final = "<typed>"
"""Stands for the file of what was typed in a notebook or at a prompt."""
_modules_lock: Final = Lock()


def pickle_plan(plan: Plan) -> bytes:
    """Pickle a plan with the user modules that it needs.

    Raises
    ------
    ImportError
        If cloudpickle is not installed.
    ValueError
        If a class or a function of it is defined in no file, and its source is not known.
    """
    file = io.BytesIO()
    pickler = _pickler()(file)
    try:
        pickler.dump(plan)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"the plan cannot be sent to other processes: {error}") from error
    typed = pickler.typed
    own = [module for module in typed.modules if is_user_module(module)]
    found = collect_user_modules(dict.fromkeys([*pickler.modules, *own]))
    _check_names(found)
    if typed.cells:
        source = json.dumps(typed.cells).encode()
        found.append(UserModule(MAIN_ELSEWHERE, TYPED, source, imported=False))
    return pickle.dumps((found, file.getvalue()))


def unpickle_plan(data: bytes) -> Plan:
    """Restore a plan that `pickle_plan` pickled; execute its user modules."""
    found, content = pickle.loads(data)
    return cast(Plan, _Unpickler(io.BytesIO(content), _load_modules(found)).load())


@cache
def _pickler() -> Any:
    """Return the class of picklers; cloudpickle is only installed with an extra for clusters."""
    from cloudpickle import Pickler

    class _Pickler(Pickler):  # type: ignore[misc]
        """A pickler that refers to objects of user modules by file and qualified name."""

        def __init__(self, file: io.BytesIO) -> None:
            super().__init__(file)
            self.modules: list[ModuleType] = []
            self.typed = NotebookCode()

        def persistent_id(self, thing: Any) -> tuple[str, str] | None:
            if not isinstance(thing, type | FunctionType):
                return None
            module = find_user_module(thing)
            if module is None:
                if is_typed(thing):
                    return TYPED, self.typed.add(thing)
                check_is_sendable(thing)
                return None
            # By itself cloudpickle would refer to a module that the other process does not have, or
            # pickle what `__main__` defines by value, without the file that errors show.
            if module not in self.modules:
                self.modules.append(module)
            return str(module.__file__), thing.__qualname__

    return _Pickler


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, modules: dict[str, ModuleType]) -> None:
        super().__init__(file)
        self._modules = modules

    def persistent_load(self, name: tuple[str, str]) -> Any:
        """Return an object of a user module."""
        path, qualified_name = name
        return attrgetter(qualified_name)(self._modules[path])


def check_is_sendable(thing: Any) -> None:
    """Refuse a user's policy, problem or environment that is in no file, with unknown source."""
    if is_typed(thing) and find_user_module(thing) is None:
        NotebookCode().add(thing)
        return
    made_here = thing.__module__ == "__main__" or "<locals>" in thing.__qualname__
    is_sent = isinstance(thing, type) and issubclass(thing, Policy | Problem | Environment)
    if made_here and is_sent and not thing.__module__.startswith("keyhole."):
        raise NotebookCodeError(
            f"{thing.__qualname__} must be defined in a file, outside of functions, so that it can "
            "be sent to other processes (in a notebook: %%writefile FILE.py, then import it)"
        )


def _check_names(found: Sequence[UserModule]) -> None:
    """Refuse two files that are imported by the same name, of which one would replace the other."""
    by_name: dict[str, UserModule] = {}
    for script in found:
        if script.imported and by_name.setdefault(script.name, script) is not script:
            raise ValueError(
                f"{by_name[script.name].path} and {script.path} cannot both be sent to other "
                f"processes: both are imported as {script.name}; rename one"
            )


class _Importer(MetaPathFinder, Loader):
    """An import hook that finds user modules by name."""

    def __init__(self, found: Sequence[UserModule]) -> None:
        self._scripts = {one.name: one for one in found if one.imported}
        parents = {name[:i] for name in self._scripts for i, sign in enumerate(name) if sign == "."}
        for name in parents - self._scripts.keys():  # namespace packages, which have no file
            self._scripts[name] = UserModule(name, "", b"", package=True)

    @property
    def names(self) -> list[str]:
        """The names of all modules that it can find."""
        return list(self._scripts)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module by name, or None."""
        script = self._scripts.get(name)
        return None if script is None else self.spec(script)

    def spec(self, script: UserModule) -> ModuleSpec:
        """Return the spec of a user module."""
        spec = ModuleSpec(
            script.name, self, origin=script.path, loader_state=script, is_package=script.package
        )
        # With a location, Python sets `__file__` to the origin, as for a module that is read from a
        # file.
        spec.has_location = bool(script.path)
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Execute a user module."""
        script: UserModule = cast(ModuleSpec, module.__spec__).loader_state
        if script.path == TYPED:
            execute_typed(json.loads(script.source), module.__dict__)
        else:
            exec(compile(script.source, script.path, "exec"), module.__dict__)


def _load_modules(found: Sequence[UserModule]) -> dict[str, ModuleType]:
    """Execute user modules in isolation and return them by path."""
    importer = _Importer(found)
    # A worker serves several clients, whose scripts may have modules of the same name. So modules
    # are removed from sys.modules after they are loaded; the plan holds references to its own.
    with _modules_lock:
        before = {name: sys.modules.pop(name, None) for name in importer.names}
        # In front of Python's own finders: this machine may have another module of the same name.
        sys.meta_path.insert(0, importer)
        try:
            return {script.path: _load_module(script, importer) for script in found}
        finally:
            sys.meta_path.remove(importer)
            for name, module in before.items():
                sys.modules.pop(name, None)
                if module is not None:
                    sys.modules[name] = module


def _load_module(script: UserModule, importer: _Importer) -> ModuleType:
    def replace(error: BaseException) -> ValueError:
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return ValueError(f"{script.path} cannot be imported on a worker: {text}")

    with replaced_errors(replace):  # a user's file may raise anything
        if script.imported:
            return import_module(script.name)
        module = module_from_spec(importer.spec(script))
        importer.exec_module(module)
    return module


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
