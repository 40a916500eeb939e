"""Bounds that claims may name, and judgements of claims that a mean is below or above a bound."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator

from keyhole.delayed.bounds import regret_bound
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim, require_negative_control
from keyhole.papers.claims.statistics import Finding, Result, Results, Rounds
from keyhole.papers.field_types import PolicyName, ProblemName
from keyhole.play.simulation_plan import Plan
from keyhole.resource.bounds import rcucb_regret_bound, ucb_regret_bound
from keyhole.results.estimate import format_estimate
from keyhole.semibandit.bounds import csbst_bound, lower_bound
from keyhole.stochastic.bounds import hoeffding_ucb_bound, lai_robbins_constant
from keyhole.threshold.bounds import adversarial_lower_bound, dkwucb_bound, kmucb_bound, optim_bound
from keyhole.thresholding.bounds import lsa_regret_bound
from keyhole.thresholding.sampling_allocation import integer_value
from keyhole.validation import check_choice

Bound = Callable[..., float]
"""A function that computes a bound from a problem, a policy, a round and the horizon."""

BOUNDS: Final[dict[str, Bound]] = {
    # Pike-Burke et al. (2018), theorems 4.1 to 4.3 and 5, with the constants of the proof and of
    # the phase lengths.
    "delayed.regret": lambda problem, policy, t, horizon: regret_bound(
        policy, problem.means, horizon
    ),
    # Tao et al. (2019), for LSA with its default alpha, 1.35.
    "thresholding.theorem_1": lambda problem, policy, t, horizon: lsa_regret_bound(problem.gaps, t),
    # Tao et al. (2019), equations (5) and (6), for the best allocation of pulls to known gaps.
    "thresholding.equation_5": lambda problem, policy, t, horizon: (
        2 * integer_value(problem.gaps, t)
    ),
    # Lai and Robbins (1985), in the limit of many rounds.
    "stochastic.lower": lambda problem, policy, t, horizon: (
        lai_robbins_constant(problem.means) * math.log(t)
    ),
    # Abernethy et al. (2016), for HoeffdingUCB, without the additive constant. The confidence of
    # the policy depends on the horizon, not on t.
    "stochastic.theorem_1": lambda problem, policy, t, horizon: hoeffding_ucb_bound(
        problem.means, horizon
    ),
    # Bengs and Huellermeier (2022), for RCUCB, and for ReductionUCB with an alpha above 1.
    "resource.theorem_1": lambda problem, policy, t, horizon: rcucb_regret_bound(
        problem.gaps,
        problem.penalty(problem.limits),
        t,
        alpha=policy.alpha,
        gain_range=policy.gain_range,
    ),
    "resource.corollary_14": lambda problem, policy, t, horizon: ucb_regret_bound(
        problem.gaps, problem.penalty(problem.limits), t, alpha=policy.alpha
    ),
    # Verma et al. (2019), equation (3), in the limit of many rounds.
    "semibandit.lower": lambda problem, policy, t, horizon: lower_bound(problem, t),
    # Verma et al. (2019), for CSBST with its default epsilon, 0.1, and delta = 1 / T.
    "semibandit.theorem_1": lambda problem, policy, t, horizon: csbst_bound(problem, horizon, 0.1),
    # Abernethy et al. (2016); the upper bounds are without their additive constants.
    "threshold.theorem_2": lambda problem, policy, t, horizon: dkwucb_bound(problem, horizon),
    "threshold.theorem_3": lambda problem, policy, t, horizon: adversarial_lower_bound(
        problem, horizon
    ),
    "threshold.theorem_4": lambda problem, policy, t, horizon: optim_bound(problem, horizon),
    "threshold.theorem_5": lambda problem, policy, t, horizon: kmucb_bound(problem, horizon),
}
"""Every bound by its setting, a dot, and its own name."""


BoundName = Annotated[str, AfterValidator(lambda name: check_choice("bound", name, BOUNDS))]
"""A name in `BOUNDS`."""


def check_bound(name: str, policy: str, plan: Plan, rounds: Sequence[int]) -> None:
    """Refuse a bound that is of another setting, or is not finite at each of these rounds."""
    setting = plan.problem.setting.name
    if name.partition(".")[0] != setting:
        raise ValueError(
            f"bound must be a bound of {setting!r}, the setting of the problem, got {name!r}"
        )
    # A bound may be undefined or infinite at small rounds. Without this check, the error would come
    # after hours of simulation.
    for t in rounds:
        try:
            value = plan_bound(name, policy, plan, t)
        except ValueError as error:
            raise ValueError(f"bound {name!r} {statistics.format_round(t)}: {error}") from error
        if not math.isfinite(value):
            raise ValueError(
                f"bound {name!r} must be finite {statistics.format_round(t)}, got {value}"
            )


def plan_bound(name: str, policy: str, plan: Plan, round: int) -> float:
    """Return the value of a policy's bound at a round, given the plan of the experiment."""
    return BOUNDS[name](plan.problem, plan.policies[policy], round, plan.horizon)


