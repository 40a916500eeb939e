"""Summaries of a sweep: the means of each point, and which policies are best where."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np

from keyhole.experiment.run_folder import RunFolder
from keyhole.experiment.run_summary import Leaders, describe_overlaps, find_leaders
from keyhole.experiment.sweep_points import iterate_points, value_to_toml
from keyhole.metric import Metric
from keyhole.pages.policy_colours import MOST_STYLES
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate, Tail
from keyhole.text_formatting import count_text

MOST_PANELS: Final = 12
"""The most panels that a chart has."""
_LONGEST_VALUE: Final = 20  # characters: a longer value is not its own short name
_LONGEST_LABEL: Final = 30  # characters: a longer label is no short name


@dataclass(frozen=True)
class PointSummary:
    """The means of a point, for figures; `names` are short names of its values."""

    names: Mapping[str, str]
    checkpoints: Sequence[int]
    arms: int | None
    replications: int
    metrics: Mapping[str, Metric]
    estimates_by_policy: Mapping[str, Mapping[str, Sequence[Estimate]]]
    """The estimates at each checkpoint, by policy and metric."""
    tails: Mapping[str, Mapping[str, Tail]]
    """The 90 % quantile and the worst run at the last checkpoint, by policy and metric."""
    digests: Mapping[str, bytes]
    """The digest of each policy's values at all checkpoints."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the policies."""
        return tuple(self.estimates_by_policy)

    def metric(self, name: str) -> Metric:
        """Return a metric by its name."""
        return self.metrics[name]

    def estimates(self, policy: str, metric: str) -> Sequence[Estimate]:
        """Return a policy's mean with its interval at each checkpoint."""
        return self.estimates_by_policy[policy][metric]

    def last_mean(self, policy: str, metric: str) -> Estimate | None:
        """Return the mean at the last checkpoint, if the point has the policy and metric."""
        return self.estimates_by_policy.get(policy, {}).get(metric, [None])[-1]

    def last_mean_text(self, policy: str, metric: str) -> str:
        """Return the mean at the last checkpoint as text, "" if the point lacks it."""
        mean = self.last_mean(policy, metric)
        return "" if mean is None else mean.plus_minus()

    def tail_text(self, policy: str, metric: str) -> str:
        """Return the 90 % quantile and the worst run as text, "" if the point lacks them."""
        return str(self.tails.get(policy, {}).get(metric, ""))


@dataclass(frozen=True)
class SweepSummary:
    """The summaries of all points of a sweep, in order, and of the panels of charts over rounds.

    A panel joins the points of a group that `group_points` returns. The names of a panel are the
    short names of the values in which these points agree.
    """

    sweep: Mapping[str, Sequence[Any]]
    points: Sequence[PointSummary]
    labels: Sequence[str]
    metrics: Mapping[str, Metric]
    panels: Sequence[PointSummary]

    @classmethod
    def from_run(cls, run: RunFolder) -> "SweepSummary":
        """Summarise a run point by point, since all results might not fit into memory."""
        sweep = run.spec["sweep"]
        points = [
            _summarize_point(names, point.curves, in_full=False)
            for names, point in zip(point_names(sweep), run.points, strict=True)
        ]
        labels = dict.fromkeys(label for point in points for label in point.labels)
        metrics = {name: metric for point in points for name, metric in point.metrics.items()}
        # Panels need all checkpoints of some points. These points are read again, since all
        # checkpoints of all points might not fit into memory.
        results = {id(point): result for point, result in zip(points, run.points, strict=True)}

        def summarize_again(point: PointSummary) -> PointSummary:
            return _summarize_point(point.names, results[id(point)].curves, in_full=True)

        panels = [
            _join_summaries([*map(summarize_again, _first_points_of_labels(group))], names)
            for names, group in pick_evenly(group_points(points, MOST_STYLES), MOST_PANELS)
        ]
        return cls(sweep, points, tuple(labels), metrics, panels)


Names = Mapping[str, str]
"""The short names of the values at a point, by entry."""


def group_points(
    points: Sequence[PointSummary], limit: float = math.inf
) -> list[tuple[Names, list[PointSummary]]]:
    """Group points that differ only in policies, each group with the names of its other values.

    Points stay apart if they cannot share a panel: if a label has different results at two of them,
    if their metrics or checkpoints differ, or if they have more than `limit` labels.
    """
    # Each varied entry of policies is tried in turn: points that differ in it are put together if
    # the points of each resulting group can share a panel.
    merged_entries: tuple[str, ...] = ()
    for name in points[0].names:
        groups = _group_without(points, (*merged_entries, name))
        if name.startswith("policy") and all(_can_share_panel(group, limit) for _, group in groups):
            merged_entries += (name,)
    return _group_without(points, merged_entries)


