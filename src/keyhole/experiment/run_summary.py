"""Summary of a run: who is best, in a sentence, and of a sweep a table of the best."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from keyhole.metric import Metric
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate
from keyhole.text_formatting import join_words

_MOST_ROWS: Final = 40
MOST_LEADERS: Final = 3
"""So many of the policies that may be best are named."""
_COLUMNS: Final = ("policy", "round", "metric", "mean", "std_error", "replications")


@dataclass(frozen=True)
class Leaders:
    """The policies that may be best at a point: the best mean, and those whose interval overlaps.

    There is none where one replication leaves the intervals unknown.
    """

    names: Mapping[str, str]  # of the point
    labels: tuple[str, ...]  # the best mean first
    mean: Estimate  # of the first
    rival: tuple[str, Estimate] | None = None  # the best of the policies that are not among them
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


def rank_policies(means: Mapping[str, Estimate], metric: Metric) -> list[str]:
    """Return the policies in the order of their means, the best first."""
    sign = 1 if metric.better == "lower" else -1
    return sorted(means, key=lambda label: sign * means[label].value)


def find_leaders(
    means: Mapping[str, Estimate], metric: Metric, names: Mapping[str, str]
) -> Leaders:
    """Return the policies whose 95 % interval overlaps that of the best mean, that one first."""
    order = rank_policies(means, metric)
    first = means[order[0]]
    # One replication has no interval, without which no policy can be called best.
    if not all(math.isfinite(mean.half_width) for mean in means.values()):
        return Leaders(names, (order[0],), first, has_intervals=False)
    overlapping = [n for n in order if means[n].low <= first.high and first.low <= means[n].high]
    others = ((label, means[label]) for label in order if label not in overlapping)
    return Leaders(names, tuple(overlapping), first, next(others, None))


def sweep_table(
    path: Path, points: Sequence[Mapping[str, Any]], known_metrics: Mapping[str, Metric]
) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of the best policy by the first metric at each point.

    Parameters
    ----------
    path : Path
        The file of means, ``curves.parquet``: the values of all replications may be large.
    points : sequence of mapping
        The varied entries of each point and their short names.
    known : mapping of str to Metric
        The metrics of the settings.
    """
    rows: list[list[str]] = []
    metrics: dict[str, None] = {}
    with pq.ParquetFile(path) as file:
        for number, values in enumerate(points[:_MOST_ROWS]):
            # The curves of a point are one row group, which may have far more rows than they have.
            table = file.read_row_group(number)
            means, name = _last_means(table, known_metrics)
            metric = known_metrics.get(name, Metric(name))
            metrics[f"{metric.best} {metric.title} in the end"] = None
            leaders = find_leaders(means, metric, values)
            best = f"{leaders.text}: {leaders.mean.plus_minus()}"
            rows.append([str(number), *map(str, values.values()), best])
    if (more := len(points) - len(rows)) > 0:
        rows.append([f"... and {more:,} more", *("" for _ in points[0]), ""])
    return ["point", *points[0], " or ".join(metrics)], rows


def _last_means(
    table: pa.Table, known_metrics: Mapping[str, Metric]
) -> tuple[dict[str, Estimate], str]:
    """Return the last mean of each policy, and the name of the metric, which is the first."""
    columns = [table.column(name).to_pylist() for name in _COLUMNS if name in table.column_names]
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]
    name = rows[0]["metric"]
    end = max(row["round"] for row in rows)
    # The exact interval of a share needs the number of ones, which its mean gives back.
    is_share = name in known_metrics and known_metrics[name].drawn == "share"
    return {
        row["policy"]: Estimate(
            row["mean"],
            row["std_error"],
            row["replications"],
            round(row["mean"] * row["replications"]) if is_share else None,
        )
        for row in rows
        if row["metric"] == name and row["round"] == end
    }, name


def summarize_run(curves: Curves) -> str:
    """Return a sentence on the best policy of a run by its first metric."""
    metric = curves.metric(curves.metrics[0])
    last = {label: curves.estimates(label, metric.name)[-1] for label in curves.labels}
    leaders = find_leaders(last, metric, {})
    # Policies that always decide alike have the same mean to the last bit: all of them are named.
    equal = [label for label in last if last[label].value == leaders.mean.value]
    subject = join_words(equal) if len(equal) <= MOST_LEADERS else f"{len(equal)} policies"
    verb = "has" if len(equal) == 1 else "share"
    text = (
        f"{subject} {verb} the {metric.best} {metric.title} after "
        f"{curves.checkpoints[-1]:,} rounds: {leaders.mean}"
    )
    if not leaders.has_intervals:
        return f"{text}."
    return f"{text}.{describe_overlaps([x for x in leaders.labels if x not in equal])}"


def describe_overlaps(others: Sequence[str]) -> str:
    """Return the sentence on those whose interval overlaps that of the best; empty for none."""
    if not others:
        return ""
    if len(others) == 1:
        return f" The interval of {others[0]} overlaps with it."
    names = join_words(others) if len(others) <= MOST_LEADERS else f"{len(others)} others"
    return f" The intervals of {names} overlap with it."
