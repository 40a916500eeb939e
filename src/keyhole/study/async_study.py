"""The asynchronous interface of studies, for programs on `asyncio`."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial, wraps
from types import SimpleNamespace
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from keyhole.study.group_commit import Call
from keyhole.study.study import Study

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Awaited = Coroutine[object, None, _Result]
_WaitingCall = tuple["asyncio.Future[object]", Call]  # the future gets the call's outcome


def _make_async_method(
    method: Callable[Concatenate[Study, _Parameters], _Result],
) -> Callable[Concatenate["AsyncStudy", _Parameters], _Awaited[_Result]]:
    """Return the asynchronous form of a method of `Study` that submits an operation.

    The method of `Study` is called with the `AsyncStudy` as its `self`. So it submits the operation
    to the `_writer` of `AsyncStudy`, whose `submit` returns a coroutine.
    """

    @wraps(method)
    async def run(
        self: "AsyncStudy", /, *arguments: _Parameters.args, **keywords: _Parameters.kwargs
    ) -> _Result:
        # The type is quoted: evaluating it takes a hundredth of the time of an ask and its tell.
        return await cast("_Awaited[_Result]", method(cast(Study, self), *arguments, **keywords))

    return run


class AsyncStudy:
    """A study whose methods are awaited; they have the names of the methods of `Study`.

    Calls of `ask`, `tell` and the like that wait at the same time are committed together, in one
    thread: a hundred tasks may share one transaction. Calls that only read run in other threads.
    An attribute is awaited too: ``await study.arms``.

    Make a study with `create` or `open`, in ``async with`` or with ``await``, and use it in the
    event loop in which it was opened. If a call is cancelled before its transaction begins, nothing
    happens. If it is cancelled later, it takes effect all the same, and only its result is lost; an
    `ask` with the same idempotency key returns the decision. `close` waits for earlier calls, and
    later calls are refused.

    Parameters
    ----------
    open_study : callable
        A function that opens the study; it is called in a thread.

    Examples
    --------
    >>> import asyncio
    >>> import tempfile
    >>> from keyhole.stochastic import UCB1
    >>> from keyhole.study import AsyncStudy
    >>> async def decide(storage):
    ...     async with AsyncStudy.create(storage, "s", UCB1(), ["red", "blue"]) as study:
    ...         decisions = await asyncio.gather(study.ask(), study.ask())
    ...         await asyncio.gather(*(study.tell(decision, 1) for decision in decisions))
    ...         return [decision.arm for decision in decisions], await study.pending
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(decide(f"{folder}/s.db"))
    (['red', 'blue'], [])
    """

    study: Study
    """The study itself, for calls without ``await``."""

    def __init__(self, open_study: Callable[[], Study]) -> None:
        self._open_study = open_study
        self._writer = SimpleNamespace(submit=self._commit)  # see `_make_async_method`
        self._waiting: list[_WaitingCall] = []
        self._is_closed = False

    @classmethod
    def open(cls, *arguments: Any, **options: Any) -> Self:
        """Open an existing study, with the arguments of `Study.open`."""
        return cls(partial(Study.open, *arguments, **options))

    @classmethod
    def create(cls, *arguments: Any, **options: Any) -> Self:
        """Create a study, with the arguments of `Study.create`."""
        return cls(partial(Study.create, *arguments, **options))

    @classmethod
    def create_from(cls, *arguments: Any, **options: Any) -> Self:
        """Create a study that a table describes, with the arguments of `Study.create_from`."""
        return cls(partial(Study.create_from, *arguments, **options))

    async def __aenter__(self) -> Self:
        """Open the study and return it."""
        self._loop = asyncio.get_running_loop()
        self._executor = ThreadPoolExecutor(1, "keyhole-study")
        self._idle = asyncio.Event()
        self._idle.set()
        self.study = await self._loop.run_in_executor(self._executor, self._open_study)
        return self

    def __await__(self) -> Generator[object, None, Self]:
        """Open the study and return it."""
        return self.__aenter__().__await__()

    async def __aexit__(self, *_: object) -> None:
        """Close the study."""
        await self.close()

    async def close(self) -> None:
        """Close the study once all waiting calls are done; it cannot be used any more."""
        self._check_event_loop()
        self._is_closed = True
        await self._idle.wait()
        await self._loop.run_in_executor(self._executor, self.study.close)
        self._executor.shutdown()

    def _check_event_loop(self) -> None:
        """Refuse another event loop, such as that of a forked child, which lacks the thread."""
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError(
                "the study was opened in another event loop: open it again in this one"
            )

    async def _commit(self, operation: Callable[..., object], *arguments: object) -> Any:
        """Run an operation in one transaction with all operations that wait; return its result."""
        self._check_event_loop()
        if self._is_closed:
            raise RuntimeError("the study was closed: open it again")
        future = self._loop.create_future()
        self._waiting.append((future, (operation, arguments)))
        if self._idle.is_set():
            self._idle.clear()
            # The calls run later, since other tasks in this turn of the event loop may add calls.
            self._loop.call_soon(self._run_waiting_calls)
        return await future

    def _run_waiting_calls(self) -> None:
        """Let the thread run all waiting calls that were not cancelled."""
        calls = [(future, call) for future, call in self._waiting if not future.cancelled()]
        self._waiting = []
        if calls:
            self._executor.submit(self._run_calls, calls)
        else:
            self._idle.set()

    def _run_calls(self, calls: list[_WaitingCall]) -> None:
        """Run calls together in the thread, then let the event loop deliver the outcomes."""
        outcomes: list[object]
        try:
            outcomes = self.study._writer.submit_many(call for _, call in calls)
        except BaseException as error:
            outcomes = [error] * len(calls)
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._deliver_outcomes, calls, outcomes)

    def _deliver_outcomes(self, calls: list[_WaitingCall], outcomes: list[object]) -> None:
        """Deliver the outcomes of calls, then run the calls that came meanwhile."""
        for (future, _), outcome in zip(calls, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
        self._run_waiting_calls()

    ask = _make_async_method(Study.ask)
    ask_many = _make_async_method(Study.ask_many)
    find_decision = _make_async_method(Study.find_decision)
    decision = _make_async_method(Study.decision)
    tell = _make_async_method(Study.tell)
    tell_many = _make_async_method(Study.tell_many)
    tell_sum = _make_async_method(Study.tell_sum)
    expire = _make_async_method(Study.expire)
    retire = _make_async_method(Study.retire)

    def __getattr__(self, name: str) -> Any:
        """Return any other method or attribute of `Study` to be awaited; it runs in a thread."""
        value = getattr(Study, name)
        if isinstance(value, property):
            return asyncio.to_thread(getattr, self.study, name)
        return partial(asyncio.to_thread, value, self.study)
