"""The chance of each option (arm) of a study to be the best, by the posterior of its policy."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.contract.text_formatting import count_text
from keyhole.study.arm_means import ArmMean, arm_means
from keyhole.study.decision_counts import DecisionCounts

_GRID: Final = np.sinh(np.linspace(-4.2, 4.2, 301))
"""Places around the middle of a posterior, in units of its width, dense in the middle."""
_MOST_POINTS: Final = 3000
_TINY: Final = 1e-300
_MOST_ARMS: Final = 5


def best_chances(counts: DecisionCounts) -> dict[str, float]:
    """Return the chance of each arm in use to have the highest mean; empty if it is not known.

    It is known where the policy has a posterior (`Policy.beta_prior`) and means have intervals.
    """
    prior = counts.policy.beta_prior
    if prior is None or not counts.interval_word:
        return {}
    means, scale = arm_means(counts), counts.vocabulary.scale
    arms = list(counts.arms.names_in_use)
    rewards = [means[arm].get("reward", ArmMean(0, scale.low)) for arm in arms]
    pulls = np.array([mean.told for mean in rewards])
    totals = np.clip(pulls * scale.to_unit(np.array([mean.mean for mean in rewards])), 0, pulls)
    chances = chances_to_be_highest(prior[0] + totals, prior[1] + pulls - totals)
    return dict(zip(arms, chances.tolist(), strict=True))


def chances_to_be_highest(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return for each of some independent beta variates the chance to be the highest.

    By quadrature in the logit of the variate, in which each density has one peak.

    Examples
    --------
    >>> chances_to_be_highest(np.array([2.0, 1.0]), np.array([1.0, 1.0])).round(3).tolist()
    [0.667, 0.333]
    """
    widths = np.maximum(a**-0.5, 1.0 / a) + np.maximum(b**-0.5, 1.0 / b)
    points = np.sort((np.log(a / b)[:, None] + widths[:, None] * _GRID).ravel())
    logits = points[:: max(1, len(points) // _MOST_POINTS), None]
    logs = -a * np.logaddexp(0.0, -logits) - b * np.logaddexp(0.0, logits)
    density = np.exp(logs - logs.max(axis=0))
    masses = (density[1:] + density[:-1]) * np.diff(logits, axis=0)
    masses /= masses.sum(axis=0)
    below = np.log(np.maximum(np.cumsum(masses, axis=0) - masses / 2.0, _TINY))
    chances = (masses * np.exp(below.sum(axis=1, keepdims=True) - below)).sum(axis=0)
    return np.asarray(chances / chances.sum())


def chances_rows(counts: DecisionCounts) -> list[list[str]]:
    """Return the row of a summary with the highest chances; none where they are not known."""
    chances = best_chances(counts) if counts.feedback_count else {}
    return [["chance to be best", chances_text(chances, len(counts.pending))]] if chances else []


def chances_text(chances: Mapping[str, float], pending: int) -> str:
    """Return the highest chances on one line, and what they are."""
    highest = sorted(chances.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{arm} {100 * chance:.1f} %" for arm, chance in highest[:_MOST_ARMS])
    more = f", {len(highest) - _MOST_ARMS:,} more" if len(highest) > _MOST_ARMS else ""
    missing = f", without {count_text(pending, 'pending decision')}" if pending else ""
    source = f"by the policy's posterior of these means{missing}"
    return f"{shown}{more} ({source}; no error rate is guaranteed)"
