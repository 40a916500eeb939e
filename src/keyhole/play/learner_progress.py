"""The progress of a learner: rounds, settled options, and whether its policy has enough.

A learner is a policy (a rule that chooses among options, the arms) at work. A policy that can stop
settles arms one by one, and is done when none is left.
"""

from collections.abc import Mapping
from typing import Any

from keyhole.contract.policy import Policy
from keyhole.contract.stopping import is_done, remaining_arms, settled_arms
from keyhole.contract.text_formatting import count_text
from keyhole.drivers.learner_step import DONE


class LearnerProgress:
    """Base class of learners: its rounds, and the arms that are settled; see `Policy.verdicts`."""

    policy: Policy
    facts: dict[str, Any]
    state: Mapping[str, Any]

    rounds: Any
    _pending: Any

    @property
    def rounds_told(self) -> int:
        """The number of rounds whose feedback has been told."""
        return int(self.rounds - self._pending)

    @property
    def is_done(self) -> bool:
        """Whether the policy has enough: every arm is settled. `ask` is then refused."""
        return is_done(self.policy, self.state)

    @property
    def settled(self) -> dict[int, str]:
        """The final verdict on each settled arm, such as "above", by the arm's number."""
        return settled_arms(self.policy, self.state)

    @property
    def remaining(self) -> list[int]:
        """The arms that are not settled: all of them if the policy cannot stop."""
        return remaining_arms(self.policy, self.state, self.facts["arms"])

    def _refuse_done(self, code: int) -> None:
        """Raise an error if a code of the compiled step says that the policy is done."""
        if code == DONE:
            rounds = count_text(self.rounds_told, "round")
            raise RuntimeError(f"{self.policy} is done: every arm is settled (after {rounds})")
