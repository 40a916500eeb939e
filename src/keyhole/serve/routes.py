"""The table of routes: from it the service answers, and its OpenAPI document is written."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import PlainTextResponse, Response

from keyhole.serve.api_keys import ApiKey
from keyhole.serve.bodies import (
    ArmBody,
    ArmsBody,
    ArmsState,
    AskBody,
    AskManyBody,
    DecisionBody,
    DecisionsBody,
    EventBody,
    HistoryQuery,
    JsonObject,
    MeansBody,
    OutcomesBody,
    PageQuery,
    PendingBody,
    PendingQuery,
    Recommendation,
    RecordBody,
    StudyBody,
    StudyNames,
    TellManyBody,
)
from keyhole.serve.open_studies import OpenStudy
from keyhole.serve.problems import MissingRightError, make_document
from keyhole.serve.web_pages import (
    add_arms_by_form,
    create_by_form,
    list_page,
    log_in,
    retire_by_form,
    study_page,
)
from keyhole.study import (
    AsyncStudy,
    Decision,
    DifferentFeedbackError,
    KeyUsedError,
    PendingDecisionError,
    Study,
    StudyDoneError,
    StudyExistsError,
    UnknownArmError,
    UnknownDecisionError,
    list_studies,
)
from keyhole.study.arm_means import means_as_json
from keyhole.study.study_summary import MOST_EVENTS
from keyhole.validate import short_repr

if TYPE_CHECKING:
    from keyhole.serve.app import Service

_RESERVED: Final = ("key", "exclude", "metadata", "n")  # arguments of `Study.ask` itself
_LINES: Final = "application/x-ndjson"


@dataclass(frozen=True)
class Arguments:
    """What a request gives to a route.

    Attributes
    ----------
    service : Service
        The service.
    key : ApiKey
        Who asks.
    path : dict of str to str
        The parts of the path that the route names.
    body, query : object
        The body and the query, as the route's types.
    idempotency_key : str or None
        The header ``Idempotency-Key``.
    entry : OpenStudy
        The study of the path, if there is one.
    """

    service: "Service"
    key: ApiKey
    path: dict[str, str]
    body: Any
    query: Any
    idempotency_key: str | None
    entry: OpenStudy | None = None
    is_secure: bool = False
    """Whether the browser asks by HTTPS."""

    @property
    def study(self) -> AsyncStudy:
        """The study of the path."""
        assert self.entry is not None
        return self.entry.study


Handler = Callable[[Arguments], Awaitable[object]]


@dataclass(frozen=True)
class Route:
    """A method and a path, who may use it, and what goes in and out.

    Attributes
    ----------
    method, path : str
        A path with ``{study}`` is about a study, which is then open.
    right : str or None
        The right that a key needs; None for everybody.
    handler : callable
        What is done; its docstring describes the route.
    status : int
        The status of a good answer.
    response, request, query : type or None
        The type of the answer, of the body and of the query.
    problems : tuple of exception classes
        What may go wrong beside what may go wrong everywhere.
    media_type : str
        The type of the answer's content.
    is_page : bool
        Whether it is for browsers: it answers with pages, takes forms, and a key as a cookie.
    """

    method: str
    path: str
    right: str | None
    handler: Handler
    status: int
    response: type | None
    request: type | None = None
    query: type | None = None
    problems: tuple[type[Exception], ...] = field(default=())
    media_type: str = "application/json"
    is_page: bool = False

    @property
    def name(self) -> str:
        """The name of the route, in logs and metrics."""
        return self.handler.__name__

    @property
    def is_about_study(self) -> bool:
        """Whether a study is named in the path, and must be there."""
        return "{study}" in self.path

    @property
    def needs_study_open(self) -> bool:
        """Whether the study is opened: all routes but the one that deletes it need that."""
        return self.is_about_study and self.handler is not delete_study


async def ask(arguments: Arguments) -> object:
    """Take a decision; the same Idempotency-Key gets the same decision."""
    decision = await arguments.study.ask(key=arguments.idempotency_key, **_ask_options(arguments))
    arguments.service.metrics.count("asks", 1)
    return decision.as_json()


async def ask_many(arguments: Arguments) -> object:
    """Take many decisions in one transaction; decision i has the key Idempotency-Key/i."""
    options = _ask_options(arguments)
    key = arguments.idempotency_key
    outcomes = await arguments.study.ask_many(arguments.body.count, key=key, **options)
    decisions = [outcome for outcome in outcomes if isinstance(outcome, Decision)]
    arguments.service.metrics.count("asks", len(decisions))
    return {"decisions": [_as_json(outcome) for outcome in outcomes]}


def _ask_options(arguments: Arguments) -> JsonObject:
    """Return the arguments of `Study.ask` that a body gives."""
    body: AskBody = arguments.body
    for name in body.context:
        if name in _RESERVED:
            raise ValueError(f"context must have words of the setting, got {short_repr(name)}")
    options = {"exclude": body.exclude, "metadata": body.metadata}
    return {n: value for n, value in options.items() if value is not None} | body.context


def _as_json(outcome: Decision | Exception) -> object:
    return outcome.as_json() if isinstance(outcome, Decision) else make_document(outcome)


async def tell(arguments: Arguments) -> object:
    """Record the feedback of a decision; the same feedback may be told again."""
    (outcome,) = await arguments.study.tell_many([(arguments.path["id"], arguments.body)])
    if outcome is not None:
        raise outcome
    arguments.service.metrics.count("tells", 1)
    return None


async def tell_many(arguments: Arguments) -> object:
    """Record the feedback of many decisions in one transaction, each by itself."""
    tellings = [(telling.id, telling.feedback) for telling in arguments.body.tellings]
    outcomes = await arguments.study.tell_many(tellings)
    arguments.service.metrics.count("tells", outcomes.count(None))
    return {"outcomes": [outcome and make_document(outcome) for outcome in outcomes]}


async def tell_sum(arguments: Arguments) -> object:
    """Record a sum of rewards; told twice, it counts twice."""
    await arguments.study.tell_sum(**arguments.body)
    return None


async def correct(arguments: Arguments) -> object:
    """Set right what was told of a decision by mistake."""
    await arguments.study.correct(arguments.path["id"], **arguments.body)
    return None


async def expire(arguments: Arguments) -> object:
    """Expire a pending decision now."""
    await arguments.study.expire(arguments.path["id"])
    return None


async def show_decision(arguments: Arguments) -> object:
    """Show a decision, and what has become of it."""
    record = await arguments.study.decision(arguments.path["id"])
    return record.as_json()


async def show_pending(arguments: Arguments) -> object:
    """Show how many decisions are pending, and the oldest."""
    decisions = await arguments.study.oldest_pending(arguments.query.limit)
    pending = [decision.as_json() for decision in decisions]
    return {"pending_count": await arguments.study.pending_count, "pending": pending}


async def list_names(arguments: Arguments) -> object:
    """List the studies that the key sees, oldest first."""
    names = await asyncio.to_thread(list_studies, arguments.service.settings.storage)
    return {"studies": [name for name in names if arguments.key.sees(name)]}


async def create_study(arguments: Arguments) -> object:
    """Create a study from the entries of a study file; the policy is one that is installed."""
    table: JsonObject = arguments.body
    name = table.get("name")
    if not isinstance(name, str) or "/" in name:
        raise ValueError(f"name must be a text without /, got {short_repr(name)}")
    if not arguments.key.sees(name):
        # Said of every such name, whether there is a study or not.
        raise MissingRightError(f"name must fit the pattern of the key, {arguments.key.studies}")
    storage = arguments.service.settings.storage
    study = await asyncio.to_thread(Study.create_from, storage, table, own_policies=False)
    try:
        return await asyncio.to_thread(_describe_study, study)
    finally:
        await asyncio.to_thread(study.close)


async def show_study(arguments: Arguments) -> object:
    """Show a study: policy, arms, and how far it is."""
    return await asyncio.to_thread(_describe_study, arguments.study.study)


def _describe_study(study: Study) -> StudyBody:
    policy = study.policy
    return StudyBody(
        name=study.name,
        setting=policy.setting.name,
        policy=repr(policy),
        arms=list(study.arms),
        pending_count=study.pending_count,
        is_done=study.is_done,
        settled=study.settled,
    )


async def delete_study(arguments: Arguments) -> object:
    """Delete a study with all of its events, for good."""
    name = arguments.path["study"]
    await asyncio.to_thread(Study.delete, arguments.service.settings.storage, name)
    arguments.service.studies.forget(name)
    return None


async def show_arms(arguments: Arguments) -> object:
    """Show the arms in use."""
    return await asyncio.to_thread(_describe_arms, arguments.study.study)


async def add_arms(arguments: Arguments) -> object:
    """Add arms, all or none."""
    await arguments.study.add_arms(arguments.body.arms)
    return await asyncio.to_thread(_describe_arms, arguments.study.study)


async def retire_arm(arguments: Arguments) -> object:
    """Retire an arm, for good."""
    await arguments.study.retire(arguments.body.arm)
    return await asyncio.to_thread(_describe_arms, arguments.study.study)


def _describe_arms(study: Study) -> ArmsState:
    return ArmsState(list(study.arms), study.settled, study.remaining)


async def show_recommendation(arguments: Arguments) -> object:
    """Show the policy's recommendation so far."""
    return {"recommendation": await arguments.study.recommend()}


