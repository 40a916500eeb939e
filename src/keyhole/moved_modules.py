"""Former names of modules, by which imports still work, with a warning."""

import sys
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final
from warnings import warn

_SETTINGS: Final = (
    "delayed", "resource", "semibandit", "stochastic", "threshold", "thresholding",
)  # fmt: skip
_NEW_NAMES: Final = {
    **{f"keyhole.{setting}.study_adapter": f"keyhole.{setting}" for setting in _SETTINGS},
    "keyhole.contract.environment": "keyhole.contract.problem",
    "keyhole.contract.index_policy": "keyhole.contract.policy",
    "keyhole.contract.known_quantities": "keyhole.contract.setting",
    "keyhole.papers.bengs2022.problem_statistics": "keyhole.papers.bengs2022.problem_numbers",
    "keyhole.play.arm_learner": "keyhole.play.setting_learner",
    "keyhole.tune.executor": "keyhole.tune",
    "keyhole.tune.survival": "keyhole.tune.charts",
    "keyhole.tune.value_estimates": "keyhole.tune.gain_estimates",
}


class _MovedModules:
    """Finder of modules by former names; Python asks it if no other finder has the module."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in _NEW_NAMES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        message = f"{name} will be gone in 0.4: import from {_NEW_NAMES[name]}"
        warn(message, DeprecationWarning, stacklevel=2)
        module.__getattr__ = partial(getattr, import_module(_NEW_NAMES[name]))  # type: ignore[method-assign]


sys.meta_path.append(_MovedModules())
