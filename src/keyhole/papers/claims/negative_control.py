"""Negative controls: bad policies that must break a claim for it to count as evidence.

A claim is a statement of a paper, judged by simulations. If it held even for a policy (rule that
chooses among options) that is known to be bad, its holding would say nothing.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import model_validator

from keyhole.papers.claims.base import Claim, Finding, Result
from keyhole.papers.claims.verdict_numbers import attribute_numbers
from keyhole.papers.entry_references import PolicyName
from keyhole.papers.verdicts import Number


class ControlledClaim(Claim):
    """Base of claims about a policy that must not hold of a negative control, a bad policy.

    A bound that every policy keeps is no evidence for one of them. So the claim holds only if, by
    the same numbers, it does not hold of the negative control; otherwise it is undecided.
    """

    policy: PolicyName | None
    # the label of a bad policy that plays the same problems
    negative_control: PolicyName | None = None
    no_negative_control: str = ""  # why there is none, where a kind needs one

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if self.negative_control is not None and self.no_negative_control:
            raise ValueError(
                "negative_control must be left out where no_negative_control says why there is none"
            )
        if self.negative_control is not None and self.negative_control == self.policy:
            raise ValueError(f"negative_control must be another policy than {self.policy!r}")
        return self

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Judge the policy, and then the negative control by the same numbers."""
        found = status, detail, numbers = self.judge_policy(results, self.policy or "")
        if self.no_negative_control:
            detail += f". No policy is shown to break it: {self.no_negative_control}"
            return Finding(status, detail, numbers)
        if self.negative_control is None:
            return found
        # The control is judged by the same numbers, never by its own bound or range: the question
        # is whether a bad policy would pass for this one.
        broken, how, theirs = self.judge_policy(results, self.negative_control)
        numbers += attribute_numbers(self.negative_control, theirs)
        if broken == "does not hold":
            return Finding(status, f"{detail}. {self.negative_control} breaks it: {how}", numbers)
        # Results that contradict the claim do so whatever the control does.
        if status == "holds":
            status = "undecided"
        kept = "keeps it too" if broken == "holds" else "may keep it too"
        detail += f". But {self.negative_control}, which should break it, {kept}: {how}"
        return Finding(status, detail, numbers)

    @property
    def needs_negative_control(self) -> bool:
        """Whether a file must give a negative control, or a reason why there is none.

        A bound must: it may be so loose that every policy keeps it.
        """
        return self.origin == "paper, as a bound"

    def own_numbers(self, numbers: Sequence[Number]) -> Sequence[Number]:
        """Return the numbers that are not the negative control's."""
        return [one for one in numbers if not one.name.startswith(f"{self.negative_control}: ")]

    @abstractmethod
    def judge_policy(self, results: Mapping[str, Result], policy: str) -> Finding:
        """Return the status and the numbers behind it, as if it were claimed of this policy."""