def _group_without(
    points: Sequence[PointSummary], entries: Sequence[str]
) -> list[tuple[Names, list[PointSummary]]]:
    """Group points that have equal values of all varied entries except `entries`."""
    groups: dict[tuple[str, ...], tuple[Names, list[PointSummary]]] = {}
    for point in points:
        other_names = {name: text for name, text in point.names.items() if name not in entries}
        groups.setdefault(tuple(other_names.values()), (other_names, []))[1].append(point)
    return list(groups.values())


def _can_share_panel(points: Sequence[PointSummary], limit: float) -> bool:
    """Return whether points can share a panel: one curve for each label, at most `limit` labels."""
    digests: dict[str, bytes] = {}
    for point in points:
        for label, digest in point.digests.items():
            if digests.setdefault(label, digest) != digest:
                return False
    # A panel has one axis of rounds, and all of its points have the same metrics.
    return (
        len(digests) <= limit
        and len({(*point.metrics, *point.checkpoints) for point in points}) == 1
    )


def _first_points_of_labels(points: Sequence[PointSummary]) -> list[PointSummary]:
    """Return the points that suffice for all labels: for each label, the first point with it."""
    # In reverse order, the first point of a label overwrites the label's later points.
    first_ids = {label: id(point) for point in reversed(points) for label in point.labels}
    return [point for point in points if id(point) in first_ids.values()]


def _join_summaries(points: Sequence[PointSummary], names: Names) -> PointSummary:
    """Return one summary with the policies of all points."""
    estimates = {
        label: means for point in points for label, means in point.estimates_by_policy.items()
    }
    return replace(points[0], names=names, estimates_by_policy=estimates)


T = TypeVar("T")


def pick_evenly(items: Sequence[T], count: int) -> list[T]:
    """Return at most `count` elements, evenly spread from the first to the last."""
    positions = np.linspace(0, len(items) - 1, min(count, len(items))).round().astype(int)
    return [items[position] for position in positions]


def are_numbers(values: Sequence[Any]) -> bool:
    """Return whether the values of a varied entry can stand on a numeric axis."""
    return {type(value) for value in values} <= {int, float}


def short_names(sweep: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    """Return the names of the values of each varied entry in figures and tables.

    Examples
    --------
    >>> short_names({"policy.alpha": [1, 2.5], "problem.means": [[0.2, 0.7], [0.5]]})
    {'policy.alpha': ['1', '2.5'], 'problem.means': ['means 1', 'means 2']}
    >>> short_names({"policy[0]": [{"name": "LSA"}, {"name": "APT", "epsilon": 0.1}]})
    {'policy[0]': ['LSA', 'APT(epsilon=0.1)']}
    """
    return {name: _value_names(name.rpartition(".")[2], values) for name, values in sweep.items()}


def point_names(sweep: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, str]]:
    """Yield the short names of the values of each point, in the order of the points."""
    return iterate_points(short_names(sweep))


def format_point_title(names: Mapping[str, str], varied_entries: Iterable[str] = ()) -> str:
    """Return a point's values on a line, each with a name of its entry that is unique in a sweep.

    `varied_entries` are the entries of the sweep; by default those in `names`.
    """
    components = _last_components([*(varied_entries or names)])
    return ", ".join(
        text if text.startswith(f"{components[name]} ") else f"{components[name]} = {text}"
        for name, text in names.items()
    )


def _last_components(names: Sequence[str]) -> dict[str, str]:
    """Return the last component of each name, or the whole name if the component is ambiguous."""
    components = {name: name.rpartition(".")[2] for name in names}
    counts = Counter(components.values())
    policies = {name.partition(".")[0] for name in names if name.startswith("policy[")}
    ambiguous_names = {name for name in names if counts[components[name]] > 1}
    if len(policies) > 1:
        ambiguous_names |= {name for name in names if name.startswith("policy")}
    return {name: name if name in ambiguous_names else components[name] for name in names}


def _value_names(entry: str, values: Sequence[Any]) -> list[str]:
    default_names = [f"{entry} {i}" for i in range(1, len(values) + 1)]
    names = [_value_name(value) or name for value, name in zip(values, default_names, strict=True)]
    # Names may be equal: two files may have classes of the same name, or two tables the same label.
    return names if len(set(names)) == len(names) else default_names


def _value_name(value: Any) -> str:
    """Return a value as text, or the label of a policy's table; empty if long, or for a list."""
    if isinstance(value, list):
        return ""
    if isinstance(value, dict):  # the table of a policy
        parameters = {name: entry for name, entry in value.items() if name not in ("name", "label")}
        text = ", ".join(f"{name}={value_to_toml(entry)}" for name, entry in parameters.items())
        label = value.get("label")
        if not label and isinstance(class_name := value.get("name"), str):
            label = class_name.rpartition(":")[2]
            if text:
                label += f"({text})"
        return label if isinstance(label, str) and len(label) <= _LONGEST_LABEL else ""
    return f"{value}" if _is_short(value) else ""


