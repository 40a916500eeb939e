"""Errors of a setting's vocabulary, told apart from damage to what is stored."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from keyhole.play.saved_learner import DAMAGE
from keyhole.play.study_vocabulary import StudyVocabulary

# Values that are read have the types of their fields, whatever a database holds.
_MISTAKES: Final = (
    AssertionError, AttributeError, KeyError, NameError, NotImplementedError, TypeError,
    struct.error,
)  # fmt: skip


class VocabularyError(RuntimeError):
    """The vocabulary of a setting failed: a mistake in its code, and no damage to what is stored.

    Parameters
    ----------
    vocabulary : StudyVocabulary
        Whose code failed.
    why : str
        At what.
    """

    def __init__(self, vocabulary: StudyVocabulary, why: str) -> None:
        kind = type(vocabulary)
        super().__init__(
            f"the vocabulary of setting {vocabulary.setting.name!r} failed "
            f"({kind.__module__}.{kind.__qualname__}): {why}"
        )


@contextmanager
def naming_vocabulary(vocabulary: StudyVocabulary) -> Iterator[None]:
    """Raise a VocabularyError where what is called of a vocabulary makes a mistake."""
    try:
        yield
    except _MISTAKES as error:
        raise VocabularyError(vocabulary, repr(error)) from error


@contextmanager
def reading_back(vocabulary: StudyVocabulary) -> Iterator[None]:
    """Raise a VocabularyError where what is to be written cannot be formatted and parsed again."""
    try:
        yield
    except (*DAMAGE, struct.error) as error:
        why = str(error) if isinstance(error, ValueError) else repr(error)
        raise VocabularyError(vocabulary, f"what it parsed cannot be read back: {why}") from error
