"""Summaries of a run: a sentence on the best policy; for a sweep, a table of the best policies."""

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
"""The most policies that a text names; if more may be best, the text says how many."""


@dataclass(frozen=True)
class Leaders:
    """The policies that may be best at a point.

    They are the policy with the best mean, and the policies whose 95 % intervals overlap with its
    interval. A single replication has no intervals: then there is only the policy with the best
    mean.
    """

    names: Mapping[str, str]  # the short names of the point's values, by entry
    labels: tuple[str, ...]  # first the label of the best mean
    mean: Estimate  # the best mean
    has_intervals: bool = True

    @property
    def best(self) -> str | None:
        """The label of the best policy; None if several may be best, or without intervals."""
        return self.labels[0] if self.has_intervals and len(self.labels) == 1 else None

    @property
    def text(self) -> str:
        """The policies that may be best, as text."""
        if len(self.labels) > MOST_LEADERS:
            return f"{self.labels[0]} or {len(self.labels) - 1} others"
        return " or ".join(self.labels)


def find_leaders(
    means: Mapping[str, Estimate], metric: Metric, names: Mapping[str, str]
) -> Leaders:
    """Return the policies that may be best by a metric; `names` are the names of the point."""
    labels = metric.rank({label: mean.value for label, mean in means.items()})
    best = means[labels[0]]
    # One replication has no interval, and without intervals no policy can be called best.
    if not all(math.isfinite(mean.half_width) for mean in means.values()):
        return Leaders(names, (labels[0],), best, has_intervals=False)
    leaders = [n for n in labels if means[n].low <= best.high and best.low <= means[n].high]
    return Leaders(names, tuple(leaders), best)


LastMeans = dict[str, Estimate]
"""The mean of each policy at the last checkpoint."""


def first_metric_and_means(curves: Curves) -> tuple[Metric, LastMeans]:
    """Return the first metric, and the mean of each policy at the last checkpoint."""
    metric = curves.metric(curves.metrics[0])
    return metric, {label: curves.estimates(label, metric.name)[-1] for label in curves.labels}


def leaders_cells(
    points: Sequence[Mapping[str, str]], means_of_points: Iterable[tuple[Metric, LastMeans]]
) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of the best policy at each of the first 40 points.

    `points` has the short names of each point's values, by varied entry; `means_of_points` has
    what `first_metric_and_means` returns for each point.
    """
    rows: list[list[str]] = []
    headings: dict[str, None] = {}
    for names, (metric, means) in zip(points[:_MOST_ROWS], means_of_points, strict=False):
        leaders = find_leaders(means, metric, names)
        headings[f"{metric.best} {metric.title} in the end"] = None
        best_text = f"{leaders.text}: {leaders.mean.plus_minus()}"
        rows.append([f"{len(rows)}", *names.values(), best_text])
    if (hidden_count := len(points) - len(rows)) > 0:
        rows.append([f"... and {hidden_count:,} more", *("" for _ in points[0]), ""])
    return ["point", *points[0], " or ".join(headings)], rows


def summarize_run(curves: Curves) -> str:
    """Return a sentence on the best policy of a run by its first metric."""
    metric, means = first_metric_and_means(curves)
    leaders = find_leaders(means, metric, {})
    # Policies that always decide alike have equal means to the last bit, so all of them are named.
    winners = [label for label, mean in means.items() if mean.value == leaders.mean.value]
    subject = join_words(winners) if len(winners) <= MOST_LEADERS else f"{len(winners)} policies"
    verb = "has" if len(winners) == 1 else "share"
    others = [label for label in leaders.labels if label not in winners]
    return (
        f"{subject} {verb} the {metric.best} {metric.title} after "
        f"{curves.checkpoints[-1]:,} rounds: {leaders.mean}.{describe_overlaps(others)}"
    )


def describe_overlaps(others: Sequence[str]) -> str:
    """Return a sentence on others whose intervals overlap with that of the best; "" if none do."""
    if not others:
        return ""
    if len(others) == 1:
        return f" The interval of {others[0]} overlaps with it."
    names = join_words(others) if len(others) <= MOST_LEADERS else f"{len(others)} others"
    return f" The intervals of {names} overlap with it."
