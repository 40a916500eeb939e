"""Numbers of a problem, exact or from one game of z-RCUCB, and judgements of claims about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import AfterValidator, Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim
from keyhole.papers.claims.statistics import Finding, Result, Results
from keyhole.papers.field_types import ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.play.simulation_plan import Plan
from keyhole.resource.cost_functions import Power
from keyhole.resource.policies.zooming import ZoomingRCUCB
from keyhole.resource.problem import Problem
from keyhole.validation import check_choice

_POLICY: Final = ZoomingRCUCB(alpha=0.02, delta=0.05, refine=2, lipschitz=2, gain_range=1)
_ROUNDS: Final = 1000


@dataclass(frozen=True)
class GridStage:
    """Grids of z-RCUCB after a round."""

    round: int  # 0 before the first round
    extended_points: int  # number of points at which a grid was extended in that round
    grids: tuple[FloatArray, ...]  # the points of each arm's grid, increasing


@lru_cache(maxsize=4)  # several claims and a figure need the stages of one problem
def play_stages(problem: Problem, *, rounds: int = _ROUNDS) -> tuple[GridStage, ...]:
    """Play z-RCUCB (alpha = 0.02, L = 2); return its first grids, and its grids after each change.

    References
    ----------
    Bengs and Huellermeier (2022), section 4.1, Algorithm 1, Figure 3.

    Examples
    --------
    >>> from keyhole.resource import three_models_problem
    >>> first, *_ = play_stages(three_models_problem("soft"), rounds=50)
    >>> [grid.tolist() for grid in first.grids]
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

    changes = [GridStage(0, 0, (problem.limits[-1:],) * problem.arms)]
    for t in range(1, rounds + 1):
        environment.play_round(learner)
        sizes = learner.state["sizes"].tolist()
        new_points = sum(sizes) - sum(map(len, changes[-1].grids))
        if new_points:
            points = learner.state["points"]
            grids = tuple(points[arm, :size].copy() for arm, size in enumerate(sizes))
            # Each point at which a grid is extended adds `refine` - 1 new ones.
            changes.append(GridStage(t, new_points // (_POLICY.refine - 1), grids))
    return tuple(changes)


def joint_extensions(problem: Problem) -> int:
    """Return how many of 1,000 rounds extend a grid at more than one point."""
    return sum(stage.extended_points > 1 for stage in play_stages(problem))


def grid_sizes(problem: Problem) -> FloatArray:
    """Return the number of points of each arm's grid after 1,000 rounds."""
    return np.array([len(grid) for grid in play_stages(problem)[-1].grids], dtype=np.float64)


_STEPS: Final = 600  # equally spaced limits at which gains are compared
_FAR: Final = 100.0  # times the largest limit: a limit that counts as none when means are computed


def mean_rewards(problem: Problem) -> FloatArray:
    """Return the mean reward of each arm's runs without a limit.

    Examples
    --------
    >>> from keyhole.resource import three_models_problem
    >>> mean_rewards(three_models_problem("soft")).round(2)
    array([0.84, 0.55, 0.31])
    """
    return _without_costs(problem, [_FAR * problem.limits[-1]]).gains[:, 0]


def mean_consumptions(problem: Problem) -> FloatArray:
    """Return the mean consumption of each arm's runs without a limit.

    Examples
    --------
    >>> from keyhole.resource import three_models_problem
    >>> mean_consumptions(three_models_problem("soft")).round(2)
    array([0.79, 0.45, 0.19])
    """
    far = _FAR * problem.limits[-1]
    # A cost of 1 / far for each unit lowers the gain by (mean consumption) / far.
    costly = Problem(problem.distributions, [far], Power(slope=1.0 / far), Power())
    return np.asarray(far * (mean_rewards(problem) - costly.gains[:, 0]))


def reward_rises(problem: Problem) -> FloatArray:
    r"""Return each arm's mean reward in runs that consume more than the mean, less that in others.

    .. math:: \mathrm E[R \mid C > m] - \mathrm E[R \mid C \le m], \qquad m = \mathrm E[C]

    Examples
    --------
    >>> from keyhole.resource import three_models_problem
    >>> bool((reward_rises(three_models_problem("soft")) > 0).all())
    True
    """
    means = mean_consumptions(problem)
    limits = np.unique([*means, _FAR * problem.limits[-1]])
    unpriced = _without_costs(problem, limits)
    at_mean = np.arange(problem.arms), np.searchsorted(limits, means)
    reward_below = unpriced.gains[at_mean]  # E[R 1{C <= m}]
    share_above = unpriced.censoring[at_mean]
    reward_above = unpriced.gains[:, -1] - reward_below
    return np.asarray(reward_above / share_above - reward_below / (1.0 - share_above))


def best_arm_shares(problem: Problem) -> FloatArray:
    """Return for each arm the share of the limits at which it has the largest gain.

    Examples
    --------
    >>> from keyhole.resource import three_models_problem
    >>> best_arm_shares(three_models_problem("strict")).round(2)
    array([0.  , 0.03, 0.97])
    """
    return np.asarray(_top_gain_mask(problem).mean(axis=1))


def first_leading_limits(problem: Problem) -> FloatArray:
    """Return for each arm the smallest limit at which it has the largest gain.

    The result is a share of the largest limit. It is infinite for an arm that never has the largest
    gain.

    Examples
    --------
    >>> from keyhole.resource import three_models_problem
    >>> first_leading_limits(three_models_problem("soft")).round(2)
    array([0.74, 0.44, 0.  ])
    """
    is_leading = _top_gain_mask(problem)
    first_shares = (1 + is_leading.argmax(axis=1)) / _STEPS
    return np.where(is_leading.any(axis=1), first_shares, np.inf)


def largest_gains(problem: Problem) -> FloatArray:
    """Return the gain of each arm at its best limit.

    Examples
    --------
    >>> from keyhole.resource import three_models_problem
    >>> largest_gains(three_models_problem("soft")).round(2)
    array([0.76, 0.51, 0.3 ])
    """
    return np.asarray(_gains_on_grid(problem).max(axis=1))


def half_limit_exceedance(problem: Problem) -> FloatArray:
    """Return the probability that a run of each arm exceeds half of the largest limit.

    Examples
    --------
    >>> from keyhole.resource import three_models_problem
    >>> half_limit_exceedance(three_models_problem("soft")).round(2)
    array([0.9 , 0.16, 0.  ])
    """
    return _without_costs(problem, problem.limits[-1] * np.array([0.5, 1.0])).censoring[:, 0]


def _without_costs(problem: Problem, limits: Sequence[float] | FloatArray) -> Problem:
    """Return the problem with these limits, but no cost and penalty: gains are mean rewards."""
    return Problem(problem.distributions, limits, Power(), Power())


def _gains_on_grid(problem: Problem) -> FloatArray:
    """Return the gain of each arm at limits in equal steps up to the largest one."""
    limits = problem.limits[-1] * np.arange(1, _STEPS + 1) / _STEPS
    return Problem(problem.distributions, limits, problem.cost, problem.penalty).gains


def _top_gain_mask(problem: Problem) -> NDArray[np.bool_]:
    """Return for each arm and each step whether the arm has the largest gain."""
    return np.asarray(_gains_on_grid(problem).argmax(axis=0) == np.arange(problem.arms)[:, None])


NUMBERS: Final[dict[str, Callable[[Any], ArrayLike]]] = {
    "resource.mean_reward": mean_rewards,
    "resource.mean_consumption": mean_consumptions,
    "resource.reward_rise": reward_rises,
    "resource.lead_share": best_arm_shares,
    "resource.lead_start": first_leading_limits,
    "resource.largest_gain": largest_gains,
    "resource.half_exceeded": half_limit_exceedance,
    # These two come from 1,000 rounds of z-RCUCB.
    "resource.grid_size": grid_sizes,
    "resource.joint_extensions": joint_extensions,
}
"""The numbers, of each arm or of the problem, that claims may name: setting, dot, and name."""

NumberName = Annotated[str, AfterValidator(lambda name: check_choice("number", name, NUMBERS))]
_Arm = Annotated[int, Field(ge=0)]


def numbers_in_range(
    results: Results, problem: ProblemName, number: NumberName,
    arms: Annotated[list[_Arm], Field(min_length=1)] | None = None, low: float | None = None,
    high: float | None = None, unlike: ProblemName | None = None, no_negative_control: str = "",
) -> Finding:  # fmt: skip
    """Judge whether a number of every arm, or of those in `arms`, lies between `low` and `high`.

    The claim holds if the numbers of all these arms do. The negative control is a problem `unlike`
    this one, which should break the claim: if all its numbers lie in the range too, the claim is
    undecided. A range that is open on one side needs `unlike`, or in `no_negative_control` the
    reason why there is no such problem.
    """
    ends = statistics.make_open_ends_infinite(low, high)
    numbers = _ranged_numbers_by_arm(results[problem], number, arms, *ends)
    is_inside = _are_all_in_range(numbers)
    detail = statistics.format_numbers(numbers) + statistics.bracket_range(*ends)
    if no_negative_control:
        detail += f". No problem is shown to break it: {no_negative_control}"
    is_evidence = True
    if unlike is not None:
        controls = _ranged_numbers_by_arm(results[unlike], number, arms, *ends)
        is_evidence = not _are_all_in_range(controls)
        ending = "breaks it"
        if not is_evidence:
            ending = "which should break it, keeps it too"
        title = results[unlike].title
        detail += f". {title} {ending}: {statistics.format_numbers(controls)}"
        numbers += statistics.control_numbers(title, controls)
    status = statistics.decide(supported=is_inside and is_evidence, contradicted=not is_inside)
    return Finding(status, detail, numbers)


def falling_numbers(
    results: Results, problem: ProblemName, number: NumberName,
    arms: Annotated[list[_Arm], Field(min_length=2)],
) -> Finding:  # fmt: skip
    """Judge whether a number falls from each arm in `arms` to the next."""
    numbers = _ranged_numbers_by_arm(results[problem], number, arms)
    is_falling = all(after.value < before.value for before, after in pairwise(numbers))
    status = statistics.decide(supported=is_falling, contradicted=not is_falling)
    return Finding(status, statistics.format_numbers(numbers), numbers)


def check_numbers_in_range(claim: AnyClaim, plan: Plan) -> None:
    """Refuse an empty range, and an open range with neither `unlike` nor a reason in its place."""
    _check_number_and_arms(claim, plan)
    statistics.check_range_ends("low", claim.low, "high", claim.high)
    if claim.unlike == claim.problem:
        raise ValueError(f"unlike must be another problem than {claim.problem!r}")
    if claim.unlike is not None and claim.no_negative_control:
        raise ValueError("unlike must be left out where no_negative_control says why there is none")
    if None in (claim.low, claim.high) and not (claim.unlike or claim.no_negative_control):
        raise ValueError(
            "unlike must be given, a problem that breaks the claim, or no_negative_control, the "
            "reason why there is none"
        )


def _check_number_and_arms(claim: AnyClaim, plan: Plan) -> None:
    """Refuse a number of another setting, and arms that the problem lacks."""
    setting = plan.problem.setting.name
    count = getattr(plan.problem, "arms", 1)
    if claim.number.partition(".")[0] != setting:
        raise ValueError(
            f"number must be a number of {setting!r}, the setting of {claim.problem!r}, "
            f"got {claim.number!r}"
        )
    for arm in claim.arms or []:
        if arm >= count:
            raise ValueError(f"arms must be below {count}, got {arm}")


check_falling_numbers: Final = _check_number_and_arms


def _ranged_numbers_by_arm(
    result: Result, number: str, arms: list[int] | None, low: float = -np.inf, high: float = np.inf
) -> tuple[Number, ...]:
    """Return the named number of each arm in `arms`, or of the problem, with the claimed range.

    By default `arms` are all arms.
    """
    values = np.atleast_1d(NUMBERS[number](result.problem))
    if len(values) == 1:
        return (statistics.exact_number(number, values[0], low, high),)
    return tuple(
        statistics.exact_number(f"{number} of arm {arm}", values[arm], low, high)
        for arm in arms or range(len(values))
    )


def _are_all_in_range(numbers: Sequence[Number]) -> bool:
    return all(number.at_least <= number.value <= number.at_most for number in numbers)
