"""Summary of a run: who is best, in a sentence, and of a sweep a table of the best."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyhole.metric import Metric
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate
from keyhole.text_formatting import join_words

_MOST_ROWS: Final = 40
MOST_LEADERS: Final = 3
"""So many of the policies that may be best are named."""


@dataclass(frozen=True)
class Leaders:
    """The policies that may be best at a point: the best mean, and those whose interval overlaps.

    There is none where one replication leaves the intervals unknown.
    """

    names: Mapping[str, str]  # of the point
    labels: tuple[str, ...]  # the best mean first
    mean: Estimate  # of the first
    has_intervals: bool = True

    @property
    def best(self) -> str | None:
        """The policy that is best, if one is."""
        return self.labels[0] if self.has_intervals and len(self.labels) == 1 else None

    @property
    def text(self) -> str:
        """The names of those that may be best."""
        if len(self.labels) > MOST_LEADERS:
            return f"{self.labels[0]} or {len(self.labels) - 1} others"
        return " or ".join(self.labels)


def find_leaders(
    means: Mapping[str, Estimate], metric: Metric, names: Mapping[str, str]
) -> Leaders:
    """Return the policies whose 95 % interval overlaps that of the best mean, that one first."""
    order = metric.rank({label: mean.value for label, mean in means.items()})
    first = means[order[0]]
    # One replication has no interval, without which no policy can be called best.
    if not all(math.isfinite(mean.half_width) for mean in means.values()):
        return Leaders(names, (order[0],), first, has_intervals=False)
    overlapping = [n for n in order if means[n].low <= first.high and first.low <= means[n].high]
    return Leaders(names, tuple(overlapping), first)


LastMeans = dict[str, Estimate]
"""The mean of each policy at the last checkpoint."""


def last_means(curves: Curves) -> tuple[Metric, LastMeans]:
    """Return the first metric, and the mean of each policy at the last checkpoint."""
    metric = curves.metric(curves.metrics[0])
    return metric, {label: curves.estimates(label, metric.name)[-1] for label in curves.labels}


def leaders_table(
    points: Sequence[Mapping[str, str]], means_of_points: Iterable[tuple[Metric, LastMeans]]
) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of the best policy at each of the first 40 points.

    `points` has, by point, the short names of the values of the varied entries; `means_of_points`
    are as `last_means` returns them.
    """
    rows: list[list[str]] = []
    headings: dict[str, None] = {}
    for names, (metric, means) in zip(points[:_MOST_ROWS], means_of_points, strict=False):
        leaders = find_leaders(means, metric, names)
        headings[f"{metric.best} {metric.title} in the end"] = None
        best = f"{leaders.text}: {leaders.mean.plus_minus()}"
        rows.append([f"{len(rows)}", *names.values(), best])
    if (more := len(points) - len(rows)) > 0:
        rows.append([f"... and {more:,} more", *("" for _ in points[0]), ""])
    return ["point", *points[0], " or ".join(headings)], rows


def summarize_run(curves: Curves) -> str:
    """Return a sentence on the best policy of a run by its first metric."""
    metric, means = last_means(curves)
    leaders = find_leaders(means, metric, {})
    # Policies that always decide alike have the same mean to the last bit: all of them are named.
    equal = [label for label, mean in means.items() if mean.value == leaders.mean.value]
    subject = join_words(equal) if len(equal) <= MOST_LEADERS else f"{len(equal)} policies"
    verb = "has" if len(equal) == 1 else "share"
    text = (
        f"{subject} {verb} the {metric.best} {metric.title} after "
        f"{curves.checkpoints[-1]:,} rounds: {leaders.mean}"
    )
    if not leaders.has_intervals:
        return f"{text}."
    others = [label for label in leaders.labels if label not in equal]
    return f"{text}.{describe_overlaps(others)}"


def describe_overlaps(others: Sequence[str]) -> str:
    """Return the sentence on those whose interval overlaps that of the best; empty for none."""
    if not others:
        return ""
    if len(others) == 1:
        return f" The interval of {others[0]} overlaps with it."
    names = join_words(others) if len(others) <= MOST_LEADERS else f"{len(others)} others"
    return f" The intervals of {names} overlap with it."