async def show_means(arguments: Arguments) -> object:
    """Show the means of what was told, with intervals that hold at all times."""
    means = await arguments.study.means(most_events=MOST_EVENTS)
    if means is None:
        raise RuntimeError(f"more than {MOST_EVENTS:,} events are yet to be read: ask for history")
    explanation = await arguments.study.explain_intervals(most_events=MOST_EVENTS)
    return {"means": means_as_json(means), "intervals": explanation}


async def show_history(arguments: Arguments) -> object:
    """Show events after a number, one on each line."""
    assert arguments.entry is not None
    query: HistoryQuery = arguments.query
    events = await asyncio.to_thread(
        arguments.entry.history.read, arguments.study.study, query.after, query.limit
    )
    for event in events:
        event["at"] = datetime.fromtimestamp(event["at"], UTC).isoformat()
    return Response(msgspec.json.Encoder().encode_lines(events), media_type=_LINES)


async def show_openapi(arguments: Arguments) -> object:
    """Show this document."""
    return arguments.service.openapi


async def check_health(_arguments: Arguments) -> object:
    """Answer: the process lives."""
    return PlainTextResponse("ok\n")


async def check_readiness(arguments: Arguments) -> object:
    """Answer whether the database does."""
    await arguments.service.keys.refresh()
    return PlainTextResponse("ok\n")


