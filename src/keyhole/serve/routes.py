"""The routes of the API and their handlers; the OpenAPI document is written from the routes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
from prometheus_client import generate_latest
from starlette.responses import PlainTextResponse, Response

from keyhole.serve import bodies
from keyhole.serve.api_keys import NOBODY, ApiKey
from keyhole.serve.bodies import JsonObject
from keyhole.serve.error_responses import MissingRightError, make_document
from keyhole.serve.open_studies import OpenStudy
from keyhole.study import AsyncStudy, Decision, StoreError, Study, errors, list_studies
from keyhole.study.arm_means import means_as_json
from keyhole.study.study_summary import MOST_EVENTS
from keyhole.validation import check_line, short_repr

if TYPE_CHECKING:
    from keyhole.serve.app import Service

# The arguments of `Study.ask` and `Study.ask_many` that are not values of the context.
_RESERVED_NAMES: Final = ("key", "exclude", "metadata", "n")
_JSON_LINES: Final = "application/x-ndjson"


@dataclass
class Request:
    """A request; the service sets its attributes before the handler of the route runs.

    Attributes
    ----------
    service : Service
        The service.
    headers : dict of str to str
        The headers, by their names in small letters.
    path : dict of str to str
        The variable parts of the path, by their names in the route.
    route : Route or None
        The route; None if no route has the path and the method.
    key : ApiKey
        The key that gives the request its rights; `NOBODY` if none is needed, or none was accepted.
    body, query : object
        The body and the query, of the types that the route gives.
    """

    service: "Service"
    headers: dict[str, str]
    path: dict[str, str] = field(default_factory=dict)
    route: "Route | None" = None
    key: ApiKey = NOBODY
    body: Any = None
    query: Any = None


Handler = Callable[[Request], Awaitable[object]] | Callable[[Request, OpenStudy], Awaitable[object]]


@dataclass(frozen=True)
class Route:
    """A method and a path, the right to use it, and the types of request and answer.

    Attributes
    ----------
    method, path : str
        If the path has ``{study}``, the route is about a study, which is open while the handler
        runs, unless the method is DELETE.
    required_right : str or None
        The right that a key must have; None if no key is needed.
    handler : callable
        It takes the request, and the study if that is open; it returns the content of the answer,
        or the answer. Its name is the name of the route in logs and metrics, and its docstring is
        the summary of the route.
    response_type, body_type, query_type : type or None
        The types of the answer, and of the request's body and query.
    status : int
        The status of the answer, if the handler returns the content.
    problems : tuple of exception classes
        The errors that not all routes have, for the OpenAPI document.
    media_type : str
        The type of the answer's content.
    is_page : bool
        Whether the route is for browsers: it answers with pages, and takes forms and a key in a
        cookie.
    """

    method: str
    path: str
    required_right: str | None
    handler: Handler
    response_type: type | None = None
    body_type: type | None = None
    status: int = 200
    query_type: type | None = None
    problems: tuple[type[Exception], ...] = ()
    media_type: str = "application/json"
    is_page: bool = False

    @property
    def is_about_study(self) -> bool:
        """Whether the path names a study."""
        return "{study}" in self.path


async def ask(request: Request, study: OpenStudy) -> object:
    """Take a decision; the same Idempotency-Key gets the same decision."""
    decision = await study.ask(**_ask_options(request))
    request.service.metrics.asks.inc()
    return decision.as_json()


async def ask_many(request: Request, study: OpenStudy) -> object:
    """Take many decisions in one transaction; decision i has the key Idempotency-Key/i."""
    outcomes = await study.ask_many(request.body.count, **_ask_options(request))
    request.service.metrics.asks.inc(sum(isinstance(item, Decision) for item in outcomes))
    return {"decisions": [_decision_or_problem_as_json(outcome) for outcome in outcomes]}


def _decision_or_problem_as_json(outcome: Decision | Exception) -> object:
    return outcome.as_json() if isinstance(outcome, Decision) else make_document(outcome)


def _ask_options(request: Request) -> JsonObject:
    """Return the arguments of `Study.ask` in a request."""
    body: bodies.AskBody = request.body
    if names := body.context.keys() & _RESERVED_NAMES:
        raise ValueError(f"context must have words of the setting, got {short_repr(min(names))}")
    key = request.headers.get("idempotency-key")
    if key is not None:
        # The header was decoded as Latin-1; most programs send letters beyond ASCII in UTF-8.
        with suppress(UnicodeDecodeError):
            key = key.encode("latin-1").decode()
    return {"key": key, "exclude": body.exclude, "metadata": body.metadata} | body.context


async def tell(request: Request, study: OpenStudy) -> None:
    """Record the feedback of a decision; the same feedback may be told again."""
    (outcome,) = await study.tell_many([(request.path["id"], request.body)])
    if outcome is not None:
        raise outcome
    request.service.metrics.tells.inc()


async def tell_many(request: Request, study: OpenStudy) -> object:
    """Record the feedback of many decisions in one transaction, each by itself."""
    tellings = [(telling.id, telling.feedback) for telling in request.body.tellings]
    outcomes = await study.tell_many(tellings)
    request.service.metrics.tells.inc(outcomes.count(None))
    return {"outcomes": [outcome and make_document(outcome) for outcome in outcomes]}


async def tell_sum(request: Request, study: OpenStudy) -> None:
    """Record a sum of rewards; a sum that is told twice counts twice."""
    await study.tell_sum(**request.body)


async def correct(request: Request, study: OpenStudy) -> None:
    """Replace feedback that was told by mistake."""
    await study.correct(request.path["id"], **request.body)


async def expire(request: Request, study: OpenStudy) -> None:
    """Expire a pending decision now."""
    await study.expire(request.path["id"])


async def show_decision(request: Request, study: OpenStudy) -> object:
    """Show a decision, and what has become of it."""
    return (await study.decision(request.path["id"])).as_json()


async def show_pending(request: Request, study: OpenStudy) -> object:
    """Show how many decisions are pending, and the oldest."""
    decisions = await study.oldest_pending(request.query.limit)
    pending = [decision.as_json() for decision in decisions]
    return {"pending_count": await study.pending_count, "pending": pending}


async def list_names(request: Request) -> dict[str, list[str]]:
    """List the studies that the API key may see, oldest first."""
    try:
        names = await asyncio.to_thread(list_studies, request.service.settings.storage)
    except ValueError as error:  # the file is gone
        raise StoreError(str(error)) from error
    return {"studies": [name for name in names if request.key.can_see(name)]}


async def create_study(request: Request) -> object:
    """Create a study from the entries of a study file; only installed policies are allowed."""
    table: JsonObject = request.body
    name = check_line("name", table.get("name"))
    if name.strip() in ("", ".", ".."):  # programs leave such a part out of a path
        raise ValueError(f"name must not be '.', '..' or blank, got {short_repr(name)}")
    if not request.key.can_see(name):
        # The same answer whether or not there is such a study.
        raise MissingRightError(f"name must fit the pattern of the key, {request.key.studies}")
    async with AsyncStudy.create_from(request.service.settings.storage, table) as opened:
        return await asyncio.to_thread(_describe_study, opened.study)


async def show_study(_request: Request, study: OpenStudy) -> object:
    """Show a study: its policy, its arms, and its progress."""
    return await asyncio.to_thread(_describe_study, study.study)


def _describe_study(study: Study) -> JsonObject:
    policy = study.policy
    content = {"name": study.name, "setting": policy.setting.name, "policy": repr(policy)}
    names = ("arms", "pending_count", "is_done", "settled")
    return content | {name: getattr(study, name) for name in names}


async def delete_study(request: Request) -> None:
    """Delete a study with all of its events, for good."""
    name = request.path["study"]
    await asyncio.to_thread(Study.delete, request.service.settings.storage, name)
    await request.service.studies.forget(name)


async def show_arms(_request: Request, study: OpenStudy) -> object:
    """Show the arms in use."""
    return {name: await getattr(study, name) for name in ("arms", "settled", "remaining")}


async def add_arms(request: Request, study: OpenStudy) -> object:
    """Add arms, all or none."""
    await study.add_arms(request.body.arms)
    return await show_arms(request, study)


async def retire_arm(request: Request, study: OpenStudy) -> object:
    """Retire an arm, for good."""
    await study.retire(request.body.arm)
    return await show_arms(request, study)


async def show_recommendation(_request: Request, study: OpenStudy) -> object:
    """Show the policy's recommendation so far."""
    return {"recommendation": await study.recommend()}


