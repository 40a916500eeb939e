"""Judgements of claims about numbers that are computed from a problem, without a simulation."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import ArrayLike
from pydantic import AfterValidator, Field

from keyhole.papers.bengs2022 import problem_statistics, refinement_schedule
from keyhole.papers.claims.base import Finding, Result, decide
from keyhole.papers.claims.claimed_ranges import check_ends, format_claimed, or_infinite
from keyhole.papers.claims.verdict_numbers import attribute_numbers, known_number
from keyhole.papers.entry_references import ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.plan import Plan
from keyhole.validate import check_choice

NUMBERS: Final[dict[str, Callable[[Any], ArrayLike]]] = {
    "resource.mean_reward": problem_statistics.mean_rewards,
    "resource.mean_consumption": problem_statistics.mean_consumptions,
    "resource.reward_rise": problem_statistics.reward_rises,
    "resource.lead_share": problem_statistics.best_arm_shares,
    "resource.lead_start": problem_statistics.first_leading_limits,
    "resource.largest_gain": problem_statistics.largest_gains,
    "resource.half_exceeded": problem_statistics.half_limit_exceedance,
    # Of z-RCUCB in 1,000 rounds.
    "resource.grid_size": refinement_schedule.grid_sizes,
    "resource.joint_extensions": refinement_schedule.joint_extensions,
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

    The claim holds if all do and, where a problem `unlike` this one is given, not all of that one's
    do: it is the negative control. If they do there too, the claim is undecided. Where the range is
    open on one side, `unlike` is given, or `no_negative_control`, why there is none.
    """
    ends = or_infinite(low, high)
    is_inside, detail, numbers = _compare(results[problem], number, arms, *ends)
    detail += format_claimed(*ends)
    if no_negative_control:
        detail += f". No problem is shown to break it: {no_negative_control}"
    if unlike is None:
        return Finding(decide(supported=is_inside, contradicted=not is_inside), detail, numbers)
    kept, other, theirs = _compare(results[unlike], number, arms, *ends)
    ending = "which should break it, keeps it too" if kept else "breaks it"
    title = results[unlike].title
    return Finding(
        decide(supported=is_inside and not kept, contradicted=not is_inside),
        f"{detail}. {title} {ending}: {other}",
        numbers + attribute_numbers(title, theirs),
    )


def falling_numbers(
    results: Mapping[str, Result], problem: ProblemName, number: NumberName,
    arms: Annotated[list[_Arm], Field(min_length=2)],
) -> Finding:  # fmt: skip
    """Judge whether a number of some arms falls from each to the next."""
    _, detail, numbers = _compare(results[problem], number, arms)
    values = np.array([one.value for one in numbers])
    falls = bool((values[:-1] > values[1:]).all())
    return Finding(decide(supported=falls, contradicted=not falls), detail, numbers)


def check_numbers_in_range(claim: Any, plan: Plan) -> None:
    """Refuse an impossible range, and one without what would break it."""
    check_falling_numbers(claim, plan)
    check_ends("low", claim.low, "high", claim.high)
    if claim.unlike == claim.problem:
        raise ValueError(f"unlike must be another problem than {claim.problem!r}")
    if claim.unlike is not None and claim.no_negative_control:
        raise ValueError("unlike must be left out where no_negative_control says why there is none")
    if None in (claim.low, claim.high) and not (claim.unlike or claim.no_negative_control):
        raise ValueError(
            "unlike must be given, a problem that breaks the claim, or no_negative_control, why "
            "there is none"
        )


def check_falling_numbers(claim: Any, plan: Plan) -> None:
    """Refuse a number of another setting, and arms that the problem lacks."""
    setting, count = plan.problem.setting.name, getattr(plan.problem, "arms", 1)
    if claim.number.partition(".")[0] != setting:
        raise ValueError(
            f"number must be one of the setting {setting!r}, as {claim.problem!r} is, "
            f"got {claim.number!r}"
        )
    for arm in claim.arms or []:
        if arm >= count:
            raise ValueError(f"arms must be below {count}, got {arm}")


def _compare(
    result: Result, number: str, arms: list[int] | None, low: float = -np.inf,
    high: float = np.inf,
) -> tuple[bool, str, tuple[Number, ...]]:  # fmt: skip
    """Return whether the numbers of all arms are in a range, their text, and the numbers."""
    values = np.atleast_1d(np.asarray(NUMBERS[number](result.problem), dtype=np.float64))
    if len(values) == 1:
        texts, numbers = [f"{values[0]:.4g}"], [known_number(number, values[0], low, high)]
    else:
        shown = arms or range(len(values))
        texts = [f"arm {arm}: {values[arm]:.4g}" for arm in shown]
        numbers = [known_number(f"{number} of arm {arm}", values[arm], low, high) for arm in shown]
    are_inside = all(low <= one.value <= high for one in numbers)
    return are_inside, ", ".join(texts), tuple(numbers)
