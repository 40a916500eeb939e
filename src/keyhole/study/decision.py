"""Decisions of a study (options that were chosen and wait for their outcome), and their errors."""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from keyhole.play.saved_learner import DAMAGE
from keyhole.play.study_vocabulary import StudyVocabulary

# Values read from a database have the types of their fields, so these errors are the code's own.
_MISTAKES: Final = (
    AssertionError, AttributeError, KeyError, NameError, NotImplementedError, TypeError,
    struct.error,
)  # fmt: skip


class DifferentFeedbackError(ValueError):
    """A decision is told feedback that differs from what it was told before."""


class PendingDecisionError(RuntimeError):
    """The policy waits for the feedback of a pending decision, and takes no other."""

    later = True
    """Whether the same may be tried later on."""


class StudyDoneError(RuntimeError):
    """The policy has enough: every arm is settled, and nothing is left to decide."""

    done = True
    """Whether the work is done: commands exit with a code of their own."""


class SettingCodeError(RuntimeError):
    """The vocabulary of a setting failed: an error in its code, not in stored data.

    Parameters
    ----------
    vocabulary : StudyVocabulary
        The vocabulary.
    why : str
        The reason.
    """

    def __init__(self, vocabulary: StudyVocabulary, why: str) -> None:
        kind = type(vocabulary)
        super().__init__(
            f"the vocabulary of setting {vocabulary.setting.name!r} failed "
            f"({kind.__module__}.{kind.__qualname__}): {why}"
        )


@contextmanager
def convert_vocabulary_errors(vocabulary: StudyVocabulary) -> Iterator[None]:
    """Raise errors of a vocabulary's code as `SettingCodeError`."""
    try:
        yield
    except _MISTAKES as error:
        raise SettingCodeError(vocabulary, repr(error)) from error


@contextmanager
def convert_read_back_errors(vocabulary: StudyVocabulary) -> Iterator[None]:
    """Raise a `SettingCodeError` if what is to be written cannot be formatted and parsed again."""
    try:
        yield
    except (*DAMAGE, struct.error) as error:
        why = str(error) if isinstance(error, ValueError) else repr(error)
        raise SettingCodeError(vocabulary, f"what it parsed cannot be read back: {why}") from error


@dataclass(frozen=True)
class Decision:
    """A decision to act on, and the id with which to tell its feedback.

    Attributes
    ----------
    id : str
        26 letters and digits, ordered by time and impossible to guess.
    words : mapping
        The decision by name, as the setting calls it: ``arm``, ``limit``, ``allocation``, and its
        context. Each is an attribute as well: ``decision.arm``. Type checkers know the attributes
        of Keyhole's own settings; for others write ``decision.words["word"]``.
    round : int
        The number of decisions so far, this one included.
    at, until : datetime
        When it was handed out, and when it expires (None for never), in UTC.
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
        """Return the hash of the id, so that a decision can be a key of a dictionary."""
        return hash(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments to unpickle it with."""
        return type(self), (self.id, dict(self.words), self.round, self.at, self.until)

    def as_json(self) -> dict[str, Any]:
        """Return the decision as JSON objects have it."""
        until = None if self.until is None else self.until.isoformat()
        content = {"id": self.id, **self.words, "round": self.round, "at": self.at.isoformat()}
        return content | {"until": until}
