"""Field names that no setting (kind of decision problem) may use, as studies use them themselves.

A study keeps decisions and feedback in a database, each with fields that the setting names.
"""

from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from keyhole.play.study_vocabulary import StudyVocabulary

RESERVED_WORDS: Final = frozenset(
    ["at", "decision", "event", "head", "id", "key", "policy", "round", "seq", "stream", "until",
     "words"]
)  # fmt: skip
"""Names of columns of the log and of attributes of decisions."""


def check_words(words: Iterable[str]) -> None:
    """Refuse reserved words in a vocabulary with a ValueError."""
    if not RESERVED_WORDS.isdisjoint(words):
        taken = sorted(RESERVED_WORDS.intersection(words))
        raise ValueError(
            f"a vocabulary must not use the word {taken[0]!r}: studies reserve "
            f"{', '.join(sorted(RESERVED_WORDS))} for events and decisions"
        )


def declared_words(vocabulary: "StudyVocabulary") -> list[str]:
    """Return the words that a vocabulary declares: the parameters of its parsing methods."""
    words = _parameters(vocabulary.parse_context)
    words += _parameters(vocabulary.parse_feedback)[2:]  # after context and decision
    return words + _parameters(vocabulary.parse_sum)


def _parameters(method: Callable[..., Any]) -> list[str]:
    found = signature(method).parameters.values()
    several = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return [one.name for one in found if one.kind not in several]