def bound_from_results(name: str, policy: str, result: Result, round: int) -> float:
    """Return the value of a policy's bound at a checkpoint, given the result on the problem."""
    horizon = result.curves.checkpoints[-1]
    return BOUNDS[name](result.problem, result.policies.get(policy), round, horizon)


def judge_below_bound(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName, claimed_policy: str,
    bound: BoundName, rounds: Rounds | None = None,
) -> Finding:  # fmt: skip
    """Judge whether a policy's mean of a metric stays at or below a bound of the setting.

    The claim holds if the 95 % interval lies on the claimed side of the bound at each of `rounds`,
    by default at all checkpoints. It does not hold if the mean is significantly on the other side
    at some round (adjusted by Holm over the rounds). A negative control is compared with the bound
    of the claimed policy.
    """
    result = results[problem]
    rounds = rounds or list(result.curves.checkpoints)
    ranges = {t: (-math.inf, bound_from_results(bound, claimed_policy, result, t)) for t in rounds}
    return _judge_bound(result, metric, policy, ranges)


def judge_above_bound(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName, claimed_policy: str,
    bound: BoundName, rounds: Rounds | None = None,
) -> Finding:  # fmt: skip
    """Judge whether a policy's mean of a metric stays at or above a bound of the setting.

    It is judged as in `judge_below_bound`.
    """
    result = results[problem]
    rounds = rounds or list(result.curves.checkpoints)
    ranges = {t: (bound_from_results(bound, claimed_policy, result, t), math.inf) for t in rounds}
    return _judge_bound(result, metric, policy, ranges)


def check_below_bound(claim: AnyClaim, plan: Plan) -> None:
    """Refuse a bound of another setting or without finite values; require a negative control."""
    check_bound(claim.bound, claim.policy, plan, claim.rounds or plan.checkpoints)
    require_negative_control(claim)


check_above_bound: Final = check_below_bound


def _judge_bound(
    result: Result, metric: str, policy: str, ranges: Mapping[int, tuple[float, float]]
) -> Finding:
    """Judge whether the mean at each round lies in its range, whose finite end is the bound."""
    tests = {t: (result.estimate(policy, metric, t), *ends) for t, ends in ranges.items()}
    numbers = {
        t: statistics.number_of(f"mean {statistics.format_round(t)}", *args)
        for t, args in tests.items()
    }
    # The text shows the round with the smallest margin, which is counted in half-widths. An exact
    # mean within its range is shown only if all are, since it has no half-width.
    exact = {t for t, number in numbers.items() if number.low == number.high}
    t = min(numbers, key=lambda t: (t in exact and numbers[t].margin >= 0, numbers[t].margin))
    bound = min(ranges[t], key=abs)  # the other end is infinite
    bound_text = format_estimate(bound, abs(bound) / 100)
    detail = f"{statistics.format_round(t)}: {tests[t][0]}, the bound is {bound_text}"
    if len(ranges) > 1:
        detail = f"{len(ranges)} rounds compared; nearest to the bound {detail}"
    reported_numbers = statistics.trim_numbers(list(numbers.values()), [numbers[t]])
    return Finding(statistics.judge_ranges(list(tests.values())), detail, reported_numbers)
