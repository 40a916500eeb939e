"""Former names of modules, and of values in them, which still work, with a warning."""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final
from warnings import warn

_SETTINGS: Final = (
    "delayed", "resource", "semibandit", "stochastic", "threshold", "thresholding",
)  # fmt: skip
_NEW_MODULES: Final = {
    **{f"keyhole.{setting}.study_adapter": f"keyhole.{setting}" for setting in _SETTINGS},
    "keyhole.contract.environment": "keyhole.contract.problem",
    "keyhole.contract.index_policy": "keyhole.contract.policy",
    "keyhole.contract.known_quantities": "keyhole.contract.setting",
    "keyhole.papers.bengs2022.problem_statistics": "keyhole.papers.bengs2022.problem_numbers",
    "keyhole.play.arm_learner": "keyhole.play.setting_learner",
    "keyhole.tune.executor": "keyhole.tune",
    "keyhole.tune.survival": "keyhole.tune.charts",
    "keyhole.tune.value_estimates": "keyhole.tune.gain_estimates",
    "keyhole.validate": "keyhole.validation",
}
_NEW_NAMES: Final[dict[str, dict[str, str]]] = {}


class _FormerModules:
    """Finder of modules by former names; Python asks it for names without a file."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in _NEW_MODULES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        message = f"{name} will be gone in 0.4: import from {_NEW_MODULES[name]}"
        warn(message, DeprecationWarning, stacklevel=2)
        module.__getattr__ = partial(getattr, import_module(_NEW_MODULES[name]))  # type: ignore[method-assign]


def former_names(module: str) -> Callable[[str], object]:
    """Return a module's function `__getattr__`, which finds values by their former names."""

    def __getattr__(name: str) -> object:
        if new_name := _NEW_NAMES[module].get(name):
            message = f"{module}.{name} will be gone in 0.4: use {new_name}"
            warn(message, DeprecationWarning, stacklevel=2)
            return getattr(sys.modules[module], new_name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__


sys.meta_path.append(_FormerModules())