async def show_means(_request: Request, study: OpenStudy) -> object:
    """Show the means of the feedback by arm, with intervals that hold at all times."""
    means = await study.means(most_events=MOST_EVENTS)
    if means is None:
        raise RuntimeError(f"more than {MOST_EVENTS:,} events are yet to be read: ask for history")
    explanation = await study.explain_intervals(most_events=MOST_EVENTS)
    return {"means": means_as_json(means), "intervals": explanation}


async def show_history(request: Request, study: OpenStudy) -> object:
    """Show events after a number, one on each line."""
    query: bodies.HistoryQuery = request.query
    events = await asyncio.to_thread(study.log_reader.read, study.study, query.after, query.limit)
    for event in events:
        event["at"] = datetime.fromtimestamp(event["at"], UTC).isoformat()
    return Response(msgspec.json.Encoder().encode_lines(events), media_type=_JSON_LINES)


async def show_openapi(request: Request) -> object:
    """Show this document."""
    return request.service.openapi


async def check_health(_request: Request) -> object:
    """Answer that the process lives."""
    return PlainTextResponse("ok\n")


async def check_readiness(request: Request) -> object:
    """Answer whether the database answers."""
    await request.service.keys.refresh()
    return PlainTextResponse("ok\n")


async def show_metrics(request: Request) -> object:
    """Show the metrics of this process, to a key that sees all studies."""
    if request.key.studies != "*":
        raise MissingRightError("the key must see all studies: its pattern must be *")
    return PlainTextResponse(await asyncio.to_thread(generate_latest, request.service.metrics))


