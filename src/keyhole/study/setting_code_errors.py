"""Errors in an author's code for a kind of decision problem (a setting), not in stored data."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from keyhole.play.saved_learner import DAMAGE
from keyhole.play.study_vocabulary import StudyVocabulary

# Values read from a database have the types of their fields, so these errors are the code's own.
_MISTAKES: Final = (
    AssertionError, AttributeError, KeyError, NameError, NotImplementedError, TypeError,
    struct.error,
)  # fmt: skip


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
