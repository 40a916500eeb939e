"""Numbers of a problem, exact or from one game of z-RCUCB, and judgements of claims on them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import AfterValidator, Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.distributions.distribution import Distribution
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim
from keyhole.papers.claims.statistics import Finding, Result
from keyhole.papers.entry_names import ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.play.simulation_plan import Plan
from keyhole.resource.cost_functions import Power
from keyhole.resource.policies.zooming import ZoomingRCUCB
from keyhole.resource.problem import Problem
from keyhole.validate import check_choice

_POLICY: Final = ZoomingRCUCB(alpha=0.02, delta=0.05, refine=2, lipschitz=2, gain_range=1)
_ROUNDS: Final = 1000


@dataclass(frozen=True)
class Stage:
    """Grids after a round."""

    round: int  # 0 before the first
    extended: int  # number of points at which a grid was extended in that round
    grids: tuple[FloatArray, ...]  # the points of each arm, increasing


@lru_cache(maxsize=4)  # several claims and a figure use those of one problem
def stages(problem: Problem, *, rounds: int = _ROUNDS) -> tuple[Stage, ...]:
    """Play z-RCUCB, with alpha = 0.02 and L = 2, and return the grids whenever they change.

    References
    ----------
    Bengs and Huellermeier (2022), section 4.1, Algorithm 1, Figure 3.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> found = stages(three_models("soft"), rounds=50)
    >>> [grid.tolist() for grid in found[0].grids]
    [[1.2], [1.2], [1.2]]
    """
    learner = _POLICY.learner(
        arms=problem.arms,
        limits=problem.limits,
        cost=problem.cost,
        penalty=problem.penalty,
        continuous=problem.continuous,
        horizon=rounds,
    )
    environment = InteractiveEnvironment(problem, seed=0, horizon=rounds)

    def grids() -> tuple[FloatArray, ...]:
        points = learner.state["points"]
        return tuple(points[arm, :size].copy() for arm, size in enumerate(learner.state["sizes"]))

    changes = [Stage(0, 0, tuple(problem.limits[-1:] for _ in range(problem.arms)))]
    for t in range(1, rounds + 1):
        environment.play_round(learner)
        # Each point at which a grid is extended adds `refine` - 1 new ones.
        new_points = sum(learner.state["sizes"].tolist()) - sum(map(len, changes[-1].grids))
        if new_points:
            changes.append(Stage(t, new_points // (_POLICY.refine - 1), grids()))
    return tuple(changes)


def joint_extensions(problem: Problem) -> int:
    """Return the number of rounds, of 1,000, that extend a grid at more than one point."""
    return sum(stage.extended > 1 for stage in stages(problem))


def grid_sizes(problem: Problem) -> FloatArray:
    """Return the number of points of each arm's grid after 1,000 rounds."""
    return np.array([len(grid) for grid in stages(problem)[-1].grids], dtype=np.float64)


_STEPS: Final = 600  # equally spaced limits at which gains are compared
_FAR: Final = 100.0  # multiple of the largest limit beyond which expectations are truncated


def mean_rewards(problem: Problem) -> FloatArray:
    """Return the mean reward of each arm's runs without a limit.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> mean_rewards(three_models("soft")).round(2)
    array([0.84, 0.55, 0.31])
    """
    far = _FAR * problem.limits[-1]
    return np.array(
        [_reward_within(distribution, far, far)[0] for distribution in problem.distributions]
    )


def mean_consumptions(problem: Problem) -> FloatArray:
    """Return the mean consumption of each arm's runs without a limit.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> mean_consumptions(three_models("soft")).round(2)
    array([0.79, 0.45, 0.19])
    """
    far = _FAR * problem.limits[-1]
    return np.array(
        [_mean_consumption(distribution, far) for distribution in problem.distributions]
    )


def reward_rises(problem: Problem) -> FloatArray:
    r"""Return each arm's mean reward in runs above its mean consumption, less that in other runs.

    .. math:: \mathrm E[R \mid C > m] - \mathrm E[R \mid C \le m], \qquad m = \mathrm E[C]

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> bool((reward_rises(three_models("soft")) > 0).all())
    True
    """
    far = _FAR * problem.limits[-1]
    rises = []
    for distribution in problem.distributions:
        reward_below, share_below = _reward_within(
            distribution, _mean_consumption(distribution, far), far
        )
        reward, _ = _reward_within(distribution, far, far)
        rises.append((reward - reward_below) / (1.0 - share_below) - reward_below / share_below)
    return np.array(rises)