async def show_metrics(arguments: Arguments) -> object:
    """Show the metrics of this process, to a key that sees all studies."""
    if arguments.key.studies != "*":
        raise MissingRightError("the key must see all studies, those of *")
    studies = arguments.service.studies.in_memory
    pending_count, expired_count = await asyncio.to_thread(_count_decisions, studies)
    gauges = {
        "open_studies": len(studies),
        "pending_decisions": pending_count,
        "expired_decisions": expired_count,
    }
    return PlainTextResponse(arguments.service.metrics.format(gauges))


def _count_decisions(studies: list[Study]) -> tuple[int, int]:
    """Return how many decisions of the studies are pending, and how many have expired."""
    pending_count = sum(study.pending_count for study in studies)
    return pending_count, sum(study.expired_count for study in studies)


_STUDIES: Final = "/v1/studies"
_STUDY: Final = "/v1/studies/{study}"
_PAGE: Final = "/studies/{study}"
_ITEMS: Final = f"{_STUDY}/decisions"
_ITEM: Final = f"{_ITEMS}/{{id}}"
_ASK: Final = (KeyUsedError, PendingDecisionError, StudyDoneError, RuntimeError, UnknownArmError)
_TELL: Final = (UnknownDecisionError, DifferentFeedbackError)

# The routes of most requests come first: they are compared with a path in this order.
ROUTES: Final = (
    Route("POST", _ITEMS, "decide", ask, 201, DecisionBody, AskBody, problems=_ASK),
    Route("POST", f"{_ITEM}/feedback", "decide", tell, 204, None, JsonObject, problems=_TELL),
    Route("POST", f"{_ITEMS}/many", "decide", ask_many, 200, DecisionsBody, AskManyBody),
    Route("POST", f"{_STUDY}/feedback", "decide", tell_many, 200, OutcomesBody, TellManyBody),
    Route("POST", f"{_STUDY}/sums", "decide", tell_sum, 204, None, JsonObject),
    Route("POST", f"{_ITEM}/correction", "decide", correct, 204, None, JsonObject, problems=_TELL),
    Route("POST", f"{_ITEM}/expire", "decide", expire, 204, None, problems=_TELL),
    Route("GET", _ITEMS, "read", show_pending, 200, PendingBody, query=PendingQuery),
    Route("GET", _ITEM, "read", show_decision, 200, RecordBody, problems=_TELL[:1]),
    Route("GET", f"{_STUDY}/recommendation", "read", show_recommendation, 200, Recommendation),
    Route("GET", f"{_STUDY}/means", "read", show_means, 200, MeansBody, problems=(RuntimeError,)),
    Route("GET", f"{_STUDY}/history", "read", show_history, 200, EventBody, query=HistoryQuery,
          media_type=_LINES),
    Route("GET", f"{_STUDY}/arms", "read", show_arms, 200, ArmsState),
    Route("POST", f"{_STUDY}/arms", "admin", add_arms, 200, ArmsState, ArmsBody),
    Route("POST", f"{_STUDY}/arms/retire", "admin", retire_arm, 200, ArmsState, ArmBody),
    Route("GET", _STUDY, "read", show_study, 200, StudyBody),
    Route("DELETE", _STUDY, "admin", delete_study, 204, None),
    Route("GET", _STUDIES, "read", list_names, 200, StudyNames),
    Route("POST", _STUDIES, "admin", create_study, 201, StudyBody, JsonObject,
          problems=(StudyExistsError,)),
    Route("GET", "/v1/openapi.json", None, show_openapi, 200, JsonObject),
    Route("GET", "/healthz", None, check_health, 200, str, media_type="text/plain"),
    Route("GET", "/readyz", None, check_readiness, 200, str, media_type="text/plain"),
    Route("GET", "/metrics", "read", show_metrics, 200, str, media_type="text/plain"),
    Route("GET", "/", "read", list_page, 200, None, is_page=True),
    Route("GET", _PAGE, "read", study_page, 200, None, query=PageQuery, is_page=True),
    Route("POST", "/login", None, log_in, 303, None, JsonObject, is_page=True),
    Route("POST", "/studies", "admin", create_by_form, 303, None, JsonObject, is_page=True),
    Route("POST", f"{_PAGE}/arms", "admin", add_arms_by_form, 303, None, JsonObject, is_page=True),
    Route("POST", f"{_PAGE}/retire", "admin", retire_by_form, 303, None, JsonObject, is_page=True),
)  # fmt: skip
