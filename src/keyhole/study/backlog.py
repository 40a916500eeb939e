"""The feedback that a study's policy is yet to learn, and the error of a policy that cannot."""

from typing import Final

from keyhole.contract.policy import Policy
from keyhole.study.mind import Mind

AT_ONCE: Final = 4096  # tellings that are learnt together


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


class Backlog:
    """Feedback that is to be learnt, with the numbers of the events that brought it."""

    def __init__(self) -> None:
        self._rows: list[bytes] = []
        self._events: list[int] = []

    def __len__(self) -> int:
        """Return how many tellings there are."""
        return len(self._rows)

    def add(self, row: bytes, event: int) -> None:
        """Add a decision with its feedback."""
        self._rows.append(row)
        self._events.append(event)

    def learn(self, mind: Mind) -> None:
        """Have a mind learn all, and forget it.

        Raises
        ------
        LearningError
            If a kernel fails. The mind may then have learnt any part.
        """
        rows, events = self._rows, self._events
        before = mind.kept() if len(rows) > 1 else b""  # to find the event at which it fails
        try:
            mind.learn(b"".join(rows), len(rows))
        except Exception as error:
            seq = self._first_failing(mind, before) if before else events[0]
            raise LearningError(mind.head.policy, seq, error) from error
        self._rows, self._events = [], []

    def _first_failing(self, mind: Mind, before: bytes) -> int:
        """Return the event at which a mind fails that is as it was `before`."""
        mind.restore(before)
        for row, event in zip(self._rows, self._events, strict=True):
            try:
                mind.learn(row, 1)
            except Exception:
                return event
        return self._events[-1]