def list_shortened_values(sweep: Mapping[str, Sequence[Any]]) -> list[tuple[str, str]]:
    """Return (short name, value) for all values that are not their own short name."""
    names = short_names(sweep)
    return [
        (names[name][index], f"{name} = {value_to_toml(value)}")
        for name, values in sweep.items()
        for index, value in enumerate(values)
        if not _is_short(value)
    ]


def _is_short(value: Any) -> bool:
    """Return whether a value is its own short name."""
    return not isinstance(value, list | dict) and len(f"{value}") <= _LONGEST_VALUE


def _summarize_point(names: Mapping[str, str], curves: Curves, *, in_full: bool) -> PointSummary:
    """Return the summary of a point, at all checkpoints if `in_full`, else only at the last."""
    all_metrics = {name: curves.metric(name) for name in curves.metrics}
    metrics = {name: metric for name, metric in all_metrics.items() if not metric.detail}
    # Digests cover all checkpoints: points with the same policy can share a panel only if its whole
    # curves are equal.
    digests = {label: _digest_curves(curves, label, metrics) for label in curves.labels}
    if not in_full:
        last_values = {
            label: np.stack([curves.values(label, name)[-1:] for name in metrics], axis=1)
            for label in curves.labels
        }
        last_round = curves.checkpoints[-1:]
        curves = Curves(last_round, list(metrics.values()), last_values, arms=curves.arms)
    return PointSummary(
        names,
        curves.checkpoints,
        curves.arms,
        curves.replications,
        metrics,
        {label: {m: curves.estimates(label, m) for m in metrics} for label in curves.labels},
        {label: {m: curves.tail(label, m) for m in metrics} for label in curves.labels},
        digests,
    )


def _digest_curves(curves: Curves, label: str, metrics: Iterable[str]) -> bytes:
    """Return a digest of a policy's values at all checkpoints."""
    values = (curves.values(label, name).tobytes() for name in metrics)
    return hashlib.blake2b(b"".join(values)).digest()


def find_leaders_by_problem(summary: SweepSummary) -> list[Leaders]:
    """Return the leaders on each problem, by the first metric at the last checkpoint.

    The policies of all points that differ only in policies are compared with each other.
    """
    metric = next(iter(summary.metrics.values()))
    all_leaders = []
    for names, points in group_points(summary.points):
        pairs = [(label, p.last_mean(label, metric.name)) for p in points for label in p.labels]
        means = {label: mean for label, mean in pairs if mean is not None}
        if means:
            all_leaders.append(find_leaders(means, metric, names))
    return all_leaders


def summarize_sweep(summary: SweepSummary) -> str:
    """Return a sentence that says at how many points of a sweep each policy is best."""
    all_leaders = find_leaders_by_problem(summary)
    if len(summary.labels) == 1:
        return _summarize_one_policy_sweep(summary, all_leaders)
    outcomes = Counter(map(_describe_outcome, all_leaders)).most_common()
    if len(all_leaders) == 1:
        return f"{outcomes[0][0]}."
    entries = all_leaders[0].names
    noun = "problems" if all(name.startswith("problem") for name in entries) else "points"
    if len(outcomes) == 1:
        return f"{outcomes[0][0]} at all {len(all_leaders):,} {noun}."
    clauses = (f"{text} at {count:,} of {len(all_leaders):,} {noun}" for text, count in outcomes)
    return f"{'; '.join(clauses)}."


def _summarize_one_policy_sweep(summary: SweepSummary, all_leaders: Sequence[Leaders]) -> str:
    """Return a sentence on the best point of a sweep with one policy."""
    metric = next(iter(summary.metrics.values()))
    means = {
        format_point_title(leaders.names, summary.sweep): leaders.mean for leaders in all_leaders
    }
    best = find_leaders(means, metric, {})
    return (
        f"{summary.labels[0]} has the {metric.best} {metric.title} in the end for "
        f"{best.labels[0]}: {best.mean}.{describe_overlaps(best.labels[1:])}"
    )


def explain_best(summary: SweepSummary) -> str:
    """Return the sentence that says when a policy of a sweep is best; empty for one policy."""
    if len(summary.labels) == 1:
        return ""
    metric = next(iter(summary.metrics.values()))
    return (
        f"Of {count_text(len(summary.labels), 'policy')}, one is called the best if it has the "
        f"{metric.best} {metric.title} in the end, and a 95 % interval that overlaps no other."
    )


def _describe_outcome(leaders: Leaders) -> str:
    """Return a clause on which policy is best at a point."""
    if not leaders.has_intervals:
        return "one replication has no interval"
    return f"{leaders.best} is best" if leaders.best else "intervals overlap"
