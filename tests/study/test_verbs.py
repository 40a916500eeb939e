"""The verbs of a study, through each of its doors: `Study`, `AsyncStudy` and the client."""

import asyncio
import inspect
import threading
import time

import pytest
import uvicorn

from keyhole.client import Client
from keyhole.serve import Settings, make_app
from keyhole.stochastic import UCB1
from keyhole.study import (
    AsyncStudy,
    Decision,
    DifferentFeedbackError,
    KeyUsedError,
    Study,
    StudyDoneError,
    StudyExistsError,
    UnknownArmError,
    UnknownDecisionError,
    UnknownStudyError,
)
from keyhole.thresholding import LSA, PerArmStopping


class Awaited:
    """An asynchronous study whose verbs wait for their results."""

    def __init__(self, runner, study):
        self._runner = runner
        self._study = study

    def __getattr__(self, name):
        value = getattr(self._study, name)
        if inspect.isawaitable(value):
            return self._runner.run(_wait_for(value))
        return lambda *args, **options: self._runner.run(_wait_for(value(*args, **options)))


async def _wait_for(awaitable):
    return await awaitable


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Yield a database, and the address of a service of it in a thread."""
    storage = str(tmp_path_factory.mktemp("service") / "studies.db")
    Study.create(storage, "first", UCB1(), ["a"]).close()
    config = uvicorn.Config(make_app(Settings(storage=storage)), port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield storage, f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(params=["study", "async", "client"])
def open_study(request, service):
    """Return a function that creates a study of a policy, and opens it through a door."""
    storage, url = service
    runner = asyncio.Runner()
    closers = []

    def create(policy, arms, **facts):
        name = f"{request.node.name} {len(closers)}"
        study = Study.create(storage, name, policy, arms, **facts)
        if request.param == "study":
            closers.append(study.close)
            return study
        study.close()
        if request.param == "client":
            client = Client(url)
            closers.append(client.close)
            return client.study(name)
        opened = runner.run(_wait_for(AsyncStudy.open(storage, name)))
        closers.append(lambda: runner.run(opened.close()))
        return Awaited(runner, opened)

    yield create
    for close in closers:
        close()
    runner.close()


@pytest.fixture
def study(open_study):
    return open_study(UCB1(), ["red", "blue"])


def test_a_decision_is_told_and_shown(study):
    decision = study.ask(metadata={"who": "ann"})
    assert isinstance(decision, Decision)
    assert (decision.arm, decision.round, decision.until) == ("red", 1, None)
    assert study.pending_count == 1
    assert study.oldest_pending(5) == [decision]
    assert study.decision(decision).status == "pending"
    study.tell(decision, reward=1)
    study.tell(decision.id, 1)  # the same again
    record = study.decision(decision.id)
    assert (record.decision, record.status, record.feedback) == (decision, "told", {"reward": 1.0})
    assert record.settled_at >= decision.at
    assert study.pending_count == 0
    with pytest.raises(DifferentFeedbackError):
        study.tell(decision, reward=0)


def test_a_key_gets_its_decision_again(study):
    assert study.ask(key="k") == study.ask(key="k")
    many = study.ask_many(3, key="many")
    assert study.ask_many(3, key="many") == many
    assert study.pending_count == 4
    assert study.ask(key="many/1") == many[1]


def test_arms_are_left_out(study):
    assert {study.ask(exclude=["red"]).arm for _ in range(3)} == {"blue"}
    with pytest.raises(StudyDoneError, match="must leave an arm"):
        study.ask(exclude=["red", "blue"])
    red = study.ask(key="k")
    assert red.arm == "red"
    with pytest.raises(KeyUsedError):
        study.ask(key="k", exclude=["red"])


def test_many_are_told_each_by_itself(study):
    first, second = study.ask_many(2)
    wrong = study.tell_many([(first, {"reward": 1}), ("X" * 26, 1), (second.id, 0), (first, 0)])
    assert [type(error) for error in wrong] == [
        type(None),
        UnknownDecisionError,
        type(None),
        DifferentFeedbackError,
    ]
    assert study.tell_many([]) == []
    means = study.means()
    assert {arm: means[arm]["reward"].mean for arm in means} == {"red": 1.0, "blue": 0.0}
    assert means["red"]["reward"].interval[0] > 0
    assert study.recommend() == "red"


def test_what_was_told_by_mistake_is_set_right(study):
    decision = study.ask()
    study.tell(decision, reward=0)
    study.correct(decision, reward=1)
    assert study.decision(decision).feedback == {"reward": 1.0}
    assert study.means()["red"]["reward"].mean == 1.0


def test_a_decision_expires(study):
    decision = study.ask()
    study.expire(decision)
    assert study.decision(decision).status == "expired"
    assert study.pending_count == 0


def test_arms_come_and_go(study):
    study.add_arm("green")
    study.add_arms(["white", "black"])
    study.retire("red")
    assert study.arms == ("blue", "green", "white", "black")
    with pytest.raises(UnknownArmError):
        study.retire("violet")
    with pytest.raises(ValueError, match="green"):
        study.add_arm("green")


def test_a_study_is_done(open_study):
    study = open_study(PerArmStopping(LSA(), tolerance=0.3), ["cat", "dog"], threshold=0.5)
    for _ in range(200):
        if study.is_done:
            break
        study.tell(study.ask(), True)
    assert study.settled == {"cat": "above", "dog": "above"}
    assert study.remaining == []
    with pytest.raises(StudyDoneError):
        study.ask()


def test_what_is_wrong_is_named(study):
    with pytest.raises(UnknownDecisionError):
        study.tell("X" * 26, 1)
    with pytest.raises(ValueError, match="reward must"):
        study.tell(study.ask(), reward=7)
    with pytest.raises((TypeError, ValueError), match="shade"):
        study.ask(shade="light")


def test_a_key_of_any_letters_is_the_same_through_each_door(service):
    storage, url = service
    with Client(url) as client:
        study = client.create("letters", "UCB1", ["a", "b"], setting="stochastic")
        with Study.open(storage, "letters") as opened:
            assert study.ask(key="zoë ∑") == opened.ask(key="zoë ∑")
        with pytest.raises(ValueError, match="key must have no blanks at its ends, got 'x '"):
            study.ask(key="x ")
        with pytest.raises(ValueError, match="key must have no control characters"):
            study.ask(key="x\n")
        with pytest.raises(ValueError, match="JSON"):
            study.ask(metadata={"x": float("nan")})
        assert study.pending_count == 1  # and nothing of these was sent with the next request


def test_a_client_sees_and_makes_studies(service):
    with Client(service[1]) as client:
        study = client.create("made", "UCB1", ["a", "b"], setting="stochastic", timeout="2h")
        assert study.ask().until is not None
        assert "made" in client.list_studies()
        with pytest.raises(StudyExistsError):
            client.create("made", "KLUCB", ["a", "b"], setting="stochastic")
        assert [event["event"] for event in study.history()] == ["asked"]
        client.delete("made")
        with pytest.raises(UnknownStudyError):
            study.ask()