_STUDIES: Final = "/v1/studies"
_STUDY: Final = "/v1/studies/{study}"
_DECISIONS: Final = f"{_STUDY}/decisions"
_DECISION: Final = f"{_DECISIONS}/{{id}}"
_TEXT: Final = "text/plain"
_TELL_PROBLEMS: Final = (errors.UnknownDecisionError, errors.DifferentFeedbackError)


# The routes of most requests come first, since a path is compared with them in this order.
ROUTES: Final = (
    Route("POST", _DECISIONS, "decide", ask, bodies.DecisionBody, bodies.AskBody, status=201,
          problems=(errors.KeyUsedError, errors.PendingDecisionError, errors.StudyDoneError,
                    errors.UnknownArmError, RuntimeError)),
    Route("POST", f"{_DECISION}/feedback", "decide", tell, body_type=JsonObject, status=204,
          problems=_TELL_PROBLEMS),
    Route("POST", f"{_DECISIONS}/many", "decide", ask_many, bodies.DecisionsBody,
          bodies.AskManyBody),
    Route("POST", f"{_STUDY}/feedback", "decide", tell_many, bodies.OutcomesBody,
          bodies.TellManyBody),
    Route("POST", f"{_STUDY}/sums", "decide", tell_sum, body_type=JsonObject, status=204),
    Route("POST", f"{_DECISION}/correction", "decide", correct, body_type=JsonObject, status=204,
          problems=_TELL_PROBLEMS),
    Route("POST", f"{_DECISION}/expire", "decide", expire, status=204, problems=_TELL_PROBLEMS),
    Route("GET", _DECISIONS, "read", show_pending, bodies.PendingBody,
          query_type=bodies.PendingQuery),
    Route("GET", _DECISION, "read", show_decision, bodies.RecordBody,
          problems=(errors.UnknownDecisionError,)),
    Route("GET", f"{_STUDY}/recommendation", "read", show_recommendation, bodies.Recommendation,
          problems=(ValueError,)),
    Route("GET", f"{_STUDY}/means", "read", show_means, bodies.MeansBody, problems=(RuntimeError,)),
    Route("GET", f"{_STUDY}/history", "read", show_history, bodies.EventBody,
          query_type=bodies.HistoryQuery, media_type=_JSON_LINES),
    Route("GET", f"{_STUDY}/arms", "read", show_arms, bodies.ArmsState),
    Route("POST", f"{_STUDY}/arms", "admin", add_arms, bodies.ArmsState, bodies.ArmsBody),
    Route("POST", f"{_STUDY}/arms/retire", "admin", retire_arm, bodies.ArmsState, bodies.ArmBody,
          problems=(errors.UnknownArmError,)),
    Route("GET", _STUDY, "read", show_study, bodies.StudyBody),
    Route("DELETE", _STUDY, "admin", delete_study, status=204, problems=(ValueError,)),
    Route("GET", _STUDIES, "read", list_names, bodies.StudyNames),
    Route("POST", _STUDIES, "admin", create_study, bodies.StudyBody, JsonObject, status=201,
          problems=(errors.StudyExistsError,)),
    Route("GET", "/v1/openapi.json", None, show_openapi, JsonObject),
    Route("GET", "/healthz", None, check_health, str, media_type=_TEXT),
    Route("GET", "/readyz", None, check_readiness, str, media_type=_TEXT),
    Route("GET", "/metrics", "read", show_metrics, str, media_type=_TEXT),
)  # fmt: skip
