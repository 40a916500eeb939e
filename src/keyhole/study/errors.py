"""Errors in a caller's requests to a study. Their texts never name the database."""

import re
from typing import Final


class UnknownStudyError(ValueError):
    """The database has no study of this name."""


class StudyExistsError(ValueError):
    """A new study cannot have this name: the database already has a study of this name."""


class UnknownArmError(ValueError):
    """The study has no arm of this name in use."""


class UnknownDecisionError(ValueError):
    """The study has no decision of this id or idempotency key."""


class KeyUsedError(ValueError):
    """An idempotency key was used before, for a decision that does not fit the new request."""


class DifferentFeedbackError(ValueError):
    """A decision was told other feedback before, or is to expire although it is not pending."""


class PendingDecisionError(RuntimeError):
    """The policy decides nothing until it gets the feedback of a pending decision."""

    later = True
    """Whether the same request may succeed later."""


class StudyDoneError(RuntimeError):
    """The study is done: every arm that the ask does not exclude is settled."""

    done = True
    """Whether the work is done. For such an error, commands exit with a code of their own."""


ALL: Final[tuple[type[Exception], ...]] = (
    UnknownStudyError, StudyExistsError, UnknownArmError, UnknownDecisionError, KeyUsedError,
    DifferentFeedbackError, PendingDecisionError, StudyDoneError,
)  # fmt: skip
"""The classes of this module."""


def http_problem_name(error: type[Exception]) -> str:
    """Return the name of an error class in answers over HTTP.

    Examples
    --------
    >>> http_problem_name(UnknownStudyError)
    'unknown-study'
    """
    return re.sub(r"\B(?=[A-Z])", "-", error.__name__.removesuffix("Error")).lower()
