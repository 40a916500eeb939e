"""Problem documents (RFC 9457): the answer to a request that fails, by the class of its error."""

from typing import Final

import msgspec
from msgspec import structs
from starlette.requests import ClientDisconnect

from keyhole import study
from keyhole.study import errors


class MissingKeyError(Exception):
    """A key is needed."""


class InvalidKeyError(Exception):
    """The key is not valid: it is wrong, has ended, or was revoked."""


class MissingRightError(Exception):
    """The key does not have the right that the route needs."""


class UnknownRouteError(Exception):
    """There is no such path."""


class WrongMethodError(Exception):
    """The path has only these methods."""


class LargeBodyError(Exception):
    """The body is too long."""


class ProblemDocument(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The problem of a request, or of an item in it (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str = ""


def _describe_type(status: int, name: str, title: str, detail: str = "") -> ProblemDocument:
    """Return the document that all problems of a type share.

    A `detail` replaces the text of the error, which may name a file, another study, or code.
    """
    return ProblemDocument(type=f"/problems/{name}", title=title, status=status, detail=detail)


# Each class is a type of problem, with the name of the class; its docstring is the title.
_STATUSES: Final[dict[int, tuple[type[Exception], ...]]] = {
    401: (MissingKeyError, InvalidKeyError),
    403: (MissingRightError,),
    404: (UnknownRouteError, errors.UnknownDecisionError),
    405: (WrongMethodError,),
    409: (errors.StudyExistsError, errors.KeyUsedError, errors.DifferentFeedbackError,
          errors.PendingDecisionError, errors.StudyDoneError),
    413: (LargeBodyError,),
    422: (errors.UnknownArmError,),
}  # fmt: skip
_SEE_LOG: Final = "the log of the service says why"
_DAMAGED: Final = _describe_type(500, "damaged", "The study cannot be read.", _SEE_LOG)
_MALFORMED: Final = _describe_type(400, "malformed", "The body is not JSON in UTF-8.")
_INVALID: Final = _describe_type(422, "invalid-value", "A value is not allowed.")
PROBLEMS: Final[dict[type[Exception], ProblemDocument]] = {
    error: _describe_type(status, errors.http_problem_name(error), error.__doc__ or "")
    for status, classes in _STATUSES.items()
    for error in classes
} | {
    errors.UnknownStudyError: _describe_type(
        404, "unknown-study", "There is no such study.", "the key sees no study of this name"
    ),
    msgspec.DecodeError: _MALFORMED,
    RecursionError: structs.replace(_MALFORMED, detail="nested too deep"),
    ClientDisconnect: _describe_type(400, "cut-off", "The request ended early."),
    RuntimeError: _describe_type(409, "refused", "The study cannot do this now."),
    msgspec.ValidationError: _INVALID,
    ValueError: _INVALID,
    TypeError: _INVALID,
    study.DamagedError: _DAMAGED,
    study.LearningError: _DAMAGED,
    study.SettingCodeError: _DAMAGED,
    Exception: _describe_type(500, "internal", "The service made a mistake.", _SEE_LOG),
    study.StoreError: _describe_type(
        503, "storage", "The database does not answer.", "nothing is lost: send the request again"
    ),
}
"""The types of problems by class of error; other classes have the type of their nearest base."""


def make_document(error: BaseException, instance: str = "") -> ProblemDocument:
    """Return the problem document of an error; `instance` is the request's id.

    Examples
    --------
    >>> make_document(errors.UnknownDecisionError("id must be ...")).status
    404
    """
    problem = next(PROBLEMS[base] for base in type(error).__mro__ if base in PROBLEMS)
    return structs.replace(problem, detail=problem.detail or str(error), instance=instance)
