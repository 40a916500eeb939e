"""How a plan travels to another process, with the files that its own classes are written in.

What an installed package has, the other process takes from its own. A file of the user's (a script,
what lies beside it, a policy named in a spec) travels as its text and is run there as it was run
here; errors name it as if it were there.
"""

import hashlib
import io
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

from keyhole.contract.environment import Environment, Problem
from keyhole.contract.policy import Policy
from keyhole.play.plan import Plan
from keyhole.play.user_modules import UserModule, collect_user_modules, module_of

_loading: Final = Lock()


def pickle_plan(plan: Plan) -> bytes:
    """Return a plan as bytes, from which `unpickle_plan` makes it elsewhere.

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
    found = collect_user_modules(pickler.modules)
    _refuse_twins(found)
    return pickle.dumps((found, file.getvalue()))


def unpickle_plan(data: bytes) -> Plan:
    """Return the plan that `pickle_plan` made bytes of; its files are run."""
    found, content = pickle.loads(data)
    return cast(Plan, _Unpickler(io.BytesIO(content), _loaded(found)).load())


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
            module = module_of(thing)
            if module is None:
                check_in_file(thing)
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


def check_in_file(thing: Any) -> None:
    """Refuse a class of the user's that is in no file: a class is more than its text."""
    made_here = thing.__module__ == "__main__" or "<locals>" in thing.__qualname__
    ours = isinstance(thing, type) and issubclass(thing, Policy | Problem | Environment)
    if made_here and ours and not thing.__module__.startswith("keyhole."):
        raise ValueError(
            f"{thing.__qualname__} must stand in a file, and there not in a function, so that it "
            "can travel to other processes (in a notebook: %%writefile FILE.py, then import it)"
        )


def _refuse_twins(found: Sequence[UserModule]) -> None:
    """Refuse two files that are imported by the same name: one would be taken for the other."""
    by_name: dict[str, UserModule] = {}
    for script in found:
        if script.imported and by_name.setdefault(script.name, script) is not script:
            raise ValueError(
                f"{by_name[script.name].path} and {script.path} cannot travel together: both are "
                f"imported as {script.name}"
            )


class _Importer(MetaPathFinder, Loader):
    """Finds users' files by the names under which they are imported."""

    def __init__(self, found: Sequence[UserModule]) -> None:
        self._scripts = {one.name: one for one in found if one.imported}
        parents = {name[:i] for name in self._scripts for i, sign in enumerate(name) if sign == "."}
        for name in parents - self._scripts.keys():  # packages without a file
            self._scripts[name] = UserModule(name, "", b"", package=True)

    @property
    def names(self) -> list[str]:
        """All that it can find."""
        return list(self._scripts)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return what the import of a name needs."""
        script = self._scripts.get(name)
        return None if script is None else self.spec(script)

    def spec(self, script: UserModule) -> ModuleSpec:
        """Return what the import of a file needs."""
        spec = ModuleSpec(
            script.name, self, origin=script.path, loader_state=script, is_package=script.package
        )
        spec.has_location = bool(script.path)
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Run a file."""
        script: UserModule = cast(ModuleSpec, module.__spec__).loader_state
        exec(compile(script.source, script.path, "exec"), module.__dict__)


def _loaded(found: Sequence[UserModule]) -> dict[str, ModuleType]:
    """Run users' files, and return them by their paths; afterwards nobody else finds them."""
    importer = _Importer(found)
    with _loading:
        before = {name: sys.modules.pop(name, None) for name in importer.names}
        sys.meta_path.insert(0, importer)
        try:
            return {script.path: _module(script, importer) for script in found}
        finally:
            sys.meta_path.remove(importer)
            for name, module in before.items():
                sys.modules.pop(name, None)
                if module is not None:
                    sys.modules[name] = module


def _module(script: UserModule, importer: _Importer) -> ModuleType:
    try:
        if script.imported:
            return import_module(script.name)
        module = module_from_spec(importer.spec(script))
        importer.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a stranger's file may do
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ValueError(f"{script.path} cannot be imported on a worker: {text}") from error
    return module


def sha256(data: bytes) -> str:
    """Return a digest of bytes that travel."""
    return hashlib.sha256(data).hexdigest()