def best_arm_shares(problem: Problem) -> FloatArray:
    """Return the share of the limits at which each arm has the largest gain.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> best_arm_shares(three_models("strict")).round(2)
    array([0.  , 0.03, 0.97])
    """
    return np.bincount(_leading_arms(problem), minlength=problem.arms) / _STEPS


def first_leading_limits(problem: Problem) -> FloatArray:
    """Return the smallest limit at which each arm has the largest gain, as a share of the largest.

    It is infinite for an arm that has it nowhere.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> first_leading_limits(three_models("soft")).round(2)
    array([0.74, 0.44, 0.  ])
    """
    leaders = _leading_arms(problem)
    arm_steps = [np.flatnonzero(leaders == arm) for arm in range(problem.arms)]
    return np.array([(1 + steps[0]) / _STEPS if len(steps) else np.inf for steps in arm_steps])


def largest_gains(problem: Problem) -> FloatArray:
    """Return the gain of each arm at its best limit.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> largest_gains(three_models("soft")).round(2)
    array([0.76, 0.51, 0.3 ])
    """
    return np.asarray(_gains(problem).max(axis=1))


def half_limit_exceedance(problem: Problem) -> FloatArray:
    """Return the probability that a run of each arm exceeds half of the largest limit.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> half_limit_exceedance(three_models("soft")).round(2)
    array([0.9 , 0.16, 0.  ])
    """
    limits = problem.limits[-1] * np.array([0.5, 1.0])
    return Problem(problem.distributions, limits, problem.cost, problem.penalty).censoring[:, 0]


def _gains(problem: Problem) -> FloatArray:
    """Return the gain of every arm at equal steps up to the largest limit."""
    limits = problem.limits[-1] * np.arange(1, _STEPS + 1) / _STEPS
    return Problem(problem.distributions, limits, problem.cost, problem.penalty).gains


def _leading_arms(problem: Problem) -> NDArray[np.intp]:
    """Return the arm with the largest gain at each step."""
    return np.asarray(_gains(problem).argmax(axis=0))


def _reward_within(distribution: Distribution, limit: float, far: float) -> tuple[float, float]:
    """Return E[R 1{C <= limit}] and P(C <= limit)."""
    # Without cost and penalty, the gain at a limit is the mean reward within it. Limits must
    # differ, and `limit` may be `far` itself.
    limits = np.unique([limit, far])
    problem = Problem([distribution], limits, Power(), Power())
    return float(problem.gains[0, 0]), 1.0 - float(problem.censoring[0, 0])


def _mean_consumption(distribution: Distribution, far: float) -> float:
    """Return E[C 1{C <= far}], the loss of gain under a cost of C / far, times far."""
    costly = Problem([distribution], [far], Power(slope=1.0 / far), Power())
    return far * (_reward_within(distribution, far, far)[0] - float(costly.gains[0, 0]))


NUMBERS: Final[dict[str, Callable[[Any], ArrayLike]]] = {
    "resource.mean_reward": mean_rewards,
    "resource.mean_consumption": mean_consumptions,
    "resource.reward_rise": reward_rises,
    "resource.lead_share": best_arm_shares,
    "resource.lead_start": first_leading_limits,
    "resource.largest_gain": largest_gains,
    "resource.half_exceeded": half_limit_exceedance,
    # Of z-RCUCB in 1,000 rounds.
    "resource.grid_size": grid_sizes,
    "resource.joint_extensions": joint_extensions,
}
"""Every number that claims may name, one of each arm or of the problem, by its setting and name."""

NumberName = Annotated[str, AfterValidator(lambda name: check_choice("number", name, NUMBERS))]
_Arm = Annotated[int, Field(ge=0)]


