"""The registry of settings: Keyhole's own settings, and the settings that other packages add.

A package adds a setting by an entry point of the group ``keyhole.settings``: the name of the
setting, and a module with ``SETTING``, ``PROBLEM_FACTORIES``, and an ``__all__`` that lists its
problem and its policies.
"""

import importlib
import inspect
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Final

from keyhole.contract.policy import Policy
from keyhole.contract.problem import Environment, checked_metrics
from keyhole.contract.setting import Setting
from keyhole.interrupts import replace_user_errors
from keyhole.metric import Metric
from keyhole.spec_values import ProblemFactory
from keyhole.validation import check_choice, check_line

ENTRY_POINT_GROUP: Final = "keyhole.settings"
BUILT_IN: Final = ("stochastic", "threshold", "delayed", "resource", "semibandit", "thresholding")
"""Keyhole's own settings, the classical one first."""

_OWN_PACKAGE: Final = "keyhole"


@dataclass(frozen=True)
class RegisteredSetting:
    """A setting with its policies, environments, metrics and problem factories."""

    name: str
    module: ModuleType
    package: str = _OWN_PACKAGE
    """The installed package to which the setting belongs."""

    @cached_property
    def problem_factories(self) -> dict[str, ProblemFactory]:
        """The factories that a spec can use: the setting's own, and those for recorded data."""
        from keyhole.data.problem_factories import PROBLEM_FACTORIES  # importing it takes a second

        return {**self.module.PROBLEM_FACTORIES, **PROBLEM_FACTORIES.get(self.name, {})}

    @cached_property
    def policies(self) -> dict[str, type[Policy]]:
        """The setting's policies by name, in the order of the module's ``__all__``."""
        public_values = {name: getattr(self.module, name) for name in self.module.__all__}
        return {
            name: value
            for name, value in public_values.items()
            if inspect.isclass(value) and issubclass(value, Policy) and not value.abstract
        }

    @property
    def environments(self) -> list[type[Environment]]:
        """The setting's environments in the order of their definition, including abstract ones."""
        # The dot keeps out packages whose names only begin with the name of this one.
        package = f"{self.module.__name__}."
        classes = dict.fromkeys(_iterate_subclasses(Environment))  # once each: some have two bases
        return [cls for cls in classes if f"{cls.__module__}.".startswith(package)]

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metrics of the setting's environments, by name.

        Metrics that are details come last. In either group, metrics that all environments have come
        first. A metric with a value for each arm is listed once.
        """
        environments = [cls for cls in self.environments if hasattr(cls, "metrics")]
        all_metrics = [metric for cls in environments for metric in checked_metrics(cls)]
        counts = Counter(metric.name for metric in all_metrics)

        def sort_key(metric: Metric) -> tuple[bool, bool]:
            return metric.detail, counts[metric.name] < len(environments)

        return {metric.name: metric for metric in sorted(all_metrics, key=sort_key)}


def _iterate_subclasses(cls: type[Environment]) -> Iterator[type[Environment]]:
    """Yield direct and indirect subclasses of a class; a class with two bases may come twice."""
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _iterate_subclasses(subclass)


def setting_names() -> list[str]:
    """Return the names of all settings, also of broken ones, without importing them."""
    return [*BUILT_IN, *_find_plugins()]


def find_setting(name: Any, field: str = "setting") -> RegisteredSetting:
    """Return a setting by its name; errors begin with `field`.

    A setting whose package is broken is refused; the error names the package and the reason.
    """
    return _load_setting(check_choice(field, name, setting_names()))


def all_settings() -> Iterator[RegisteredSetting]:
    """Yield all settings; warn of each broken one with its package and the reason."""
    for name in setting_names():
        try:
            yield _load_setting(name)
        except ValueError as error:
            warnings.warn(str(error), stacklevel=2)


def import_plugins() -> None:
    """Import the packages that add settings, so that their policies are found; skip broken ones."""
    for name in _find_plugins():
        with suppress(ValueError):
            _load_setting(name)


@cache
def _find_plugins() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of other packages by the name of their setting.

    Names of Keyhole's own settings, and names that are no identifiers, are left out with a warning.
    """
    plugins_by_name: dict[str, tuple[EntryPoint, ...]] = {}
    # The order in which Python finds installed packages differs between machines.
    plugins = entry_points(group=ENTRY_POINT_GROUP)
    for plugin in sorted(plugins, key=lambda plugin: (plugin.name, _package_name(plugin))):
        reason = ""
        if plugin.name in BUILT_IN:
            reason = "is Keyhole's own"
        elif not plugin.name.isidentifier():
            reason = "is no Python identifier"
        if reason:
            setting_text = f"the setting {plugin.name!r} of {_package_name(plugin)}"
            warnings.warn(f"{setting_text} is left out: its name {reason}", stacklevel=2)
        else:
            plugins_by_name[plugin.name] = (*plugins_by_name.get(plugin.name, ()), plugin)
    return plugins_by_name


def _package_name(plugin: EntryPoint) -> str:
    return plugin.dist.name if plugin.dist is not None else plugin.module


@cache
def _load_setting(name: str) -> RegisteredSetting:
    if name in BUILT_IN:
        return RegisteredSetting(name, importlib.import_module(f"{_OWN_PACKAGE}.{name}"))
    plugins = _find_plugins()[name]
    packages = " and ".join(map(_package_name, plugins))

    def replace_error(error: BaseException) -> ValueError:
        reason = " ".join(str(error).split()) or "no reason was given"
        # Errors of the checks below are sentences; others are easier to understand with their type.
        prefix = "" if type(error) is ValueError else f"{type(error).__name__}: "
        return ValueError(f"the setting {name!r} of {packages} cannot be used: {prefix}{reason}")

    with replace_user_errors(replace_error):  # a package may raise anything when it is imported
        if len(plugins) > 1:
            raise ValueError("two packages have a setting of this name; uninstall all but one")
        module = plugins[0].load()
        _check_setting(name, module)
    return RegisteredSetting(name, module, packages)


def _check_setting(name: str, module: Any) -> None:
    """Refuse a module that is not a setting of this name."""
    setting = getattr(module, "SETTING", None)
    factories = getattr(module, "PROBLEM_FACTORIES", None)
    if not isinstance(module, ModuleType):
        raise ValueError(f"its entry point must name a module, got {module!r}")
    if not isinstance(setting, Setting):
        raise ValueError(f"{module.__name__}.SETTING must be a keyhole.policy.Setting")
    if setting.name != name:
        raise ValueError(f"{module.__name__}.SETTING.name must be {name!r}, got {setting.name!r}")
    if not isinstance(factories, Mapping) or not factories:
        raise ValueError(
            f"{module.__name__}.PROBLEM_FACTORIES must be a dict of "
            "keyhole.spec_values.ProblemFactory"
        )
    for key, factory in factories.items():
        check_line(f"{module.__name__}.PROBLEM_FACTORIES: each name", key)
        if not isinstance(factory, ProblemFactory):
            raise ValueError(
                f"{module.__name__}.PROBLEM_FACTORIES[{key!r}] must be a "
                "keyhole.spec_values.ProblemFactory"
            )
    if not hasattr(module, "__all__"):
        raise ValueError(f"{module.__name__}.__all__ must list its problem and its policies")
    for export in module.__all__:
        if not hasattr(module, export):
            raise ValueError(f"{module.__name__}.__all__ lists {export!r}, which it does not have")
