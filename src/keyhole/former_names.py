"""Former names of modules, and of values in them, which still work, with a warning."""

import sys
from collections.abc import Container
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final
from warnings import warn

_SETTINGS: Final = (
    "delayed", "resource", "semibandit", "stochastic", "threshold", "thresholding",
)  # fmt: skip
_NEW_MODULES: Final = {
    **{f"keyhole.{setting}.study_adapter": f"keyhole.{setting}" for setting in _SETTINGS},
    **{
        f"keyhole.{setting}.policies.uniform": f"keyhole.{setting}.policies.round_robin"
        for setting in ("stochastic", "threshold", "thresholding")
    },
    "keyhole.contract.environment": "keyhole.contract.problem",
    "keyhole.contract.index_policy": "keyhole.contract.policy",
    "keyhole.contract.known_quantities": "keyhole.contract.setting",
    "keyhole.papers.bengs2022.problem_statistics": "keyhole.papers.bengs2022.computed_quantities",
    "keyhole.play.arm_learner": "keyhole.play.setting_learner",
    "keyhole.tune.executor": "keyhole.tune",
    "keyhole.tune.survival": "keyhole.tune.charts",
    "keyhole.tune.value_estimates": "keyhole.tune.pair_estimates",
    "keyhole.stochastic.policies.bernstein_ucb": "keyhole.stochastic.policies.known_variance_ucb",
    "keyhole.threshold.policies.capped_klucb": "keyhole.threshold.policies.monotone_klucb",
    "keyhole.validate": "keyhole.validation",
}
_DATA_SETS: Final = ("aslib", "cdnow", "crowd", "deliveries", "flights", "forests", "patrols")
_NEW_NAMES: Final = {
    "keyhole.benchmark": {"BenchmarkFile": "BenchmarkResults"},
    "keyhole.data": {
        **{name: f"{name}_problem" for name in _DATA_SETS},
        "Events": "DailyCounts",
        "Times": "ArrivalTimes",
        "level_of_time": "count_deadlines_met",
        "read_events_csv": "read_daily_counts_csv",
        "read_measured_csv": "read_measured_runs_csv",
        "reporting_delay": "disease_reporting_delay",
    },
    "keyhole.distributions": {"TabulatedDistribution": "TabulatedSciPyDistribution"},
    "keyhole.experiment": {"open_run": "load_run_folder"},
    "keyhole.papers": {"FILES": "ENTRY_FILES", "is_reproduction": "is_reproduction_folder"},
    "keyhole.policy": {
        "argmin": "argmin_tree_find",
        "argmin_fill": "argmin_tree_fill",
        "argmin_update": "argmin_tree_update",
        "integer": "int_input",
        "number": "float_input",
    },
    "keyhole.resource": {
        "Independent": "IndependentPair",
        "portfolio": "portfolio_problem",
        "replica": "reconstructed_problem",
        "three_models": "three_models_problem",
    },
    "keyhole.runner": {
        "MECHANISMS": "KILL_MECHANISMS",
        "OUTCOMES": "RUN_OUTCOMES",
        "Runner": "CommandRunner",
    },
    "keyhole.stochastic": {
        "BernsteinUCB": "KnownVarianceUCB",
        "UCBPolicy": "DeviationUCBPolicy",
        "Uniform": "RoundRobin",
    },
    "keyhole.threshold": {"CappedKLUCB": "MonotoneKLUCB", "Uniform": "RoundRobin"},
    "keyhole.thresholding": {
        "ConfidenceCoverageProblem": "BoundCoverageProblem",
        "Uniform": "RoundRobin",
    },
    "keyhole.tune": {"CommandLimitEstimate": "PairEstimate", "Executor": "CommandExecutor"},
}


class _FormerModules:
    """Finder and loader of modules by former names, which Python asks after all other finders."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in _NEW_MODULES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        message = f"{name} will be gone in 0.4: import from {_NEW_MODULES[name]}"
        # The frames of the import itself do not count for `stacklevel`.
        warn(message, DeprecationWarning, stacklevel=2)
        new_module = import_module(_NEW_MODULES[name])
        vars(module).update({n: v for n, v in vars(new_module).items() if not n.startswith("__")})
        module.__getattr__ = lambda value: getattr(new_module, find_new_name(name, value)[1])  # type: ignore[method-assign]


def find_new_name(module: str, name: str) -> tuple[str, str]:
    """Return today's module and name of a value; those given may be former ones, of an old file."""
    # `_NEW_NAMES` lists policies under the package of their setting, which exports them.
    package = module.partition(".policies.")[0]
    return _NEW_MODULES.get(module, module), _NEW_NAMES.get(package, {}).get(name, name)


def find_new_policy(name: str, policy_names: Container[str]) -> str:
    """Return the name that a policy has today, or `name` itself if some policy is called so now."""
    if name in policy_names:  # a policy of another package may be called as one of Keyhole's was
        return name
    tables = [_NEW_NAMES.get(f"keyhole.{setting}", {}) for setting in _SETTINGS]
    return next((table[name] for table in tables if name in table), name)


def add_former_names(module_name: str) -> None:
    """Give a module a function `__getattr__`, which finds values by their former names."""
    module = sys.modules[module_name]
    module_getattr = vars(module).get("__getattr__")

    def find_value(name: str) -> object:
        if new_name := _NEW_NAMES[module_name].get(name):
            message = f"{module_name}.{name} will be gone in 0.4: use {new_name}"
            warn(message, DeprecationWarning, stacklevel=2)
            return getattr(module, new_name)
        if module_getattr:
            return module_getattr(name)
        raise AttributeError(f"module {module_name!r} has no attribute {name!r}")

    # If the module itself defined the function, type checkers would accept any name of the module.
    module.__getattr__ = find_value  # type: ignore[method-assign]


sys.meta_path.append(_FormerModules())
