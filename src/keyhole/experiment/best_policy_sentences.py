"""Sentences on which policies are best in a run, and at each point of a sweep.

A policy is a rule that chooses among options; the points of a sweep are experiments that differ in
some entries of their spec.
"""

from collections.abc import Sequence
from typing import Final

from keyhole.experiment.run_summary import MOST_LEADERS, Leaders, find_leaders
from keyhole.experiment.sweep_summary import (
    Summaries,
    format_point_title,
    is_number,
    points_to_compare,
)
from keyhole.results.curves import Curves
from keyhole.text_formatting import count_text, join_words

_MOST_VALUES: Final = 4  # values of one entry that a sentence names
_MOST_POINTS: Final = 2  # combinations of several entries


def summarize_run(curves: Curves) -> str:
    """Return a sentence on the best policy of a run by its first metric."""
    metric = curves.metric(curves.metrics[0])
    last = {label: curves.estimates(label, metric.name)[-1] for label in curves.labels}
    leaders = find_leaders(last, metric, {})
    # Policies that always decide alike have the same mean to the last bit: all of them are named.
    equal = [label for label in last if last[label].value == leaders.mean.value]
    whose = join_words(equal) if len(equal) <= MOST_LEADERS else f"{len(equal)} policies"
    text = (
        f"{whose} {'has' if len(equal) == 1 else 'share'} the {metric.best} {metric.title} after "
        f"{curves.checkpoints[-1]:,} rounds: {leaders.mean}"
    )
    if not leaders.has_intervals:
        return f"{text}."
    return f"{text}.{_describe_overlaps([x for x in leaders.labels if x not in equal])}"


def _describe_overlaps(others: Sequence[str]) -> str:
    """Return the sentence on those whose interval overlaps that of the best; empty for none."""
    if not others:
        return ""
    overlap = "overlaps" if len(others) == 1 else "overlap"
    shown = others if len(others) <= MOST_LEADERS else [f"{len(others)} others"]
    noun = "interval of" if len(others) == 1 else "intervals of"
    return f" The {noun} {join_words(shown)} {overlap} with it."


def sweep_leaders(summaries: Summaries) -> list[Leaders]:
    """Return the leaders by the first metric at the last checkpoint, for each problem compared.

    Points that differ in policies alone are compared with each other.
    """
    metric = next(iter(summaries.metrics.values()))
    found = []
    for names, points in points_to_compare(summaries.points):
        last = {label: p.last(label, metric.name) for p in points for label in p.labels}
        known = {label: mean for label, mean in last.items() if mean is not None}
        if known:
            found.append(find_leaders(known, metric, names))
    return found


def summarize_sweep(summaries: Summaries) -> str:
    """Return a sentence that says at which points of a sweep each policy is best."""
    leaders = sweep_leaders(summaries)
    if len(summaries.labels) == 1:
        return _summarize_one_policy(summaries, leaders)
    groups: dict[str, list[Leaders]] = {}
    for one in leaders:
        groups.setdefault(_outcome(one), []).append(one)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    alone = len(leaders) == 1
    parts = [
        words if alone else f"{words} {_describe_points(found, leaders, summaries)}"
        for words, found in ordered
    ]
    return f"{'; '.join(parts)}."


def _summarize_one_policy(summaries: Summaries, leaders: Sequence[Leaders]) -> str:
    """Return a sentence on the best point of a sweep with one policy."""
    metric = next(iter(summaries.metrics.values()))
    means = {format_point_title(one.names, summaries.sweep): one.mean for one in leaders}
    best = find_leaders(means, metric, {})
    text = (
        f"{summaries.labels[0]} has the {metric.best} {metric.title} in the end for "
        f"{best.labels[0]}: {best.mean}."
    )
    return text + (_describe_overlaps(best.labels[1:]) if best.has_intervals else "")


def explain_best(summaries: Summaries) -> str:
    """Return the sentence that says when a policy of a sweep is best; empty for one policy."""
    metric = next(iter(summaries.metrics.values()))
    if len(summaries.labels) == 1:
        return ""
    return (
        f"The best of {count_text(len(summaries.labels), 'policy')} has the {metric.best} "
        f"{metric.title} in the end, and a 95 % interval that overlaps no other."
    )


def _outcome(leaders: Leaders) -> str:
    if not leaders.has_intervals:
        return "one replication has no interval"
    return f"{leaders.best} is best" if leaders.best else "intervals overlap"


def _describe_points(
    found: Sequence[Leaders], among: Sequence[Leaders], summaries: Summaries
) -> str:
    """Return "for c = 0.5 and 2", or "at 12 of 48 combinations of c, K" where they are many."""
    entries = [*found[0].names]
    if len(found) == len(among):
        return f"at all {len(among):,} {_noun(entries)}"
    if len(found) <= (_MOST_VALUES if len(entries) == 1 else _MOST_POINTS):
        if len(entries) == 1:
            name = entries[0]
            # The short name of the entry: it is made only together with a value, here an empty one.
            short = format_point_title({name: ""}, summaries.sweep).removesuffix(" = ")
            values = [one.names[name] for one in found]
            if all(is_number(value) for value in summaries.sweep[name]):
                return f"for {short} = {join_words(values)}"
            return f"for {join_words(values)}"
        return f"for {'; '.join(format_point_title(one.names, summaries.sweep) for one in found)}"
    return f"at {len(found):,} of {len(among):,} {_noun(entries)}"


def _noun(entries: Sequence[str]) -> str:
    """Return what is compared: problems, values of an entry, or combinations of entries."""
    if all(name.startswith("problem") for name in entries):
        return "problems"
    if len(entries) == 1:
        return f"values of {entries[0]}"
    return f"combinations of {', '.join(entries)}"
