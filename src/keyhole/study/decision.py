"""Decisions, and why a study may refuse to take one or to be told of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any


class ConflictError(ValueError):
    """What is told differs from what was told before."""


class PendingDecisionError(RuntimeError):
    """The policy waits for the feedback of a decision, and takes no other."""

    later = True
    """Whether the same may be tried later on."""


@dataclass(frozen=True)
class Decision:
    """What to do, and by which name to tell what came of it.

    Attributes
    ----------
    id : str
        Its name: 26 letters and digits, not to be guessed, in the order of time.
    words : mapping
        What to do, in the words of the room: ``arm``, ``limit``, ``allocation``, and the context it
        was asked for. Each is an attribute as well: ``decision.arm``. Type checkers know those of
        Keyhole's own settings; others are ``decision.words["word"]`` to them.
    round : int
        How many decisions there have been, this one included.
    at, until : datetime
        When it was handed out, and until when feedback is waited for; None for ever. In UTC.
    """

    id: str
    words: Mapping[str, Any]
    round: int
    at: datetime
    until: datetime | None = None

    if TYPE_CHECKING:  # else a mistyped word would be one, of any type

        @property
        def arm(self) -> str:
            """The name of the arm, where a decision has one."""

        @property
        def threshold(self) -> int:
            """The threshold that an arm was asked for, in the setting `threshold`."""

        @property
        def limit(self) -> float:
            """The limit of a run, in the setting `resource`."""

        @property
        def allocation(self) -> Mapping[str, float]:
            """What each arm gets, by name, in the setting `semibandit`."""

    else:

        def __getattr__(self, name: str) -> Any:
            """Return one of the words."""
            words = object.__getattribute__(self, "words")
            if name in words:
                return words[name]
            has = f"{', '.join(words)}, id, round, at, until"
            raise AttributeError(f"a decision has {has}; not {name}")

    def __hash__(self) -> int:
        """Return the hash of the id: a decision can be the key to what becomes of it."""
        return hash(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes it again."""
        return type(self), (self.id, dict(self.words), self.round, self.at, self.until)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON does."""
        until = None if self.until is None else self.until.isoformat()
        said = {"id": self.id, **self.words, "round": self.round, "at": self.at.isoformat()}
        return said | {"until": until}


def decision_id(decision: str | Decision) -> str:
    """Return the id of a decision; what is none is refused by who looks for it."""
    return decision.id if isinstance(decision, Decision) else decision
