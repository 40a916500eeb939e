"""The rooms there are: Keyhole's own, and those that installed packages bring.

A package brings a room by an entry point of the group ``keyhole.settings``: the name of its
setting, and the module that has ``SETTING``, ``PROBLEM_FACTORIES``, and in
``__all__`` its problem and its policies.
"""

import importlib
import inspect
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Final

from keyhole.contract.environment import Environment, check_metrics
from keyhole.contract.policy import Policy
from keyhole.contract.setting import Setting
from keyhole.metric import Metric
from keyhole.spec_values import ProblemFactory
from keyhole.validate import check_choice, check_line

GROUP: Final = "keyhole.settings"
_FORMER_GROUP: Final = "keyhole.rooms"
BUILT_IN: Final = ("stochastic", "threshold", "delayed", "resource", "semibandit", "thresholding")
"""Keyhole's own, the classical one first."""

_HOME: Final = "keyhole"


@dataclass(frozen=True)
class SettingEntry:
    """A setting with all that belongs to it."""

    name: str
    module: ModuleType
    package: str = _HOME
    """The installed package that it came with."""

    @cached_property
    def problem_factories(self) -> dict[str, ProblemFactory]:
        """How a spec can describe a problem: by the room itself, and by recorded data."""
        from keyhole.data import (
            problem_factories as data,  # which takes a second, and not all need it
        )

        return {**self.module.PROBLEM_FACTORIES, **data.PROBLEM_FACTORIES.get(self.name, {})}

    @cached_property
    def policies(self) -> dict[str, type[Policy]]:
        """Its policies by name, in the order in which the module lists them."""
        found = {name: getattr(self.module, name) for name in self.module.__all__}
        return {
            name: value
            for name, value in found.items()
            if inspect.isclass(value) and issubclass(value, Policy) and not value.abstract
        }

    @property
    def environments(self) -> list[type[Environment]]:
        """Its worlds in the order of their definition, abstract ones too."""
        home = self.module.__name__
        worlds = dict.fromkeys(_below(Environment))  # some have two bases that are worlds
        return [
            environment
            for environment in worlds
            if f"{environment.__module__}.".startswith(f"{home}.")
        ]

    @property
    def metrics(self) -> dict[str, Metric]:
        """What its worlds measure by name, what all of them measure first, details last.

        A metric of each arm is there once.
        """
        lists = [
            check_metrics(environment)
            for environment in self.environments
            if hasattr(environment, "metrics")
        ]
        found = {metric.name: metric for metrics in lists for metric in metrics}
        rare = {name: not all(name in {m.name for m in one} for one in lists) for name in found}
        order = sorted(found, key=lambda name: (found[name].detail, rare[name]))
        return {name: found[name] for name in order}


def _below(cls: type[Environment]) -> Iterator[type[Environment]]:
    for one in cls.__subclasses__():
        yield one
        yield from _below(one)


def setting_names() -> list[str]:
    """Return the names of all rooms, whether or not they can be used; none is imported."""
    return [*BUILT_IN, *_brought()]


def find_setting(name: Any, field: str = "setting") -> SettingEntry:
    """Return the room of a name, which errors call `field`.

    A package that is broken is refused with its name and the reason.
    """
    return _opened(check_choice(field, name, setting_names()))


def all_settings() -> Iterator[SettingEntry]:
    """Yield all rooms that can be used; of each other, warn once, with package and reason."""
    for name in setting_names():
        try:
            yield _opened(name)
        except ValueError as error:
            warnings.warn(str(error), stacklevel=2)


def import_plugins() -> None:
    """Import the packages that bring rooms, so that their policies are known; none if broken."""
    for name in _brought():
        with suppress(ValueError):
            _opened(name)


@cache
def _brought() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of other packages by the name of their room, sorted.

    A name of ours, or none that can stand in a spec, is refused with a warning.
    """
    for point in entry_points(group=_FORMER_GROUP):
        text = (
            f"the setting {point.name!r} of {_package(point)} is left out: the group of its entry "
            f"point, {_FORMER_GROUP}, is called {GROUP} now"
        )
        warnings.warn(text, stacklevel=2)
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, _package(one))):
        if point.name in BUILT_IN or not point.name.isidentifier():
            reason = "is Keyhole's own" if point.name in BUILT_IN else "is no name of a package"
            text = f"the room {point.name!r} of {_package(point)} is left out: its name {reason}"
            warnings.warn(text, stacklevel=2)
        else:
            found[point.name] = (*found.get(point.name, ()), point)
    return found


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module


@cache
def _opened(name: str) -> SettingEntry:
    if name in BUILT_IN:
        return SettingEntry(name, importlib.import_module(f"{_HOME}.{name}"))
    points = _brought()[name]
    packages = " and ".join(map(_package, points))
    try:
        if len(points) > 1:
            raise ValueError("there can be one of a name; uninstall all others")
        module = points[0].load()
        _check(name, module)
    except (Exception, SystemExit) as error:  # whatever a stranger's package may do
        reason = " ".join(str(error).split()) or "no reason was given"
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        text = f"the room {name!r} of {packages} cannot be used: {kind}{reason}"
        raise ValueError(text) from error
    return SettingEntry(name, module, packages)


def _check(name: str, module: Any) -> None:
    """Refuse what is not a room of this name."""
    setting, sources = getattr(module, "SETTING", None), getattr(module, "PROBLEM_FACTORIES", None)
    if not isinstance(module, ModuleType):
        raise ValueError(f"its entry point must name a module, got {module!r}")
    if not isinstance(setting, Setting):
        raise ValueError(f"{module.__name__}.SETTING must be a keyhole.policy.Setting")
    if setting.name != name:
        raise ValueError(f"{module.__name__}.SETTING.name must be {name!r}, got {setting.name!r}")
    if not isinstance(sources, Mapping) or not sources:
        raise ValueError(
            f"{module.__name__}.PROBLEM_FACTORIES must be a dict of "
            "keyhole.spec_values.ProblemFactory"
        )
    for key, source in sources.items():
        check_line(f"{module.__name__}.PROBLEM_FACTORIES: each name", key)
        if not isinstance(source, ProblemFactory):
            raise ValueError(
                f"{module.__name__}.PROBLEM_FACTORIES[{key!r}] must be a "
                "keyhole.spec_values.ProblemFactory"
            )
    if not hasattr(module, "__all__"):
        raise ValueError(f"{module.__name__}.__all__ must list its problem and its policies")
    for public in module.__all__:
        if not hasattr(module, public):
            raise ValueError(f"{module.__name__}.__all__ lists {public!r}, which there is not")
