"""Pickling of a plan for other processes, together with the user's own code.

Classes and functions of installed packages are pickled by name. A user's classes and functions (of
a script, a file beside it, a policy named in a spec, a notebook's cell) are pickled by value, with
cloudpickle. The lines of the user's files are sent, too, for tracebacks and uncompiled kernels.
"""

import io
import linecache
import pickle
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import MISSING
from functools import cache
from pathlib import Path
from threading import Lock
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, cast

from keyhole.contract.kernel_signatures import is_restoring
from keyhole.kernels.compiler_fork_locks import import_numba
from keyhole.kernels.fingerprint import python_function
from keyhole.kernels.kernel_decorators import DeferredKernel, is_kernel
from keyhole.play.simulation_plan import Plan


@contextmanager
def allow_sibling_imports(folder: Path) -> Iterator[None]:
    """Put a folder on `sys.path`; afterwards remove its modules from `sys.modules`.

    They are removed so that another folder may have modules of the same names.
    """
    names_before = set(sys.modules)
    path = folder.resolve()
    sys.path.insert(0, str(path))
    try:
        yield
    finally:
        sys.path.remove(str(path))
        for name in set(sys.modules) - names_before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(path) and is_user_module(sys.modules[name]):
                del sys.modules[name]


def is_user_module(module: ModuleType) -> bool:
    """Return whether the file of a module belongs to no installed package."""
    return _is_user_file(module.__name__, str(getattr(module, "__file__", None)))


@cache
def _is_user_file(name: str, file: str) -> bool:
    path = Path(file).resolve()
    if not file.endswith(".py") or name.partition(".")[0] == "keyhole":
        return False
    return not any(path.is_relative_to(folder) for folder in _installed_folders())


@cache
def _installed_folders() -> tuple[Path, ...]:
    """Return the folders of installed packages, including editable installs."""
    path_names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {*map(sysconfig.get_paths().__getitem__, path_names), site.getusersitepackages()}
    path_files = [file for folder in folders for file in Path(folder).glob("*.pth")]
    # A line of a .pth file is a path, or code that begins with `import`.
    lines = (line for file in path_files for line in file.read_text().splitlines())
    folders |= {line for line in lines if line[:1] == "/"}
    return tuple(Path(folder).resolve() for folder in sorted(folders))


# Names that Python sets in every module; some of their values cannot be pickled.
_MODULE_INTERNALS: Final = ("__builtins__", "__cached__", "__loader__", "__spec__")
_registry_lock: Final = Lock()


def pickle_plan(plan: Plan) -> bytes:
    """Pickle a plan with all of the user's code that it needs.

    Raises
    ------
    ValueError
        If a part of the plan cannot be pickled.
    """
    file = io.BytesIO()
    with _pickle_user_modules_by_value():
        pickler = _make_pickler_class()(file)
        try:
            pickler.dump(plan)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"the plan cannot be sent to other processes: {error} (if a kernel uses a module "
                "of yours, the whole module is sent: import only the names that the kernel needs)"
            ) from error
    return pickle.dumps((pickler.lines, file.getvalue()))


def unpickle_plan(data: bytes) -> Plan:
    """Restore a plan that `pickle_plan` pickled."""
    lines_by_file, content = pickle.loads(data)
    for name, lines in lines_by_file.items():
        if linecache.getlines(name) != lines:
            # `linecache` keeps an entry whose modification time is None.
            linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    return cast(Plan, pickle.loads(content))


@contextmanager
def _pickle_user_modules_by_value() -> Iterator[None]:
    """Make cloudpickle pickle user modules by value, as it pickles the code of a notebook."""
    import cloudpickle

    with _registry_lock:
        registered_names = cloudpickle.list_registry_pickle_by_value()
        modules = [
            module for name, module in list(sys.modules.items())
            if is_user_module(module) and module.__name__ == name and name not in registered_names
        ]  # fmt: skip
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in modules:
                cloudpickle.unregister_pickle_by_value(module)


@cache
def _make_pickler_class() -> Any:
    """Return the class of picklers, made when it is needed, since it imports cloudpickle."""
    import cloudpickle

    class PlanPickler(cloudpickle.CloudPickler):  # type: ignore[misc]
        """A pickler of plans: classes are restored unchecked, compiled functions are recompiled."""

        def __init__(self, file: io.BytesIO) -> None:
            super().__init__(file)
            self.lines: dict[str, list[str]] = {}

        def reducer_override(self, value: Any) -> Any:
            """Return how a value is pickled, or NotImplemented for the usual way."""
            if value is MISSING:  # pickled by name, since dataclasses compare it by identity
                return "MISSING"
            if isinstance(value, CodeType) and (lines := linecache.getlines(value.co_filename)):
                self.lines[value.co_filename] = lines
            if isinstance(value, ModuleType) and is_user_module(value):
                # The content is returned as a state, since it may refer to the module itself.
                content = {k: v for k, v in vars(value).items() if k not in _MODULE_INTERNALS}
                return ModuleType, (value.__name__,), content
            if is_kernel(value) and not isinstance(value, DeferredKernel):
                function = python_function(value)
                if isinstance(super().reducer_override(function), tuple):  # pickled by value
                    return _recompile_function, (function, dict(value.targetoptions))
            reduction = super().reducer_override(value)
            if isinstance(value, type) and isinstance(reduction, tuple) and len(reduction) > 2:
                # The last two arguments are an id of the class, and None. The id is left out:
                # otherwise cloudpickle would overwrite the class in a process that has it already.
                make, arguments, *rest = reduction
                return _make_class_unchecked, (make, (*arguments[:-2], None, None)), *rest
            return reduction

    return PlanPickler


def _make_class_unchecked(make: Callable[..., type], arguments: tuple[Any, ...]) -> type:
    """Make a class without its content; its checks have passed in the process that sent it."""
    context = copy_context()
    context.run(is_restoring.set, True)
    return context.run(make, *arguments)


def _recompile_function(function: FunctionType, options: dict[str, Any]) -> Any:
    return import_numba().njit(**{k: v for k, v in options.items() if k != "nopython"})(function)
