"""Bounds that claims may name, and judgements of claims that a mean is below or above one."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator

from keyhole.delayed.bounds import regret_bound
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim, require_negative_control
from keyhole.papers.claims.statistics import Finding, Result, Results, Rounds
from keyhole.papers.field_types import PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.simulation_plan import Plan
from keyhole.resource.bounds import rcucb_regret_bound, ucb_regret_bound
from keyhole.results.estimate import format_estimate
from keyhole.semibandit.bounds import csbst_bound, lower_bound
from keyhole.stochastic.bounds import hoeffding_ucb_bound, lai_robbins_constant
from keyhole.threshold.bounds import adversarial_lower_bound, dkwucb_bound, kmucb_bound, optim_bound
from keyhole.thresholding.bounds import lsa_regret_bound
from keyhole.thresholding.sampling_allocation import integer_value
from keyhole.validate import check_choice

Bound = Callable[..., float]
"""Computes a bound from a problem of its setting, the policy, a round, and the horizon."""

BOUNDS: Final[dict[str, Bound]] = {
    # Pike-Burke et al. (2018), theorems 4.1 to 4.3 and 5, with the constants of the phase lengths
    # and of the proof.
    "delayed.regret": lambda problem, policy, t, horizon: regret_bound(
        policy, problem.means, horizon
    ),
    # Tao et al. (2019): of LSA with its default alpha, 1.35.
    "thresholding.theorem_1": lambda problem, policy, t, horizon: lsa_regret_bound(problem.gaps, t),
    # Tao et al. (2019), equations (5) and (6): of the best allocation to known gaps.
    "thresholding.equation_5": lambda problem, policy, t, horizon: (
        2 * integer_value(problem.gaps, t)
    ),
    # Lai and Robbins (1985), in the limit.
    "stochastic.lower": lambda problem, policy, t, horizon: (
        lai_robbins_constant(problem.means) * math.log(t)
    ),
    # Abernethy et al. (2016), as those of `threshold`: of HoeffdingUCB, without the additive
    # constant. Its confidence depends on the horizon, not on t.
    "stochastic.theorem_1": lambda problem, policy, t, horizon: hoeffding_ucb_bound(
        problem.means, horizon
    ),
    # Bengs and Huellermeier (2022): of RCUCB, and of ReductionUCB with an alpha above 1.
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
    # Verma et al. (2019), equation (3), in the limit.
    "semibandit.lower": lambda problem, policy, t, horizon: lower_bound(problem, t),
    # Verma et al. (2019): of CSBST with its default epsilon, 0.1, and delta = 1 / T.
    "semibandit.theorem_1": lambda problem, policy, t, horizon: csbst_bound(problem, horizon, 0.1),
    # Abernethy et al. (2016); upper bounds without their additive constant.
    "threshold.theorem_2": lambda problem, policy, t, horizon: dkwucb_bound(problem, horizon),
    "threshold.theorem_3": lambda problem, policy, t, horizon: adversarial_lower_bound(
        problem, horizon
    ),
    "threshold.theorem_4": lambda problem, policy, t, horizon: optim_bound(problem, horizon),
    "threshold.theorem_5": lambda problem, policy, t, horizon: kmucb_bound(problem, horizon),
}
"""Every bound, by its setting and its own name."""


BoundName = Annotated[str, AfterValidator(lambda name: check_choice("bound", name, BOUNDS))]
"""A name in `BOUNDS`."""


def check_bound(name: str, policy: str, plan: Plan, rounds: Sequence[int]) -> None:
    """Refuse a bound of another setting, or one that has no finite value at some round."""
    setting = plan.problem.setting.name
    if name.partition(".")[0] != setting:
        raise ValueError(
            f"bound must be one of the setting {setting!r}, as the problem is, got {name!r}"
        )
    # Evaluated when the file is read: a bound may be undefined or infinite at small rounds, which
    # would otherwise surface after hours of simulation.
    for t in rounds:
        try:
            value = BOUNDS[name](plan.problem, plan.policies[policy], t, plan.horizon)
        except ValueError as error:
            raise ValueError(f"bound {name!r} {statistics.format_round(t)}: {error}") from error
        if not math.isfinite(value):
            raise ValueError(
                f"bound {name!r} must be finite {statistics.format_round(t)}, got {value}"
            )


def bound_of(name: str, policy: str, result: Result, round: int) -> float:
    """Return the value of a policy's bound at a checkpoint."""
    horizon = result.curves.checkpoints[-1]
    return BOUNDS[name](result.problem, result.policies.get(policy), round, horizon)


def below_bound(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName, claimed_policy: str,
    bound: BoundName, rounds: Rounds | None = None,
) -> Finding:  # fmt: skip
    """Judge whether the mean of a metric of a policy stays at or below a bound of the setting.

    The claim holds if at every round, by default every checkpoint, the 95 % interval lies on the
    right side, and does not hold if at some round the mean is significantly on the other (adjusted
    by Holm over the rounds). The negative control is held to the claimed policy's bound.
    """
    result = results[problem]
    rounds = rounds or list(result.curves.checkpoints)
    ranges = {t: (-math.inf, bound_of(bound, claimed_policy, result, t)) for t in rounds}
    return _compare_with_bound(result, metric, policy, ranges)


def above_bound(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName, claimed_policy: str,
    bound: BoundName, rounds: Rounds | None = None,
) -> Finding:  # fmt: skip
    """Judge whether the mean of a metric of a policy stays at or above a bound of the setting.

    It is judged as `below_bound`.
    """
    result = results[problem]
    rounds = rounds or list(result.curves.checkpoints)
    ranges = {t: (bound_of(bound, claimed_policy, result, t), math.inf) for t in rounds}
    return _compare_with_bound(result, metric, policy, ranges)


def check_below_bound(claim: AnyClaim, plan: Plan) -> None:
    """Refuse a bound of another setting or without a finite value; require a negative control."""
    check_bound(claim.bound, claim.policy, plan, claim.rounds or plan.checkpoints)
    require_negative_control(claim)


check_above_bound: Final = check_below_bound


def _is_exact_inside(number: Number) -> bool:
    return number.low == number.high and number.margin >= 0


def _compare_with_bound(
    result: Result, metric: str, policy: str, ranges: Mapping[int, tuple[float, float]]
) -> Finding:
    """Compare the mean with the bound, the finite end of its range, round by round."""
    tests = {t: (result.estimate(policy, metric, t), *ends) for t, ends in ranges.items()}
    numbers = {
        t: statistics.number_of(f"mean {statistics.format_round(t)}", *args)
        for t, args in tests.items()
    }
    # Margins count half intervals, of which an exact number has none: it comes last, if inside.
    t = min(numbers, key=lambda t: (_is_exact_inside(numbers[t]), numbers[t].margin))
    bound = min(ranges[t], key=abs)
    bound_text = format_estimate(bound, abs(bound) / 100)
    detail = f"{statistics.format_round(t)}: {tests[t][0]}, the bound is {bound_text}"
    if len(ranges) > 1:
        detail = f"{len(ranges)} rounds compared; nearest to the bound {detail}"
    reported_numbers = statistics.limit_numbers(list(numbers.values()), [numbers[t]])
    return Finding(statistics.judge_ranges(list(tests.values())), detail, reported_numbers)
