"""Problem documents (RFC 9457): what an answer says of each class of errors."""

from dataclasses import dataclass
from typing import Final

import msgspec
from starlette.requests import ClientDisconnect

from keyhole import study
from keyhole.study import errors

RETRY_SECONDS: Final = 1
"""After how many seconds a request may be sent again, where the database does not answer."""


class MissingKeyError(Exception):
    """The request has no valid key."""


class MissingRightError(Exception):
    """The key does not have the right that the route needs."""


class UnknownRouteError(Exception):
    """There is no such path."""


class WrongMethodError(Exception):
    """The path has no such method."""


class LargeBodyError(Exception):
    """The body is too long."""


class SlowBodyError(Exception):
    """The body did not arrive in time."""


class ProblemDocument(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What went wrong with a request, or with an item of it (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str = ""


@dataclass(frozen=True)
class Problem:
    """A type of problems.

    Attributes
    ----------
    status : int
        The status of the answer.
    name : str
        The last part of its address.
    title : str
        What is wrong, in general.
    detail : str
        What is said of each case: by default the text of the error. It is given where that text may
        name a file, another study, or code.
    """

    status: int
    name: str
    title: str
    detail: str = ""


_SEE_LOG: Final = "the log of the service says why"
_DAMAGED: Final = Problem(500, "damaged", "The study cannot be read.", _SEE_LOG)
# The first class of an error's that is in this table says what the answer is.
PROBLEMS: Final[dict[type[BaseException], Problem]] = {
    msgspec.DecodeError: Problem(400, "malformed", "The body is not JSON in UTF-8."),
    RecursionError: Problem(400, "malformed", "The body is not JSON in UTF-8.", "nested too deep"),
    ClientDisconnect: Problem(400, "cut-off", "The request ended early."),
    MissingKeyError: Problem(401, "missing-key", "A valid key is needed."),
    MissingRightError: Problem(403, "missing-right", "The key may not do this."),
    UnknownRouteError: Problem(404, "unknown-route", "There is no such path."),
    errors.UnknownStudyError: Problem(
        404, "unknown-study", "There is no such study.", "the key sees no study of this name"
    ),
    errors.UnknownDecisionError: Problem(
        404, "unknown-decision", "The study has no such decision."
    ),
    WrongMethodError: Problem(405, "wrong-method", "The path has no such method."),
    SlowBodyError: Problem(408, "slow-body", "The body did not arrive in time."),
    errors.StudyExistsError: Problem(409, "study-exists", "There is a study of this name."),
    errors.KeyUsedError: Problem(409, "key-used", "The idempotency key was used otherwise."),
    errors.DifferentFeedbackError: Problem(
        409, "different-feedback", "It was settled otherwise before."
    ),
    errors.PendingDecisionError: Problem(
        409, "waits-for-feedback", "The policy waits for feedback."
    ),
    errors.StudyDoneError: Problem(409, "study-done", "Every arm is settled."),
    RuntimeError: Problem(409, "refused", "The study cannot do this now."),
    LargeBodyError: Problem(413, "large-body", "The body is too long."),
    errors.UnknownArmError: Problem(422, "unknown-arm", "The study has no such arm in use."),
    msgspec.ValidationError: Problem(422, "invalid-value", "A value is not allowed."),
    ValueError: Problem(422, "invalid-value", "A value is not allowed."),
    TypeError: Problem(422, "invalid-value", "A value is not allowed."),
    study.DamagedError: _DAMAGED,
    study.LearningError: _DAMAGED,
    study.SettingCodeError: _DAMAGED,
    Exception: Problem(500, "internal", "The service made a mistake.", _SEE_LOG),
    study.StoreError: Problem(
        503, "storage", "The database does not answer.", "nothing is lost: send the request again"
    ),
}


def find_problem(error: BaseException) -> Problem:
    """Return the type of problem that an error is.

    Examples
    --------
    >>> find_problem(errors.UnknownDecisionError("id must be ...")).status
    404
    """
    return next(PROBLEMS[base] for base in type(error).__mro__ if base in PROBLEMS)


def make_document(error: BaseException, instance: str = "") -> ProblemDocument:
    """Return the problem document of an error; `instance` is the request's id."""
    problem = find_problem(error)
    return ProblemDocument(
        type=f"/problems/{problem.name}",
        title=problem.title,
        status=problem.status,
        detail=problem.detail or str(error),
        instance=instance,
    )
