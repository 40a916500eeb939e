import asyncio
import os
import threading

import pytest

from keyhole.study import AsyncStudy, DifferentFeedbackError, Study, UnknownDecisionError
from keyhole.thresholding import LSA
from tests.study.studies import ARMS, check_rebuilt_states_agree


class Clock:
    """A clock that counts transactions, and can hold one up."""

    def __init__(self):
        self.calls = 0
        self.has_begun = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self):
        self.calls += 1
        self.has_begun.set()
        self.may_end.wait(60)
        return 1000.0

    async def hold(self, study):
        """Return a call that is held up within its transaction."""
        self.has_begun.clear()
        self.may_end.clear()
        call = asyncio.ensure_future(study.ask(key="held"))
        await asyncio.to_thread(self.has_begun.wait, 60)
        return call


def create(path, **options):
    return AsyncStudy.create(path, "s", LSA(), ARMS, threshold=0.5, **options)


def check_whole(path):
    with Study.open(path, "s") as study:
        check_rebuilt_states_agree(study)
        return study.log()


def test_its_verbs_are_those_of_a_study(address):
    async def work():
        async with create(address, on_timeout="ask_again") as study:
            first, second = await asyncio.gather(study.ask(key="k"), study.ask())
            assert await study.find_decision("k") == first
            await study.tell(first, reward=1)
            assert await study.pending == [second]
            await study.expire(second.id)
            assert await study.to_ask_again == [second.id]
            decisions = await study.ask_many(3, key="many")
            assert decisions[0].id == second.id
            assert await study.tell_many([(decision, 1) for decision in decisions]) == [None] * 3
            await study.add_arm("d")
            await study.retire("a")
            assert await study.arms == ("b", "c", "d")
            assert set(await study.recommend()) == {"b", "c", "d"}
            assert (await study.means(most_events=100))["a"]["reward"].told >= 1
            assert not await study.is_done
            assert repr(await study.policy) == "LSA(alpha=1.35)"
            assert len(await study.log()) == 12

    asyncio.run(work())
    check_whole(address)


def test_calls_of_one_turn_are_one_transaction(tmp_path):
    clock = Clock()

    async def work():
        study = await create(tmp_path / "s.db", clock=clock)
        before = clock.calls
        decisions = await asyncio.gather(*(study.ask() for _ in range(100)))
        assert len({decision.id for decision in decisions}) == 100
        assert clock.calls == before + 1
        tellings = (study.tell(decision, 1) for decision in decisions)
        await asyncio.gather(*tellings, *(study.ask() for _ in range(50)))
        assert clock.calls == before + 2
        await study.close()

    asyncio.run(work())
    assert len(check_whole(tmp_path / "s.db")) == 250


def test_each_call_has_its_own_error(tmp_path):
    async def work():
        async with create(tmp_path / "s.db") as study:
            decision = await study.ask()
            calls = [
                study.tell(decision, 1), study.tell(decision, 0), study.tell("nope", 1),
                study.tell(decision, 7), study.ask(word=3), study.ask(), study.retire("z"),
            ]  # fmt: skip
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            classes = [type(outcome) for outcome in outcomes]
            assert classes[:5] == [
                type(None), DifferentFeedbackError, UnknownDecisionError, ValueError, TypeError,
            ]  # fmt: skip
            assert outcomes[5].arm == "b"
            assert isinstance(outcomes[6], ValueError)

    asyncio.run(work())
    assert len(check_whole(tmp_path / "s.db")) == 3


def test_a_call_that_is_cancelled_before_its_turn_does_nothing(tmp_path):
    clock = Clock()

    async def work():
        async with create(tmp_path / "s.db", clock=clock) as study:
            held = await clock.hold(study)
            waiting = asyncio.ensure_future(study.ask())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            clock.may_end.set()
            decision = await held
            assert await study.pending == [decision]

    asyncio.run(work())
    assert len(check_whole(tmp_path / "s.db")) == 1


def test_a_call_that_is_cancelled_within_its_transaction_is_done(tmp_path):
    clock = Clock()

    async def work():
        async with create(tmp_path / "s.db", clock=clock) as study:
            held = await clock.hold(study)
            held.cancel()
            with pytest.raises(asyncio.CancelledError):
                await held
            clock.may_end.set()
            assert (await study.ask(key="held")).round == 1

    asyncio.run(work())
    assert len(check_whole(tmp_path / "s.db")) == 1


def test_calls_that_wait_are_answered_before_it_closes(tmp_path):
    clock = Clock()

    async def work():
        study = await create(tmp_path / "s.db", clock=clock)
        held = await clock.hold(study)
        waiting = [asyncio.ensure_future(study.ask()) for _ in range(5)]
        await asyncio.sleep(0)
        closing = [asyncio.ensure_future(study.close()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="the study was closed: open it again"):
            await study.ask()
        clock.may_end.set()
        decisions = await asyncio.gather(held, *waiting)
        assert len({decision.id for decision in decisions}) == 6
        await asyncio.gather(*closing)
        with pytest.raises(RuntimeError, match="the study was closed: open it again"):
            await study.recommend()

    asyncio.run(work())
    assert len(check_whole(tmp_path / "s.db")) == 6


def test_an_event_loop_may_end_before_it_closes(tmp_path):
    clock = Clock()
    studies = []

    async def work():
        study = await create(tmp_path / "s.db", clock=clock)
        studies.append(study)
        await clock.hold(study)
        asyncio.get_running_loop().call_later(0, clock.may_end.set)

    asyncio.run(work())
    for call in (studies[0].ask, studies[0].close):
        with pytest.raises(RuntimeError, match="opened in another event loop"):
            asyncio.run(call())
    studies[0].study.close()
    assert len(check_whole(tmp_path / "s.db")) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_opens_it_again(tmp_path):
    async def work():
        async with create(tmp_path / "s.db") as study:
            await study.ask()
            child = os.fork()
            if child == 0:
                os._exit(work_in_child(study, tmp_path / "s.db"))
            _, status = await asyncio.to_thread(os.waitpid, child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            await study.ask()

    asyncio.run(work())
    assert len(check_whole(tmp_path / "s.db")) == 3


def work_in_child(study, path):
    """Return 0 if the parent's study is refused in a fork, and a new one works there."""

    async def work():
        for call in (study.ask(), study.recommend(), study.close()):
            with pytest.raises(RuntimeError, match="open it again in this one"):
                await call
        async with AsyncStudy.open(path, "s") as again:
            await again.ask()

    try:
        asyncio.run(work())
    except BaseException:
        return 1
    return 0


def test_a_study_that_is_not_there_is_refused_when_it_is_opened(tmp_path):
    async def work():
        with pytest.raises(ValueError, match="storage must be an existing file"):
            await AsyncStudy.open(tmp_path / "s.db", "s")

    asyncio.run(work())
