"""Registry of the formulas for bounds that claims (statements of a paper) may name, by setting.

A setting is a kind of decision problem; a bound limits the loss of a policy in it.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from keyhole.delayed.bounds import regret_bound
from keyhole.resource.bounds import rcucb_regret_bound, ucb_regret_bound
from keyhole.semibandit.bounds import csbst_bound, lower_bound
from keyhole.stochastic.bounds import hoeffding_ucb_bound, lai_robbins_constant
from keyhole.threshold.bounds import (
    adversarial_lower_bound,
    dkwucb_bound,
    kmucb_bound,
    optim_bound,
)
from keyhole.thresholding.bounds import lsa_regret_bound
from keyhole.thresholding.sampling_allocation import integer_value

Bound = Callable[[Any, Any, int, int], float]
"""Computes a bound from a problem of its setting, the policy, a round, and the horizon."""

BOUNDS: Final[dict[str, Bound]] = {
    # Theorems 4.1 to 4.3 and 5, with the constants of the phase lengths and of the proof.
    "delayed.regret": lambda problem, policy, t, horizon: regret_bound(
        policy, problem.means, horizon
    ),
    # Of LSA with its default alpha, 1.35.
    "thresholding.theorem_1": lambda problem, policy, t, horizon: lsa_regret_bound(problem.gaps, t),
    # Equations (5) and (6): of the best allocation to known gaps.
    "thresholding.equation_5": lambda problem, policy, t, horizon: (
        2 * integer_value(problem.gaps, t)
    ),
    # Lai and Robbins (1985), in the limit.
    "stochastic.lower": lambda problem, policy, t, horizon: (
        lai_robbins_constant(problem.means) * math.log(t)
    ),
    # Of HoeffdingUCB; as those of `threshold` without its constant, and with the horizon that its
    # confidence depends on.
    "stochastic.theorem_1": lambda problem, policy, t, horizon: hoeffding_ucb_bound(
        problem.means, horizon
    ),
    # Of RCUCB and of ReductionUCB with an alpha above 1.
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
    # Equation (3), in the limit.
    "semibandit.lower": lambda problem, policy, t, horizon: lower_bound(problem, t),
    # Of CSBST with its default epsilon, 0.1, and delta = 1 / T.
    "semibandit.theorem_1": lambda problem, policy, t, horizon: csbst_bound(problem, horizon, 0.1),
    "threshold.theorem_2": lambda problem, policy, t, horizon: dkwucb_bound(problem, horizon),
    "threshold.theorem_3": lambda problem, policy, t, horizon: adversarial_lower_bound(
        problem, horizon
    ),
    "threshold.theorem_4": lambda problem, policy, t, horizon: optim_bound(problem, horizon),
    "threshold.theorem_5": lambda problem, policy, t, horizon: kmucb_bound(problem, horizon),
}
"""Every bound, by its setting and its own name."""
