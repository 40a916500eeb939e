"""The progress of a learner: rounds, settled options, and whether its policy has enough.

A learner is a policy (a rule that chooses among options, the arms) at work. A policy that can stop
settles arms one by one, and is done when none is left.
"""

from typing import TYPE_CHECKING, Any, Final

from keyhole.contract.stopping import is_done, remaining_arms, settled_arms
from keyhole.contract.text_formatting import count_text
from keyhole.drivers.learner_step import DONE
from keyhole.play.named_arms import NamedArms

_FOREIGN: Final = {"ask": ("pull", "select", "select_arm", "choose"), "tell": ("update", "observe")}
"""What other libraries call our methods."""


class LearnerProgress(NamedArms):
    """Base class of learners: its rounds, and the arms that are settled; see `Policy.verdicts`."""

    rounds: Any
    _pending: Any

    if not TYPE_CHECKING:  # or else type checkers would accept any name

        def __getattr__(self, name):
            """Refuse what other libraries call `ask` and `tell`, by our names."""
            hint = next((f": call {ours}" for ours, names in _FOREIGN.items() if name in names), "")
            text = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
            raise AttributeError(text, name=name, obj=self)

    @property
    def rounds_told(self) -> int:
        """The number of rounds whose feedback has been told."""
        return int(self.rounds - self._pending)

    @property
    def is_done(self) -> bool:
        """Whether the policy has enough: every arm is settled. `ask` is then refused."""
        return is_done(self.policy, self.state)

    @property
    def settled(self) -> dict[Any, str]:
        """The final verdict on each settled arm, such as "above", by the arm's number or name."""
        found = settled_arms(self.policy, self.state)
        return {self._arm(arm): verdict for arm, verdict in found.items()}

    @property
    def remaining(self) -> list[Any]:
        """The arms that are not settled: all of them if the policy cannot stop."""
        left = remaining_arms(self.policy, self.state, self.facts["arms"])
        return [self._arm(arm) for arm in left]

    def _expect_no_decision(self) -> None:
        """Raise an error if a decision is waiting for feedback."""
        if self._pending:
            raise RuntimeError("tell must come first: a decision is waiting for its feedback")

    def _refuse_done(self, code: int) -> None:
        """Raise an error if a code of the compiled step says that the policy is done."""
        if code == DONE:
            rounds = count_text(self.rounds_told, "round")
            raise RuntimeError(f"{self.policy} is done: every arm is settled (after {rounds})")
