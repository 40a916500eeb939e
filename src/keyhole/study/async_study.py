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
_Waiting = tuple["asyncio.Future[object]", Call]


def _make_async_method(
    method: Callable[Concatenate[Study, _Parameters], _Result],
) -> Callable[Concatenate["AsyncStudy", _Parameters], _Awaited[_Result]]:
    """Return a method of `AsyncStudy` for a method of `Study` that submits a call.

    The method of `Study` is called with the `AsyncStudy` as its `self`. So its call goes to the
    `_writer` of `AsyncStudy`, whose `submit` returns a coroutine.
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

    Calls that wait are committed together: `ask`, `tell` and the like of a hundred tasks cost one
    transaction, in one thread. Calls that only read run in other threads. An attribute is awaited
    too: ``await study.arms``.

    Make a study with `create` or `open`, in ``async with`` or with ``await``, and use it in the
    event loop in which it was opened. If a call is cancelled before its transaction begins, nothing
    happens. If it is cancelled later, it is done all the same and only its answer is lost; the
    idempotency key of an `ask` gets the answer again. `close` waits for the calls that came before,
    and later calls are refused.

    Parameters
    ----------
    open_study : callable
        Opens the study, in a thread.

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
        self._waiting: list[_Waiting] = []
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
        """Close the study, once the calls that wait are done; it cannot be used any more."""
        self._check_event_loop()
        self._is_closed = True
        await self._idle.wait()
        await self._loop.run_in_executor(self._executor, self.study.close)
        self._executor.shutdown()

    def _check_event_loop(self) -> None:
        """Refuse another event loop, such as that of a fork, which has no copy of our thread."""
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError(
                "the study was opened in another event loop: open it again in this one"
            )

    async def _commit(self, operation: Callable[..., object], *arguments: object) -> Any:
        """Return the result of an operation, run in a transaction with all others that wait."""
        self._check_event_loop()
        if self._is_closed:
            raise RuntimeError("the study was closed: open it again")
        future = self._loop.create_future()
        self._waiting.append((future, (operation, arguments)))
        if self._idle.is_set():
            self._idle.clear()
            # Not at once, since other tasks in this turn of the event loop may have calls as well.
            self._loop.call_soon(self._run_waiting_calls)
        return await future

    def _run_waiting_calls(self) -> None:
        """Let the thread run all calls that wait, except those that were cancelled."""
        waiting = [item for item in self._waiting if not item[0].cancelled()]
        self._waiting = []
        if waiting:
            self._executor.submit(self._run_calls, waiting)
        else:
            self._idle.set()

    def _run_calls(self, waiting: list[_Waiting]) -> None:
        """Run calls together, in the thread; let the event loop hand out the outcomes."""
        outcomes: list[object]
        try:
            outcomes = self.study._writer.submit_many(call for _, call in waiting)
        except BaseException as error:
            outcomes = [error] * len(waiting)
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._deliver_outcomes, waiting, outcomes)

    def _deliver_outcomes(self, waiting: list[_Waiting], outcomes: list[object]) -> None:
        """Hand out the outcomes of calls, and go on with the calls that came meanwhile."""
        for (future, _), outcome in zip(waiting, outcomes, strict=True):
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
        """Return another method or an attribute of `Study` to be awaited; it runs in a thread."""
        value = getattr(Study, name)
        if isinstance(value, property):
            return asyncio.to_thread(getattr, self.study, name)
        return partial(asyncio.to_thread, value, self.study)
