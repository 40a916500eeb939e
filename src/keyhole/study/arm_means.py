"""Means of the feedback told to a study by arm, with intervals that hold at all times at once."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from keyhole.contract.text_formatting import count_text, format_interval, mean_interval
from keyhole.study.decision_counts import NO_ARM, DecisionCounts


@dataclass(frozen=True)
class ArmMean:
    """The mean of a number in the feedback of one arm.

    Attributes
    ----------
    told : int
        How often it was told.
    mean : float
        Their mean, in the units of the study.
    interval : tuple of float or None
        Ends that contain the arm's mean at all times at once, with 95 % confidence; None where no
        such interval is known.
    """

    told: int
    mean: float
    interval: tuple[float, float] | None = None

    def __str__(self) -> str:
        """Return the mean, and its interval if there is one."""
        if self.interval is None:
            return f"{self.mean:.3g}"
        return format_interval(self.mean, *self.interval)


def arm_means(counts: DecisionCounts) -> dict[str, dict[str, ArmMean]]:
    """Return for each arm the mean of each number that was told of it, by its name."""
    values: dict[tuple[int, str], list[float]] = {}
    for _, arm, words in counts.feedback:
        for word, value in words.items():
            values.setdefault((arm, word), []).append(value)
    return {
        name: {
            word: make_mean(counts, word, len(found), sum(found))
            for word in counts.told_numbers()
            if (found := values.get((arm, word)))
        }
        for arm, name in enumerate(counts.arms)
    }


def make_mean(counts: DecisionCounts, word: str, told: int, total: float) -> ArmMean:
    """Return the mean of numbers that sum to `total`, in the units of the study."""
    mean, scale = total / told, counts.scale
    if word != counts.interval_word:
        return ArmMean(told, mean)
    # Converting to [0, 1] rounds: a mean at an end of the scale could come to lie outside.
    unit_total = min(max(told * scale.to_unit(mean), 0.0), float(told))
    return ArmMean(told, mean, mean_interval(float(told), unit_total, scale))


def arm_table(counts: DecisionCounts) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table by arm: decisions, told, and the mean of each number."""
    numbers, means = counts.told_numbers(), arm_means(counts)
    decisions = Counter(counts.asked)
    told = Counter(arm for _, arm, _ in counts.feedback)
    rows = [
        [
            name,
            f"{decisions[arm]:,}",
            f"{told[arm]:,}",
            *(str(means[name].get(word, "")) for word in numbers),
        ]
        for arm, name in enumerate(counts.arms)
    ]
    return ["arm", "decisions", "told", *(f"mean {word}" for word in numbers)], rows


def arms_without_feedback(counts: DecisionCounts) -> list[str]:
    """Return the arms in use for which the policy has no feedback yet.

    Feedback that is not about one arm, such as that of an allocation or a sum, is about all arms.
    """
    known = counts.arms_with_feedback
    return [] if NO_ARM in known else [counts.arms[arm] for arm in counts.live if arm not in known]


def explain_intervals(counts: DecisionCounts) -> str:
    """Return what the intervals of means are, or why there are none."""
    if not counts.feedback:
        return "There are no means: no feedback of a single decision was told."
    if counts.interval_word:
        return "[low, high] holds the arm's mean at all times at once, with 95 % confidence."
    if counts.policy.setting.fixed_means:
        expired = count_text(counts.untold, "decision")
        return f"Means have no intervals: {expired} expired, and only other feedback was told."
    setting = counts.policy.setting.name
    return f"Means have no intervals: in the setting {setting!r} they depend on the decisions."


def mean_lines(means: dict[str, dict[str, ArmMean]]) -> list[str]:
    """Return means as lines of text, one for each number of each arm."""
    return [
        f"{arm}: {found.told:,} told, mean {word} {found}{' at any time' if found.interval else ''}"
        for arm, by_word in means.items()
        for word, found in by_word.items()
    ]


def means_as_json(means: dict[str, dict[str, ArmMean]]) -> dict[str, dict[str, Any]]:
    """Return means as JSON values: told, mean, low and high of each number of each arm."""
    return {
        name: {
            word: {
                "told": found.told,
                "mean": found.mean,
                "low": found.interval and found.interval[0],
                "high": found.interval and found.interval[1],
            }
            for word, found in by_word.items()
        }
        for name, by_word in means.items()
    }
