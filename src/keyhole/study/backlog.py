"""The feedback that a study's policy is yet to learn."""

from typing import Final

from keyhole.study.policy_errors import LearningError
from keyhole.study.policy_state import PolicyState

AT_ONCE: Final = 4096  # tellings that are learnt together


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

    def learn(self, mind: PolicyState) -> None:
        """Have a mind learn all, and forget it.

        Raises
        ------
        LearningError
            If a kernel fails. The mind may then have learnt any part.
        """
        rows, events = self._rows, self._events
        before = (
            mind.arrays_to_save() if len(rows) > 1 else b""
        )  # to find the event at which it fails
        try:
            mind.learn(b"".join(rows), len(rows))
        except Exception as error:
            seq = self._first_failing(mind, before) if before else events[0]
            raise LearningError(mind.head.policy, seq, error) from error
        self._rows, self._events = [], []

    def _first_failing(self, mind: PolicyState, before: bytes) -> int:
        """Return the event at which a mind fails that is as it was `before`."""
        mind.restore(before)
        for row, event in zip(self._rows, self._events, strict=True):
            try:
                mind.learn(row, 1)
            except Exception:
                return event
        return self._events[-1]
