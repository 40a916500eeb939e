"""Problem documents (RFC 9457): the answer to a request that fails, by the class of its error."""

from typing import Final

import msgspec
from msgspec import structs
from starlette.requests import ClientDisconnect

from keyhole import study
from keyhole.study import errors


# The docstring of an error is the title of its problem.
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


class ProblemDocument(msgspec.Struct, omit_defaults=True):
    """The problem of a request, or of an item in it (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str = ""


_SEE_LOG: Final = "the log of the service says why"
# The types of problems: status, name, title and detail, and the classes of errors. By default the
# name is made from the class, the title is the class's docstring, and the detail is the text of the
# error. A row has a detail of its own if the text of the error could name a file, another study, or
# code.
_TYPES: Final[dict[tuple[int, *tuple[str, ...]], tuple[type[Exception], ...]]] = {
    (400, "malformed", "The body is not JSON in UTF-8."): (msgspec.DecodeError,),
    (400, "malformed", "The body is not JSON in UTF-8.", "nested too deep"): (RecursionError,),
    (400, "cut-off", "The request ended early."): (ClientDisconnect,),
    (401,): (MissingKeyError, InvalidKeyError),
    (403,): (MissingRightError,),
    (404,): (UnknownRouteError, errors.UnknownDecisionError),
    (404, "unknown-study", "There is no such study.", "the key sees no study of this name"):
        (errors.UnknownStudyError,),
    (405,): (WrongMethodError,),
    (409,): (errors.StudyExistsError, errors.KeyUsedError, errors.DifferentFeedbackError,
             errors.PendingDecisionError, errors.StudyDoneError),
    (409, "refused", "The study cannot do this now."): (RuntimeError,),
    (413,): (LargeBodyError,),
    (422,): (errors.UnknownArmError,),
    (422, "invalid-value", "A value is not allowed."):
        (msgspec.ValidationError, ValueError, TypeError),
    (500, "damaged", "The study cannot be read.", _SEE_LOG):
        (study.DamagedError, study.LearningError, study.SettingCodeError),
    (500, "internal", "The service made a mistake.", _SEE_LOG): (Exception,),
    (503, "storage", "The database does not answer.", "nothing is lost: send the request again"):
        (study.StoreError,),
}  # fmt: skip


def _describe_type(
    error: type[Exception], status: int, name: str = "", title: str = "", detail: str = ""
) -> ProblemDocument:
    """Return the document that all problems of a type share."""
    path = f"/problems/{name or errors.http_problem_name(error)}"
    return ProblemDocument(path, title or error.__doc__ or "", status, detail)


PROBLEMS: Final = {
    error: _describe_type(error, *row) for row, classes in _TYPES.items() for error in classes
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
