"""A batch of feedback (what came of decisions), which a study's policy learns in one call."""

from typing import Final

from keyhole.study.policy_errors import LearningError
from keyhole.study.policy_state import PolicyState

AT_ONCE: Final = 4096  # rows that are learnt together


class LearningBatch:
    """Decisions with their feedback, to be learnt together, and the numbers of their events."""

    def __init__(self) -> None:
        self._rows: list[bytes] = []
        self._events: list[int] = []

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def add(self, row: bytes, event: int) -> None:
        """Append a decision's row with its feedback."""
        self._rows.append(row)
        self._events.append(event)

    def learn(self, policy_state: PolicyState) -> None:
        """Let the policy learn all rows, and empty the batch.

        Raises
        ------
        LearningError
            If a kernel fails. The policy may then have learnt any part.
        """
        rows, events = self._rows, self._events
        # A batch is one call of compiled code, which does not say how far it came. To name the
        # event that fails, the batch is repeated row by row from a copy of the arrays.
        before = policy_state.arrays_to_save() if len(rows) > 1 else b""
        try:
            policy_state.learn(b"".join(rows), len(rows))
        except Exception as error:
            seq = self._first_failing(policy_state, before) if before else events[0]
            raise LearningError(policy_state.definition.policy, seq, error) from error
        self._rows, self._events = [], []

    def _first_failing(self, policy_state: PolicyState, before: bytes) -> int:
        """Return the event at which the policy fails, starting from its saved arrays `before`."""
        policy_state.restore(before)
        for row, event in zip(self._rows, self._events, strict=True):
            try:
                policy_state.learn(row, 1)
            except Exception:
                return event
        return self._events[-1]
