"""Why a policy learns no further in a log: it was changed, or it fails."""

from keyhole.contract.policy import Policy
from keyhole.study.storage import Row


class PolicyChangedError(Exception):
    """The policy changed at this event: all before it are to be learnt anew, by the new one."""

    def __init__(self, event: Row) -> None:
        super().__init__("the policy changed")
        self.head, self.seq = event.body, event.seq


class LearningError(RuntimeError):
    """The policy fails at an event of the log: it can neither decide nor recommend any more.

    The log is whole, and can be read and exported; `Study.change_policy` lets another policy learn
    it.

    Parameters
    ----------
    policy : Policy
        The policy.
    seq : int
        The event.
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
        """Return how another process makes it again."""
        return type(self), (self.policy, self.seq, self.error)
