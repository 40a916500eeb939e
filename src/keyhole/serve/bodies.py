"""What requests and answers hold, as types from which JSON is checked and OpenAPI is written."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from keyhole.serve.problems import ProblemDocument

JsonObject = dict[str, Any]
Count = Annotated[int, Meta(ge=1, le=1000)]


class AskBody(Struct, forbid_unknown_fields=True):
    """What a decision is asked for with; all of it may be left out."""

    context: JsonObject = {}
    exclude: list[str] | None = None
    metadata: JsonObject | None = None


class AskManyBody(AskBody, forbid_unknown_fields=True, kw_only=True):
    """How many decisions are asked for, and with what."""

    count: Count


class Telling(Struct, forbid_unknown_fields=True):
    """A decision and its feedback: by name, or the one value that may go without a name."""

    id: str
    feedback: Any


class TellManyBody(Struct, forbid_unknown_fields=True):
    """The feedback of many decisions."""

    tellings: Annotated[list[Telling], Meta(min_length=1, max_length=1000)]


class ArmsBody(Struct, forbid_unknown_fields=True):
    """Arms to add, all or none."""

    arms: Annotated[list[str], Meta(min_length=1, max_length=10_000)]


class ArmBody(Struct, forbid_unknown_fields=True):
    """An arm to retire."""

    arm: str


class PendingQuery(Struct, forbid_unknown_fields=True):
    """How many pending decisions to show."""

    limit: Count = 100


class HistoryQuery(Struct, forbid_unknown_fields=True):
    """Where to begin, and how many events to show."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000


class PageQuery(Struct, forbid_unknown_fields=True):
    """The number of the last event on the page that a browser shows; -1 for none."""

    seq: Annotated[int, Meta(ge=-1, le=2**53)] = -1


class StudyNames(Struct):
    """The studies that the key sees, oldest first."""

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
    """The arms in use, and what is settled of them."""

    arms: list[str]
    settled: dict[str, str]
    remaining: list[str]


class DecisionBody(Struct):
    """A decision; beside these it has the words of the setting, such as ``arm``."""

    id: str
    round: int
    at: str
    until: str | None


class RecordBody(DecisionBody):
    """A decision, and what has become of it."""

    status: str
    feedback: JsonObject | None
    settled_at: str | None


class DecisionsBody(Struct):
    """For each decision asked for a `DecisionBody`, or a `ProblemDocument`."""

    decisions: list[JsonObject]


class OutcomesBody(Struct):
    """For each telling null, or the problem."""

    outcomes: list[ProblemDocument | None]


class PendingBody(Struct):
    """How many decisions are pending, and the oldest."""

    pending_count: int
    pending: list[DecisionBody]


class Recommendation(Struct):
    """The policy's recommendation so far, in the form of its setting."""

    recommendation: Any


class ArmMeanBody(Struct):
    """The mean of a number in the feedback of an arm, with an interval that holds at all times."""

    told: int
    assumed: int
    mean: float | None
    low: float | None
    high: float | None


class MeansBody(Struct):
    """Means by arm and by name of the number, and what their intervals mean."""

    means: dict[str, dict[str, ArmMeanBody]]
    intervals: str | None


class EventBody(Struct):
    """An event; beside these it has what its kind has. Answers have one on each line."""

    seq: int
    at: str
    event: str
