"""What reports say of a grid: of each point the means, of some of them over all rounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from keyhole.contract.memory import FloatArray
from keyhole.experiment.store import Run
from keyhole.experiment.sweeping import in_toml
from keyhole.metric import Metric
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate

MOST_PANELS: Final = 24
"""More are not told apart on a page."""
_SHORT: Final = 20
_LONG: Final = 30


@dataclass(frozen=True)
class Summary:
    """The means of a point, to be drawn; `names` are the short ones of its values."""

    names: Mapping[str, str]
    checkpoints: Sequence[int]
    arms: int | None
    replications: int
    known: Mapping[str, Metric]
    found: Mapping[str, Mapping[str, Sequence[Estimate]]]
    """By policy and metric, checkpoint by checkpoint."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies."""
        return tuple(self.found)

    def metric(self, name: str) -> Metric:
        """Return what is to be known of a metric."""
        return self.known[name]

    def estimates(self, policy: str, metric: str) -> Sequence[Estimate]:
        """Return the mean with its interval by checkpoint."""
        return self.found[policy][metric]

    def mean(self, policy: str, metric: str) -> FloatArray:
        """Return the mean by checkpoint."""
        return np.array([number.value for number in self.estimates(policy, metric)])

    def last(self, policy: str, metric: str) -> Estimate | None:
        """Return the mean at the last checkpoint, if there is one here."""
        found = self.found.get(policy, {}).get(metric)
        return found[-1] if found else None


@dataclass(frozen=True)
class Summaries:
    """The points of a grid, in their order; the first `MOST_PANELS` of them over all rounds."""

    sweep: Mapping[str, Sequence[Any]]
    points: Sequence[Summary]
    labels: Sequence[str]
    metrics: Mapping[str, Metric]

    @classmethod
    def of(cls, run: Run) -> "Summaries":
        """Sum up a run, point by point: the grid may be larger than memory."""
        sweep = run.spec["sweep"]
        names = short_names(sweep)
        places = {name: [*map(repr, values)] for name, values in sweep.items()}
        points = []
        for number, point in enumerate(run.points):
            ours = {
                name: names[name][places[name].index(repr(value))]
                for name, value in point.values.items()
            }
            points.append(_summary(ours, point.curves, whole=number < MOST_PANELS))
        labels = dict.fromkeys(label for point in points for label in point.labels)
        metrics = {name: metric for point in points for name, metric in point.known.items()}
        return cls(sweep, points, tuple(labels), metrics)


def is_number(value: Any) -> bool:
    """Return whether a value of a sweep is one that an axis can have."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def short_names(sweep: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    """Return what the values of each thing are called in figures and tables.

    Examples
    --------
    >>> short_names({"policy.alpha": [1, 2.5], "problem.means": [[0.2, 0.7], [0.5]]})
    {'policy.alpha': ['1', '2.5'], 'problem.means': ['means 1', 'means 2']}
    >>> short_names({"policy[0]": [{"name": "LSA"}, {"name": "APT", "epsilon": 0.1}]})
    {'policy[0]': ['LSA', 'APT(epsilon=0.1)']}
    """
    return {name: _names(name.rpartition(".")[2], values) for name, values in sweep.items()}


def _names(called: str, values: Sequence[Any]) -> list[str]:
    found = [_name(value) or f"{called} {place}" for place, value in enumerate(values, 1)]
    if len(set(found)) == len(found):
        return found
    return [f"{called} {place}" for place in range(1, len(values) + 1)]


def _name(value: Any) -> str:
    """Return what a value says of itself, a policy's table for one; empty if it is too long."""
    if isinstance(value, list):
        return ""
    if isinstance(value, dict):
        own = {name: entry for name, entry in value.items() if name not in ("name", "label")}
        given = ", ".join(f"{name}={in_toml(entry)}" for name, entry in own.items())
        told = value.get("label") or (
            value.get("name") and f"{value['name']}{given and f'({given})'}"
        )
        return told if isinstance(told, str) and len(told) <= _LONG else ""
    return f"{value}" if _is_short(value) else ""


def key(sweep: Mapping[str, Sequence[Any]]) -> list[tuple[str, str]]:
    """Return what the short names stand for, of values that are not their own."""
    names = short_names(sweep)
    return [
        (names[name][place], f"{name} = {in_toml(value)}")
        for name, values in sweep.items()
        for place, value in enumerate(values)
        if not _is_short(value)
    ]


def _is_short(value: Any) -> bool:
    return not isinstance(value, list | dict) and len(f"{value}") <= _SHORT


def _summary(names: Mapping[str, str], curves: Curves, *, whole: bool) -> Summary:
    known = {name: curves.metric(name) for name in curves.metrics}
    metrics = [name for name, metric in known.items() if not metric.detail]
    if not whole:
        last = {
            label: np.stack([curves.values(label, name)[-1:] for name in metrics], axis=1)
            for label in curves.labels
        }
        kinds = [known[name] for name in metrics]
        curves = Curves(curves.checkpoints[-1:], kinds, last, arms=curves.arms)
    return Summary(
        names,
        curves.checkpoints,
        curves.arms,
        curves.replications,
        {name: known[name] for name in metrics},
        {
            label: {name: curves.estimates(label, name) for name in metrics}
            for label in curves.labels
        },
    )
