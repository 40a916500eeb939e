"""A client of `keyhole serve`: studies over HTTP, with the verbs of `keyhole.study.Study`."""

import http.client
import json
import random
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

from keyhole.study import DamagedError, Decision, DecisionRecord, StoreError, errors
from keyhole.study.arm_means import ArmMean
from keyhole.validation import check_choice, check_line, short_repr

__all__ = ["Client", "StudyClient"]

_ERRORS: Final[dict[str, type[Exception]]] = {
    "damaged": DamagedError,
    "invalid-key": PermissionError,
    "invalid-value": ValueError,
    "missing-key": PermissionError,
    "missing-right": PermissionError,
    "storage": StoreError,
} | {errors.http_problem_name(error): error for error in errors.ALL}
"""The class of error by the type of a problem document; a RuntimeError stands for other types."""
_FIRST_WAIT: Final = 0.1  # seconds before the second attempt; doubled before each later one
_MAX_WAIT: Final = 5.0  # seconds
_HISTORY_BATCH: Final = 1000  # events in one answer
# An idle connection is renewed after this many seconds; the service closes it after five.
_MAX_IDLE: Final = 2.0


class Client:
    """A client of a service of studies, which `keyhole serve` runs.

    Threads may share a client. If the service refuses the connection, any call is repeated. After
    another error of the network, such as a late answer, or if the database does not answer, only
    these calls are repeated, which do no harm twice: calls that read, `ask` and `ask_many` (with a
    random key if none is given), `tell`, `tell_many` and `correct`.

    Parameters
    ----------
    url : str
        The address of the service, such as "http://localhost:8000".
    key : str, optional
        The API key; not needed if the service runs on this machine and has no keys.
    timeout : float, default 30
        How long the service may take to answer, in seconds.
    retry_seconds : float, default 60
        How long a call is repeated, in seconds.

    Examples
    --------
    >>> from keyhole.client import Client
    >>> study = Client("http://localhost:8000", key="kh_...").study("buttons")
    >>> study
    StudyClient('http://localhost:8000', 'buttons')
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        retry_seconds: float = 60.0,
    ) -> None:
        address = urlsplit(url)
        check_choice("url", address.scheme, ("http", "https"))
        if not address.hostname or address.path.strip("/") or address.query:
            raise ValueError(f"url must have a host, but no path or query, got {short_repr(url)}")
        self.url = url.rstrip("/")
        is_secure = address.scheme == "https"
        http_class = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
        self._make_connection = partial(http_class, address.hostname, address.port, timeout=timeout)
        self._headers: dict[str, str | bytes] = {"Content-Type": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._retry_seconds = retry_seconds
        # Connections that no request uses, each with the time of its last answer.
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []

    def close(self) -> None:
        """Close the connections that no request uses; a later call opens another."""
        for _ in range(len(self._idle)):
            # No other thread can send a request on a connection that was taken, while it is closed.
            self._take_connection().close()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def study(self, name: str) -> "StudyClient":
        """Return a study by name, without a request to the service."""
        return StudyClient(self, name)

    def list_studies(self) -> list[str]:
        """Return the names of the studies that the API key may see, oldest first."""
        return list(self.request("GET", "/v1/studies")["studies"])

    def create(
        self, name: str, policy: str | Mapping[str, Any], arms: Iterable[str], *, setting: str,
        **entries: object,
    ) -> "StudyClient":  # fmt: skip
        """Create a study.

        Parameters
        ----------
        name : str
            The name of the study.
        policy : str or mapping
            The name of a policy of Keyhole's, or a table of its ``name`` and parameters.
        arms : iterable of str
            The names of the arms.
        setting : str
            The setting, such as "stochastic".
        **entries
            Other entries of a study file, such as ``facts`` or ``timeout``.
        """
        table = {"name": name, "policy": policy, "arms": list(arms), "setting": setting}
        self.request("POST", "/v1/studies", table | entries)
        return self.study(name)

    def delete(self, name: str) -> None:
        """Delete a study with all of its events, for good."""
        self.request("DELETE", f"/v1/studies/{quote(name, safe='')}")

    def request(
        self, method: str, path: str, body: object = None, *, key: str | None = None,
        is_safe: bool = False,
    ) -> Any:  # fmt: skip
        """Return the content of the answer to a request; raise an error if the request is refused.

        Parameters
        ----------
        method, path, body
            The request; the body is sent as JSON, unless it is None.
        key : str, optional
            The idempotency key.
        is_safe : bool, default False
            Whether the request may be sent again if its answer is lost. Any GET is safe.
        """
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = self._headers
        if key is not None:
            if check_line("key", key) != key.strip(" \t"):
                raise ValueError(f"key must have no blanks at its ends, got {short_repr(key)}")
            headers = headers | {"Idempotency-Key": key.encode()}
        is_safe = is_safe or method == "GET"
        deadline = time.monotonic() + self._retry_seconds
        wait = _FIRST_WAIT
        while True:
            try:
                status, answer = self._send(method, path, content, headers)
                if status < 400:
                    return answer
                error = make_error(answer)
                may_repeat = is_safe and status == 503  # the database does not answer
            except (OSError, http.client.HTTPException) as failure:
                error = failure
                may_repeat = is_safe or isinstance(failure, ConnectionRefusedError)
            if not may_repeat or time.monotonic() + wait > deadline:
                raise error
            # The wait is random, so that not all clients return at once to a service that was away.
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2.0 * wait, _MAX_WAIT)

    def _send(
        self, method: str, path: str, content: bytes | None, headers: Mapping[str, str | bytes]
    ) -> tuple[int, Any]:
        """Send a request once; return status and content of the answer."""
        connection = self._take_connection()
        try:
            connection.request(method, path, content, dict(headers))
            response = connection.getresponse()
            data = response.read()
        except BaseException:
            connection.close()  # not used again, since it may hold the beginning of this request
            raise
        self._idle.append((connection, time.monotonic()))
        if response.headers.get_content_type() == "application/x-ndjson":
            return response.status, [json.loads(line) for line in data.splitlines()]
        try:
            return response.status, json.loads(data) if data else None
        except ValueError:  # an answer of a proxy, say
            return response.status, {"detail": data[:200].decode(errors="replace")}

    def _take_connection(self) -> http.client.HTTPConnection:
        """Return a connection for one request; if it was idle for long, it connects again."""
        try:
            connection, used_at = self._idle.pop()
        except IndexError:
            return self._make_connection()
        if time.monotonic() - used_at > _MAX_IDLE:
            connection.close()  # `http.client` connects again at the next request
        return connection


class StudyClient:
    """A study of a service: the verbs of `keyhole.study.Study`, with its arguments and errors.

    Make one with `Client.study`. Decisions, records and means have the types that `Study` returns.
    A recommendation has the types of JSON: a dict by threshold has texts as keys, and a pair is a
    list. A call for which the API key lacks the right raises a `PermissionError`.

    Parameters
    ----------
    client : Client
        The service.
    name : str
        The name of the study.
    """

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self._path = f"/v1/studies/{quote(name, safe='')}"

    def __repr__(self) -> str:
        """Return the address of the service, and the name of the study."""
        return f"StudyClient({self.client.url!r}, {self.name!r})"

    def ask(
        self,
        *,
        key: str | None = None,
        exclude: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **context: object,
    ) -> Decision:
        """Return a decision, as `Study.ask` does."""
        return _parse_decision(self._ask("", key, exclude, metadata, context))

    def ask_many(
        self,
        n: int,
        *,
        key: str | None = None,
        exclude: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **context: object,
    ) -> list[Decision | Exception]:
        """Return up to 1,000 decisions, or errors in their place, as `Study.ask_many` does."""
        answer = self._ask("/many", key, exclude, metadata, context, count=n)
        return [
            _parse_decision(outcome) if "id" in outcome else make_error(outcome)
            for outcome in answer["decisions"]
        ]

    def _ask(
        self, path: str, key: str | None, exclude: Iterable[str] | None,
        metadata: Mapping[str, Any] | None, context: Mapping[str, object], **options: object,
    ) -> Any:  # fmt: skip
        """Return the answer to a request for decisions; with a key, the request can be repeated."""
        arms = None if exclude is None else list(exclude)
        body = {"context": context, "exclude": arms, "metadata": metadata} | options
        if key is None:
            key = secrets.token_urlsafe(16)
        return self._request("POST", f"/decisions{path}", body, key=key, is_safe=True)

    def tell(self, id: str | Decision, *unnamed: object, **feedback: object) -> None:
        """Record the feedback of a decision, as `Study.tell` does: named values, or one unnamed."""
        if len(unnamed) > 1 or (unnamed and feedback):
            raise TypeError("give feedback by name, or one value without a name")
        (error,) = self.tell_many([(id, unnamed[0] if unnamed else feedback)])
        if error is not None:
            raise error

    def tell_many(self, tellings: Iterable[tuple[str | Decision, Any]]) -> list[Exception | None]:
        """Record the feedback of up to 1,000 decisions, as `Study.tell_many` does."""
        items = [
            {"id": _decision_id(decision), "feedback": feedback} for decision, feedback in tellings
        ]
        if not items:
            return []
        answer = self._request("POST", "/feedback", {"tellings": items}, is_safe=True)
        return [None if problem is None else make_error(problem) for problem in answer["outcomes"]]

    def tell_sum(self, **feedback: object) -> None:
        """Record a sum, as `Study.tell_sum` does; never repeated, since it would count twice."""
        self._request("POST", "/sums", feedback)

    def correct(self, id: str | Decision, **feedback: object) -> None:
        """Replace feedback that was told by mistake, as `Study.correct` does."""
        self._request("POST", f"{_decision_path(id)}/correction", feedback, is_safe=True)

    def expire(self, id: str | Decision) -> None:
        """Expire a pending decision, as `Study.expire` does."""
        self._request("POST", f"{_decision_path(id)}/expire")

    def decision(self, id: str | Decision) -> DecisionRecord:
        """Return a decision and what has become of it, as `Study.decision` does."""
        answer = self._request("GET", _decision_path(id))
        status = answer.pop("status")
        feedback = answer.pop("feedback")
        settled_at = _parse_time(answer.pop("settled_at"))
        return DecisionRecord(_parse_decision(answer), status, feedback, settled_at)

    def _request(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        """Return the answer to a request about the study."""
        return self.client.request(method, self._path + path, body, **options)

    def recommend(self) -> Any:
        """Return the policy's recommendation so far."""
        return self._request("GET", "/recommendation")["recommendation"]

    def means(self) -> dict[str, dict[str, ArmMean]]:
        """Return the means by arm, as `Study.means` does."""
        means = self._request("GET", "/means")["means"]
        return {
            arm: {name: _parse_mean(mean) for name, mean in by_name.items()}
            for arm, by_name in means.items()
        }

    def history(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the events whose sequence numbers are above `after`, oldest first."""
        while events := self._request("GET", f"/history?after={after}&limit={_HISTORY_BATCH}"):
            yield from events
            after = events[-1]["seq"]

    def oldest_pending(self, limit: int = 100) -> list[Decision]:
        """Return the oldest pending decisions, up to `limit`, which is at most 1,000."""
        answer = self._request("GET", f"/decisions?limit={limit}")
        return list(map(_parse_decision, answer["pending"]))

    @property
    def pending_count(self) -> int:
        """How many decisions are pending."""
        return int(self._request("GET", "")["pending_count"])

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms in use."""
        return tuple(self._request("GET", "/arms")["arms"])

    @property
    def settled(self) -> dict[str, str]:
        """The final verdict on each settled arm in use, by name."""
        return dict(self._request("GET", "/arms")["settled"])

    @property
    def remaining(self) -> list[str]:
        """The arms in use that are not settled."""
        return list(self._request("GET", "/arms")["remaining"])

    @property
    def is_done(self) -> bool:
        """Whether the policy has enough: every arm is settled, and `ask` is refused."""
        return bool(self._request("GET", "")["is_done"])

    def add_arms(self, names: Iterable[str]) -> None:
        """Add arms, all or none."""
        self._request("POST", "/arms", {"arms": list(names)})

    def add_arm(self, name: str) -> None:
        """Add an arm."""
        self.add_arms([name])

    def retire(self, name: str) -> None:
        """Retire an arm, for good."""
        self._request("POST", "/arms/retire", {"arm": name})


def make_error(problem: Mapping[str, Any]) -> Exception:
    """Return the error that a problem document describes.

    Examples
    --------
    >>> make_error({"type": "/problems/unknown-study", "detail": "the key sees no such study"})
    UnknownStudyError('the key sees no such study')
    """
    name = str(problem.get("type", "")).rsplit("/", 1)[-1]
    text = problem.get("detail") or problem.get("title") or "the service refused the request"
    return _ERRORS.get(name, RuntimeError)(text)


def _parse_decision(answer: dict[str, Any]) -> Decision:
    """Return a decision; the words of the setting are what `pop` leaves in `answer`."""
    asked_at = datetime.fromisoformat(answer.pop("at"))
    until = _parse_time(answer.pop("until"))
    return Decision(answer.pop("id"), answer, answer.pop("round"), asked_at, until)


def _parse_mean(answer: Mapping[str, Any]) -> ArmMean:
    low, high = answer["low"], answer["high"]
    interval = None if low is None else (low, high)
    return ArmMean(answer["told"], answer["mean"], interval, answer["assumed"])


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _decision_id(decision: str | Decision) -> str:
    return decision.id if isinstance(decision, Decision) else decision


def _decision_path(decision: str | Decision) -> str:
    return f"/decisions/{quote(_decision_id(decision), safe='')}"