def numbers_in_range(
    results: Mapping[str, Result], problem: ProblemName, number: NumberName,
    arms: Annotated[list[_Arm], Field(min_length=1)] | None = None, low: float | None = None,
    high: float | None = None, unlike: ProblemName | None = None, no_negative_control: str = "",
) -> Finding:  # fmt: skip
    """Judge whether a number of some arms, by default of all, lies between `low` and `high`.

    The claim holds if all do. The negative control is a problem `unlike` this one, of which not all
    should; if all do, the claim is undecided. A range that is open on one side needs `unlike`, or
    in `no_negative_control` the reason why there is none.
    """
    ends = statistics.ends_or_infinite(low, high)
    is_inside, detail, numbers = _compare(results[problem], number, arms, *ends)
    detail += statistics.format_claimed(*ends)
    if no_negative_control:
        detail += f". No problem is shown to break it: {no_negative_control}"
    if unlike is None:
        return Finding(
            statistics.decide(supported=is_inside, contradicted=not is_inside), detail, numbers
        )
    is_kept, control_detail, control_numbers = _compare(results[unlike], number, arms, *ends)
    ending = "breaks it"
    if is_kept:
        ending = "which should break it, keeps it too"
    title = results[unlike].title
    return Finding(
        statistics.decide(supported=is_inside and not is_kept, contradicted=not is_inside),
        f"{detail}. {title} {ending}: {control_detail}",
        numbers + statistics.prefix_numbers(title, control_numbers),
    )


def falling_numbers(
    results: Mapping[str, Result], problem: ProblemName, number: NumberName,
    arms: Annotated[list[_Arm], Field(min_length=2)],
) -> Finding:  # fmt: skip
    """Judge whether a number of some arms falls from each to the next."""
    _, detail, numbers = _compare(results[problem], number, arms)
    values = np.array([number_of_arm.value for number_of_arm in numbers])
    falls = bool((values[:-1] > values[1:]).all())
    return Finding(statistics.decide(supported=falls, contradicted=not falls), detail, numbers)


def check_numbers_in_range(claim: AnyClaim, plan: Plan) -> None:
    """Refuse an impossible range, and one open on a side without a control or a reason."""
    _check_number_and_arms(claim, plan)
    statistics.check_ends("low", claim.low, "high", claim.high)
    if claim.unlike == claim.problem:
        raise ValueError(f"unlike must be another problem than {claim.problem!r}")
    if claim.unlike is not None and claim.no_negative_control:
        raise ValueError("unlike must be left out where no_negative_control says why there is none")
    if None in (claim.low, claim.high) and not (claim.unlike or claim.no_negative_control):
        raise ValueError(
            "unlike must be given, a problem that breaks the claim, or no_negative_control, why "
            "there is none"
        )


def _check_number_and_arms(claim: AnyClaim, plan: Plan) -> None:
    """Refuse a number of another setting, and arms that the problem lacks."""
    setting = plan.problem.setting.name
    count = getattr(plan.problem, "arms", 1)
    if claim.number.partition(".")[0] != setting:
        raise ValueError(
            f"number must be one of the setting {setting!r}, as {claim.problem!r} is, "
            f"got {claim.number!r}"
        )
    for arm in claim.arms or []:
        if arm >= count:
            raise ValueError(f"arms must be below {count}, got {arm}")


check_falling_numbers: Final = _check_number_and_arms


def _compare(
    result: Result, number: str, arms: list[int] | None, low: float = -np.inf,
    high: float = np.inf,
) -> tuple[bool, str, tuple[Number, ...]]:  # fmt: skip
    """Return whether the numbers of all arms are in a range, their text, and the numbers."""
    values = np.atleast_1d(np.asarray(NUMBERS[number](result.problem), dtype=np.float64))
    if len(values) == 1:
        texts = [f"{values[0]:.4g}"]
        numbers = [statistics.known_number(number, values[0], low, high)]
    else:
        arm_indices = arms or range(len(values))
        texts = [f"arm {arm}: {values[arm]:.4g}" for arm in arm_indices]
        numbers = [
            statistics.known_number(f"{number} of arm {arm}", values[arm], low, high)
            for arm in arm_indices
        ]
    are_inside = all(low <= number_of_arm.value <= high for number_of_arm in numbers)
    return are_inside, ", ".join(texts), tuple(numbers)
