"""Errors that end a policy's learning from a study's log: it was replaced, or it failed.

A study decides for real by a policy, a rule that chooses among options and learns from the log.
"""

from keyhole.contract.policy import Policy
from keyhole.study.storage import Row


class PolicyChangedError(Exception):
    """The policy changes at this event: the new one must learn the log from its beginning."""

    def __init__(self, event: Row) -> None:
        super().__init__("the policy changed")
        self.definition, self.seq = event.body, event.seq


class LearningError(RuntimeError):
    """The policy fails at an event of the log, and can neither decide nor recommend.

    The log is intact and can be read and exported; `Study.change_policy` lets another policy learn
    it.

    Parameters
    ----------
    policy : Policy
        The policy.
    seq : int
        The number of the event.
    error : Exception
        The error that it raised.
    """

    def __init__(self, policy: Policy, seq: int, error: Exception) -> None:
        why = str(error) if isinstance(error, RuntimeError) else repr(error)
        super().__init__(
            f"{policy} fails at event {seq}: {why}; the log is whole, and `change_policy` lets "
            "another policy learn it"
        )
        self.policy, self.seq, self.error = policy, seq, error

    def __reduce__(self) -> tuple[type["LearningError"], tuple[Policy, int, Exception]]:
        """Return the arguments to unpickle it with."""
        return type(self), (self.policy, self.seq, self.error)
