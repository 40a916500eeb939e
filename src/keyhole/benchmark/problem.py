"""A problem of the benchmark: its instance, its horizon, and its short forms in files."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np

from keyhole.contract.problem import Problem
from keyhole.contract.state_arrays import FloatArray
from keyhole.play.simulation_job import json_digest

AnyProblem = Any
"""A problem of any setting; each function in `_LOSSES` is for the problems of one setting."""
Part = Literal["tuning", "judging"]
PARTS: Final = ("tuning", "judging")


@dataclass(frozen=True, kw_only=True)
class BenchmarkProblem:
    """A problem of the benchmark.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens, unique in its setting.
    situation : str
        The situation of the guide that it belongs to: see `SITUATIONS` of
        `keyhole.benchmark.rules`.
    title : str
        The problem in a few words.
    problem : dict
        The table ``[problem]`` of a spec, without its setting.
    horizon : int
        The number of rounds, which was fixed before any policy was run on it.
    told : dict
        Values of policies' parameters, by name, that the policies are told; they may be wrong.
    setting : str
        The name of its setting.
    part : {"tuning", "judging"}
        "tuning" if policies may be tuned on it, "judging" if they are only judged on it.
    drawn : bool
        Whether it was drawn at random by a rule, so that nobody chose it.
    """

    name: str
    situation: str
    title: str
    problem: Mapping[str, object]
    horizon: int
    told: Mapping[str, object] = field(default_factory=dict)
    setting: str = ""
    part: Part = "tuning"
    drawn: bool = False

    @property
    def digest(self) -> str:
        """A digest of the setting, the problem, the horizon, and what policies are told."""
        return json_digest([self.setting, dict(self.problem), self.horizon, dict(self.told)])[:16]


def wrong_choice_loss(problem: Problem) -> float:
    """Return the regret of a wrong choice in one round, or in `thresholding` at the end.

    In `stochastic` and `delayed` it is the mean gap of the arms that are not best. In `threshold`
    this mean gap is computed at each level, and averaged over the levels. In `resource` it is the
    mean gap with each arm at its best limit. In `semibandit` it is the mean loss of the arms that
    the best allocation funds, and in `thresholding` half the number of arms.
    """
    return _LOSSES[problem.setting.name](problem)


def _mean_positive_gap(gaps: FloatArray) -> float:
    positive_gaps = gaps[gaps > 0.0]
    return float(positive_gaps.mean()) if len(positive_gaps) else 0.0


_LOSSES: Final[dict[str, Callable[[AnyProblem], float]]] = {
    "stochastic": lambda problem: _mean_positive_gap(problem.gaps),
    "delayed": lambda problem: _mean_positive_gap(problem.gaps),
    "threshold": lambda problem: float(np.mean([*map(_mean_positive_gap, problem.gaps.T)])),
    "resource": lambda problem: _mean_positive_gap(problem.gaps.min(axis=1)),
    "semibandit": lambda problem: float(problem.mean_losses[problem.optimal].mean()),
    "thresholding": lambda problem: float(problem.arms / 2),
}


_PARETO_QUANTILES: Final = 2000
_GEOMETRIC_QUANTILES: Final = 100
_LARGEST_DENOMINATOR: Final = 1000  # of an arm's mean, written as a fraction


def expand_short_forms(value: Any) -> Any:
    """Return a value of a problem file with all short forms written out: see the cases."""
    if isinstance(value, list):
        return [expand_short_forms(element) for element in value]
    match value:
        case {"spread": [low, high, count]}:
            return [round(float(mean), 4) for mean in np.linspace(low, high, count)]
        case {"repeat": pairs}:
            return [mean for mean, count in pairs for _ in range(count)]
        case {"pareto": [power, scale]}:  # delays with a heavy tail if the power is below 2
            return _delay_quantiles(lambda p: scale * (p ** (-1 / power) - 1), _PARETO_QUANTILES)
        case {"geometric": mean}:
            # The logarithm of the probability that a delay goes on for another round.
            slope = math.log1p(-1 / (1 + mean))
            return _delay_quantiles(lambda p: math.log(p) / slope, _GEOMETRIC_QUANTILES)
        case {"arms_with_delays": arms}:
            return _reward_delay_table(
                expand_short_forms(arms), prompt_zeros=value.get("prompt_zeros", False)
            )
        case dict():
            return {name: expand_short_forms(element) for name, element in value.items()}
    return value


def _reward_delay_table(
    arms: Sequence[tuple[float, Sequence[int]]], *, prompt_zeros: bool
) -> dict[str, object]:
    """Return the table of a problem with recorded rewards and delays.

    Each element of `arms` is a mean reward and a list of equally likely delays. With
    `prompt_zeros`, rewards of 0 have no delay.
    """
    rewards = []
    delays = []
    for mean, arm_delays in arms:
        share = Fraction(mean).limit_denominator(_LARGEST_DENOMINATOR)
        values = [1] * share.numerator + [0] * (share.denominator - share.numerator)
        pairs = [(x, 0 if prompt_zeros and not x else d) for x in values for d in arm_delays]
        rewards.append([x for x, _ in pairs])
        delays.append([d for _, d in pairs])
    return {"rewards": rewards, "delays": delays}


def _delay_quantiles(inverse: Callable[[float], float], count: int) -> list[int]:
    """Return `count` quantiles of a delay, which exceeds `inverse(p)` with probability p."""
    return [math.floor(inverse((i + 0.5) / count)) for i in range(count)]
