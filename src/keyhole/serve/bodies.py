"""Types of the service's bodies and queries, which check JSON and describe it in OpenAPI."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from keyhole.serve.problem_documents import ProblemDocument

JsonObject = dict[str, Any]
Count = Annotated[int, Meta(ge=1, le=1000)]


class AskBody(Struct, forbid_unknown_fields=True):
    """The context of a decision, the arms to exclude, and metadata; all are optional."""

    context: JsonObject = {}
    exclude: list[str] | None = None
    metadata: JsonObject | None = None


class AskManyBody(AskBody, forbid_unknown_fields=True, kw_only=True):
    """A request for several decisions with the same context, exclusions and metadata."""

    count: Count


class Telling(Struct, forbid_unknown_fields=True):
    """The id of a decision and its feedback: values by name, or one value without a name."""

    id: str
    feedback: Any


class TellManyBody(Struct, forbid_unknown_fields=True):
    """The feedback of many decisions, each with the id of its decision."""

    tellings: Annotated[list[Telling], Meta(min_length=1, max_length=1000)]


class ArmsBody(Struct, forbid_unknown_fields=True):
    """Arms to add, all or none."""

    arms: Annotated[list[str], Meta(min_length=1, max_length=10_000)]


class ArmBody(Struct, forbid_unknown_fields=True):
    """An arm to retire."""

    arm: str


class PendingQuery(Struct, forbid_unknown_fields=True):
    """The number of pending decisions to show."""

    limit: Count = 100


class HistoryQuery(Struct, forbid_unknown_fields=True):
    """The number after which events are shown, and how many events are shown at most."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000


class PageQuery(Struct, forbid_unknown_fields=True):
    """The number of the last event that the study's web page already shows; -1 for none."""

    seq: Annotated[int, Meta(ge=-1, le=2**53)] = -1


class StudyNames(Struct):
    """The studies that the API key may see, oldest first."""

    studies: list[str]


class StudyBody(Struct):
    """A study."""

    name: str
    setting: str
    policy: str
    arms: list[str]
    pending_count: int
    is_done: bool
    settled: dict[str, str]


class ArmsState(Struct):
    """The arms in use, the verdicts on settled arms, and the arms that are not settled."""

    arms: list[str]
    settled: dict[str, str]
    remaining: list[str]


class DecisionBody(Struct):
    """A decision, which also has the fields of its setting, such as ``arm``."""

    id: str
    round: int
    at: str
    until: str | None


class RecordBody(DecisionBody):
    """A decision, its status and feedback, and when it was told, corrected or expired."""

    status: str
    feedback: JsonObject | None
    settled_at: str | None


class DecisionsBody(Struct):
    """A `DecisionBody`, or a `ProblemDocument`, for each decision that was asked for."""

    decisions: list[JsonObject]


class OutcomesBody(Struct):
    """For each telling: null if it was recorded, otherwise the problem."""

    outcomes: list[ProblemDocument | None]


class PendingBody(Struct):
    """The number of pending decisions, and the oldest of these decisions."""

    pending_count: int
    pending: list[DecisionBody]


class Recommendation(Struct):
    """The policy's recommendation so far, in the form of its setting."""

    recommendation: Any


class ArmMeanBody(Struct):
    """The mean of a number in the feedback of an arm, with an interval that holds at all times.

    ``told`` is the number of values. ``assumed`` of them were not told, but assumed when decisions
    expired.
    """

    told: int
    assumed: int
    mean: float | None
    low: float | None
    high: float | None


class MeansBody(Struct):
    """Means by arm and by the name of the number, and an explanation of their intervals."""

    means: dict[str, dict[str, ArmMeanBody]]
    intervals: str | None


class EventBody(Struct):
    """An event, with further fields of its kind; each line of a response is an event."""

    seq: int
    at: str
    event: str
