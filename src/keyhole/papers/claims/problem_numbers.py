"""Claims (statements of a paper) about numbers computed from a problem, without a simulation."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import AfterValidator, Field, model_validator

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.bengs2022 import problem_statistics, refinement_schedule
from keyhole.papers.claims.base import Claim, Finding, Result, decide
from keyhole.papers.claims.claimed_ranges import check_ends, format_range, or_infinite
from keyhole.papers.claims.verdict_numbers import attribute_numbers, known_number
from keyhole.papers.entry_references import ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.plan import Plan
from keyhole.validate import check_choice

NumberOf = Callable[[Any], ArrayLike]
"""Computes a number of each arm, or a single one, from a problem of its setting."""

NUMBERS: Final[dict[str, NumberOf]] = {
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
"""Every number that claims may name, by its setting and its own name."""


def _check_number_name(name: str) -> str:
    return check_choice("number", name, NUMBERS)


class _ProblemNumberClaim(Claim):
    """Base of claims about numbers of a problem."""

    problem: ProblemName
    number: Annotated[str, AfterValidator(_check_number_name)]  # a name in `NUMBERS`

    @property
    def problem_keys(self) -> tuple[str, ...]:
        """The one problem."""
        return (self.problem,)

    def check(self, plan: Plan) -> None:
        """Refuse a number of another setting, and arms that the problem lacks."""
        setting = plan.problem.setting.name
        if self.number.partition(".")[0] != setting:
            raise ValueError(
                f"number must be one of the setting {setting!r}, as {self.problem!r} is, "
                f"got {self.number!r}"
            )
        count = getattr(plan.problem, "arms", 1)
        for arm in self._arms() or []:
            if arm >= count:
                raise ValueError(f"arms must be below {count}, got {arm}")

    def _arms(self) -> list[int] | None:
        """Return the arms that the claim names."""
        arms: list[int] | None = getattr(self, "arms", None)
        return arms

    def _values(self, problem: Any) -> FloatArray:
        return np.atleast_1d(np.asarray(NUMBERS[self.number](problem), dtype=np.float64))

    def _describe(
        self, result: Result, low: float | None = None, high: float | None = None
    ) -> tuple[FloatArray, str, tuple[Number, ...]]:
        """Return the values, their text, and the numbers with the range that is claimed."""
        values, ends = self._values(result.problem), or_infinite(low, high)
        arms = self._arms() or range(len(values))
        if len(values) == 1:
            return values, f"{values[0]:.4g}", (known_number(self.number, values[0], *ends),)
        found = values[list(arms)]
        by_arm = list(zip(arms, found, strict=True))
        return (
            found,
            ", ".join(f"arm {arm}: {value:.4g}" for arm, value in by_arm),
            tuple(
                known_number(f"{self.number} of arm {arm}", value, *ends) for arm, value in by_arm
            ),
        )


_Arm = Annotated[int, Field(ge=0)]


class ComputedNumber(_ProblemNumberClaim):
    """Numbers that are computed from a problem lie between `low` and `high`.

    The claim holds if all do and, where a problem `unlike` this one is given, not all of that one's
    do: it is the negative control. If they do there too, the claim is undecided.
    """

    kind: Literal["computed"]
    # of which arms; by default of all
    arms: Annotated[list[_Arm], Field(min_length=1)] | None = None
    low: float | None = None  # at least one is given; both are included
    high: float | None = None
    unlike: ProblemName | None = None  # the key of a problem of which it must not hold
    no_negative_control: str = ""  # why there is none, where the range is open on one side

    @model_validator(mode="after")
    def _possible(self) -> Self:
        check_ends("low", self.low, "high", self.high)
        if self.unlike == self.problem:
            raise ValueError(f"unlike must be another problem than {self.problem!r}")
        if self.unlike is not None and self.no_negative_control:
            raise ValueError(
                "unlike must be left out where no_negative_control says why there is none"
            )
        if (self.low is None or self.high is None) and not (
            self.unlike or self.no_negative_control
        ):
            raise ValueError(
                "unlike must be given, a problem that breaks the claim, or no_negative_control, "
                "why there is none"
            )
        return self

    @property
    def problem_keys(self) -> tuple[str, ...]:
        """The problem, and the one that is unlike it."""
        return (self.problem,) if self.unlike is None else (self.problem, self.unlike)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare the numbers of the problem, and of the one unlike it, with the range."""
        inside, detail, numbers = self._judge_result(results[self.problem])
        detail += format_range(*or_infinite(self.low, self.high))
        if self.no_negative_control:
            detail += f". No problem is shown to break it: {self.no_negative_control}"
        if self.unlike is None:
            return Finding(decide(supported=inside, contradicted=not inside), detail, numbers)
        kept, other, theirs = self._judge_result(results[self.unlike])
        ending = "which should break it, keeps it too" if kept else "breaks it"
        title = results[self.unlike].title
        return Finding(
            decide(supported=inside and not kept, contradicted=not inside),
            f"{detail}. {title} {ending}: {other}",
            numbers + attribute_numbers(title, theirs),
        )

    def _judge_result(self, result: Result) -> tuple[bool, str, tuple[Number, ...]]:
        low, high = or_infinite(self.low, self.high)
        found, detail, numbers = self._describe(result, self.low, self.high)
        return bool(((low <= found) & (found <= high)).all()), detail, numbers


class ComputedOrder(_ProblemNumberClaim):
    """A number that is computed from a problem falls from arm to arm."""

    kind: Literal["computed-order"]
    # in the order claimed: each has a larger number than the next
    arms: Annotated[list[_Arm], Field(min_length=2)]

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare the numbers of neighbouring arms."""
        found, detail, numbers = self._describe(results[self.problem])
        falls = bool((found[:-1] > found[1:]).all())
        return Finding(decide(supported=falls, contradicted=not falls), detail, numbers)
